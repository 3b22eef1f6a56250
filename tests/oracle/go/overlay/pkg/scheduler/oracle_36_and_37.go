//go:build kubernetes1.36 && !kubernetes1.38

package scheduler

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

func (sched *Scheduler) fitting(
	ctx context.Context, profile framework.Framework, state *framework.CycleState, pod *v1.Pod,
) ([]nodeInfo, framework.Diagnosis, error) {
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return nil, framework.Diagnosis{}, err
	}
	nodes, diagnosis, _, err := sched.findNodesThatFitPod(ctx, profile, state, &framework.QueuedPodInfo{PodInfo: info})
	return nodes, diagnosis, err
}
