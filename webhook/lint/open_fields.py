"""What is not settled of an object before it is built by kustomize or rendered, and what can be said of it although."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from webhook.findings.finding import Finding, Severity
from webhook.lint.patched_fields import (
    NO_PATCH,
    PatchedFields,
    concerns_constraints,
    constraint_of,
    holds_although,
    left_open,
)
from webhook.lint.templates import completed, holds_for_patch, holds_unrendered, rendered_part
from webhook.objects.fields import value_at
from webhook.objects.workload import Workload
from webhook.scheduler.constraint import HARD


class OpenFields(NamedTuple):
    """
    A patch may be merged into any object; kustomizations change what is `touched`; a template has placeholders.
    """

    patch: bool = False
    touched: PatchedFields = NO_PATCH
    template: bool = False

    @property
    def nothing(self) -> bool:
        """Whether the object stands as it will be."""
        return self == SETTLED

    @property
    def labels_unknown(self) -> bool:
        """Whether its Pods may have any labels."""
        return self.patch or self.touched.labels is None

    def concerns(self, workload: Workload) -> bool:
        """Return whether anything that is not settled may matter to the constraints of a workload."""
        return self.patch or self.template or concerns_constraints(self.touched, workload.raw_constraints)

    def readings(self, workloads: Sequence[Workload]) -> Iterator[tuple[Workload, ...]]:
        """
        Yield the workloads in one or two ways; what is not settled gives no finding in at least one of them.

        Labels of which the value is not known are there with any value, and then are not there.
        """
        if self.nothing:
            yield tuple(workloads)
            return
        read = tuple(map(self._left_open, workloads))
        yield read
        if any(reading.addable != workload.addable for reading, workload in zip(read, workloads, strict=True)):
            yield tuple(
                replace(reading, addable=workload.addable) for reading, workload in zip(read, workloads, strict=True)
            )

    def _left_open(self, workload: Workload) -> Workload:
        left = completed(workload) if self.patch else left_open(workload, self.touched)
        return rendered_part(left) if self.template else left

    def holding(self, finding: Finding, obj: Mapping[str, object]) -> Finding | None:
        """Return a finding on each of the `readings`, without a repair that may not fit; None if it may not hold."""
        holds = holds_although(self.touched, finding, obj) and (not self.patch or holds_for_patch(finding, obj))
        if not holds or (self.template and not holds_unrendered(finding, obj)):
            return None
        if self.patch and finding.breaks and not _is_written_hard(finding, obj):
            finding = finding._replace(severity=Severity.WARNING)
        named = concerns_constraints(replace(self.touched, fields=frozenset()), value_at(obj, constraint_of(finding)))
        return finding._replace(edit=None) if self.patch or named else finding


def _is_written_hard(finding: Finding, obj: Mapping[str, object]) -> bool:
    """Return whether the constraint that a finding is on says itself that it is hard."""
    return value_at(obj, (*finding.path[:-1], "whenUnsatisfiable")) == HARD


SETTLED = OpenFields()
