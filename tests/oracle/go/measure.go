package main

import (
	"context"
	"sort"
	"time"

	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/parallelize"
)

const rounds = 21

// measured is how long the plugin PodTopologySpread takes for one Pod on all CPUs, in microseconds, and what it finds:
// how many nodes pass the filter, and the sum of the scores of all nodes.
type measured struct {
	Hard    int64 `json:"hard"`
	Soft    int64 `json:"soft"`
	Passing int   `json:"passing"`
	Scores  int64 `json:"scores"`
}

func measure(line []byte) (any, error) {
	ctx := context.Background()
	given, _, plugin, nodes, err := alone(ctx, line)
	if err != nil {
		return nil, err
	}
	pod := given.Pod
	each := func(ask func(i int)) {
		parallelize.NewParallelizer(parallelize.DefaultParallelism).Until(ctx, len(nodes), ask, "")
	}

	var found measured
	found.Hard = middle(func() {
		state, passes := framework.NewCycleState(), make([]bool, len(nodes))
		preFilter(ctx, plugin, state, pod, nodes)
		each(func(i int) { passes[i] = plugin.Filter(ctx, state, pod, nodes[i]).IsSuccess() })
		found.Passing = 0
		for _, pass := range passes {
			if pass {
				found.Passing++
			}
		}
	})
	found.Soft = middle(func() {
		state, scores := framework.NewCycleState(), make([]nodeScore, len(nodes))
		plugin.PreScore(ctx, state, pod, nodes)
		each(func(i int) {
			raw, _ := plugin.Score(ctx, state, pod, scored(nodes[i]))
			scores[i] = nodeScore{Name: nodes[i].Node().Name, Score: raw}
		})
		plugin.NormalizeScore(ctx, state, pod, scores)
		found.Scores = 0
		for _, one := range scores {
			found.Scores += one.Score
		}
	})
	return found, nil
}

func middle(decide func()) int64 {
	taken := make([]int64, rounds)
	for i := range taken {
		begun := time.Now()
		decide()
		taken[i] = time.Since(begun).Microseconds()
	}
	sort.Slice(taken, func(i, j int) bool { return taken[i] < taken[j] })
	return taken[rounds/2]
}
