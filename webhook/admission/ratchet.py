"""
Findings that an object already had; they never deny an update.

A denial would stop a working Deployment from being scaled, restarted or repaired, for a mistake that the update did not
make.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace

from webhook.admission.request import AdmissionRequest
from webhook.admission.terms import Terms
from webhook.admission.weighing import TooLarge, weigh
from webhook.findings.evaluation import find_all
from webhook.findings.finding import Finding, Severity
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


class OldFindings:
    """
    How many times the old object had each finding of the rules that deny; None if it was too large to judge.

    Those of other rules are never asked for.
    """

    def __init__(self, denying: Set[str], found: Iterable[Identity] | None) -> None:
        self._denying = denying
        self._left = None if found is None else Counter(found)

    def take(self, workload: Workload, finding: Finding) -> bool:
        """Whether the old object had this finding, too; each of its findings is taken once."""
        if self._left is None or finding.rule not in self._denying:
            return True
        known_by = identity(workload, finding)
        self._left[known_by] -= 1
        return self._left[known_by] >= 0


def old_findings(request: AdmissionRequest, in_force: Mapping[FieldPath, InForce], terms: Terms) -> OldFindings:
    """
    The findings in the old object today, including those that annotations or other findings silenced.

    Each template is judged by what is `in_force` for the template that stands in its place today.
    """
    denying = {
        rule
        for rules in in_force.values()
        for rule, setting in rules.settings.items()
        if setting.severity is Severity.ERROR
    }
    try:
        weigh(request.before)
    except TooLarge:
        return OldFindings(denying, None)
    found = (
        identity(workload, finding)
        for workload in request.before
        for finding in _findings(workload, in_force.get(workload.path), denying, terms)
    )
    return OldFindings(denying, found)


def _findings(workload: Workload, in_force: InForce | None, denying: Set[str], terms: Terms) -> Sequence[Finding]:
    rules = in_force or terms.policy.in_force(workload, terms.namespace_labels(workload.namespace))
    settings = {rule: setting for rule, setting in rules.settings.items() if rule in denying}
    unsilenced = replace(workload, ignored_rules=frozenset())
    return find_all(unsilenced, settings, terms.snapshot, terms.features).findings


def identity(workload: Workload, finding: Finding) -> Identity:
    """Identifies a finding across updates; the index is not part of it, because constraints move."""
    names, at = tuple([part for part in finding.path if isinstance(part, str)]), len(workload.path)
    index = finding.path[at : at + 1]
    if not index:
        return finding.rule, finding.wanted, "", names
    constraint = as_mapping(value_at(workload.raw_constraints, index))
    key, action = constraint.get("topologyKey"), constraint.get("whenUnsatisfiable")
    return finding.rule, key if isinstance(key, str) else brief(key), brief(action), names
