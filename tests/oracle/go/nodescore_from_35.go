//go:build kubernetes1.35

package main

import "k8s.io/kube-scheduler/framework"

type nodeScore = framework.NodeScore

// filtering is a plugin that filters nodes.
type filtering interface {
	framework.PreFilterPlugin
	framework.FilterPlugin
}

// judging is one that scores them, too.
type judging interface {
	filtering
	framework.PreScorePlugin
	framework.ScorePlugin
}
