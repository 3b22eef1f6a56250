"""A snapshot with fewer Pods: those that are named, or as many as it takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from webhook.scheduler.counts import UNUSED, BoundPod, LabelSet, PodGroup
from webhook.scheduler.selectors import Selector
from webhook.scheduler.snapshot import Snapshot

Groups = Mapping[LabelSet, PodGroup]


def without_pod(snapshot: Snapshot, namespace: str, pod: BoundPod) -> Snapshot:
    """A copy in which a Pod of the snapshot is neither counted nor takes up room."""
    usage, pods = snapshot.usage, snapshot.pods
    if pod.requests is not None and pod.node in usage:
        left = usage[pod.node].plus(pod.requests, -1)
        usage = {**usage, pod.node: left if left.pods else UNUSED}
    groups = pods.get(namespace, {})
    if pod.spreads and pod.labels in groups:
        pods = {**pods, namespace: _with_fewer(groups, pod.labels, pod.node, 1)}
    return replace(snapshot, pods=pods, usage=usage)


def with_fewer(groups: Groups, selector: Selector, on: Collection[str], number: int) -> Groups:
    """The groups without so many of the Pods that a selector matches on these nodes, first where the most are."""
    there = [
        (amount, node, labels)
        for labels, group in groups.items()
        if selector.matches(group.labels)
        for node, amount in group.nodes.items()
        if node in on
    ]
    for amount, node, labels in sorted(there, key=lambda one: (-one[0], one[1], one[2])):
        taken = min(amount, number)
        number -= taken
        groups = _with_fewer(groups, labels, node, taken) if taken else groups
    return groups


def _with_fewer(groups: Groups, labels: LabelSet, node: str, number: int) -> Groups:
    group = groups[labels]
    nodes = {name: amount for name, amount in group.nodes.items() if name != node}
    if (left := group.nodes.get(node, 0) - number) > 0:
        nodes[node] = left
    if nodes:
        return {**groups, labels: PodGroup(group.labels, nodes)}
    return {one: other for one, other in groups.items() if one != labels}
