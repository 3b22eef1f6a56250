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
from webhook.findings.wording import KUEUE_FIRST, ignores_constraints
from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import FieldPath, as_mapping, value_at
from webhook.kubernetes.kinds import PREFIXED_JOB_LABELS, Kind
from webhook.kubernetes.names import TOPOLOGY_LABELS
from webhook.kubernetes.reader import brief
from webhook.kubernetes.workload import DEPLOYMENT_TYPE, Workload
from webhook.spread.cluster_view import ClusterView
from webhook.spread.constraint import HARD, Reading, read_constraints
from webhook.spread.new_pod import PLACING, places_quickly

OPERATOR_LABELS = "the labels of the Pods that an operator makes are not known"
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
    to_run = _rules_to_run(workload, settings)
    if not to_run:
        return NOTHING_FOUND
    if workload.given_labels:
        workload = _with_given_labels(workload, features)
    reading = read_constraints(workload.raw_constraints, features)
    added = workload.addable if features.prefixed_job_labels else workload.addable - PREFIXED_JOB_LABELS
    addable = added | (TOPOLOGY_LABELS if features.topology_labels else frozenset())
    findings: list[Finding] = []
    skipped: list[Skipped] = []
    constraints, unmet = reading.parsed(workload.labels), _unmet(workload, snapshot, others, room_for is not None)
    base = Subject(
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
    present = _present(workload, reading, snapshot)
    operated = workload.kind.operator is not None
    for rule, setting in to_run:
        if not rule.looks_for <= present:
            continue
        if not unmet.keys().isdisjoint(rule.needs):
            if rule.looks_beside and not workload.has_constraints:  # Without a constraint, nobody misses the rule.
                continue
            skipped.append(Skipped(rule.id, next(unmet[need] for need in rule.needs if need in unmet)))
            continue
        subject = replace(base, parameters=setting.parameters) if setting.parameters else base
        for cause in rule.check(subject):
            if not operated or rule.rejected_by_api_server or not _is_overwritten(cause.path, workload):
                findings.append(_finding(rule, setting, cause, subject))
    return Evaluation(tuple(findings), tuple(skipped))


def _with_given_labels(workload: Workload, features: Features) -> Workload:
    """Return the workload with the labels that the API server or an operator is sure to give its Pods."""
    given = {
        key: value
        for key, value in workload.given_labels.items()
        if features.prefixed_job_labels or key not in PREFIXED_JOB_LABELS
    }
    return replace(workload, labels={**given, **workload.labels} if workload.labels_known else given)


def _present(workload: Workload, reading: Reading, snapshot: ClusterView | None) -> Set[str]:
    """Return all that rules may look for (`Rule.looks_for`) and that this workload and the cluster have."""
    present = reading.words | _node_conditions(reading, snapshot) | _outside_constraints(workload)
    if reading.unknown:
        present |= {UNKNOWN_FIELDS}
    if _chooses_nodes(workload.pod_spec):
        present |= {LOOKS_AT_AFFINITY}
    is_deployment = (workload.kind.api_version, workload.kind.kind) == DEPLOYMENT_TYPE
    if is_deployment and workload.strategy != "Recreate" and workload.surges:
        present |= {SURGES}
    return present


def unknown_of(kind: Kind) -> dict[Need, str]:
    """Return the needs that cannot be met for any object of a kind, each with the reason."""
    pod_spec = {} if kind.template is not None else {Need.POD_SPEC: Need.POD_SPEC.value}
    if kind.labels_known:
        return pod_spec
    gives_labels = kind.operator is not None and bool(kind.operator.gives)
    return pod_spec | _unknown_without_labels(kind, replicas=kind.replicas is not None, given_labels=gives_labels)


def _unknown_without_labels(kind: Kind, *, replicas: bool, given_labels: bool) -> dict[Need, str]:
    """
    Return the needs that cannot be met for Pods whose labels are not known, each with the reason.

    `replicas` and `given_labels` say whether at least these are known.
    """
    operator = kind.operator
    why = f"the labels of the Pods of a {kind.kind} are not known: name their path in the policy's workloads"
    unknown = {Need.LABELS: why if operator is None else OPERATOR_LABELS}
    if operator is None or operator.fills is None:
        unknown[Need.SELECTORS] = unknown[Need.LABELS]
    if not given_labels:
        unknown[Need.GIVEN_LABELS] = unknown[Need.LABELS]
    if operator is None or not operator.others:
        unknown[Need.OTHERS] = unknown[Need.LABELS]
    if not replicas:
        unknown[Need.REPLICAS] = UNKNOWN_REPLICAS
    return unknown


def _unmet(
    workload: Workload, snapshot: ClusterView | None, others: Neighbours | None, knows_room: bool
) -> Mapping[Need, str]:
    """Return the needs that cannot be met for this workload, each with the reason."""
    unmet: dict[Need, str] = {}
    if workload.ignored_by:
        unmet[Need.NODES] = ignores_constraints(workload.ignored_by)
    elif workload.by_kueue:
        unmet[Need.NODES] = KUEUE_FIRST
    elif snapshot is None or not snapshot.nodes.all:
        unmet[Need.NODES] = Need.NODES.value
    knows_pods = snapshot is not None and snapshot.knows_pods
    if not (knows_pods and knows_room):
        unmet[Need.PODS] = Need.PODS.value
    if not (knows_pods or others is not None):
        unmet[Need.OTHERS] = Need.OTHERS.value
    pod_spec = workload.pod_spec
    if pod_spec is None or not (PLACING.isdisjoint(pod_spec) or places_quickly(pod_spec)):
        unmet[Need.POD_SPEC] = Need.POD_SPEC.value
    if not workload.labels_known:
        given_labels = bool(workload.given_labels)
        unmet |= _unknown_without_labels(workload.kind, replicas=workload.replicas_written, given_labels=given_labels)
    return unmet


def _is_overwritten(path: FieldPath, workload: Workload) -> bool:
    """Return whether an operator sets the field of a constraint at `path`, so that what is written is not used."""
    operator = workload.kind.operator
    if operator is None or len(path) != len(workload.path) + 2:  # the index of the constraint, and the field
        return False
    field = str(path[-1])
    absent = value_at(workload.raw_constraints, path[-2:]) in (None, "", 0)
    return field in operator.sets or (absent and operator.may_fill(field))


def _chooses_nodes(pod_spec: Mapping[str, object] | None) -> bool:
    """Return whether Pods may choose nodes by node affinity, a nodeSelector or volumes; True if that is not known."""
    if pod_spec is None or pod_spec.get("nodeSelector") or pod_spec.get("volumes"):
        return True
    return as_mapping(pod_spec.get("affinity")).get("nodeAffinity") is not None


def _node_conditions(reading: Reading, snapshot: ClusterView | None) -> Set[str]:
    """Return what rules may look for among the nodes; all of it if no node is known."""
    if snapshot is None or not snapshot.nodes.all:
        return {CLOSED_NODES, UNLABELLED_NODES}  # The rules that need nodes are then reported as skipped.
    nodes = snapshot.nodes
    conditions = {CLOSED_NODES} if nodes.closed_to_some else set()
    return conditions if reading.topology_keys <= nodes.common_label_keys else conditions | {UNLABELLED_NODES}


def _rules_to_run(workload: Workload, settings: RuleSettings) -> list[tuple[Rule, RuleSetting]]:
    """Return the rules that are on, not silenced by an annotation, and have something to look at if they need it."""
    to_run, outside = [], _outside_constraints(workload)
    for rule_id, setting in settings.items():
        if setting.severity is Severity.IGNORE or (rule_id in workload.ignored_rules and not setting.enforced):
            continue
        rule = RULES[rule_id]
        if rule.advice and workload.owner is not None:  # nobody would read it
            continue
        if workload.has_constraints or not rule.needs_constraints or (outside and outside & rule.looks_for):
            to_run.append((rule, setting))
    return to_run


def _outside_constraints(workload: Workload) -> Set[str]:
    """Return what rules may look for in an object beside its constraints."""
    outside = _NO_WORDS
    if workload.misplaced:
        outside |= {UNKNOWN_FIELDS}
    if workload.switches:
        outside |= {LOOKS_AT_SWITCHES}
    return outside


def _finding(rule: Rule, setting: RuleSetting, cause: Cause, subject: Subject) -> Finding:
    extents = cause.extents
    if extents is None:
        index = cause.path[len(subject.workload.path) :][:1]  # empty if it is about all constraints
        is_hard = any(index == (constraint.index,) for constraint in subject.hard)
        extents = (int(is_hard),)
    fix, edit, owner = cause.fix or rule.fix, cause.edit, subject.workload.owner
    if owner is not None and owner.is_custom:  # Its operator would undo a change of this object.
        fix, edit = f"in {brief(f'{owner.kind} {owner.name}')[1:-1]}, which owns this object, {fix}", None
    return Finding(
        rule=rule.id,
        severity=setting.severity if setting.severity.rank >= cause.at_most.rank else cause.at_most,
        path=cause.path,
        message=cause.message,
        found=cause.found,
        wanted=cause.wanted,
        fix=fix,
        edit=edit,
        enforced=setting.enforced,
        extents=extents,
        said_by_api_server=cause.said_by_api_server and subject.workload.kind.built_in,
        rejected_by_api_server=rule.rejected_by_api_server,
        alone=cause.alone,
        idle=cause.idle,
        help=setting.help,
        notice=setting.notice,
    )


def one_per_field(findings: Sequence[Finding], field_length: int, denying: Collection[int] = ()) -> list[int]:
    """
    Return the positions of the findings to show, at most one rule's for each path, in the order of the paths.

    Of several rules on a path, the one with the gravest finding is shown.  Findings at the positions in `denying`,
    which deny the object, are the gravest.  Besides:

    - A finding that is `rejected_by_api_server` is always shown.  It silences findings that are no graver, on its path
      and on the paths above it, up to the constraint's own field, whose path has `field_length` parts.
    - A finding that stands `alone` silences all others, also on other paths, unless the API server rejects them.
    - Only an enforced finding silences one that is enforced.
    """
    candidates: Collection[int] = range(len(findings))
    if any(finding.alone for finding in findings):
        candidates = [
            i for i in candidates if findings[i].alone or findings[i].enforced or findings[i].rejected_by_api_server
        ]
    gravity = {i: (i not in denying, findings[i].severity.rank) for i in candidates}  # less is graver
    rejected = sorted((i for i in candidates if findings[i].rejected_by_api_server), key=gravity.__getitem__)
    rejected_paths: dict[FieldPath, tuple[bool, int]] = {}  # with the gravity of the gravest finding
    for i in rejected:
        path = findings[i].path
        # The path itself comes last, also if it is shorter than that of a field.
        for end in (*range(field_length, len(path)), len(path)):
            rejected_paths.setdefault(path[:end], gravity[i])
    rule_shown: dict[tuple[FieldPath, bool], str] = {}  # by the path, and whether the finding is enforced
    shown: list[int] = []
    ranked = [(gravity[i], not findings[i].enforced, depth(findings[i].rule), findings[i].rule, i) for i in candidates]
    for *_, i in sorted(ranked):
        finding = findings[i]
        enforced_rule = rule_shown.get((finding.path, True), finding.rule)
        on_rejected = finding.path in rejected_paths and rejected_paths[finding.path] <= gravity[i]
        silenced = not finding.enforced and (on_rejected or enforced_rule != finding.rule)
        place = (finding.path, finding.enforced)
        # The gravest finding comes first: `setdefault` gives its rule the place.
        if finding.rejected_by_api_server or (
            not silenced and rule_shown.setdefault(place, finding.rule) == finding.rule
        ):
            shown.append(i)
    # Paths are compared part by part.  Two with the same beginning go on with names, or with indices, never with both.
    return sorted(shown, key=lambda i: findings[i].path)


@cache
def depth(rule_id: str) -> int:
    """Return the length of the longest chain of rules that this one yields to."""
    return max((1 + depth(above) for above in RULES[rule_id].yields_to), default=0)
