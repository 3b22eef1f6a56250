package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/helper"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// placed is what the plugin PodTopologySpread says of a Pod: to each node, and by which constraints and counts.
type placed struct {
	DefaultSelector string            `json:"defaultSelector"`
	SelectorEmpty   bool              `json:"selectorEmpty"`
	HardConstraints []string          `json:"hardConstraints"`
	SoftConstraints []string          `json:"softConstraints"`
	PreFilter       string            `json:"preFilter"`
	Filter          map[string]string `json:"filter"`
	FilterReason    map[string]string `json:"filterReason"`
	DomainCounts    []map[string]int  `json:"domainCounts"`
	PreScore        string            `json:"preScore"`
	RawScore        map[string]int64  `json:"rawScore"`
	Score           map[string]int64  `json:"score"`
}

func placement(line []byte) (any, error) {
	ctx, state := context.Background(), framework.NewCycleState()
	given, err := read(line)
	if err != nil {
		return nil, err
	}
	plugin, factory, nodes, err := alone(ctx, given, podtopologyspread.Name, given.arguments())
	if err != nil {
		return nil, err
	}
	pod := given.Pod
	selector := defaultSelector(pod, given.arguments(), factory)
	found := placed{
		DefaultSelector: selector.String(),
		SelectorEmpty:   selector.Empty(),
		HardConstraints: []string{},
		SoftConstraints: []string{},
		Filter:          map[string]string{},
		FilterReason:    map[string]string{},
		DomainCounts:    []map[string]int{},
		RawScore:        map[string]int64{},
		Score:           map[string]int64{},
	}

	counted := preFilter(ctx, plugin, state, pod, nodes)
	found.PreFilter = counted.Code().String()
	if counted.IsSuccess() {
		hard, err := state.Read(podtopologyspread.PreFilterStateKey)
		if err != nil {
			return nil, err
		}
		found.HardConstraints, found.DomainCounts = podtopologyspread.Hard(hard)
	}
	candidates := nodes[:0:0]
	for _, node := range nodes {
		name := node.Node().Name
		found.Filter[name] = "Success"
		if counted.IsSuccess() {
			status := plugin.Filter(ctx, state, pod, node)
			found.Filter[name] = status.Code().String()
			if !status.IsSuccess() {
				found.FilterReason[name] = status.Message()
				continue
			}
		}
		candidates = append(candidates, node)
	}

	weighed := plugin.PreScore(ctx, state, pod, candidates)
	found.PreScore = weighed.Code().String()
	if !weighed.IsSuccess() {
		return found, nil
	}
	soft, err := state.Read(podtopologyspread.PreScoreStateKey)
	if err != nil {
		return nil, err
	}
	found.SoftConstraints = podtopologyspread.Soft(soft)
	scores := []nodeScore{}
	for _, node := range candidates {
		raw, status := plugin.Score(ctx, state, pod, scored(node))
		if !status.IsSuccess() {
			return nil, status.AsError()
		}
		scores = append(scores, nodeScore{Name: node.Node().Name, Score: raw})
		found.RawScore[node.Node().Name] = raw
	}
	if status := plugin.ScoreExtensions().NormalizeScore(ctx, state, pod, scores); !status.IsSuccess() {
		return nil, status.AsError()
	}
	for _, one := range scores {
		found.Score[one.Name] = one.Score
	}
	return found, nil
}

// alone is a plugin in the cluster of a case, with what selects Pods there, and the nodes.
func alone(ctx context.Context, given *cluster, name string, arguments apiruntime.Object) (
	judging, informers.SharedInformerFactory, []nodeInfo, error,
) {
	factory, _, err := given.informers()
	if err != nil {
		return nil, nil, nil, err
	}
	snapshot := cache.NewSnapshot(given.Pods, given.Nodes)
	plugin, err := pluginAlone(ctx, name, arguments, snapshot, factory)
	if err != nil {
		return nil, nil, nil, err
	}
	nodes, err := snapshot.List()
	return plugin, factory, nodes, err
}

func pluginAlone(
	ctx context.Context,
	name string,
	arguments apiruntime.Object,
	snapshot *cache.Snapshot,
	factory informers.SharedInformerFactory,
) (judging, error) {
	handle, err := runtime.NewFramework(
		ctx, nil, nil, runtime.WithSnapshotSharedLister(snapshot), runtime.WithInformerFactory(factory),
	)
	if err != nil {
		return nil, err
	}
	plugin, err := plugins.NewInTreeRegistry()[name](ctx, arguments, handle)
	if err != nil {
		return nil, err
	}
	return plugin.(judging), nil
}

// defaultSelector is that of Services and controllers; a plugin without default constraints has no use for one.
func defaultSelector(
	pod *v1.Pod, arguments *config.PodTopologySpreadArgs, factory informers.SharedInformerFactory,
) labels.Selector {
	if arguments.DefaultingType == config.ListDefaulting && len(arguments.DefaultConstraints) == 0 {
		return labels.Everything()
	}
	core, apps := factory.Core().V1(), factory.Apps().V1()
	return helper.DefaultSelector(
		pod,
		core.Services().Lister(),
		core.ReplicationControllers().Lister(),
		apps.ReplicaSets().Lister(),
		apps.StatefulSets().Lister(),
	)
}
