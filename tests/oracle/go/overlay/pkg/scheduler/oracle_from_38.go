//go:build kubernetes1.38

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
	queued := &framework.QueuedPodInfo{PodInfo: info}
	ranked, diagnosis, _, err := sched.algorithm.findNodesThatFitPod(ctx, profile, state, queued)
	if err != nil {
		return nil, framework.Diagnosis{}, err
	}
	nodes := []nodeInfo{}
	for _, one := range ranked {
		nodes = append(nodes, one.NodeInfo)
	}
	return nodes, *diagnosis, nil
}

// scoring gives all nodes one rank, as they have outside of the preemption of a PodGroup.
func (sched *Scheduler) scoring(
	ctx context.Context, profile framework.Framework, state *framework.CycleState, pod *v1.Pod, nodes []nodeInfo,
) ([]nodeScores, error) {
	ranked := []framework.NodeWithRank{}
	for _, node := range nodes {
		ranked = append(ranked, framework.NodeWithRank{NodeInfo: node})
	}
	return prioritizeNodes(ctx, profile, state, pod, ranked)
}
