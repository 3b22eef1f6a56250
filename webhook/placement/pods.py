"""A snapshot with fewer Pods: those that are named, or as many as it takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from webhook.scheduler.counts import UNUSED, BoundPod, LabelSet, PodGroup
from webhook.scheduler.selectors import Selector
from webhook.scheduler.snapshot import Snapshot

Groups = Mapping[LabelSet, PodGroup]


def without_pod(snapshot: Snapshot, namespace: str, pod: BoundPod) -> Snapshot:
    """Return a copy in which a Pod of the snapshot is neither counted nor takes up room."""
    usage, pods = snapshot.usage, snapshot.pods
    if pod.requests is not None and pod.node in usage:
        left = usage[pod.node].plus(pod.requests, -1)
        usage = {**usage, pod.node: left if left.pods else UNUSED}
    groups = pods.get(namespace, {})
    if pod.spreads and pod.labels in groups:
        pods = {**pods, namespace: _with_nodes(groups, {pod.labels: _one_fewer(groups[pod.labels].nodes, pod.node)})}
    return replace(snapshot, pods=pods, usage=usage)


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


def _one_fewer(nodes: Mapping[str, int], node: str) -> Mapping[str, int]:
    return {**nodes, node: nodes.get(node, 0) - 1}
