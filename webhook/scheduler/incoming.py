"""A Pod that is to be placed: what it asks of the node that it will run on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from webhook.objects.fields import Raw, as_list, as_mapping, children
from webhook.objects.labels import Labels
from webhook.objects.reading import Reader
from webhook.objects.workload import Workload
from webhook.scheduler.affinity import ANY_NODE, PreferredTerm, RequiredNodeAffinity, read_preferred, read_required
from webhook.scheduler.counts import NO_REQUESTS, Requests
from webhook.scheduler.features import Features
from webhook.scheduler.taints import Toleration

PLACING = frozenset({"tolerations", "nodeSelector", "affinity"})  # By these fields a Pod chooses among nodes.
MOST_PLACING_VALUES = 200
# The volumes that bind a Pod to nodes, or of which a node takes only so many.
VOLUME_KINDS = frozenset(
    {
        *("awsElasticBlockStore", "azureDisk", "cinder", "csi", "ephemeral", "gcePersistentDisk", "iscsi"),
        *("persistentVolumeClaim", "rbd"),
    }
)


@dataclass(frozen=True, slots=True)
class IncomingPod:
    """
    A Pod that is to be placed; of its constraints only those in force count, which are given apart.

    `node_name` is its spec.nodeName: "" for a Pod that the scheduler is to place.
    """

    namespace: str
    labels: Labels
    affinity: RequiredNodeAffinity = ANY_NODE
    preferred: tuple[PreferredTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    node_name: str = ""
    requests: Requests = NO_REQUESTS


def read_incoming_pod(reader: Reader, raw: Mapping[str, object], features: Features | None = None) -> IncomingPod:
    """
    Return a raw Pod; `reader` collects what has the wrong type.

    With `features`, its requests are read, too, as that version counts them; without, it requests nothing.
    """
    metadata = reader.mapping(raw.get("metadata"), ("metadata",))
    spec = reader.mapping(raw.get("spec"), ("spec",))
    return IncomingPod(
        namespace=reader.string(metadata.get("namespace"), ("metadata", "namespace")) or "",
        labels=reader.string_map(metadata.get("labels"), ("metadata", "labels")),
        affinity=read_required(reader, spec),
        preferred=read_preferred(reader, spec),
        tolerations=tuple(
            [
                Toleration(*[reader.string(item.get(name), at, name) or "" for name in Toleration._fields])
                for item, at in reader.mappings(spec.get("tolerations"), ("spec", "tolerations"))
            ]
        ),
        node_name=reader.string(spec.get("nodeName"), ("spec", "nodeName")) or "",
        requests=NO_REQUESTS if features is None else _requests(reader, raw, features),
    )


def pod_of(workload: Workload) -> IncomingPod:
    """Return a Pod of the workload without its requests; what has the wrong type reads as if it were absent."""
    spec = {name: value for name, value in (workload.pod_spec or {}).items() if name in PLACING}
    if not spec:
        return IncomingPod(workload.namespace, workload.labels)
    pod = read_incoming_pod(Reader(), {"metadata": {"namespace": workload.namespace}, "spec": spec})
    return replace(pod, labels=workload.labels)  # which may be many, and are read already


def places_quickly(pod_spec: Mapping[str, object]) -> bool:
    """Return whether tolerations, node selector and node affinity can be held against all nodes in reasonable time."""
    affinity = as_mapping(pod_spec.get("affinity")).get("nodeAffinity")
    values = [pod_spec.get("tolerations"), pod_spec.get("nodeSelector"), affinity]
    for value in values:  # the loop appends to it
        values += children(value)
        if len(values) > MOST_PLACING_VALUES:
            return False
    return True


def _requests(reader: Reader, raw: Mapping[str, object], features: Features) -> Requests:
    from webhook.scheduler.resources import read_requests  # A server has no use for it.

    return read_requests(reader, raw, features, bound=False)


def not_judged(spec: Raw, claims: Sequence[object] = ()) -> Iterator[str]:
    """
    Yield the features of a Pod that are not computed, and may refuse further nodes and change reasons and numbers.

    `claims` are templates of volumes that its controller adds.  On the host's network each port is one of the host,
    which the API server writes into Pods, and not into templates.
    """
    containers = [as_mapping(container) for container in as_list(spec.get("containers"))]
    init_containers = [as_mapping(container) for container in as_list(spec.get("initContainers"))]
    containers += [container for container in init_containers if container.get("restartPolicy") == "Always"]
    ports = [as_mapping(port) for container in containers for port in as_list(container.get("ports"))]
    if any(port.get("hostPort") or spec.get("hostNetwork") is True for port in ports):
        yield "host ports"
    if claims or any(as_mapping(volume).keys() & VOLUME_KINDS for volume in as_list(spec.get("volumes"))):
        yield "volumes"
    affinity = as_mapping(spec.get("affinity"))
    if affinity.get("podAffinity") or affinity.get("podAntiAffinity"):
        yield "affinity between Pods"
    if spec.get("resourceClaims"):
        yield "dynamic resources"
