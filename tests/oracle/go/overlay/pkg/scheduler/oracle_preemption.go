//go:build kubernetes1.33

package scheduler

import (
	"context"

	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/klog/v2"
	extender "k8s.io/kube-scheduler/extender/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	features "k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// Picks is how often a candidate is chosen: of several that are equal any is, as Go walks a map.
const picks = 64

// Preemption is what an attempt to schedule a Pod comes to where no node passes: the candidates with their victims, those
// of them that may be chosen, and the whole message if there is no candidate.
type Preemption struct {
	Feasible   []string
	Candidates map[string]*extender.Victims
	Chosen     map[string]bool
	Message    string
}

// Preempt does what an attempt does, up to the eviction of victims, with every candidate and not only as many as it takes.
func (sched *Scheduler) Preempt(
	ctx context.Context, pod *v1.Pod, budgets []*policy.PodDisruptionBudget,
) (*Preemption, error) {
	if err := sched.Cache.UpdateSnapshot(klog.FromContext(ctx), sched.nodeInfoSnapshot); err != nil {
		return nil, err
	}
	profile, state := sched.Profiles[v1.DefaultSchedulerName], framework.NewCycleState()
	nodes, diagnosis, err := sched.fitting(ctx, profile, state, pod)
	if err != nil {
		return nil, err
	}
	found := &Preemption{[]string{}, map[string]*extender.Victims{}, map[string]bool{}, ""}
	for _, node := range nodes {
		found.Feasible = append(found.Feasible, node.Node().Name)
	}
	if len(nodes) > 0 {
		return found, nil
	}
	evaluator, err := evaluating(ctx, profile)
	if err != nil {
		return nil, err
	}
	nominated := diagnosis.NodeToStatus.Get(pod.Status.NominatedNodeName)
	if eligible, _ := evaluator.PodEligibleToPreemptOthers(ctx, pod, nominated); eligible {
		lister := profile.SnapshotSharedLister().NodeInfos()
		potential, err := diagnosis.NodeToStatus.NodesForStatusCode(lister, unschedulable)
		if err != nil {
			return nil, err
		}
		if len(potential) > 0 {
			every := int32(len(potential))
			candidates, _, err := evaluator.DryRunPreemption(ctx, state, pod, potential, budgets, 0, every)
			if err != nil {
				return nil, err
			}
			for _, one := range candidates {
				found.Candidates[one.Name()] = one.Victims()
			}
			for range picks {
				if best := evaluator.SelectCandidate(ctx, candidates); best != nil {
					found.Chosen[best.Name()] = true
				}
			}
		}
	}
	if len(found.Candidates) == 0 {
		_, status := profile.RunPostFilterPlugins(ctx, state, pod, diagnosis.NodeToStatus)
		diagnosis.PostFilterMsg = status.Message()
		all, err := profile.SnapshotSharedLister().NodeInfos().List()
		if err != nil {
			return nil, err
		}
		unfit := framework.FitError{Pod: pod, NumAllNodes: len(all), Diagnosis: diagnosis}
		found.Message = unfit.Error()
	}
	return found, nil
}

// evaluating is what evaluates preemption for a profile; its arguments only say how many candidates are enough.
func evaluating(ctx context.Context, profile framework.Framework) (*preemption.Evaluator, error) {
	arguments := &config.DefaultPreemptionArgs{MinCandidateNodesPercentage: 100, MinCandidateNodesAbsolute: 1}
	plugin, err := defaultpreemption.New(ctx, arguments, profile, features.Features{EnableAsyncPreemption: true})
	if err != nil {
		return nil, err
	}
	return any(plugin).(*defaultpreemption.DefaultPreemption).Evaluator, nil // In 1.33, New returns an interface.
}
