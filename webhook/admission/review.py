"""
One request in, one decision out: what is denied, what is warned of, what is patched.

    /mutate    Pod CREATE without constraints ──> defaulting ──> JSON patch
    /validate  workload ──> rules ──> minus what the old object had ──> errors deny, warnings warn
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from webhook.admission.decision import ALLOWED, Decision, Outcome, bad_request, forbidden, not_judged
from webhook.admission.defaulting import Undefaulted, default_constraints
from webhook.admission.ownership import NEVER, Audited, audited
from webhook.admission.ratchet import changes_nothing, is_old, keeps_constraints, old_findings
from webhook.admission.request import MUTATE, UPDATE, VALIDATE, AdmissionRequest
from webhook.admission.terms import Terms
from webhook.admission.weighing import TooLarge, weigh
from webhook.findings import wording
from webhook.findings.evaluation import evaluate
from webhook.findings.finding import Finding, Severity, Skipped
from webhook.findings.rule import INVALID_CONSTRAINT
from webhook.objects.names import SKIP_LABEL
from webhook.objects.workload import Workload

DEPRECATED_KEYS = tuple(f'"failure-domain.beta.kubernetes.io/{name}"' for name in ("zone", "region"))


def review(request: AdmissionRequest, terms: Terms) -> Decision:
    """
    Decide on a request; the same request and terms always give the same decision.

    A request that is malformed is answered with status 400; one that cannot be judged, as `not_judged` says.
    """
    if request.unread:
        return not_judged(terms.policy, request.unread, enforced=terms.policy.enforces and request.phase == VALIDATE)
    if request.malformed:
        return bad_request(request.malformed)
    if not request.workloads or _namespace_opted_out(request.workloads[0], terms):
        return ALLOWED
    if request.lacks_constraints:
        return _default(request, terms)
    if not _is_judged(request, terms):
        return ALLOWED
    return _judge(request, terms)


def _namespace_opted_out(workload: Workload, terms: Terms) -> bool:
    return (terms.namespace_labels(workload.namespace) or {}).get(SKIP_LABEL) == "true"


def _is_judged(request: AdmissionRequest, terms: Terms) -> bool:
    """A Pod's constraints cannot change; and in /mutate only the early answer to what a person applies is given."""
    workload = request.workloads[0]
    if request.phase == MUTATE and (not terms.policy.early_answer or workload.owner is not None):
        return False
    return request.operation != UPDATE or not (workload.is_pod or changes_nothing(request))


def _default(request: AdmissionRequest, terms: Terms) -> Decision:
    pod, snapshot = request.workloads[0], terms.snapshot
    if snapshot is not None and snapshot.namespaces and pod.namespace not in snapshot.namespaces:
        return Decision(defaulted=Undefaulted("namespace-unknown"))  # it may have opted out
    in_force = terms.policy.in_force(pod, terms.namespace_labels(pod.namespace))
    found = default_constraints(request.obj, pod, in_force, terms)
    if isinstance(found, Undefaulted):
        return Decision(defaulted=found)
    return Decision(Outcome.DEFAULTED, patch=found.patch, defaulted=found, audit_annotations={"defaulted": found.note})


def _judge(request: AdmissionRequest, terms: Terms) -> Decision:
    policy = terms.policy
    in_force = {
        workload.path: policy.in_force(workload, terms.namespace_labels(workload.namespace))
        for workload in request.workloads
    }
    try:
        weigh(request.workloads)
    except TooLarge as error:
        if keeps_constraints(request):  # a finding that it had before
            return not_judged(policy, str(error), known=True)
        enforced = policy.enforces and not _audited(request.workloads[0], request, terms).enforced
        return not_judged(policy, str(error), enforced=enforced)
    old = old_findings(request, in_force, terms) if request.before else None
    judged: list[_Judged] = []
    skipped: dict[Skipped, None] = {}
    for workload in request.workloads:
        rules = in_force[workload.path]
        found = evaluate(workload, rules.settings, terms.snapshot, terms.features)
        only_audited = _audited(workload, request, terms)
        for finding in found.findings:
            certain = finding.enforced or finding.rule not in rules.doubted
            was_there = old is not None and is_old(old, workload, finding)
            judged.append(_Judged(workload, finding, certain, only_audited[finding.enforced], was_there))
        skipped |= dict.fromkeys(found.skipped)
    return _decide(request, judged, policy.enforcement, tuple(skipped))


def _audited(workload: Workload, request: AdmissionRequest, terms: Terms) -> Audited:
    return NEVER if workload.owner is None else audited(workload, request, terms)


@dataclass(frozen=True, slots=True)
class _Judged:
    """A finding, and what bears on whether it denies; one that is `audited` is only noted."""

    workload: Workload
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
        return grave and not self.audited and not self._said_by_api_server

    @property
    def _said_by_api_server(self) -> bool:
        """pod.GetWarningsForPodTemplate warns, for built-in kinds, of a null selector and of deprecated keys."""
        null = self.finding.rule == "empty-selector" and self.finding.found == "null"
        deprecated = self.finding.rule == "misspelt-topology-key" and self.finding.found in DEPRECATED_KEYS
        return self.workload.kind.built_in and (null or deprecated)


def _decide(
    request: AdmissionRequest, judged: Sequence[_Judged], enforcement: str, skipped: tuple[Skipped, ...]
) -> Decision:
    would_deny = [each for each in judged if each.denies]
    denying = [each.finding for each in would_deny] if enforcement == "Deny" else []
    warning = [each.finding for each in judged if each.warns and not (denying and each.denies)]
    if request.phase == MUTATE:  # an early answer, to what the API server is about to reject
        would_deny, warning = [], []
        if not any(finding.rule == INVALID_CONSTRAINT for finding in denying):
            denying = []
    findings = tuple(each.finding for each in judged)
    if not findings:
        return Decision(skipped=skipped)
    words = wording.worded(denying, [] if enforcement == "Audit" else warning, findings)
    return Decision(
        Outcome.DENIED
        if denying
        else Outcome.WOULD_BE_DENIED
        if would_deny
        else Outcome.WARNED
        if words.warnings
        else Outcome.ALLOWED,
        status=forbidden(request, words) if denying else None,
        warnings=words.warnings,
        audit_annotations={"findings": words.summary},
        findings=findings,
        skipped=skipped,
    )
