"""The workloads of one input, by namespace and labels, for rules that look at what stands beside a workload."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from webhook.objects.workload import Workload
from webhook.scheduler.selectors import EQUALS, Selector


class Others:
    """
    The workloads of an input that make Pods of their own.

    What has an owner is left out, since its owner makes the Pods, and so is what only describes Pods.
    """

    def __init__(self, workloads: Iterable[Workload]) -> None:
        self._all: dict[str, list[Workload]] = {}
        self._labelled: dict[tuple[str, str, str], list[Workload]] = {}
        for workload in workloads:
            if workload.owner is None and workload.labels_known and workload.kind.kind != "PodTemplate":
                kept = replace(workload, spec={}, pod_spec=None, raw_constraints=None)  # the rest may be large
                self._all.setdefault(kept.namespace, []).append(kept)
                for key, value in kept.labels.items():
                    self._labelled.setdefault((kept.namespace, key, value), []).append(kept)

    def beside(self, workload: Workload, selector: Selector) -> Iterator[Workload]:
        """The other objects in the namespace of `workload` whose Pods `selector` may match."""
        candidates: Sequence[Workload] = self._all.get(workload.namespace, ())
        for one in selector.requirements:
            if one.operator == EQUALS:
                found = self._labelled.get((workload.namespace, one.key, one.values[0]), ())
                candidates = min(candidates, found, key=len)
        return (other for other in candidates if other.ref != workload.ref)
