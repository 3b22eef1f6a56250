"""
Pods as the scheduler counts them: by namespace, label set and node.

    150,000 Pods ──> some thousand label sets, each with {node: number of Pods}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from sys import intern
from typing import NamedTuple

from webhook.objects.labels import Labels

LabelSet = tuple[tuple[str, str], ...]  # in the order of the keys

Scalars = tuple[tuple[str, int], ...]  # Extended resources, hugepages and the like, in the order of their names.
FINISHED = ("Succeeded", "Failed")


class Requests(NamedTuple):
    """
    What a Pod requests: CPU in thousandths, all else in whole units; `scalars` has no zeros.

    The last two are what its request counts for where NodeResourcesFit scores nodes: more than is requested where a
    container states none.
    """

    milli_cpu: int = 0
    memory: int = 0
    ephemeral_storage: int = 0
    scalars: Scalars = ()
    non_zero_milli_cpu: int = 0
    non_zero_memory: int = 0


class Usage(NamedTuple):
    """The number of Pods on a node and the sum of their requests."""

    pods: int = 0
    milli_cpu: int = 0
    memory: int = 0
    ephemeral_storage: int = 0
    scalars: Scalars = ()
    non_zero_milli_cpu: int = 0
    non_zero_memory: int = 0

    def plus(self, requests: Requests, pods: int = 1) -> Usage:
        """
        upstream: types.go:NodeInfo.update (v1.37)

        With `pods` more Pods that each have these requests; fewer if it is negative.
        """
        scalars = self.scalars
        if requests.scalars:
            amounts = dict(scalars)
            for name, amount in requests.scalars:
                amounts[name] = amounts.get(name, 0) + pods * amount
            scalars = in_order(amounts)
        return Usage(
            self.pods + pods,
            self.milli_cpu + pods * requests.milli_cpu,
            self.memory + pods * requests.memory,
            self.ephemeral_storage + pods * requests.ephemeral_storage,
            scalars,
            self.non_zero_milli_cpu + pods * requests.non_zero_milli_cpu,
            self.non_zero_memory + pods * requests.non_zero_memory,
        )


NOTHING, UNUSED = Requests(), Usage()


def in_order(amounts: Mapping[str, int]) -> Scalars:
    """The amounts in the order of their names, without zeros."""
    return tuple(sorted([(name, amount) for name, amount in amounts.items() if amount]))


@dataclass(frozen=True, slots=True)
class BoundPod:
    """A Pod that the scheduler counts: it is bound to `node`, is not being deleted, and has not finished."""

    labels: LabelSet
    node: str


@dataclass(frozen=True, slots=True)
class PodGroup:
    """The Pods with the same labels: `nodes` is the number of them by the name of the node."""

    labels: Labels
    nodes: Mapping[str, int]


def label_set(labels: Labels) -> LabelSet:
    """The labels as one hashable value, in the order of their keys; equal keys are one string in memory."""
    return tuple(sorted((intern(key), value) for key, value in labels.items()))


class PodCounts:
    """
    The Pods of one namespace, counted by label set and node while they come and go.

    What `groups` has returned never changes: a count is copied before it changes.  A cluster has many more Pods than
    label sets, so equal label sets are kept once.
    """

    def __init__(self) -> None:
        self._label_sets: dict[LabelSet, LabelSet] = {}
        self._nodes: dict[LabelSet, dict[str, int]] = {}
        self._groups: dict[LabelSet, PodGroup] = {}
        self._changed: dict[LabelSet, None] = {}  # a set that keeps its order

    def add(self, pod: BoundPod) -> BoundPod:
        """Count a Pod; returns an equal one whose label set is shared with the other Pods that have the same labels."""
        shared = self._label_sets.setdefault(pod.labels, pod.labels)
        nodes = self._own(shared)
        nodes[pod.node] = nodes.get(pod.node, 0) + 1
        return BoundPod(shared, pod.node)

    def remove(self, pod: BoundPod) -> None:
        """Stop counting a Pod that was added before."""
        nodes = self._own(pod.labels)
        nodes[pod.node] -= 1
        if not nodes[pod.node]:
            del nodes[pod.node]
        if not nodes:
            del self._label_sets[pod.labels], self._nodes[pod.labels]

    def _own(self, labels: LabelSet) -> dict[str, int]:
        """The counts of a label set by node, in a dictionary that no returned group holds."""
        if labels not in self._changed or labels not in self._nodes:
            self._nodes[labels] = dict(self._nodes.get(labels, ()))
            self._changed[labels] = None
        return self._nodes[labels]

    def groups(self) -> Mapping[LabelSet, PodGroup]:
        """The counts as they are now."""
        if self._changed:
            groups = dict(self._groups)
            for labels in self._changed:
                known = groups.pop(labels, None)
                if nodes := self._nodes.get(labels):
                    groups[labels] = PodGroup(known.labels if known is not None else dict(labels), nodes)
            self._groups, self._changed = groups, {}
        return self._groups
