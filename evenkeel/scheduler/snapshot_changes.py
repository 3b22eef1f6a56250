"""What a snapshot is with Pods on a new node, without a Pod, or without what may not be listed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from evenkeel.scheduler.pod_counts import UNUSED, BoundPod, LabelSet, PodGroup
from evenkeel.scheduler.snapshot import NamedPod, Snapshot
from evenkeel.scheduler.storage import NO_STORAGE
from evenkeel.scheduler.storage_objects import STORAGE_RESOURCES

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")
DEVICE_CLASSES, BUDGET_RESOURCE = "deviceclasses", "poddisruptionbudgets"
Groups = Mapping[LabelSet, PodGroup]


def without_missing(snapshot: Snapshot, missing: Collection[str]) -> Snapshot:
    """Mark what these resources would say as unknown, since they may not be listed."""
    storage = snapshot.storage or NO_STORAGE
    return replace(
        snapshot,
        storage=replace(storage, unread=storage.unread | STORAGE_RESOURCES.intersection(missing)),
        budgets=None if BUDGET_RESOURCE in missing else snapshot.budgets,
        device_resources=None if DEVICE_CLASSES in missing else snapshot.device_resources,
    )


def without_pod(snapshot: Snapshot, namespace: str, name: str, pod: BoundPod) -> Snapshot:
    """Return a copy in which a Pod of the snapshot is neither counted nor takes up room or ports."""
    node = pod.node
    usage = snapshot.usage.get(node, UNUSED).plus(pod.requests, -1)
    fields: dict[str, Any] = {"usage": _with(snapshot.usage, node, usage if usage.pods else None)}
    if pod.affinity is not None:
        fields["affine"] = _less_on(snapshot.affine, pod.affinity, node)
    if pod.mounts is not None:
        fields["mounts"] = _less_on(snapshot.mounts, pod.mounts, node)
    if pod.ports:
        taken = snapshot.ports.get(node, {})
        for port in pod.ports:
            taken = _less(taken, port)
        fields["ports"] = _with(snapshot.ports, node, taken or None)
    others = tuple([other for other in snapshot.pods_of(node) if (other.namespace, other.name) != (namespace, name)])
    fields["pods_on"] = _with(snapshot.pods_on, node, others or None)
    lowest = min([other.pod.priority for other in others], default=None)
    if lowest != snapshot.priorities.get(node):
        fields["priorities"] = _with(snapshot.priorities, node, lowest)
    groups_field = "pods" if pod.spreads else "terminating"
    fields[groups_field] = _less_counted(getattr(snapshot, groups_field), namespace, pod)
    return replace(snapshot, **fields)


def with_pods(snapshot: Snapshot, pods: Iterable[NamedPod], node: str) -> Snapshot:
    """Return a copy in which Pods like these run on a node that has none; they are not in `pods_on`."""
    for namespace, _, pod in pods:
        groups = snapshot.pods.get(namespace, {})
        group = groups.get(pod.labels) or PodGroup(dict(pod.labels), {})
        counted = PodGroup(group.labels, {**group.nodes, node: group.nodes.get(node, 0) + 1})
        fields: dict[str, Any] = {
            "usage": {**snapshot.usage, node: snapshot.usage.get(node, UNUSED).plus(pod.requests)},
            "pods": {**snapshot.pods, namespace: {**groups, pod.labels: counted}},
        }
        if pod.affinity is not None:
            on_nodes = snapshot.affine.get(pod.affinity, {})
            fields["affine"] = {**snapshot.affine, pod.affinity: {**on_nodes, node: on_nodes.get(node, 0) + 1}}
        if pod.ports:
            fields["ports"] = {**snapshot.ports, node: {**snapshot.ports.get(node, {}), **dict.fromkeys(pod.ports, 1)}}
        snapshot = replace(snapshot, **fields)
    return snapshot


def _less_counted(pods: Mapping[str, Groups], namespace: str, pod: BoundPod) -> Mapping[str, Groups]:
    """Count one Pod less like this one; empty groups are left out."""
    groups = pods.get(namespace, {})
    group = groups.get(pod.labels) or PodGroup(dict(pod.labels), {})
    nodes = _less(group.nodes, pod.node)
    groups = _with(groups, pod.labels, PodGroup(group.labels, nodes) if nodes else None)
    return _with(pods, namespace, groups or None)


def _less_on(numbers: Mapping[KeyT, Mapping[str, int]], key: KeyT, node: str) -> Mapping[KeyT, Mapping[str, int]]:
    return _with(numbers, key, _less(numbers.get(key, {}), node) or None)


def _less(numbers: Mapping[KeyT, int], key: KeyT) -> Mapping[KeyT, int]:
    """Take one from the number of a key, and leave out the key at 0."""
    return _with(numbers, key, max(0, numbers.get(key, 0) - 1) or None)


def _with(values: Mapping[KeyT, ValueT], key: KeyT, value: ValueT | None) -> Mapping[KeyT, ValueT]:
    """Return a copy in which a key has this value; None removes the key."""
    new = dict(values)
    if value is None:
        new.pop(key, None)
    else:
        new[key] = value
    return new
