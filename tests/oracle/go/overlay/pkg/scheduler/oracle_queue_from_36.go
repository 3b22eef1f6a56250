//go:build kubernetes1.36

package scheduler

import (
	"context"

	v1 "k8s.io/api/core/v1"
)

// Enqueue lets a Pod wait: with the node that is nominated for it, if there is one.
func (sched *Scheduler) Enqueue(ctx context.Context, pod *v1.Pod) {
	sched.SchedulingQueue.Add(ctx, pod)
}
