//go:build !kubernetes1.34

package scheduler

import "k8s.io/kubernetes/pkg/scheduler/framework"

type nodeInfo = *framework.NodeInfo

const unschedulable = framework.Unschedulable

type nodeScores = framework.NodePluginScores
