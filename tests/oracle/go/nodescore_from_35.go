//go:build kubernetes1.35

package main

import "k8s.io/kube-scheduler/framework"

type nodeScore = framework.NodeScore
