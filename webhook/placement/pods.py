"""A snapshot without one of its Pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from webhook.scheduler.counts import UNUSED, BoundPod, LabelSet, PodGroup
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
    """Return the Pods by labels and node without this one; empty groups are left out."""
    groups = pods.get(namespace, {})
    if pod.labels not in groups:
        return pods
    nodes = _one_fewer(groups[pod.labels].nodes, pod.node)
    left = {labels: group for labels, group in groups.items() if labels != pod.labels or nodes}
    return {**pods, namespace: {**left, pod.labels: PodGroup(groups[pod.labels].labels, nodes)} if nodes else left}


def _one_fewer(numbers: Mapping[KeyT, int], key: KeyT) -> Mapping[KeyT, int]:
    """Return the numbers with one fewer of a key, and without the key where none is left."""
    left = numbers.get(key, 0) - 1
    others = {other: number for other, number in numbers.items() if other != key}
    return {**others, key: left} if left > 0 else others
