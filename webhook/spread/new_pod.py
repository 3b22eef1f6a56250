"""A Pod of a workload: what decides which nodes it can use, whatever it requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webhook.kubernetes.fields import as_mapping, children
from webhook.kubernetes.labels import Labels
from webhook.kubernetes.reader import Reader
from webhook.kubernetes.workload import Workload
from webhook.spread.affinity import ANY_NODE, RequiredNodeAffinity, read_required
from webhook.spread.taints import Toleration

PLACING = frozenset({"tolerations", "nodeSelector", "affinity"})  # By these fields a Pod chooses among nodes.
MOST_PLACING_VALUES = 200  # JSON values in these fields: a review checks each against every node


@dataclass(frozen=True, slots=True)
class NewPod:
    """A Pod with what decides which nodes it can use, and nothing else: no constraints, either."""

    namespace: str
    labels: Labels
    affinity: RequiredNodeAffinity = ANY_NODE
    tolerations: tuple[Toleration, ...] = ()


def pod_of(workload: Workload) -> NewPod:
    """Return a Pod of the workload; what has the wrong type reads as if it were absent."""
    spec = workload.pod_spec or {}
    if PLACING.isdisjoint(spec):
        return NewPod(workload.namespace, workload.labels)
    reader = Reader()
    affinity, tolerations = read_required(reader, spec), read_tolerations(reader, spec)
    return NewPod(workload.namespace, workload.labels, affinity, tolerations)


def read_tolerations(reader: Reader, spec: Mapping[str, object]) -> tuple[Toleration, ...]:
    """Read the tolerations in the spec of a raw Pod."""
    return tuple(
        [
            Toleration(*[reader.string(item.get(name), path, name) or "" for name in Toleration._fields])
            for item, path in reader.mappings(spec.get("tolerations"), ("spec", "tolerations"))
        ]
    )


def places_quickly(pod_spec: Mapping[str, object]) -> bool:
    """Return whether all nodes can be checked against tolerations, node selector and node affinity in a short time."""
    affinity = as_mapping(pod_spec.get("affinity")).get("nodeAffinity")
    values = [pod_spec.get("tolerations"), pod_spec.get("nodeSelector"), affinity]
    for value in values:  # The loop appends to the list that it goes through.
        values += children(value)
        if len(values) > MOST_PLACING_VALUES:
            return False
    return True
