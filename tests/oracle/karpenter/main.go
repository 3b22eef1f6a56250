// Karpenter says which nodes it would start for new Pods: a case a line comes in, the decision goes out as a line of JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakecr "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/cloudprovider/fake"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/test"
)

// Instance types of 1 to largest CPUs, each with 2 GiB and 10 Pods for a CPU, in test-zone-1 to test-zone-3.
const largest = 64

// runs is how often a case is decided, of which the decision for the most nodes counts: among equal zones Karpenter takes
// the first of a map, which Go walks in random order.
const runs = 5

var podLabels = map[string]string{"app": "web"}

// aCase is Pods of one workload that wait, and the nodes that are there.
type aCase struct {
	Pods        int                               `json:"pods"`
	CPU         resource.Quantity                 `json:"cpu"`
	Constraints []corev1.TopologySpreadConstraint `json:"constraints"`
	Nodes       []node                            `json:"nodes"`
}

// node runs Pods of the workload already, and has room for some more.
type node struct {
	Zone    string `json:"zone"`
	Running int    `json:"running"`
	Room    int    `json:"room"`
}

// decision is the number of Pods on each new node, for each zone.
type decision [][]int

func (d decision) nodes() int {
	number := 0
	for _, zone := range d {
		number += len(zone)
	}
	return number
}

func main() {
	log.SetLogger(logging.NopLogger)
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var given aCase
		err := in.Decode(&given)
		if errors.Is(err, io.EOF) {
			return
		}
		most := decision{}
		for run := 0; run < runs && err == nil; run++ {
			var decided decision
			decided, err = decide(given)
			if decided.nodes() > most.nodes() {
				most = decided
			}
		}
		if err == nil {
			err = out.Encode(most)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func decide(given aCase) (decision, error) {
	ctx := options.ToContext(injection.WithControllerName(context.Background(), "provisioner"), test.Options())
	byNode := func(pod client.Object) []string { return []string{pod.(*corev1.Pod).Spec.NodeName} }
	kube := fakecr.NewClientBuilder().WithIndex(&corev1.Pod{}, "spec.nodeName", byNode).Build()
	provider := fake.NewCloudProvider()
	provider.InstanceTypes = fake.InstanceTypes(largest)
	cluster := state.NewCluster(clock.RealClock{}, kube, provider)
	for i, there := range given.Nodes {
		if err := add(ctx, kube, cluster, fmt.Sprintf("node-%d", i), there, given.CPU); err != nil {
			return nil, err
		}
	}
	pods := make([]*corev1.Pod, given.Pods)
	for i := range pods {
		pods[i] = pod(fmt.Sprintf("new-%d", i), given.CPU, "")
		for _, constraint := range given.Constraints {
			constraint.LabelSelector = &metav1.LabelSelector{MatchLabels: podLabels}
			pods[i].Spec.TopologySpreadConstraints = append(pods[i].Spec.TopologySpreadConstraints, constraint)
		}
	}
	pool := test.NodePool()
	pool.Spec.Limits = nil
	pools, types := []*v1.NodePool{pool}, map[string][]*cloudprovider.InstanceType{pool.Name: provider.InstanceTypes}
	nodes := cluster.DeepCopyNodes()
	topology, err := scheduling.NewTopology(ctx, kube, cluster, nodes, pools, types, pods)
	if err != nil {
		return nil, err
	}
	recorder := events.NewRecorder(&record.FakeRecorder{})
	scheduler := scheduling.NewScheduler(
		ctx, kube, pools, cluster, nodes, topology, types, nil, recorder, clock.RealClock{}, nil, nil)
	results, err := scheduler.Solve(ctx, pods)
	if err != nil {
		return nil, err
	}
	for _, err := range results.PodErrors {
		return nil, err
	}
	return podsByZone(results.NewNodeClaims), nil
}

func add(ctx context.Context, kube client.Client, cluster *state.Cluster, name string, there node, cpu resource.Quantity) error {
	made := test.Node(test.NodeOptions{
		ObjectMeta: metav1.ObjectMeta{
			Name:   name,
			Labels: map[string]string{corev1.LabelTopologyZone: there.Zone, corev1.LabelHostname: name},
		},
		Allocatable: corev1.ResourceList{
			corev1.ResourceCPU:  *resource.NewMilliQuantity(cpu.MilliValue()*int64(there.Running+there.Room), resource.DecimalSI),
			corev1.ResourcePods: resource.MustParse("110"),
		},
	})
	made.Namespace = ""
	if err := kube.Create(ctx, made); err != nil {
		return err
	}
	for i := range there.Running {
		if err := kube.Create(ctx, pod(fmt.Sprintf("%s-%d", name, i), cpu, name)); err != nil {
			return err
		}
	}
	return cluster.UpdateNode(ctx, made)
}

func pod(name string, cpu resource.Quantity, node string) *corev1.Pod {
	return test.Pod(test.PodOptions{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), Labels: podLabels},
		NodeName:   node,
		ResourceRequirements: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: cpu},
		},
	})
}

// podsByZone sorts nodes and zones by their Pods, the most first; zones that a node may still be in count as one.
func podsByZone(claims []*scheduling.NodeClaim) decision {
	byZone := map[string][]int{}
	for _, claim := range claims {
		zones := claim.Requirements.Get(corev1.LabelTopologyZone).Values()
		slices.Sort(zones)
		zone := strings.Join(zones, ",")
		byZone[zone] = append(byZone[zone], len(claim.Pods))
	}
	pods := decision{}
	for _, counts := range byZone {
		slices.Sort(counts)
		slices.Reverse(counts)
		pods = append(pods, counts)
	}
	slices.SortFunc(pods, func(a, b []int) int { return slices.Compare(b, a) })
	return pods
}
