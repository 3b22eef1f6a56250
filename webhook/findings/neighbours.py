"""The workloads of one input, by namespace and labels, for rules that look at what stands beside a workload."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from webhook.kubernetes.labels import Labels
from webhook.kubernetes.references import ObjectRef
from webhook.kubernetes.workload import Workload
from webhook.spread.selectors import EQUALS, Selector


class Neighbour(NamedTuple):
    """What others may ask of a workload."""

    api_version: str
    kind: str
    namespace: str
    name: str
    labels: Labels
    addable: frozenset[str]  # the label keys that its controller may add
    is_likely_copy: bool = False  # it is most likely the same service for another cluster

    @property
    def ref(self) -> ObjectRef:
        """The object that it is in."""
        return ObjectRef(self.api_version, self.kind, self.namespace, self.name)


def as_other(workload: Workload) -> Neighbour | None:
    """
    Return the workload as others see it; None if it makes no Pods of its own.

    An object with an owner makes none, because its owner makes the Pods, nor does a PodTemplate.  Those of a hook of a
    release, or of a test, are soon gone.
    """
    kind = workload.kind
    if workload.owner is not None or workload.is_hook or not workload.labels_known or kind.kind == "PodTemplate":
        return None
    return Neighbour(kind.api_version, kind.kind, workload.namespace, workload.name, workload.labels, workload.addable)


class Neighbours:
    """Workloads that make Pods of their own, by the labels of these Pods."""

    def __init__(self, workloads: Iterable[Neighbour] = ()) -> None:
        self._by_namespace: dict[str, list[Neighbour]] = {}
        self._by_label: dict[tuple[str, str, str], list[Neighbour]] = {}
        for workload in workloads:
            self._by_namespace.setdefault(workload.namespace, []).append(workload)
            for key, value in workload.labels.items():
                self._by_label.setdefault((workload.namespace, key, value), []).append(workload)

    @classmethod
    def of(cls, workloads: Iterable[Workload]) -> Neighbours:
        return cls(other for other in map(as_other, workloads) if other is not None)

    def matching(self, ref: ObjectRef, selector: Selector) -> Iterator[Neighbour]:
        """Return the other objects in the namespace of `ref` whose Pods `selector` may match."""
        candidates: Sequence[Neighbour] = self._by_namespace.get(ref.namespace, ())
        # Each match has the label of every equality, so those with the rarest one are enough.
        for requirement in selector.requirements:
            if requirement.operator == EQUALS:
                labelled = self._by_label.get((ref.namespace, requirement.key, requirement.values[0]), ())
                candidates = min(candidates, labelled, key=len)
        return (other for other in candidates if other.ref != ref)
