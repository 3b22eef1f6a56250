"""
Pods as the scheduler counts them: by namespace, label set and node.

    150,000 Pods ──> some thousand label sets, each with {node: how many}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from sys import intern

from webhook.objects.labels import Labels

LabelSet = tuple[tuple[str, str], ...]  # in the order of the keys

FINISHED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class BoundPod:
    """A Pod that counts: one that is bound to a node, not being deleted and not finished."""

    labels: LabelSet
    node: str


@dataclass(frozen=True, slots=True)
class PodGroup:
    """The Pods with the same labels: how many there are on each node."""

    labels: Labels
    nodes: Mapping[str, int]


def label_set(labels: Labels) -> LabelSet:
    """The labels as one value; the keys, which all Pods share, are kept once."""
    return tuple(sorted((intern(key), value) for key, value in labels.items()))


def grouped(pods: Iterable[BoundPod]) -> dict[LabelSet, PodGroup]:
    """The Pods of one namespace, counted."""
    found: dict[LabelSet, dict[str, int]] = {}
    for pod in pods:
        nodes = found.setdefault(pod.labels, {})
        nodes[pod.node] = nodes.get(pod.node, 0) + 1
    return {labels: PodGroup(dict(labels), nodes) for labels, nodes in found.items()}
