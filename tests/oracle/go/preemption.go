//go:build kubernetes1.33

package main

import (
	"context"
	"sort"

	v1 "k8s.io/api/core/v1"
)

func init() {
	modes["preemption"] = preemption
}

// preempting is what kube-scheduler makes of a Pod for which no node passes.
type preempting struct {
	Feasible   []string         `json:"feasible"`
	Candidates map[string]taken `json:"candidates"`
	Chosen     []string         `json:"chosen"`
	Message    string           `json:"message"`
}

// taken are the Pods that are preempted on a node, and how many PodDisruptionBudgets that violates.
type taken struct {
	Victims    []string `json:"victims"`
	Violations int64    `json:"violations"`
}

func preemption(line []byte) (any, error) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	given, running, err := filled(ctx, line)
	if err != nil {
		return nil, err
	}
	for _, one := range given.Waiting {
		running.Enqueue(ctx, one)
	}
	verdict, err := running.Preempt(ctx, given.Pod, given.PodDisruptionBudgets)
	if err != nil {
		return failed{err.Error()}, nil
	}
	sort.Strings(verdict.Feasible)
	found := preempting{verdict.Feasible, map[string]taken{}, []string{}, verdict.Message}
	for node, victims := range verdict.Candidates {
		found.Candidates[node] = taken{named(victims.Pods), victims.NumPDBViolations}
	}
	for node := range verdict.Chosen {
		found.Chosen = append(found.Chosen, node)
	}
	sort.Strings(found.Chosen)
	return found, nil
}

func named(pods []*v1.Pod) []string {
	names := []string{}
	for _, one := range pods {
		names = append(names, one.Name)
	}
	return names
}
