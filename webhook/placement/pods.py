"""A snapshot with fewer Pods: those that are named, or as many as it takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TypeVar

from webhook.scheduler.counts import UNUSED, BoundPod, LabelSet, PodGroup
from webhook.scheduler.selectors import Selector
from webhook.scheduler.snapshot import Snapshot

Groups = Mapping[LabelSet, PodGroup]
KeyT = TypeVar("KeyT")


def without_pod(snapshot: Snapshot, namespace: str, name: str, pod: BoundPod) -> Snapshot:
    """Return a copy in which a Pod of the snapshot is neither counted nor takes up room or ports."""
    usage, affine, ports, mounts = snapshot.usage, snapshot.affine, snapshot.ports, snapshot.mounts
    if pod.requests is not None and pod.node in usage:
        left = usage[pod.node].plus(pod.requests, -1)
        usage = {**usage, pod.node: left if left.pods else UNUSED}
    if pod.affinity is not None and pod.affinity in affine:
        affine = {**affine, pod.affinity: _one_fewer(affine[pod.affinity], pod.node)}
    if pod.mounts is not None and pod.mounts in mounts:
        mounts = {**mounts, pod.mounts: _one_fewer(mounts[pod.mounts], pod.node)}
    for port in pod.ports:
        ports = {**ports, pod.node: _one_fewer(ports.get(pod.node, {}), port)}
    pods_on = snapshot.pods_on
    if pod.node in pods_on:
        others = [named for named in pods_on[pod.node] if (named.namespace, named.name) != (namespace, name)]
        pods_on = {**pods_on, pod.node: tuple(others)}
    counted, terminating = snapshot.pods, snapshot.terminating
    if pod.spreads:
        counted = _without(counted, namespace, pod)
    else:
        terminating = _without(terminating, namespace, pod)
    return replace(
        snapshot,
        pods=counted,
        terminating=terminating,
        usage=usage,
        affine=affine,
        ports=ports,
        mounts=mounts,
        pods_on=pods_on,
    )


def _without(pods: Mapping[str, Groups], namespace: str, pod: BoundPod) -> Mapping[str, Groups]:
    groups = pods.get(namespace, {})
    if pod.labels not in groups:
        return pods
    return {**pods, namespace: _with_nodes(groups, {pod.labels: _one_fewer(groups[pod.labels].nodes, pod.node)})}


def with_fewer(groups: Groups, selector: Selector, on: Collection[str], number: int) -> Groups:
    """Return the groups without `number` of the Pods that a selector matches on these nodes, first where most are."""
    there = [
        (amount, node, labels)
        for labels, group in groups.items()
        if selector.matches(group.labels)
        for node, amount in group.nodes.items()
        if node in on
    ]
    left: dict[LabelSet, dict[str, int]] = {}
    for amount, node, labels in sorted(there, key=lambda on_node: (-on_node[0], on_node[1], on_node[2])):
        if not number:
            break
        taken = min(amount, number)
        number -= taken
        nodes = left.setdefault(labels, dict(groups[labels].nodes))
        nodes[node] -= taken
    return _with_nodes(groups, left)


def _with_nodes(groups: Groups, changed: Mapping[LabelSet, Mapping[str, int]]) -> Groups:
    """Return the groups with other numbers of Pods by node; empty nodes and groups are left out."""
    left = dict(groups)
    for labels, nodes in changed.items():
        if there := {name: number for name, number in nodes.items() if number > 0}:
            left[labels] = PodGroup(groups[labels].labels, there)
        else:
            del left[labels]
    return left


def _one_fewer(numbers: Mapping[KeyT, int], key: KeyT) -> Mapping[KeyT, int]:
    """Return the numbers with one fewer of a key, and without the key where none is left."""
    left = numbers.get(key, 0) - 1
    others = {other: number for other, number in numbers.items() if other != key}
    return {**others, key: left} if left > 0 else others
