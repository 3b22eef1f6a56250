package scheduler

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Verdict is what one attempt to schedule a Pod finds; scores are normalized, and only the total is weighted.
type Verdict struct {
	Feasible  []string
	Diagnosis framework.Diagnosis
	Scores    map[string]map[string]int64
	Total     map[string]int64
}

// Verdict does what schedulePod does, and keeps what that forgets: each node's status, and each plugin's score.
func (sched *Scheduler) Verdict(ctx context.Context, pod *v1.Pod) (*Verdict, error) {
	if err := sched.Cache.UpdateSnapshot(klog.FromContext(ctx), sched.nodeInfoSnapshot); err != nil {
		return nil, err
	}
	profile, state := sched.Profiles[v1.DefaultSchedulerName], framework.NewCycleState()
	nodes, diagnosis, err := sched.fitting(ctx, profile, state, pod)
	if err != nil {
		return nil, err
	}
	found := &Verdict{[]string{}, diagnosis, map[string]map[string]int64{}, map[string]int64{}}
	for _, node := range nodes {
		found.Feasible = append(found.Feasible, node.Node().Name)
	}
	if len(nodes) < 2 {
		return found, nil // The only one is taken without a score.
	}
	scored, err := sched.scoring(ctx, profile, state, pod, nodes)
	if err != nil {
		return nil, err
	}
	weights := map[string]int64{}
	for _, one := range profile.ListPlugins().Score.Enabled {
		weights[one.Name] = int64(one.Weight)
	}
	for _, node := range scored {
		found.Total[node.Name], found.Scores[node.Name] = node.TotalScore, map[string]int64{}
		for _, one := range node.Scores {
			found.Scores[node.Name][one.Name] = one.Score / weights[one.Name]
		}
	}
	return found, nil
}

// Place says which node the scheduler chooses for a Pod; a FitError if there is none.
func (sched *Scheduler) Place(ctx context.Context, pod *v1.Pod) (string, error) {
	if err := sched.Cache.UpdateSnapshot(klog.FromContext(ctx), sched.nodeInfoSnapshot); err != nil {
		return "", err
	}
	found, err := sched.choosing(ctx, sched.Profiles[v1.DefaultSchedulerName], framework.NewCycleState(), pod)
	return found.SuggestedHost, err
}
