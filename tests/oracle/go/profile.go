package main

import (
	"context"
	"sort"

	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	recorders "k8s.io/kubernetes/pkg/scheduler/profile"
)

// scheduled is what kube-scheduler says of a Pod, with all plugins of its default profile.
type scheduled struct {
	Feasible  []string                    `json:"feasible"`
	Reasons   map[string]refused          `json:"reasons"`
	Scores    map[string]map[string]int64 `json:"scores"`
	Total     map[string]int64            `json:"total"`
	Message   string                      `json:"message"`
	PreFilter string                      `json:"preFilter"`
}

// failed is what it says where a plugin fails: then it has no verdict on any node.
type failed struct {
	Error string `json:"error"`
}

type refused struct {
	Plugin  string   `json:"plugin"`
	Reasons []string `json:"reasons"`
}

func profile(line []byte) (any, error) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	given, running, err := filled(ctx, line)
	if err != nil {
		return nil, err
	}
	verdict, err := running.Verdict(ctx, given.Pod)
	if err != nil {
		return failed{err.Error()}, nil
	}

	sort.Strings(verdict.Feasible)
	found := scheduled{
		Feasible:  verdict.Feasible,
		Reasons:   map[string]refused{},
		Scores:    verdict.Scores,
		Total:     verdict.Total,
		PreFilter: verdict.Diagnosis.PreFilterMsg,
	}
	fits := map[string]bool{}
	for _, name := range verdict.Feasible {
		fits[name] = true
	}
	for _, node := range given.Nodes {
		if !fits[node.Name] {
			status := verdict.Diagnosis.NodeToStatus.Get(node.Name)
			found.Reasons[node.Name] = refused{status.Plugin(), status.Reasons()}
		}
	}
	if len(fits) == 0 {
		unfit := framework.FitError{Pod: given.Pod, NumAllNodes: len(given.Nodes), Diagnosis: verdict.Diagnosis}
		found.Message = unfit.Error()
	}
	return found, nil
}

// filled reads a case, and is the scheduler that knows its nodes and Pods.
func filled(ctx context.Context, line []byte) (*cluster, *scheduler.Scheduler, error) {
	given, err := read(line)
	if err != nil {
		return nil, nil, err
	}
	running, err := defaultScheduler(ctx, given)
	if err != nil {
		return nil, nil, err
	}
	for _, one := range given.Nodes {
		running.Cache.AddNode(klog.Background(), one)
	}
	for _, one := range given.Pods {
		if err := running.Cache.AddPod(klog.Background(), one); err != nil {
			return nil, nil, err
		}
	}
	return given, running, nil
}

// defaultScheduler is kube-scheduler as the case configures it.
func defaultScheduler(ctx context.Context, given *cluster) (*scheduler.Scheduler, error) {
	configuration, err := configured(given)
	if err != nil {
		return nil, err
	}
	factory, client, err := given.informers()
	if err != nil {
		return nil, err
	}
	recorder := recorders.NewRecorderFactory(events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()}))
	return scheduler.New(ctx, client, factory, nil, recorder, scheduler.WithProfiles(configuration.Profiles...))
}

// configured is the configuration of the case, or the one without any, but for the defaults of the case.
func configured(given *cluster) (*config.KubeSchedulerConfiguration, error) {
	if given.Configuration != nil {
		read, _, err := scheme.Codecs.UniversalDecoder().Decode(given.Configuration, nil, nil)
		if err != nil {
			return nil, err
		}
		return read.(*config.KubeSchedulerConfiguration), nil
	}
	configuration, err := latest.Default()
	if err != nil {
		return nil, err
	}
	for i, one := range configuration.Profiles[0].PluginConfig {
		if one.Name == podtopologyspread.Name {
			configuration.Profiles[0].PluginConfig[i].Args = given.arguments()
		}
	}
	return configuration, nil
}
