"""A Pod that is to be placed: what it asks of the node that it will run on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from webhook.objects.fields import as_mapping, children, integer, texts_at
from webhook.objects.labels import Labels
from webhook.objects.reading import Reader
from webhook.objects.workload import Workload
from webhook.scheduler.affinity import (
    ANY_NODE,
    PreferredTerm,
    RequiredNodeAffinity,
    has_pod_affinity,
    read_preferred,
    read_required,
)
from webhook.scheduler.counts import NO_REQUESTS, Requests
from webhook.scheduler.features import Features
from webhook.scheduler.taints import Toleration
from webhook.scheduler.volumes import NO_MOUNTS, Mounts

if TYPE_CHECKING:
    from webhook.scheduler.host_ports import HostPort
    from webhook.scheduler.images import PodImages
    from webhook.scheduler.pod_affinity import PodAffinity

PLACING = frozenset({"tolerations", "nodeSelector", "affinity"})  # By these fields a Pod chooses among nodes.
MOST_PLACING_VALUES = 200  # Each is held against every node, in a review.


@dataclass(frozen=True, slots=True)
class IncomingPod:
    """
    A Pod that is to be placed; of its constraints only those in force count, which are given apart.

    `node_name` is its spec.nodeName: "" for a Pod that the scheduler is to place.  `images` are those of its
    containers, `mounts` its volumes, `required_features` what the kubelet of its node must declare.  It `preempts` Pods
    of lower `priority`, unless its preemptionPolicy is Never.  `nominated_node` is its status.nominatedNodeName, and
    `name` its own: both are "" for a Pod that has no such node.
    """

    namespace: str
    labels: Labels
    affinity: RequiredNodeAffinity = ANY_NODE
    preferred: tuple[PreferredTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    node_name: str = ""
    requests: Requests = NO_REQUESTS
    pod_affinity: PodAffinity | None = None
    ports: tuple[HostPort, ...] = ()
    images: PodImages | None = None
    required_features: frozenset[str] = frozenset()
    priority: int = 0
    preempts: bool = True
    mounts: Mounts = NO_MOUNTS
    name: str = ""
    nominated_node: str = ""


def read_incoming_pod(reader: Reader, raw: Mapping[str, object], features: Features | None = None) -> IncomingPod:
    """
    Return a raw Pod; `reader` collects what has the wrong type.

    With `features`, what it asks for beside labels and taints is read, too, as that version counts it.
    """
    metadata = reader.mapping(raw.get("metadata"), ("metadata",))
    spec = reader.mapping(raw.get("spec"), ("spec",))
    pod = IncomingPod(
        namespace=reader.string(metadata.get("namespace"), ("metadata", "namespace")) or "",
        labels=reader.string_map(metadata.get("labels"), ("metadata", "labels")),
        affinity=read_required(reader, spec),
        preferred=read_preferred(reader, spec),
        tolerations=_tolerations(reader, spec),
        node_name=reader.string(spec.get("nodeName"), ("spec", "nodeName")) or "",
    )
    return pod if features is None else _with_resources(pod, reader, raw, features)


def pod_of(workload: Workload) -> IncomingPod:
    """
    Return a Pod of the workload with what decides which nodes it can use, and nothing else; what has the wrong type
    reads as if it were absent.
    """
    spec = workload.pod_spec or {}
    if PLACING.isdisjoint(spec):
        return IncomingPod(workload.namespace, workload.labels)
    reader = Reader()
    affinity, tolerations = read_required(reader, spec), _tolerations(reader, spec)
    return IncomingPod(workload.namespace, workload.labels, affinity, tolerations=tolerations)


def _tolerations(reader: Reader, spec: Mapping[str, object]) -> tuple[Toleration, ...]:
    return tuple(
        [
            Toleration(*[reader.string(item.get(name), at, name) or "" for name in Toleration._fields])
            for item, at in reader.mappings(spec.get("tolerations"), ("spec", "tolerations"))
        ]
    )


def places_quickly(pod_spec: Mapping[str, object]) -> bool:
    """Return whether tolerations, node selector and node affinity can be held against all nodes in reasonable time."""
    affinity = as_mapping(pod_spec.get("affinity")).get("nodeAffinity")
    values = [pod_spec.get("tolerations"), pod_spec.get("nodeSelector"), affinity]
    for value in values:  # the loop appends to it
        values += children(value)
        if len(values) > MOST_PLACING_VALUES:
            return False
    return True


def _with_resources(pod: IncomingPod, reader: Reader, raw: Mapping[str, object], features: Features) -> IncomingPod:
    """Return the Pod with its requests, ports and images, its affinity to other Pods, and the features it needs."""
    # A server that looks at labels and taints only has no use for these modules.
    from webhook.scheduler.declared_features import required_features
    from webhook.scheduler.host_ports import read_host_ports
    from webhook.scheduler.images import read_images
    from webhook.scheduler.pod_affinity import read_pod_affinity
    from webhook.scheduler.resources import read_requests
    from webhook.scheduler.volumes import read_mounts

    spec = as_mapping(raw.get("spec"))
    affinity = spec.get("affinity")
    nominated, name = texts_at(raw, "status.nominatedNodeName", "metadata.name")
    return replace(
        pod,
        requests=read_requests(reader, raw, features, bound=False),
        pod_affinity=read_pod_affinity(reader, affinity, pod.namespace) if has_pod_affinity(affinity) else None,
        ports=read_host_ports(reader, spec),
        images=read_images(reader, spec, features),
        required_features=required_features(spec, features),
        priority=integer(spec.get("priority")) or 0,
        preempts=spec.get("preemptionPolicy") != "Never",
        mounts=read_mounts(reader, raw),
        name=name if nominated else "",
        nominated_node=nominated,
    )
