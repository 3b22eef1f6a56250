"""What there is of volumes in a cluster while it is made, and how each object of it looks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random

from tests.oracle.clusters.cluster import HOSTNAME, REGION, ZONE, Object, likely

BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
EBS_ZONE = "topology.ebs.csi.aws.com/zone"
EBS, LVM, NFS = "ebs.csi.aws.com", "topolvm.io", "nfs.csi.k8s.io"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
MIGRATED = "kubernetes.io/aws-ebs,kubernetes.io/azure-disk,kubernetes.io/cinder,kubernetes.io/gce-pd"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
# By name: provisioner, and whether it waits for the first Pod.
CLASSES = {
    "fast": (EBS, True),
    "immediate": (EBS, False),
    "local": (NO_PROVISIONER, True),
    "lvm": (LVM, True),
    "legacy": ("kubernetes.io/aws-ebs", True),
    "shared": (NFS, True),
    "silent": (NFS, True),
}


@dataclass
class Site:
    """A cluster with its Pods, the Pod to place, and the volumes that are there."""

    incoming: Object
    nodes: list[Object]
    pods: list[Object]
    volumes: list[Object] = field(default_factory=list)
    claims: list[Object] = field(default_factory=list)
    classes: dict[str, Object] = field(default_factory=dict)
    csi_nodes: dict[str, Object] = field(default_factory=dict)
    drivers: dict[str, Object] = field(default_factory=dict)
    capacities: list[Object] = field(default_factory=list)
    attachments: list[Object] = field(default_factory=list)

    @property
    def namespace(self) -> str:
        return self.incoming["metadata"]["namespace"]

    @property
    def names(self) -> list[str]:
        """The nodes' names."""
        return [node["metadata"]["name"] for node in self.nodes]

    def values(self, key: str) -> list[str]:
        """Return what nodes have at a label; there is always something."""
        return sorted({node["metadata"]["labels"].get(key, "nowhere") for node in self.nodes})

    def pods_on(self, name: str) -> list[Object]:
        """Return the Pods of a node."""
        return [pod for pod in self.pods if pod["spec"]["nodeName"] == name]

    def use(self, source: Object, pod: Object | None = None) -> Object:
        """Give the Pod, or another, a volume of that source."""
        volumes = (pod or self.incoming)["spec"].setdefault("volumes", [])
        volumes.append({"name": f"v{len(volumes)}", **source})
        return volumes[-1]

    def use_claim(self, claim: Object, pod: Object | None = None) -> None:
        """Give the Pod, or another, the volume of a claim."""
        self.use({"persistentVolumeClaim": {"claimName": claim["metadata"]["name"]}}, pod)

    def claim(self, class_name: str | None = None, namespace: str | None = None, **spec: object) -> Object:
        """Add a claim that is not bound."""
        name = f"claim-{len(self.claims)}"
        found = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": namespace or self.namespace, "uid": f"uid-{name}"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "5Gi"}},
                "volumeMode": "Filesystem",
                **({} if class_name is None else {"storageClassName": class_name}),
                **spec,
            },
            "status": {"phase": "Pending"},
        }
        self.claims.append(found)
        return found

    def volume(self, source: Object, class_name: str = "", **spec: object) -> Object:
        """Add a volume that is free."""
        name = f"pv-{len(self.volumes)}"
        found = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {
                **source,
                "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": "5Gi"},
                "persistentVolumeReclaimPolicy": "Delete",
                "storageClassName": class_name,
                "volumeMode": "Filesystem",
                **spec,
            },
            "status": {"phase": "Available"},
        }
        self.volumes.append(found)
        return found

    def bound(self, source: Object, class_name: str = "", namespace: str | None = None, **spec: object) -> Object:
        """Add a volume, and return the claim that is bound to it."""
        claim = self.claim(class_name, namespace)
        bind(claim, self.volume(source, class_name, **spec))
        return claim

    def csi(self, driver: str = EBS) -> Object:
        """Return the source of a volume that no other volume has."""
        return {"csi": {"driver": driver, "volumeHandle": f"vol-{len(self.volumes):04}"}}

    def need_class(self, name: str, **more: object) -> str:
        """Add a class, unless it is there, and return its name."""
        provisioner, waits = CLASSES[name]
        made = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name},
            "provisioner": provisioner,
            "reclaimPolicy": "Delete",
            "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate",
            **more,
        }
        self.classes.setdefault(name, made)
        return name

    def need_driver(self, name: str, **spec: object) -> None:
        """Add a CSIDriver, unless it is there."""
        made = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": name}, "spec": spec}
        self.drivers.setdefault(name, made)

    def limit(self, node: str, driver: str, count: int) -> None:
        """Let a node have so many volumes of a driver, if it has that."""
        for one in self.csi_nodes.get(node, {"spec": {"drivers": []}})["spec"]["drivers"]:
            if one["name"] == driver:
                one["allocatable"] = {"count": count}

    def attach(self, random: Random, node: str, source: Object, attacher: str = EBS) -> None:
        """Add a VolumeAttachment."""
        self.attachments.append(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "VolumeAttachment",
                "metadata": {"name": f"csi-{len(self.attachments)}"},
                "spec": {"attacher": attacher, "nodeName": node, "source": source},
                "status": {"attached": likely(random, 0.8)},
            }
        )


VolumeFeature = Callable[[Random, Site], None]


def bind(claim: Object, volume: Object) -> None:
    """Bind a claim and a volume as the controller does."""
    _name(claim, volume["metadata"]["name"])
    claim["metadata"]["annotations"] = {BIND_COMPLETED: "yes"}
    volume["spec"]["claimRef"] = reference(claim)
    volume["status"]["phase"] = "Bound"


def bind_to_nothing(claim: Object, name: str = "pv-gone") -> None:
    """Bind a claim to a volume that is gone."""
    _name(claim, name)
    claim["metadata"]["annotations"] = {BIND_COMPLETED: "yes"}


def _name(claim: Object, volume: str) -> None:
    claim["spec"]["volumeName"] = volume
    claim["status"]["phase"] = "Bound"


def reference(claim: Object) -> Object:
    """Return the claimRef of a volume."""
    metadata = claim["metadata"]
    names = {"name": metadata["name"], "namespace": metadata["namespace"], "uid": metadata["uid"]}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **names}


def owned(claim: Object, pod: Object) -> None:
    """Name a claim as that of the last volume of a Pod, which is its owner."""
    metadata = pod["metadata"]
    claim["metadata"]["name"] = f"{metadata['name']}-{pod['spec']['volumes'][-1]['name']}"
    owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"], "controller": True}
    claim["metadata"]["ownerReferences"] = [owner]


def near(*terms: Iterable[Object]) -> Object:
    """Return the nodeAffinity of a volume: one of the terms, and of that all expressions."""
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [*term]} for term in terms]}}


def at(key: str, *values: str) -> Object:
    """Return an expression."""
    return {"key": key, "operator": "In", "values": [*values]}


def label_nodes(random: Random, nodes: list[Object]) -> None:
    """Give nodes labels of old, in place of those of today or beside them, and those of a driver."""
    old, driver = random.choice((0, 0, 0, 0.3, 1)), random.choice((0, 0, 0.7, 1))
    for node in nodes:
        labels = node["metadata"]["labels"]
        zone = labels.get(ZONE)
        if zone and likely(random, old):
            labels |= {BETA_ZONE: zone, BETA_REGION: "r1"}
            if likely(random, 0.2):
                del labels[ZONE]
                labels.pop(REGION, None)
        if zone and likely(random, driver):
            labels[EBS_ZONE] = zone


def add_csi_nodes(random: Random, site: Site) -> None:
    """Add the CSINodes; some nodes have none, and some drivers are not everywhere."""
    there, migrated = random.choice((1, 1, 0.9, 0.7)), random.choice((1, 1, 0.7, 0))
    for node in site.nodes:
        name = node["metadata"]["name"]
        if not likely(random, there):
            continue
        metadata = {"name": name}
        if likely(random, migrated):
            metadata["annotations"] = {"storage.alpha.kubernetes.io/migrated-plugins": MIGRATED}
        drivers = [_driver(driver, name) for driver in (EBS, LVM) if likely(random, 0.9)]
        site.csi_nodes[name] = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": metadata,
            "spec": {"drivers": drivers},
        }


def _driver(name: str, node: str) -> Object:
    return {"name": name, "nodeID": f"i-{node}", "topologyKeys": [EBS_ZONE if name == EBS else HOSTNAME]}


def occupy(random: Random, site: Site, share: float) -> None:
    """Give so many of the Pods that run claims of their own, or that of another Pod, too."""
    before: Object | None = None
    for pod in site.pods:
        if not likely(random, share):
            continue
        namespace = pod["metadata"]["namespace"]
        if before and likely(random, 0.25) and before["metadata"]["namespace"] == namespace:
            site.use_claim(before, pod)
            continue
        before = site.bound(site.csi(random.choice((EBS, EBS, EBS, LVM))), "fast", namespace)
        site.use_claim(before, pod)
        if likely(random, 0.3):
            source = {"persistentVolumeName": before["spec"]["volumeName"]}
            site.attach(random, pod["spec"]["nodeName"], source)
