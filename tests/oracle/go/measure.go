package main

import (
	"context"
	"encoding/json"
	"sort"
	"time"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/parallelize"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
)

const rounds = 21

// measured is how long a plugin takes for one Pod on all CPUs, in microseconds, and what it finds: how many nodes pass
// the filter, and the sum of the scores of all nodes.
type measured struct {
	Filter  int64 `json:"filter"`
	Score   int64 `json:"score"`
	Passing int   `json:"passing"`
	Scores  int64 `json:"scores"`
}

// measure asks a plugin, InterPodAffinity or PodTopologySpread, for each of some Pods.
func measure(line []byte) (any, error) {
	var asked struct {
		Plugin string
		Asking []*v1.Pod
	}
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	given, err := read(line)
	if err != nil {
		return nil, err
	}
	var arguments apiruntime.Object = given.arguments()
	if asked.Plugin == interpodaffinity.Name {
		arguments = &config.InterPodAffinityArgs{HardPodAffinityWeight: 1}
	}
	ctx := context.Background()
	plugin, _, nodes, err := alone(ctx, given, asked.Plugin, arguments)
	if err != nil {
		return nil, err
	}
	found := []measured{}
	for _, pod := range asked.Asking {
		found = append(found, judged(ctx, plugin, pod, nodes))
	}
	return found, nil
}

func judged(ctx context.Context, plugin judging, pod *v1.Pod, nodes []nodeInfo) measured {
	each := func(ask func(i int)) {
		parallelize.NewParallelizer(parallelize.DefaultParallelism).Until(ctx, len(nodes), ask, "")
	}

	var found measured
	found.Filter = middle(func() {
		state, passes := framework.NewCycleState(), make([]bool, len(nodes))
		found.Passing = len(nodes)
		if preFilter(ctx, plugin, state, pod, nodes).IsSkip() {
			return
		}
		each(func(i int) { passes[i] = plugin.Filter(ctx, state, pod, nodes[i]).IsSuccess() })
		for _, pass := range passes {
			if !pass {
				found.Passing--
			}
		}
	})
	found.Score = middle(func() {
		state, scores := framework.NewCycleState(), make([]nodeScore, len(nodes))
		found.Scores = 0
		if plugin.PreScore(ctx, state, pod, nodes).IsSkip() {
			return
		}
		each(func(i int) {
			raw, _ := plugin.Score(ctx, state, pod, scored(nodes[i]))
			scores[i] = nodeScore{Name: nodes[i].Node().Name, Score: raw}
		})
		plugin.ScoreExtensions().NormalizeScore(ctx, state, pod, scores)
		for _, one := range scores {
			found.Scores += one.Score
		}
	})
	return found
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
