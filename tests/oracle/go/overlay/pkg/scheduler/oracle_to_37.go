//go:build !kubernetes1.38

package scheduler

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

func (sched *Scheduler) scoring(
	ctx context.Context, profile framework.Framework, state *framework.CycleState, pod *v1.Pod, nodes []nodeInfo,
) ([]nodeScores, error) {
	return prioritizeNodes(ctx, sched.Extenders, profile, state, pod, nodes)
}
