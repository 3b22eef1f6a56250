package main

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	core "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// telling is an informer that tells a new handler at once of all that it holds, as one that runs and is in sync does.
// The volume binder of Kubernetes 1.34 and older knows no volume and no claim that it was not told of.
type telling struct{ cache.SharedIndexInformer }

func (t telling) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	for _, one := range t.GetIndexer().List() {
		handler.OnAdd(one, true)
	}
	return t.SharedIndexInformer.AddEventHandler(handler)
}

// tellOfVolumes has the factory use such informers for volumes and claims.
func tellOfVolumes(factory informers.SharedInformerFactory) {
	factory.InformerFor(
		&v1.PersistentVolume{},
		func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
			return telling{core.NewPersistentVolumeInformer(client, resync, cache.Indexers{})}
		},
	)
	factory.InformerFor(
		&v1.PersistentVolumeClaim{},
		func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
			byNamespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
			return telling{core.NewPersistentVolumeClaimInformer(client, v1.NamespaceAll, resync, byNamespace)}
		},
	)
}
