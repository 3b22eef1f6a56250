//go:build kubernetes1.34

package scheduler

import (
	"context"

	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	features "k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

const unschedulable = fwk.Unschedulable

// evaluating is what evaluates preemption for a profile; its arguments only say how many candidates are enough.
func evaluating(ctx context.Context, profile framework.Framework) (*preemption.Evaluator, error) {
	arguments := &config.DefaultPreemptionArgs{MinCandidateNodesPercentage: 100, MinCandidateNodesAbsolute: 1}
	plugin, err := defaultpreemption.New(ctx, arguments, profile, features.Features{EnableAsyncPreemption: true})
	if err != nil {
		return nil, err
	}
	return plugin.Evaluator, nil
}
