"""Claims, PersistentVolumes and what drivers report, as the API server prints them; and clusters that have them."""

from __future__ import annotations

from tests.support.placing import ZONE, node

EBS = "ebs.csi.aws.com"
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}


def claim(name, volume="", *, of_class="fast", size="1Gi", bound=None, annotations=None, phase="", **spec):
    """A claim in the namespace shop; one with a volume is bound to it."""
    done = BOUND if (bool(volume) if bound is None else bound) else {}
    named = {"volumeName": volume} if volume else {}
    classed = {} if of_class is None else {"storageClassName": of_class}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "shop", "annotations": {**done, **(annotations or {})}},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
            **classed,
            **named,
            **spec,
        },
        "status": {"phase": phase or ("Bound" if done else "Pending")},
    }


def volume(name, zone=None, *, key=ZONE, of_class="fast", size="1Gi", of=None, labels=None, **spec):
    """A PersistentVolume that nodes of a zone reach, or all; it is free, or of the claim `of`."""
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": [zone]}]}
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}} if zone else {}
    ref = {"claimRef": {"namespace": "shop", "name": of}} if of else {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": of_class,
            **affinity,
            **ref,
            **spec,
        },
        "status": {"phase": "Bound" if of else "Available"},
    }


def storage_class(name="fast", provisioner=EBS, mode="WaitForFirstConsumer", *, default=False, **fields):
    marked = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "annotations": marked},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
        **fields,
    }


def csi_node(name, limit=None, driver=EBS, keys=(ZONE,)):
    count = {} if limit is None else {"allocatable": {"count": limit}}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": [{"name": driver, "topologyKeys": list(keys), **count}]},
    }


def csi_driver(name=EBS, **spec):
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": name}, "spec": spec}


def capacity(name, free, zone, of_class="fast", **fields):
    """What a driver reports of the free storage in a zone."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": name, "namespace": "kube-system"},
        "storageClassName": of_class,
        "nodeTopology": {"matchLabels": {ZONE: zone}},
        "capacity": free,
        **fields,
    }


def attachment(name, node, volume, attacher=EBS):
    """What attaches a PersistentVolume to a node."""
    return {
        **{"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": name}},
        "spec": {"nodeName": node, "attacher": attacher, "source": {"persistentVolumeName": volume}},
    }


def using(*names):
    """The field of a Pod that has these claims as volumes."""
    return {"volumes": [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]}


def two_zones():
    return [node("a1", "a"), node("b1", "b"), csi_node("a1", 25), csi_node("b1", 25)]
