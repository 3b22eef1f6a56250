"""A Pod that is to be placed: what it asks of the node that it will run on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evenkeel.scheduler.declared_features import required_features
from evenkeel.scheduler.host_ports import HostPort, read_host_ports
from evenkeel.scheduler.images import PodImages, read_images
from evenkeel.scheduler.pod_affinity import PodAffinity, read_pod_affinity
from evenkeel.scheduler.pod_counts import NO_REQUESTS, Requests
from evenkeel.scheduler.resources import read_requests
from evenkeel.scheduler.volumes import NO_MOUNTS, Mounts, read_mounts
from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import integer, texts_at
from webhook.kubernetes.reader import Reader
from webhook.spread.affinity import PreferredTerm, has_pod_affinity, read_preferred, read_required
from webhook.spread.new_pod import NewPod, read_tolerations


@dataclass(frozen=True, slots=True)
class IncomingPod(NewPod):
    """A Pod that is to be placed, without its constraints: a Cycle has those in force."""

    preferred: tuple[PreferredTerm, ...] | None = None  # Of its node affinity.
    node_name: str = ""  # spec.nodeName, which the scheduler's filter NodeName heeds; "" for most.
    requests: Requests = NO_REQUESTS
    pod_affinity: PodAffinity | None = None
    ports: tuple[HostPort, ...] = ()
    images: PodImages | None = None
    required_features: frozenset[str] = frozenset()  # What the kubelet of its node must declare.
    priority: int = 0
    preempts: bool = True  # False if its preemptionPolicy is Never.
    mounts: Mounts = NO_MOUNTS  # Its volumes.
    name: str = ""  # Read only if it has a nominated node; else "".
    nominated_node: str = ""  # status.nominatedNodeName


def read_incoming_pod(reader: Reader, raw: Mapping[str, object], features: Features) -> IncomingPod:
    """Read a raw Pod as this version counts it; `reader` collects what has the wrong type."""
    metadata = reader.mapping(raw.get("metadata"), ("metadata",))
    spec = reader.mapping(raw.get("spec"), ("spec",))
    affinity = spec.get("affinity")
    nominated, name = texts_at(raw, "status.nominatedNodeName", "metadata.name")
    namespace = reader.string(metadata.get("namespace"), ("metadata", "namespace")) or ""
    return IncomingPod(
        namespace=namespace,
        labels=reader.string_map(metadata.get("labels"), ("metadata", "labels")),
        affinity=read_required(reader, spec),
        preferred=read_preferred(reader, spec),
        tolerations=read_tolerations(reader, spec),
        node_name=reader.string(spec.get("nodeName"), ("spec", "nodeName")) or "",
        requests=read_requests(reader, raw, features, bound=False),
        pod_affinity=read_pod_affinity(reader, affinity, namespace) if has_pod_affinity(affinity) else None,
        ports=read_host_ports(reader, spec),
        images=read_images(reader, spec, features),
        required_features=required_features(spec, features),
        priority=integer(spec.get("priority")) or 0,
        preempts=spec.get("preemptionPolicy") != "Never",
        mounts=read_mounts(reader, raw),
        name=name if nominated else "",
        nominated_node=nominated,
    )
