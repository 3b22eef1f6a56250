"""
One review in, one Decision out: what is denied, what is warned of, what is patched.

    /mutate    Pod CREATE without constraints ──> defaulting ──> JSON patch
    /validate  workload ──> rules ──> minus what the old object had ──> errors deny, warnings warn
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from webhook.admission import defaulting
from webhook.admission.defaulting import Defaults, Undefaulted
from webhook.admission.weighing import TooLarge, weigh
from webhook.findings import wording
from webhook.findings.evaluation import evaluate, find_all
from webhook.findings.finding import Finding, Severity, Skipped
from webhook.findings.rule import INVALID_CONSTRAINT
from webhook.objects.fields import FieldPath, as_mapping, value_at
from webhook.objects.kinds import APPS, BATCH, CORE
from webhook.objects.names import SKIP_LABEL
from webhook.objects.reading import brief
from webhook.objects.workload import Workload, parse_workloads
from webhook.policy.policy import InForce, Policy
from webhook.scheduler.features import Features
from webhook.scheduler.snapshot import Snapshot

MUTATE, VALIDATE = "mutate", "validate"
CREATE, UPDATE = "CREATE", "UPDATE"
Identity = tuple[str, str, str, tuple[str, ...]]

DEPRECATED_KEYS = tuple(f'"failure-domain.beta.kubernetes.io/{name}"' for name in ("zone", "region"))

# Which built-in controllers create which kind.
CHAIN = {
    "Pod": {
        (CORE, "ReplicationController"),
        (APPS, "ReplicaSet"),
        (APPS, "StatefulSet"),
        (APPS, "DaemonSet"),
        (BATCH, "Job"),
    },
    "ReplicaSet": {(APPS, "Deployment")},
    "Job": {(BATCH, "CronJob")},
}


@dataclass(frozen=True, slots=True)
class Decision:
    """
    The answer to a review, and what led to it; `status` is a metav1.Status where it is not allowed.

    It is `spared` where only the policy's `enforcement` lets pass what would be denied.
    """

    allowed: bool = True
    status: Mapping[str, object] | None = None
    patch: tuple[Mapping[str, object], ...] = ()
    warnings: tuple[str, ...] = ()
    audit_annotations: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    defaulted: Defaults | Undefaulted | None = None
    skipped: tuple[Skipped, ...] = ()
    error: str | None = None
    spared: bool = False


def review(
    request: Mapping[str, object], phase: str, policy: Policy, snapshot: Snapshot | None, features: Features
) -> Decision:
    """
    Decide on the `request` of an admission.k8s.io/v1 AdmissionReview, in phase "mutate" or "validate".

    The same request, policy and snapshot always give the same decision.  A request that is not well-formed is
    answered with status 400; an object that is too large to judge, as `unjudgeable` says.
    """
    obj, old = request.get("object"), request.get("oldObject")
    operation = request.get("operation")
    if operation not in (CREATE, UPDATE) or request.get("subResource"):
        return Decision()
    if not isinstance(obj, dict):
        return bad_request(f"request.object: found {brief(obj)}, wanted an object")
    workloads = tuple(in_namespace(one, request) for one in parse_workloads(obj, policy.kinds))
    if not workloads or _namespace_opted_out(workloads[0], snapshot):
        return Decision()
    pod = workloads[0] if workloads[0].is_pod else None
    if pod is not None and operation == UPDATE:
        return Decision()
    if phase == MUTATE and pod is not None and not pod.has_constraints:
        return _default(obj, pod, policy, snapshot, features)
    if phase == MUTATE and not policy.early_answer:
        return Decision()
    before: tuple[Workload, ...] = ()
    if operation == UPDATE:
        before = tuple(in_namespace(one, request) for one in parse_workloads(as_mapping(old), policy.kinds))
    if operation == UPDATE and not _template_changed(obj, workloads, as_mapping(old), before):
        return Decision()
    if phase == MUTATE and workloads[0].owner is not None:
        return Decision()
    return _judge(request, phase, workloads, before, policy, snapshot, features)


def bad_request(message: str) -> Decision:
    """The answer to a request that no API server sends."""
    text = wording.one_line(message, wording.LINE_LIMIT)
    return Decision(False, {"status": "Failure", "code": 400, "reason": "BadRequest", "message": text}, error=text)


def unexpected(policy: Policy, message: str) -> Decision:
    """The answer where there is no verdict: the policy's `onError`."""
    text = wording.one_line(f"evenkeel could not judge this object: {message}", wording.WARNING_LIMIT)
    if policy.on_error == "Allow" or policy.enforcement != "Deny":
        return Decision(warnings=() if policy.enforcement == "Audit" else (text,), error=message)
    return Decision(
        False, {"status": "Failure", "code": 500, "reason": "InternalError", "message": text}, error=message
    )


def unjudgeable(policy: Policy, message: str, *, enforced: bool) -> Decision:
    """
    The answer to an object that is too large or too deep to judge: the policy's `onError`, unless a rule is enforced.

    Size is the developer's to choose, and must not be a way around an enforced rule.
    """
    if not enforced or policy.enforcement != "Deny":
        return unexpected(policy, message)
    text = wording.one_line(f"{message}; an enforced rule must be able to judge it", wording.LINE_LIMIT)
    return Decision(False, {"status": "Failure", "code": 403, "reason": "Forbidden", "message": text}, error=message)


def in_namespace(workload: Workload, request: Mapping[str, object]) -> Workload:
    """In the mutating phase an object may not carry its namespace yet."""
    namespace = request.get("namespace")
    if not isinstance(namespace, str) or namespace in ("", workload.namespace):
        return workload
    return replace(workload, namespace=namespace)


def _namespace_labels(workload: Workload, snapshot: Snapshot | None) -> Mapping[str, str] | None:
    return None if snapshot is None else snapshot.namespaces.get(workload.namespace)


def _namespace_opted_out(workload: Workload, snapshot: Snapshot | None) -> bool:
    return (_namespace_labels(workload, snapshot) or {}).get(SKIP_LABEL) == "true"


def _template_changed(
    obj: Mapping[str, object],
    workloads: tuple[Workload, ...],
    old: Mapping[str, object],
    before: tuple[Workload, ...],
) -> bool:
    try:
        return [_judged_part(obj, one) for one in workloads] != [_judged_part(old, one) for one in before]
    except RecursionError:  # nested too deep to compare
        return True


def _judged_part(obj: Mapping[str, object], workload: Workload) -> object:
    if workload.in_template:
        return value_at(obj, workload.path[:-2])
    return workload.raw_constraints, dict(workload.labels)


def _default(
    obj: Mapping[str, object], pod: Workload, policy: Policy, snapshot: Snapshot | None, features: Features
) -> Decision:
    in_force = policy.in_force(pod, _namespace_labels(pod, snapshot))
    if snapshot is not None and snapshot.namespaces and pod.namespace not in snapshot.namespaces:
        return Decision(defaulted=Undefaulted("namespace-unknown"))  # it may have opted out
    found = defaulting.default_constraints(pod, in_force, snapshot, features)
    if isinstance(found, Defaults) and not _patchable(obj):
        found = Undefaulted("malformed")
    if isinstance(found, Undefaulted):
        return Decision(defaulted=found)
    by = f"override {in_force.override}" if in_force.override is not None else "policy"
    sources = ", ".join((*found.source[:10], *(["…"] if found.source[10:] else [])))
    note = wording.one_line(f"{by}; selector from {sources}", wording.LINE_LIMIT)
    patch = tuple(defaulting.json_patch(obj, found.constraints, note))
    return Decision(patch=patch, defaulted=found, audit_annotations={"defaulted": note})


def _patchable(obj: Mapping[str, object]) -> bool:
    annotations = as_mapping(obj.get("metadata")).get("annotations")
    return (
        isinstance(obj.get("spec"), dict)
        and isinstance(obj.get("metadata"), dict)
        and isinstance(annotations, dict | None)
    )


def _judge(
    request: Mapping[str, object],
    phase: str,
    workloads: tuple[Workload, ...],
    before: tuple[Workload, ...],
    policy: Policy,
    snapshot: Snapshot | None,
    features: Features,
) -> Decision:
    judged: list[_Judged] = []
    skipped: dict[Skipped, None] = {}
    in_force = {one.path: policy.in_force(one, _namespace_labels(one, snapshot)) for one in workloads}
    try:
        weigh(workloads)
    except TooLarge as error:
        if _same_constraints(workloads, before):  # a finding that it had before
            return unexpected(replace(policy, on_error="Allow"), str(error))
        excused = _audited(workloads[0], policy, snapshot, request)(True)
        return unjudgeable(policy, str(error), enforced=policy.enforces and not excused)
    had = _had(before, in_force, policy, snapshot, features)
    for workload in workloads:
        rules = in_force[workload.path]
        report = evaluate(workload, rules.settings, snapshot, features)
        audited = _audited(workload, policy, snapshot, request)
        for finding in report.findings:
            known_by = identity(workload, finding)
            certain = finding.enforced or finding.rule not in rules.doubted
            old = had is None or had[known_by] > 0
            judged.append(_Judged(workload, finding, certain, audited(finding.enforced), old))
            if had is not None:
                had[known_by] -= 1
        skipped |= dict.fromkeys(report.skipped)
    return _decide(request, phase, judged, policy.enforcement, tuple(skipped))


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
    request: Mapping[str, object], phase: str, judged: Sequence[_Judged], enforcement: str, skipped: tuple[Skipped, ...]
) -> Decision:
    denying = [one.finding for one in judged if one.denies and enforcement == "Deny"]
    warning = [one.finding for one in judged if one.warns and not (one.denies and enforcement == "Deny")]
    if phase == MUTATE:  # an early answer, to what the API server is about to reject
        warning = []
        if not any(finding.rule == INVALID_CONSTRAINT for finding in denying):
            denying = []
    findings = tuple(one.finding for one in judged)
    return Decision(
        allowed=not denying,
        status=_forbidden(request, denying) if denying else None,
        warnings=() if enforcement == "Audit" else wording.warnings(warning),
        audit_annotations={"findings": wording.summary(findings)} if findings else {},
        findings=findings,
        skipped=skipped,
        spared=phase != MUTATE and enforcement != "Deny" and any(one.denies for one in judged),
    )


def _forbidden(request: Mapping[str, object], denying: Sequence[Finding]) -> dict[str, object]:
    kind = as_mapping(request.get("kind"))
    details = {"name": request.get("name"), "group": kind.get("group"), "kind": kind.get("kind")}
    return {
        "status": "Failure",
        "code": 403,
        "reason": "Forbidden",
        "message": wording.denial(denying),
        "details": {
            **{name: value for name, value in details.items() if isinstance(value, str) and value},
            "causes": wording.causes(denying),
        },
    }


def _same_constraints(workloads: Sequence[Workload], before: Sequence[Workload]) -> bool:
    try:
        return [one.raw_constraints for one in workloads] == [one.raw_constraints for one in before]
    except RecursionError:
        return False


def _had(
    before: Sequence[Workload],
    in_force: Mapping[FieldPath, InForce],
    policy: Policy,
    snapshot: Snapshot | None,
    features: Features,
) -> Counter[Identity] | None:
    """
    All that the old object would be found guilty of today, whatever its annotations or other findings silenced then.

    Each template is judged as the one that stands in its place today; None if there is too much to tell.
    """
    had: Counter[Identity] = Counter()
    try:
        if before:
            weigh(before)
    except TooLarge:
        return None
    for one in before:
        rules = in_force.get(one.path) or policy.in_force(one, _namespace_labels(one, snapshot))
        outspoken = replace(one, ignored_rules=frozenset())
        found = find_all(outspoken, rules.settings, snapshot, features).findings
        had.update(identity(one, finding) for finding in found)
    return had


def identity(workload: Workload, finding: Finding) -> Identity:
    """By what an old finding is known again: not by its index, for constraints move."""
    names = tuple(part for part in finding.path if isinstance(part, str))
    index = finding.path[len(workload.path) :][:1]
    if not index:
        return finding.rule, finding.wanted, "", names
    constraint = as_mapping(value_at(workload.raw_constraints, index))
    key, action = constraint.get("topologyKey"), constraint.get("whenUnsatisfiable")
    return finding.rule, key if isinstance(key, str) else brief(key), brief(action), names


def _audited(
    workload: Workload, policy: Policy, snapshot: Snapshot | None, request: Mapping[str, object]
) -> Callable[[bool], bool]:
    """
    Whether findings of rules that are enforced, or are not, only go to audit.

    Those on what a controller owns do, for its denial would reach nobody; of an enforced rule, if it really owns it.
    """
    if workload.owner is None or policy.owned_objects == "Deny":
        return lambda enforced: False
    genuine = _owner_is_genuine(workload, snapshot, request)
    return lambda enforced: genuine or not enforced


def _owner_is_genuine(workload: Workload, snapshot: Snapshot | None, request: Mapping[str, object]) -> bool:
    """
    Whether the owner is what it seems: owner references are the user's to write.

    It must be the built-in controller of that chain, exist, and select these labels: it would let go of others.  Where
    the snapshot does not hold its kind, the request must come from kube-controller-manager.
    """
    owner = workload.owner
    if owner is None or (owner.api_version, owner.kind) not in CHAIN.get(workload.kind.kind, ()):
        return False
    controller = snapshot.controller(workload.namespace, owner) if snapshot is not None else None
    if controller is not None and owner.uid in ("", controller.uid):
        return controller.selector is None or controller.selector.matches(workload.labels)
    username = as_mapping(request.get("userInfo")).get("username")
    user = username if isinstance(username, str) else ""
    account = user.removeprefix("system:serviceaccount:kube-system:")
    return user == "system:kube-controller-manager" or (account != user and account.endswith("-controller"))
