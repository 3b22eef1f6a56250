"""
What an object had before: a finding that is not new never denies an update.

Denying it would stop a working Deployment from being scaled, restarted or repaired, over what nobody just did.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from webhook.admission.request import AdmissionRequest
from webhook.admission.terms import Terms
from webhook.admission.weighing import TooLarge, weigh
from webhook.findings.evaluation import find_all
from webhook.findings.finding import Finding
from webhook.objects.fields import FieldPath, as_mapping, value_at
from webhook.objects.reading import brief
from webhook.objects.workload import Workload
from webhook.policy.policy import InForce

Identity = tuple[str, str, str, tuple[str, ...]]


def changes_nothing(request: AdmissionRequest) -> bool:
    """Whether an update leaves all that is judged as it was."""
    try:
        now = [_judged_part(request.obj, workload) for workload in request.workloads]
        return now == [_judged_part(request.old, workload) for workload in request.before]
    except RecursionError:  # nested too deep to compare
        return False


def _judged_part(obj: Mapping[str, object], workload: Workload) -> object:
    if workload.in_template:
        return value_at(obj, workload.path[:-2])
    return workload.raw_constraints, dict(workload.labels)


def keeps_constraints(request: AdmissionRequest) -> bool:
    """Whether an update leaves all constraints as they were."""
    try:
        now = [workload.raw_constraints for workload in request.workloads]
        return now == [workload.raw_constraints for workload in request.before]
    except RecursionError:
        return False


@dataclass(frozen=True, slots=True)
class OldFindings:
    """How often each finding stood in the old object; where that was too large to judge, `all` count as old."""

    left: Counter[Identity] = field(default_factory=Counter)
    all: bool = False


def old_findings(request: AdmissionRequest, in_force: Mapping[FieldPath, InForce], terms: Terms) -> OldFindings:
    """
    What would be found in the old object today, whatever its annotations or other findings silenced then.

    Each template is judged by what is `in_force` for the one that stands in its place today.
    """
    try:
        weigh(request.before)
    except TooLarge:
        return OldFindings(all=True)
    old = OldFindings()
    for workload in request.before:
        rules = in_force.get(workload.path) or terms.policy.in_force(
            workload, terms.namespace_labels(workload.namespace)
        )
        unsilenced = replace(workload, ignored_rules=frozenset())
        findings = find_all(unsilenced, rules.settings, terms.snapshot, terms.features).findings
        old.left.update(identity(workload, finding) for finding in findings)
    return old


def is_old(old: OldFindings, workload: Workload, finding: Finding) -> bool:
    """Whether the old object had this finding, too; each of its findings accounts for one."""
    if old.all:
        return True
    known_by = identity(workload, finding)
    old.left[known_by] -= 1
    return old.left[known_by] >= 0


def identity(workload: Workload, finding: Finding) -> Identity:
    """By what an old finding is known again: not by its index, for constraints move."""
    names = tuple(part for part in finding.path if isinstance(part, str))
    index = finding.path[len(workload.path) :][:1]
    if not index:
        return finding.rule, finding.wanted, "", names
    constraint = as_mapping(value_at(workload.raw_constraints, index))
    key, action = constraint.get("topologyKey"), constraint.get("whenUnsatisfiable")
    return finding.rule, key if isinstance(key, str) else brief(key), brief(action), names
