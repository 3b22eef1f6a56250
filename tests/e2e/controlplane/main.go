// Command controlplane is a Kubernetes control plane, and kubectl, in one program:
// `controlplane kube-apiserver --help`, or the same through a link named kube-apiserver.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	_ "time/tzdata" // CronJobs with a timeZone

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	_ "k8s.io/component-base/metrics/prometheus/clientgo" // the metrics of what a component asks of others
)

// Each builds its command only when called: a component registers its feature gates as it does.
var components = map[string]func(){
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kube-apiserver":          func() { os.Exit(cli.Run(apiserver.NewAPIServerCommand())) },
	"kube-controller-manager": func() { os.Exit(cli.Run(controllermanager.NewControllerManagerCommand())) },
	"kube-scheduler":          func() { os.Exit(cli.Run(scheduler.NewSchedulerCommand())) },
	"kubectl":                 func() { util.CheckErr(cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand())) },
}

func main() {
	run := components[filepath.Base(os.Args[0])]
	if run == nil && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		run = components[os.Args[0]]
	}
	if run == nil {
		fmt.Fprintln(os.Stderr, "usage: controlplane", strings.Join(slices.Sorted(maps.Keys(components)), "|"), "...")
		os.Exit(2)
	}
	run()
}
