"""
Runs every rule over one workload.

    Workload ──> Subject ──each rule──> Cause ──severity, at most one per field──> Evaluation(findings, skipped)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import replace
from functools import cache

from webhook.findings.finding import Cause, Evaluation, Finding, Severity, Skipped
from webhook.findings.neighbours import Neighbours
from webhook.findings.rule import (
    CLOSED_NODES,
    LOOKS_AT_AFFINITY,
    LOOKS_AT_SWITCHES,
    RULES,
    SURGES,
    UNKNOWN_FIELDS,
    UNLABELLED_NODES,
    Need,
    RoomFor,
    Rule,
    RuleSetting,
    RuleSettings,
    Subject,
)
from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import FieldPath, as_mapping, value_at
from webhook.kubernetes.kinds import PREFIXED_JOB_LABELS, Kind
from webhook.kubernetes.names import TOPOLOGY_LABELS
from webhook.kubernetes.workload import DEPLOYMENT_TYPE, Workload
from webhook.spread.cluster_view import ClusterView
from webhook.spread.constraint import HARD, Reading, read_constraints
from webhook.spread.new_pod import PLACING, places_quickly

OPERATOR_LABELS = "on objects of operators, because the labels of their Pods are not known"
UNKNOWN_REPLICAS = "the number of its Pods is not known: describe the kind in the policy's workloads, with replicas"
NOTHING_FOUND = Evaluation()
_NO_WORDS = frozenset[str]()


def evaluate(
    workload: Workload,
    settings: RuleSettings,
    snapshot: ClusterView | None,
    features: Features,
    others: Neighbours | None = None,
    room_for: RoomFor | None = None,
) -> Evaluation:
    """
    Return the findings on `workload`, of at most one rule per field, in the order of the fields.

    The annotation `evenkeel.dev/ignore` silences rules that are not enforced.  A rule that cannot be run is reported as
    skipped.
    """
    evaluation = find_all(workload, settings, snapshot, features, others, room_for)
    if not evaluation.findings:
        return evaluation
    shown = one_per_field(evaluation.findings, len(workload.path) + 2)
    return evaluation._replace(findings=tuple([evaluation.findings[i] for i in shown]))


def find_all(
    workload: Workload,
    settings: RuleSettings,
    snapshot: ClusterView | None,
    features: Features,
    others: Neighbours | None = None,
    room_for: RoomFor | None = None,
) -> Evaluation:
    """Evaluate as `evaluate` does, but with the findings of every rule on a field."""
    running = _running(workload, settings)
    if not running:
        return NOTHING_FOUND
    if workload.given_labels:
        workload = _with_given_labels(workload, features)
    reading = read_constraints(workload.raw_constraints, features)
    added = workload.addable if features.prefixed_job_labels else workload.addable - PREFIXED_JOB_LABELS
    addable = added | (TOPOLOGY_LABELS if features.topology_labels else frozenset())
    findings: list[Finding] = []
    skipped: list[Skipped] = []
    constraints, unmet = reading.parsed(workload.labels), _unmet(workload, snapshot, others, room_for is not None)
    there = reading.words | _words(reading, snapshot)
    there |= _astray(workload) | ({UNKNOWN_FIELDS} if reading.unknown else _NO_WORDS)
    there |= {LOOKS_AT_AFFINITY} if _chooses(workload.pod_spec, reading) else _NO_WORDS
    bare = Subject(
        workload,
        reading,
        constraints,
        tuple([constraint for constraint in constraints if constraint.when_unsatisfiable == HARD]),
        addable,
        carries=workload.labels.keys() | added,
        features=features,
        snapshot=snapshot,
        others=others,
        settings=settings,
        parameters={},
        room_for=room_for,
    )
    rolling = (workload.kind.api_version, workload.kind.kind) == DEPLOYMENT_TYPE and workload.strategy != "Recreate"
    there |= {SURGES} if rolling and workload.surges else _NO_WORDS
    operated = workload.kind.operator is not None
    for rule, setting in running:
        if not rule.looks_for <= there:
            continue
        if not unmet.keys().isdisjoint(rule.needs):
            if rule.looks_beside and not workload.has_constraints:  # Nobody has asked for it.
                continue
            skipped.append(Skipped(rule.id, next(unmet[need] for need in rule.needs if need in unmet)))
            continue
        subject = replace(bare, parameters=setting.parameters) if setting.parameters else bare
        for cause in rule.check(subject):
            if not operated or rule.rejected_by_api_server or not _is_operators(cause.path, workload):
                findings.append(_finding(rule, setting, cause, subject))
    return Evaluation(tuple(findings), tuple(skipped))


def _with_given_labels(workload: Workload, features: Features) -> Workload:
    """Return a workload with the labels that its Pods have for sure: a Job as it is at /validate."""
    given = workload.given_labels.items()
    there = {key: value for key, value in given if features.prefixed_job_labels or key not in PREFIXED_JOB_LABELS}
    return replace(workload, labels={**there, **workload.labels} if workload.labels_known else there)


def unknown_of(kind: Kind) -> dict[Need, str]:
    """Return what rules may need that is not known of the Pods of any object of a kind, and why it is not."""
    pod_spec = {} if kind.template is not None else {Need.POD_SPEC: Need.POD_SPEC.value}
    if kind.labels_known:
        return pod_spec
    gives = kind.operator is not None and bool(kind.operator.gives)
    return pod_spec | _unlabelled(kind, replicas=kind.replicas is not None, given_labels=gives)


def _unlabelled(kind: Kind, *, replicas: bool, given_labels: bool) -> dict[Need, str]:
    """Return what is not known of Pods whose labels are not; there may be `replicas` and `given_labels`, though."""
    operator = kind.operator
    why = f"the labels of the Pods of a {kind.kind} are not known: name their path in the policy's workloads"
    unknown = {Need.LABELS: why if operator is None else OPERATOR_LABELS}
    if operator is None or operator.fills is None:
        unknown[Need.SELECTORS] = unknown[Need.LABELS]
    if not given_labels:
        unknown[Need.GIVEN_LABELS] = unknown[Need.LABELS]
    if not replicas:
        unknown[Need.REPLICAS] = UNKNOWN_REPLICAS
    return unknown


def _unmet(
    workload: Workload, snapshot: ClusterView | None, others: Neighbours | None, knows_room: bool
) -> Mapping[Need, str]:
    """Return the needs of rules that are not known, and why."""
    unmet = {} if snapshot is not None and snapshot.nodes.all else {Need.NODES: Need.NODES.value}
    knows_pods = snapshot is not None and snapshot.knows_pods
    unmet |= {} if knows_pods and knows_room else {Need.PODS: Need.PODS.value}
    unmet |= {} if knows_pods or others is not None else {Need.OTHERS: Need.OTHERS.value}
    pod_spec = workload.pod_spec
    if pod_spec is None or not (PLACING.isdisjoint(pod_spec) or places_quickly(pod_spec)):
        unmet[Need.POD_SPEC] = Need.POD_SPEC.value
    if not workload.labels_known:
        given_labels = bool(workload.given_labels)
        unmet |= _unlabelled(workload.kind, replicas=workload.replicas_written, given_labels=given_labels)
    return unmet


def _is_operators(path: FieldPath, workload: Workload) -> bool:
    """Return whether the field of a constraint gets its value from an operator, so that what is written is not used."""
    operator = workload.kind.operator
    if operator is None or len(path) != len(workload.path) + 2:
        return False
    field, absent = str(path[-1]), value_at(workload.raw_constraints, path[-2:]) in (None, "", 0)
    return field in operator.sets or (absent and operator.may_fill(field))


def _chooses(pod_spec: Mapping[str, object] | None, reading: Reading) -> bool:
    """Return whether Pods may choose among domains, by node affinity or by a nodeSelector that names a topology key."""
    if pod_spec is None:
        return True
    if "affinity" in pod_spec and as_mapping(pod_spec["affinity"]).get("nodeAffinity") is not None:
        return True
    return "nodeSelector" in pod_spec and not reading.topology_keys.isdisjoint(as_mapping(pod_spec["nodeSelector"]))


def _words(reading: Reading, snapshot: ClusterView | None) -> Set[str]:
    """Return what rules look for among the nodes; all of it where no node is known."""
    if snapshot is None or not snapshot.nodes.all:
        return {CLOSED_NODES, UNLABELLED_NODES}
    nodes = snapshot.nodes
    words = {CLOSED_NODES} if nodes.closed_to_some else set()
    return words if reading.topology_keys <= nodes.common_label_keys else words | {UNLABELLED_NODES}


def _running(workload: Workload, settings: RuleSettings) -> list[tuple[Rule, RuleSetting]]:
    """Return the rules that are on, not silenced by an annotation, and have something to look at if they need it."""
    running, astray = [], _astray(workload)
    for rule_id, setting in settings.items():
        if setting.severity is Severity.IGNORE or (rule_id in workload.ignored_rules and not setting.enforced):
            continue
        rule = RULES[rule_id]
        if rule.advice and workload.owner is not None:  # nobody would read it
            continue
        if workload.has_constraints or not rule.needs_constraints or (astray and astray & rule.looks_for):
            running.append((rule, setting))
    return running


def _astray(workload: Workload) -> Set[str]:
    """Return what a rule may look for that does not stand in the constraints."""
    if not (workload.misplaced or workload.switches):
        return _NO_WORDS
    return ({UNKNOWN_FIELDS} if workload.misplaced else _NO_WORDS) | (
        {LOOKS_AT_SWITCHES} if workload.switches else _NO_WORDS
    )


def _finding(rule: Rule, setting: RuleSetting, cause: Cause, subject: Subject) -> Finding:
    extents = cause.extents
    if extents is None:
        index = cause.path[len(subject.workload.path) :][:1]
        extents = (1,) if index in [(constraint.index,) for constraint in subject.hard] else (0,)
    return Finding(
        rule=rule.id,
        severity=setting.severity if setting.severity.rank >= cause.at_most.rank else cause.at_most,
        path=cause.path,
        message=cause.message,
        found=cause.found,
        wanted=cause.wanted,
        fix=cause.fix or rule.fix,
        edit=cause.edit,
        enforced=setting.enforced,
        extents=extents,
        said_by_api_server=cause.said_by_api_server and subject.workload.kind.built_in,
        rejected_by_api_server=rule.rejected_by_api_server,
        alone=cause.alone,
        idle=cause.idle,
        help=setting.help,
        notice=setting.notice,
        breaks=cause.breaks and not setting.given,
    )


def one_per_field(findings: Sequence[Finding], field_length: int, denying: Collection[int] = ()) -> list[int]:
    """
    Return the positions of the findings to show, at most one rule's for each path, in the order of the paths.

    A finding that is `rejected_by_api_server` silences others on that field of a constraint, however deep it is.
    Otherwise the gravest one stays.  One that stands `alone` silences all but those the API server rejects.  A finding
    that is not enforced never silences one that is.  The gravest are those at the positions `denying`, which deny the
    object: what does not, such as an old error, never silences one of them but by standing alone.
    """
    left: Collection[int] = range(len(findings))
    if any(f.alone for f in findings):
        left = [i for i in left if findings[i].alone or findings[i].enforced or findings[i].rejected_by_api_server]
    gravity = {i: (i not in denying, findings[i].severity.rank) for i in left}
    invalid: dict[FieldPath, tuple[bool, int]] = {}
    for i in sorted((i for i in left if findings[i].rejected_by_api_server), key=gravity.__getitem__):
        path = findings[i].path
        for end in (*range(field_length, len(path)), len(path)):
            invalid.setdefault(path[:end], gravity[i])
    shown: dict[tuple[FieldPath, bool], str] = {}
    kept: list[int] = []
    ranked = [(gravity[i], not findings[i].enforced, depth(findings[i].rule), findings[i].rule, i) for i in left]
    for *_, i in sorted(ranked):
        finding = findings[i]
        at, above = (finding.path, finding.enforced), shown.get((finding.path, True), finding.rule)
        rejected = finding.path in invalid and invalid[finding.path] <= gravity[i]
        silenced = not finding.enforced and (rejected or above != finding.rule)
        if finding.rejected_by_api_server or (not silenced and shown.setdefault(at, finding.rule) == finding.rule):
            kept.append(i)
    return sorted(kept, key=lambda i: findings[i].path)  # Behind one path come only names, or only indices.


@cache
def depth(rule_id: str) -> int:
    """Return how many rules, one above the other, this one yields to."""
    return max((1 + depth(above) for above in RULES[rule_id].yields_to), default=0)
