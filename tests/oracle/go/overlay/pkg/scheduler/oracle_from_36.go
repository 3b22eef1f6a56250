//go:build kubernetes1.36

package scheduler

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

func (sched *Scheduler) choosing(
	ctx context.Context, profile framework.Framework, state *framework.CycleState, pod *v1.Pod,
) (ScheduleResult, error) {
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return ScheduleResult{}, err
	}
	return sched.SchedulePod(ctx, profile, state, &framework.QueuedPodInfo{PodInfo: info})
}
