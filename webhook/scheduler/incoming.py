"""A Pod that is to be placed: what it asks of the node that it will run on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from webhook.objects.fields import as_mapping, children
from webhook.objects.labels import Labels
from webhook.objects.reading import Reader
from webhook.objects.workload import Workload
from webhook.scheduler.affinity import ANY_NODE, PreferredTerm, RequiredNodeAffinity, read_preferred, read_required
from webhook.scheduler.counts import NO_REQUESTS, Requests
from webhook.scheduler.features import Features
from webhook.scheduler.taints import Toleration

PLACING = frozenset({"tolerations", "nodeSelector", "affinity"})  # By these fields a Pod chooses among nodes.
MOST_PLACING_VALUES = 200


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
    A raw Pod; `reader` collects what has the wrong type.

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
