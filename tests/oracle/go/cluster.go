package main

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
)

// cluster is a case: a Pod to place, and all that there is.
type cluster struct {
	Config struct {
		DefaultingType     config.PodTopologySpreadConstraintsDefaulting
		DefaultConstraints []v1.TopologySpreadConstraint
	}
	Configuration          json.RawMessage // A KubeSchedulerConfiguration, in place of the default profile.
	Pod                    *v1.Pod
	Nodes                  []*v1.Node
	Pods                   []*v1.Pod
	Waiting                []*v1.Pod // With a nominated node.
	Services               []*v1.Service
	ReplicationControllers []*v1.ReplicationController
	ReplicaSets            []*appsv1.ReplicaSet
	StatefulSets           []*appsv1.StatefulSet
	Namespaces             []*v1.Namespace
	PersistentVolumes      []*v1.PersistentVolume
	PersistentVolumeClaims []*v1.PersistentVolumeClaim
	StorageClasses         []*storagev1.StorageClass
	CSINodes               []*storagev1.CSINode
	CSIDrivers             []*storagev1.CSIDriver
	CSIStorageCapacities   []*storagev1.CSIStorageCapacity
	VolumeAttachments      []*storagev1.VolumeAttachment
	PodDisruptionBudgets   []*policyv1.PodDisruptionBudget
}

func read(line []byte) (*cluster, error) {
	var given cluster
	return &given, json.Unmarshal(line, &given)
}

// arguments are those of the plugin PodTopologySpread.
func (c *cluster) arguments() *config.PodTopologySpreadArgs {
	return &config.PodTopologySpreadArgs{
		DefaultingType:     c.Config.DefaultingType,
		DefaultConstraints: c.Config.DefaultConstraints,
	}
}

// informers hold what selects Pods, the namespaces that Pods select, all of volumes, and what preemption asks for.  They are never started: the
// client has no server to ask.
func (c *cluster) informers() (informers.SharedInformerFactory, kubernetes.Interface, error) {
	client, err := kubernetes.NewForConfig(&rest.Config{})
	if err != nil {
		return nil, nil, err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	tellOfVolumes(factory)
	core, apps, storage := factory.Core().V1(), factory.Apps().V1(), factory.Storage().V1()
	for _, err := range []error{
		fill(core.Services().Informer(), c.Services),
		fill(core.ReplicationControllers().Informer(), c.ReplicationControllers),
		fill(apps.ReplicaSets().Informer(), c.ReplicaSets),
		fill(apps.StatefulSets().Informer(), c.StatefulSets),
		fill(core.Namespaces().Informer(), c.Namespaces),
		fill(core.Pods().Informer(), append([]*v1.Pod{c.Pod}, c.Waiting...)),
		fill(factory.Policy().V1().PodDisruptionBudgets().Informer(), c.PodDisruptionBudgets),
		fill(core.PersistentVolumes().Informer(), c.PersistentVolumes),
		fill(core.PersistentVolumeClaims().Informer(), c.PersistentVolumeClaims),
		fill(storage.StorageClasses().Informer(), c.StorageClasses),
		fill(storage.CSINodes().Informer(), c.CSINodes),
		fill(storage.CSIDrivers().Informer(), c.CSIDrivers),
		fill(storage.CSIStorageCapacities().Informer(), c.CSIStorageCapacities),
		fill(storage.VolumeAttachments().Informer(), c.VolumeAttachments),
	} {
		if err != nil {
			return nil, nil, err
		}
	}
	return factory, client, nil
}

func fill[T any](informer cache.SharedIndexInformer, objects []T) error {
	for _, one := range objects {
		if err := informer.GetIndexer().Add(one); err != nil {
			return err
		}
	}
	return nil
}
