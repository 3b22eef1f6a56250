//go:build kubernetes1.35 && !kubernetes1.36

package scheduler

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

func (sched *Scheduler) fitting(
	ctx context.Context, profile framework.Framework, state *framework.CycleState, pod *v1.Pod,
) ([]nodeInfo, framework.Diagnosis, error) {
	nodes, diagnosis, _, _, err := sched.findNodesThatFitPod(ctx, profile, state, pod)
	return nodes, diagnosis, err
}
