"""
Decides on one request: denies, warns or patches.

    /mutate    Pod CREATE without constraints ──> defaulting ──> JSON patch
    /validate  workload ──> rules ──> minus what the old object had ──> errors deny, warnings warn
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from webhook.admission.cost import TooLarge, weigh
from webhook.admission.decision import ALLOWED, Decision, Outcome, bad_request, not_judged
from webhook.admission.defaulting import Undefaulted, audited_as_defaulted, default_constraints
from webhook.admission.ownership import LONGEST_NAME, NEVER, JudgedFinding, audited, judge_finding
from webhook.admission.ratchet import changes_nothing, keeps_constraints, old_findings
from webhook.admission.request import MUTATE, UPDATE, VALIDATE, AdmissionRequest
from webhook.admission.terms import Terms
from webhook.admission.unknown_labels import agreed
from webhook.findings import wording
from webhook.findings.evaluation import find_all, one_per_field
from webhook.findings.finding import TOLD, Evaluation, Finding, Skipped
from webhook.findings.rule import RULES, RuleSettings
from webhook.findings.wording import SUMMARY_LIMIT, one_line
from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import FieldPath, path_text
from webhook.kubernetes.labels import Labels
from webhook.kubernetes.names import SKIP_LABEL
from webhook.kubernetes.workload import Workload
from webhook.policy.policy import AUDIT, mildest
from webhook.spread.cluster_view import ClusterView

WorkloadJudge = Callable[[Workload, RuleSettings, ClusterView | None, Features], Evaluation]


def find_applied(
    workload: Workload, settings: RuleSettings, snapshot: ClusterView | None, features: Features
) -> Evaluation:
    """Return what the rules find.  Those that look at Pods do not count as skipped: the webhook knows no Pods."""
    evaluation = find_all(workload, settings, snapshot, features)
    if not evaluation.skipped:
        return evaluation
    return evaluation._replace(
        skipped=tuple(skipped for skipped in evaluation.skipped if not RULES[skipped.rule].looks_beside)
    )


def review(request: AdmissionRequest, terms: Terms, judging: WorkloadJudge = find_applied) -> Decision:
    """
    Decide on a request; the same request and terms always give the same decision.

    `judging` runs the rules on a workload; that of lint knows more than a request and the cluster show.  A malformed
    request is answered with status 400, and one that cannot be judged as `not_judged` says.
    """
    if request.unread:
        enforced = request.phase == VALIDATE and bool(terms.policy.enforced)
        return not_judged(terms.policy, about(request), request.unread, enforced=enforced)
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


def about(request: AdmissionRequest) -> str:
    """Return the object that a request is about, such as `Deployment shop/web`; without a name, by its generateName."""
    name = request.name or (request.workloads[0].name if request.workloads else "")
    return " ".join(filter(None, (request.kind[1], f"{request.namespace}/{name}" if request.namespace else name)))


def _is_judged(request: AdmissionRequest, terms: Terms) -> bool:
    """
    Return whether the request is judged.

    On /mutate, only with earlyAnswer, and only objects without an owner.  No update of a Pod, and of other objects only
    those that change what is judged.
    """
    workload = request.workloads[0]
    if request.phase == MUTATE and (not terms.policy.early_answer or workload.owner is not None):
        return False
    return request.operation != UPDATE or not (workload.is_pod or changes_nothing(request))


def _default(request: AdmissionRequest, namespace_labels: Labels | None, terms: Terms) -> Decision:
    pod, snapshot = request.workloads[0], terms.snapshot
    if snapshot is not None and snapshot.namespaces and namespace_labels is None:
        return Decision(defaulted=Undefaulted("namespace-unknown"))  # it may have opted out
    in_force = terms.policy.in_force(pod, namespace_labels)
    defaulted = default_constraints(request.obj, pod, in_force, request.user, terms)
    if isinstance(defaulted, Undefaulted):
        return Decision(defaulted=defaulted)
    if in_force.defaulting_mode == AUDIT:
        text = one_line(f"{defaulted.summary}; {defaulted.note}", SUMMARY_LIMIT)
        annotations = {str(Outcome.WOULD_BE_DEFAULTED): text}
        return Decision(Outcome.WOULD_BE_DEFAULTED, defaulted=defaulted, audit_annotations=annotations)
    return Decision(
        Outcome.DEFAULTED, patch=defaulted.patch, defaulted=defaulted, audit_annotations={"defaulted": defaulted.note}
    )


def _judge(
    request: AdmissionRequest, namespace_labels: Labels | None, terms: Terms, judging: WorkloadJudge
) -> Decision:
    try:
        weigh(request.workloads)
    except TooLarge as error:
        return _too_large(request, namespace_labels, terms, error)
    skipped: dict[Skipped, None] = {}  # an ordered set
    if not terms.foresees or namespace_labels is not None:
        return _decide(request, _judge_workloads(request, namespace_labels, terms, judging, skipped), skipped, terms)
    namespace = request.workloads[0].namespace
    by_override = {
        name: _judge_workloads(request, None, replace(terms, policy=policy), judging, skipped)
        for name, policy in terms.policy.possible(namespace, namespace_labels).items()
    }
    findings, differ = agreed(by_override)
    return _decide(request, findings, skipped, terms)._replace(unknown_labels_of=namespace if differ else "")


def _judge_workloads(
    request: AdmissionRequest,
    namespace_labels: Labels | None,
    terms: Terms,
    judging: WorkloadJudge,
    skipped: dict[Skipped, None],
) -> list[JudgedFinding]:
    """Return the findings on the workloads, each with its effect; add rules that cannot be run to `skipped`."""
    in_force = {workload.path: terms.policy.in_force(workload, namespace_labels) for workload in request.workloads}
    old = old_findings(request, in_force.values(), terms) if request.before else None
    findings: list[tuple[Workload, Finding]] = []
    for workload in request.workloads:
        settings = in_force[workload.path].settings
        evaluation = judging(workload, settings, terms.snapshot, terms.features)
        findings += ((workload, finding) for finding in evaluation.findings)
        skipped |= dict.fromkeys(evaluation.skipped)
    excused = old.excuse(findings) if old is not None else [False] * len(findings)
    pod = request.workloads[0]
    may_tell = pod.is_pod and any(finding.severity in TOLD for _, finding in findings)
    excepted = audited_as_defaulted(request.obj, pod, namespace_labels, request.user, terms) if may_tell else NEVER
    by_workload: dict[FieldPath, list[JudgedFinding]] = {}
    for (workload, finding), is_old in zip(findings, excused, strict=True):
        rules = in_force[workload.path]
        # A rule that needs no constraints is not about those that evenkeel has added.
        exception = excepted if RULES[finding.rule].needs_constraints else NEVER
        judged = judge_finding(finding, workload, rules, request.user, old=is_old, excepted=exception)
        by_workload.setdefault(workload.path, []).append(judged)
    return [judged for path, of_workload in by_workload.items() for judged in _shown(of_workload, path)]


def _shown(findings: Sequence[JudgedFinding], path: FieldPath) -> Sequence[JudgedFinding]:
    """Return the findings of at most one rule for each field of the workload at `path`."""
    if len(findings) == 1:
        return findings
    denying = {i for i, judged in enumerate(findings) if judged.would_deny}
    return [findings[i] for i in one_per_field([judged.finding for judged in findings], len(path) + 2, denying)]


def _too_large(request: AdmissionRequest, namespace_labels: Labels | None, terms: Terms, error: TooLarge) -> Decision:
    policy, first = terms.policy, request.workloads[0]
    in_force = [policy.in_force(workload, namespace_labels) for workload in request.workloads]
    enforcing = [rules for rules in in_force if rules.enforces]
    denies = not all(audited(first, request.user, rules.owned_objects).enforced for rules in enforcing)
    # As with old findings, an update that leaves the constraints as they were is allowed, unless it brings the object
    # under an enforced rule.
    enforced_before = all(policy.in_force(workload, namespace_labels).enforces for workload in request.before)
    excused = keeps_constraints(request) and (enforced_before or not denies)
    message = f"{path_text(first.path)}: {error}"
    enforced = denies and not excused
    return not_judged(policy, about(request), message, mildest(in_force), enforced=enforced, excused=excused)


def _decide(
    request: AdmissionRequest, findings: Sequence[JudgedFinding], skipped: Collection[Skipped], terms: Terms
) -> Decision:
    if not findings:
        return Decision(skipped=tuple(skipped)) if skipped else ALLOWED
    would_deny = any(judged.would_deny for judged in findings)
    denying = [judged.finding for judged in findings if judged.denies]
    warning = [judged.finding for judged in findings if judged.warns and not judged.denies]
    noticed = [judged.finding for judged in findings if judged.finding.notice and judged.announces]
    if request.phase == MUTATE:  # denies only what the API server would reject anyway; /validate does the rest
        would_deny, warning, noticed = False, [], []
        if not any(finding.rejected_by_api_server for finding in denying):
            denying = []
    all_findings = tuple(judged.finding for judged in findings)
    words = wording.worded(about(request), denying, warning, noticed, all_findings, terms.policy.help)
    return Decision(
        _outcome(bool(denying), would_deny, bool(words.warnings)),
        status=_forbidden(request, words.denial) if denying else None,
        warnings=words.warnings,
        audit_annotations={"findings": words.summary},
        findings=all_findings,
        skipped=tuple(skipped),
    )


def _outcome(denies: bool, would_deny: bool, warns: bool) -> Outcome:
    if denies:
        return Outcome.DENIED
    if would_deny:
        return Outcome.WOULD_BE_DENIED
    return Outcome.WARNED if warns else Outcome.ALLOWED


def _forbidden(request: AdmissionRequest, denial: wording.Denial) -> Mapping[str, object]:
    """Return the metav1.Status of a denial; kubectl prints its message."""
    group, kind = request.kind
    about = {"name": request.name, "group": group, "kind": kind}
    return {
        "status": "Failure",
        "code": 403,
        "reason": "Forbidden",
        "message": denial.message,
        "details": {**{name: value[:LONGEST_NAME] for name, value in about.items() if value}, "causes": denial.causes},
    }
