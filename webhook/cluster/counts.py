"""The Pods of one namespace, counted by label set and node while they come and go."""

from __future__ import annotations

from collections.abc import Mapping

from webhook.scheduler.counts import BoundPod, LabelSet, PodGroup


class PodCounts:
    """What `groups` has given is never changed again: a count that changes is copied first."""

    def __init__(self) -> None:
        self._label_sets: dict[LabelSet, LabelSet] = {}
        self._nodes: dict[LabelSet, dict[str, int]] = {}
        self._groups: dict[LabelSet, PodGroup] = {}
        self._changed: set[LabelSet] = set()

    def add(self, pod: BoundPod) -> BoundPod:
        """Count a Pod; what comes back is the same, and shares its label set with its like."""
        shared = self._label_sets.setdefault(pod.labels, pod.labels)
        nodes = self._mine(shared)
        nodes[pod.node] = nodes.get(pod.node, 0) + 1
        return BoundPod(shared, pod.node)

    def remove(self, pod: BoundPod) -> None:
        """Count a Pod no longer; it was added before."""
        nodes = self._mine(pod.labels)
        nodes[pod.node] -= 1
        if not nodes[pod.node]:
            del nodes[pod.node]
        if not nodes:
            del self._label_sets[pod.labels], self._nodes[pod.labels]

    def _mine(self, labels: LabelSet) -> dict[str, int]:
        """The counts of a label set, not shared with any group."""
        if labels not in self._changed or labels not in self._nodes:
            self._nodes[labels] = dict(self._nodes.get(labels, ()))
            self._changed.add(labels)
        return self._nodes[labels]

    def groups(self) -> Mapping[LabelSet, PodGroup]:
        """The counts as they are now."""
        if self._changed:
            groups = dict(self._groups)
            for labels in self._changed:
                known = groups.pop(labels, None)
                if nodes := self._nodes.get(labels):
                    groups[labels] = PodGroup(known.labels if known is not None else dict(labels), nodes)
            self._groups, self._changed = groups, set()
        return self._groups
