"""
Decides on one request: denies, warns or patches.

    /mutate    Pod CREATE without constraints ──> defaulting ──> JSON patch
    /validate  workload ──> rules ──> minus what the old object had ──> errors deny, warnings warn
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from webhook.admission.decision import ALLOWED, Decision, Outcome, bad_request, not_judged
from webhook.admission.defaulting import Undefaulted, default_constraints
from webhook.admission.ownership import NEVER, Audited, audited
from webhook.admission.ratchet import changes_nothing, keeps_constraints, old_findings
from webhook.admission.request import MUTATE, UPDATE, VALIDATE, AdmissionRequest
from webhook.admission.terms import Terms
from webhook.admission.weighing import TooLarge, weigh
from webhook.findings import wording
from webhook.findings.evaluation import evaluate
from webhook.findings.finding import Evaluation, Finding, Severity, Skipped
from webhook.findings.rule import RuleSettings
from webhook.objects.fields import path_text
from webhook.objects.labels import Labels
from webhook.objects.names import SKIP_LABEL
from webhook.objects.workload import Workload
from webhook.scheduler.features import Features
from webhook.scheduler.snapshot import Snapshot

Judging = Callable[[Workload, RuleSettings, Snapshot | None, Features], Evaluation]
LONGEST_NAME = 253  # of an object, a group or a kind; anything longer is cut before it goes back


def review(request: AdmissionRequest, terms: Terms, judging: Judging = evaluate) -> Decision:
    """
    Decide on a request; the same request and terms always give the same decision.

    `judging` finds what the rules say of a workload, for lint knows of more than requests and the cluster show.
    A request that is malformed is answered with status 400; one that cannot be judged, as `not_judged` says.
    """
    if request.unread:
        enforced = request.phase == VALIDATE and bool(terms.policy.enforced)
        return not_judged(terms.policy, request.unread, enforced=enforced)
    if request.malformed:
        return bad_request(request.malformed)
    if not request.workloads:
        return ALLOWED
    labels = terms.namespace_labels(request.workloads[0].namespace)
    if labels is not None and labels.get(SKIP_LABEL) == "true":
        return ALLOWED
    if request.lacks_constraints:
        return _default(request, labels, terms)
    return _judge(request, labels, terms, judging) if _is_judged(request, terms) else ALLOWED


def _is_judged(request: AdmissionRequest, terms: Terms) -> bool:
    """A Pod's constraints cannot change.  /mutate judges only with earlyAnswer, and only objects without an owner."""
    workload = request.workloads[0]
    if request.phase == MUTATE and (not terms.policy.early_answer or workload.owner is not None):
        return False
    return request.operation != UPDATE or not (workload.is_pod or changes_nothing(request))


def _default(request: AdmissionRequest, namespace_labels: Labels | None, terms: Terms) -> Decision:
    pod, snapshot = request.workloads[0], terms.snapshot
    if snapshot is not None and snapshot.namespaces and pod.namespace not in snapshot.namespaces:
        return Decision(defaulted=Undefaulted("namespace-unknown"))  # it may have opted out
    in_force = terms.policy.in_force(pod, namespace_labels)
    found = default_constraints(request.obj, pod, in_force, terms)
    if isinstance(found, Undefaulted):
        return Decision(defaulted=found)
    return Decision(Outcome.DEFAULTED, patch=found.patch, defaulted=found, audit_annotations={"defaulted": found.note})


def _judge(request: AdmissionRequest, namespace_labels: Labels | None, terms: Terms, judging: Judging) -> Decision:
    policy = terms.policy
    in_force = {workload.path: policy.in_force(workload, namespace_labels) for workload in request.workloads}
    try:
        weigh(request.workloads)
    except TooLarge as error:
        first = request.workloads[0]
        message = f"{path_text(first.path)}: {error}"
        if keeps_constraints(request):  # a finding that it had before
            return not_judged(policy, message, known=True)
        return not_judged(
            policy, message, enforced=bool(policy.enforced) and not _audited(first, request, terms).enforced
        )
    old = old_findings(request, in_force.values(), terms) if request.before else None
    judged: list[_Judged] = []
    skipped: dict[Skipped, None] = {}
    for workload in request.workloads:
        rules = in_force[workload.path]
        found = judging(workload, rules.settings, terms.snapshot, terms.features)
        only_audited = _audited(workload, request, terms)
        for finding in found.findings:
            certain = finding.enforced or finding.rule not in rules.doubted
            was_there = old is not None and old.take(workload, finding)
            judged.append(_Judged(finding, certain, only_audited[finding.enforced], was_there))
        skipped |= dict.fromkeys(found.skipped)
    return _decide(request, judged, policy.enforcement, tuple(skipped))


def _audited(workload: Workload, request: AdmissionRequest, terms: Terms) -> Audited:
    return NEVER if workload.owner is None else audited(workload, request.user, terms)


class _Judged(NamedTuple):
    """A finding, and whether it denies; if `audited`, it goes only to the audit log."""

    finding: Finding
    certain: bool
    audited: bool
    old: bool

    @property
    def denies(self) -> bool:
        grave = self.finding.severity is Severity.ERROR
        return grave and not self.old and self.certain and not self.audited

    @property
    def warns(self) -> bool:
        grave = self.finding.severity in (Severity.ERROR, Severity.WARNING)
        return grave and not self.audited and not self.finding.said_by_api_server


def _decide(
    request: AdmissionRequest, judged: Sequence[_Judged], enforcement: str, skipped: tuple[Skipped, ...]
) -> Decision:
    would_deny = [each for each in judged if each.denies]
    denying = [each.finding for each in would_deny] if enforcement == "Deny" else []
    warning = [each.finding for each in judged if each.warns and not (denying and each.denies)]
    if request.phase == MUTATE:  # denies only what the API server would reject anyway
        would_deny, warning = [], []
        if not any(finding.rejected_by_api_server for finding in denying):
            denying = []
    findings = tuple(each.finding for each in judged)
    if not findings:
        return Decision(skipped=skipped) if skipped else ALLOWED
    words = wording.worded(denying, [] if enforcement == "Audit" else warning, findings)
    return Decision(
        _outcome(bool(denying), bool(would_deny), bool(words.warnings)),
        status=_forbidden(request, words.denial) if denying else None,
        warnings=words.warnings,
        audit_annotations={"findings": words.summary},
        findings=findings,
        skipped=skipped,
    )


def _outcome(denies: bool, would_deny: bool, warns: bool) -> Outcome:
    if denies:
        return Outcome.DENIED
    if would_deny:
        return Outcome.WOULD_BE_DENIED
    return Outcome.WARNED if warns else Outcome.ALLOWED


def _forbidden(request: AdmissionRequest, denial: wording.Denial) -> Mapping[str, object]:
    """The metav1.Status of a denial, of which kubectl prints the message."""
    group, kind = request.kind
    about = {"name": request.name, "group": group, "kind": kind}
    return {
        "status": "Failure",
        "code": 403,
        "reason": "Forbidden",
        "message": denial.message,
        "details": {**{name: value[:LONGEST_NAME] for name, value in about.items() if value}, "causes": denial.causes},
    }
