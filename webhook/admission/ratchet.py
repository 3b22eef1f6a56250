"""
Findings that an object already had; they never deny an update.

A denial would stop a working Deployment from being scaled, restarted or repaired, for a mistake that the update did not
make.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace

from webhook.admission.cost import TooLarge, weigh
from webhook.admission.request import AdmissionRequest
from webhook.admission.terms import Terms
from webhook.findings.evaluation import find_all
from webhook.findings.finding import Finding, Severity
from webhook.kubernetes.fields import FieldPath, as_mapping, value_at
from webhook.kubernetes.reader import brief
from webhook.kubernetes.workload import Workload
from webhook.policy.policy import DENY, InForce

FindingIdentity = tuple[str, str, str, tuple[str, ...]]  # see `identity`
Mistake = tuple[str, str, FieldPath]  # see `_mistake`


def changes_nothing(request: AdmissionRequest) -> bool:
    """Return whether an update leaves all that is judged as it was."""
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
    """Return whether an update leaves all constraints as they were."""
    try:
        now = [workload.raw_constraints for workload in request.workloads]
        return now == [workload.raw_constraints for workload in request.before]
    except RecursionError:
        return False


class OldFindings:
    """The findings of severity error that the old object had; None stands for an object too large to judge."""

    def __init__(self, findings: Iterable[tuple[Workload, Finding]] | None) -> None:
        self._judged = findings is not None
        # The extents of all findings on a mistake, sorted; by the mistake, and whether its rule is enforced.
        self._extents: dict[tuple[Mistake, bool], list[int]] = {}
        self._identities: set[FindingIdentity] = set()
        for workload, finding in findings or ():
            extents = self._extents.setdefault((_mistake(workload, finding), finding.enforced), [])
            for extent in finding.extents:
                insort(extents, extent)
            self._identities.add(identity(workload, finding))

    def excuse(self, findings: Sequence[tuple[Workload, Finding]]) -> list[bool]:
        """
        Return for each finding whether it is old: the old object had one of the same mistake, as bad or worse.

        Each old finding excuses one; only errors need it.  The update may have moved or relaxed the constraint, or
        given it another topology key: what counts is that the rule finds no more than before, and nothing worse, in the
        same place of the object.  If it finds more, the findings on constraints of the old object are excused first, so
        that a denial names what was added.

        A finding of an enforced rule is old only if the rule was enforced before, and the old object could be judged.
        """
        if not self._judged:
            return [not finding.enforced for _, finding in findings]
        unused = {mistake: [*extents] for mistake, extents in self._extents.items()}
        errors = [i for i, (_, finding) in enumerate(findings) if finding.severity is Severity.ERROR]
        familiar_first = sorted(errors, key=lambda i: identity(*findings[i]) not in self._identities)
        excused = {i for i in familiar_first if _take(unused, *findings[i])}
        return [i in excused for i in range(len(findings))]


def _take(unused: Mapping[tuple[Mistake, bool], list[int]], workload: Workload, finding: Finding) -> bool:
    """Remove from `unused` the mildest old extents that excuse those of the finding; return whether all are excused."""
    mistake = _mistake(workload, finding)
    # Any old finding excuses one of a rule that is not enforced; first those that can excuse no others.
    enforcements = (True,) if finding.enforced else (False, True)
    old_extents = [unused.get((mistake, enforced), []) for enforced in enforcements]
    return all(_take_one(old_extents, extent) for extent in finding.extents)


def _take_one(old_extents: Sequence[list[int]], extent: int) -> bool:
    """Remove the first old extent that is as bad or worse, from the first sorted list that has one."""
    for extents in old_extents:
        mildest = bisect_left(extents, extent)
        if mildest < len(extents):
            del extents[mildest]
            return True
    return False


def old_findings(request: AdmissionRequest, in_force: Iterable[InForce], terms: Terms) -> OldFindings:
    """
    Return the errors that the rules find in the old object today, also those that an annotation silenced.

    Each old template is judged by what is in force for itself, not for the template that replaces it: whoever brings an
    object under other rules, for example by a label, must follow them.  Only rules that deny by `in_force`, which is of
    the new object, run.
    """
    try:
        weigh(request.before)
    except TooLarge:
        return OldFindings(None)
    denying = {rule for rules in in_force for rule in rules.errors}
    return OldFindings(
        (workload, finding)
        for workload in request.before
        for finding in _findings(workload, denying, terms)
        if finding.severity is Severity.ERROR
    )


def _findings(workload: Workload, denying: Set[str], terms: Terms) -> Sequence[Finding]:
    in_force = terms.policy.in_force(workload, terms.namespace_labels(workload.namespace))
    settings = {rule: setting for rule, setting in in_force.settings.items() if rule in in_force.errors & denying}
    if in_force.of_enforced != DENY:
        settings = {rule: replace(setting, enforced=False) for rule, setting in settings.items()}
    unsilenced = replace(workload, ignored_rules=frozenset())
    return find_all(unsilenced, settings, terms.snapshot, terms.features).findings


def _mistake(workload: Workload, finding: Finding) -> Mistake:
    """
    Return what two findings must share so that one may excuse the other.

    That is the rule, what it wants of the whole workload, and the place of the workload in objects of its kind.  All
    items of a list have the same place, because they may move in it.
    """
    wanted = finding.wanted if len(finding.path) <= len(workload.path) else ""
    return finding.rule, wanted, workload.kind.anchor


def identity(workload: Workload, finding: Finding) -> FindingIdentity:
    """
    Return what stays the same of a finding if its constraint moves in the list.

    That is the rule, the constraint's topologyKey and whenUnsatisfiable, and the path without indices.
    """
    names = tuple([part for part in finding.path if isinstance(part, str)])
    index = finding.path[len(workload.path) :][:1]
    if not index:  # It is about all constraints.
        return finding.rule, finding.wanted, "", names
    constraint = as_mapping(value_at(workload.raw_constraints, index))
    key, action = constraint.get("topologyKey"), constraint.get("whenUnsatisfiable")
    return finding.rule, key if isinstance(key, str) else brief(key), brief(action), names
