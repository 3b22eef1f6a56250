package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"syscall"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// replicated is where kube-scheduler puts the replicas of a Pod one after the other, "" for one that it cannot place,
// in each run; and the time of all CPUs that a run took, in microseconds.
type replicated struct {
	Runs  [][]string `json:"runs"`
	Taken []int64    `json:"taken"`
}

func replicas(line []byte) (any, error) {
	var asked struct{ Replicas, Runs int }
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	given, running, err := filled(ctx, line)
	if err != nil {
		return nil, err
	}
	found := replicated{Runs: [][]string{}, Taken: []int64{}}
	for range asked.Runs {
		begun := busy()
		placed, err := run(ctx, running, given.Pod, asked.Replicas)
		if err != nil {
			return nil, err
		}
		found.Taken = append(found.Taken, busy()-begun)
		nodes := []string{}
		for _, one := range placed {
			nodes = append(nodes, one.Spec.NodeName)
			if one.Spec.NodeName == "" {
				continue
			}
			if err := running.Cache.RemovePod(klog.Background(), one); err != nil {
				return nil, err
			}
		}
		found.Runs = append(found.Runs, nodes)
	}
	return found, nil
}

// run places replicas of a Pod, each as soon as the scheduler knows of the one before.
func run(ctx context.Context, running *scheduler.Scheduler, pod *v1.Pod, number int) ([]*v1.Pod, error) {
	placed := []*v1.Pod{}
	for i := range number {
		one := pod.DeepCopy()
		one.Name = fmt.Sprintf("%s-%d", pod.Name, i)
		one.UID = types.UID(one.Name)
		host, err := running.Place(ctx, one)
		var unfit *framework.FitError
		if err != nil && !errors.As(err, &unfit) {
			return nil, err
		}
		one.Spec.NodeName = host
		if host != "" {
			if err := running.Cache.AddPod(klog.Background(), one); err != nil {
				return nil, err
			}
		}
		placed = append(placed, one)
	}
	return placed, nil
}

// busy is the time of all CPUs that this process has taken, in microseconds.
func busy() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		fail(err)
	}
	return usage.Utime.Nano()/1000 + usage.Stime.Nano()/1000
}
