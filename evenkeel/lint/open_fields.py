"""What kustomize or a template may still change in an object, and which findings hold all the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from evenkeel.lint.helm_templates import completed, holds_for_patch, holds_unrendered, rendered_part
from evenkeel.lint.kustomization import Change
from webhook.findings.finding import Finding
from webhook.kubernetes.fields import as_mapping, value_at
from webhook.kubernetes.kinds import FIELD
from webhook.kubernetes.workload import Workload


class OpenFields(NamedTuple):
    """Why an object may still change."""

    patch: bool = False  # it may be merged into any object
    change: Change = Change.NOTHING  # by kustomizations
    template: bool = False  # it has placeholders

    @property
    def nothing(self) -> bool:
        """Whether the object stands as it will be."""
        return self == SETTLED

    @property
    def labels_unknown(self) -> bool:
        """Whether its Pods may have any labels."""
        return self.patch or self.change > Change.NOTHING

    def readings(self, workloads: Sequence[Workload]) -> Iterator[tuple[Workload, ...]]:
        """
        Yield the workloads in one or two readings: a finding that is not made in each rests on what may still change.

        In the first, labels without a known value may have any; in the second, they are absent.
        """
        read = tuple(map(self._left_open, workloads))
        yield read
        if any(reading.addable != workload.addable for reading, workload in zip(read, workloads, strict=True)):
            yield tuple(
                replace(reading, addable=workload.addable) for reading, workload in zip(read, workloads, strict=True)
            )

    def _left_open(self, workload: Workload) -> Workload:
        whole = completed(workload) if self.patch else workload
        return rendered_part(whole) if self.template else whole

    def holding(self, finding: Finding, obj: Mapping[str, object]) -> Finding | None:
        """Return the finding, without a repair that may not fit; None if a change may make it wrong."""
        if self.change is Change.CONSTRAINTS or (self.change and _is_on_labels(finding, obj)):
            return None
        if (self.patch and not holds_for_patch(finding, obj)) or (self.template and not holds_unrendered(finding, obj)):
            return None
        return finding._replace(edit=None) if self.labels_unknown else finding


def _is_on_labels(finding: Finding, obj: Mapping[str, object]) -> bool:
    """Return whether a finding is on matchLabels, also empty ones, to which kustomize may add labels."""
    if FIELD not in finding.path:
        return False
    constraint, field = finding.path[: finding.path.index(FIELD) + 2], finding.path[finding.path.index(FIELD) + 2 :]
    selector = as_mapping(value_at(obj, (*constraint, "labelSelector")))
    return "matchLabels" in selector and (field == ("labelSelector",) or "matchLabels" in field)


SETTLED = OpenFields()
