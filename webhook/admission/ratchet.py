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

FindingIdentity = tuple[str, str, str, tuple[str, ...]]
Mistake = tuple[str, str, FieldPath]


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
    """
    How bad each finding was that the old object had, by its mistake; None if it was too large to judge.

    Only those of severity error are known: others are never asked for.
    """

    def __init__(self, findings: Iterable[tuple[Workload, Finding]] | None) -> None:
        self._known = findings is not None
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

        Each old finding excuses one; only errors need it.  What the update did to the constraint does not matter,
        whether it was moved, relaxed or given another topology key, as long as the rule finds no more than before, and
        nothing worse, in the same place of the object.  Where it finds more, those on constraints that were there
        before come first, so that a denial names what was added.

        A finding of an enforced rule is old only where the rule was enforced, and the old object could be judged.
        """
        if not self._known:
            return [not finding.enforced for _, finding in findings]
        left = {mistake: [*extents] for mistake, extents in self._extents.items()}
        errors = [i for i, (_, finding) in enumerate(findings) if finding.severity is Severity.ERROR]
        familiar_first = sorted(errors, key=lambda i: identity(*findings[i]) not in self._identities)
        excused = {i for i in familiar_first if _take(left, *findings[i])}
        return [i in excused for i in range(len(findings))]


def _take(left: Mapping[tuple[Mistake, bool], list[int]], workload: Workload, finding: Finding) -> bool:
    """Remove from `left` the mildest old extents that excuse those of this one; return whether all are excused."""
    mistake = _mistake(workload, finding)
    known = [left.get((mistake, enforced), []) for enforced in ((True,) if finding.enforced else (False, True))]
    return all(_excuses(known, extent) for extent in finding.extents)


def _excuses(known: Sequence[list[int]], extent: int) -> bool:
    for extents in known:
        at = bisect_left(extents, extent)
        if at < len(extents):
            del extents[at]
            return True
    return False


def old_findings(request: AdmissionRequest, in_force: Iterable[InForce], terms: Terms) -> OldFindings:
    """
    Return the findings in the old object today, including those that annotations or other findings silenced.

    Each template is judged by what is in force for it, and not for the one that replaces it: whoever brings an object
    under other rules, by a label say, must keep them.  Only the rules that deny in `in_force` are asked.
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
    Return what two findings share if one may excuse the other.

    That is the rule, what it wants of the whole workload, and the place of the workload in objects of its kind; items
    of a list share one, as they may move in it.
    """
    wanted = finding.wanted if len(finding.path) <= len(workload.path) else ""
    return finding.rule, wanted, workload.kind.anchor


def identity(workload: Workload, finding: Finding) -> FindingIdentity:
    """Return the path of a finding without the index, which stays the same where its constraint moves in the list."""
    names, at = tuple([part for part in finding.path if isinstance(part, str)]), len(workload.path)
    index = finding.path[at : at + 1]
    if not index:
        return finding.rule, finding.wanted, "", names
    constraint = as_mapping(value_at(workload.raw_constraints, index))
    key, action = constraint.get("topologyKey"), constraint.get("whenUnsatisfiable")
    return finding.rule, key if isinstance(key, str) else brief(key), brief(action), names
