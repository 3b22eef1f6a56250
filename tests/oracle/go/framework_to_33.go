//go:build !kubernetes1.34

package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

type nodeInfo = *framework.NodeInfo

func preFilter(
	ctx context.Context,
	plugin filtering,
	state *framework.CycleState,
	pod *v1.Pod,
	nodes []nodeInfo,
) *framework.Status {
	_, status := plugin.PreFilter(ctx, state, pod)
	return status
}
