"""
The plan of a simulation, the same for every run: the initial Pods, the nodes after each step, and what each rollout
makes Pods from.

    raw workload, cluster, steps ──> Plan; a step that would do nothing is an error
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import reduce
from typing import NamedTuple

from evenkeel.objects.autoscalers import scalings_of
from evenkeel.objects.jobs import read_job_progress, read_job_replacement
from evenkeel.objects.pod_object import priority_of
from evenkeel.objects.pod_templates import with_new_template
from evenkeel.objects.workload_object import WorkloadObject, read_workload_object
from evenkeel.placement.gaps import DISRUPTION_BUDGETS, KUEUE, gaps_of_runs
from evenkeel.placement.inferred_defaults import DefaultsOf, none_given
from evenkeel.placement.subject import maker_of
from evenkeel.scheduler.pod_counts import FINISHED
from evenkeel.scheduler.preemption import LOWEST_PRIORITY
from evenkeel.scheduler.profile import USUAL_PROFILES, Profiles
from evenkeel.scheduler.storage import NO_STORAGE
from evenkeel.scheduler.volumes import read_mounts
from evenkeel.simulate.bound_claims import unknown_topologies, with_made, with_volumes
from evenkeel.simulate.controllers import (
    CONTROLLER,
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    SET,
    SIMULATED,
    STATEFUL,
    Controllers,
    Makers,
    SimulatedCluster,
)
from evenkeel.simulate.daemon_set import nodes_of
from evenkeel.simulate.disruption import Budget
from evenkeel.simulate.initial_pods import initial_budgets, initial_pod, on_added_nodes
from evenkeel.simulate.node_changes import Ground, after, first_ground
from evenkeel.simulate.pod import InitialPod, Maker
from evenkeel.simulate.run import FoundWorkload, Named, Plan, SetFound
from evenkeel.simulate.state import Start
from evenkeel.simulate.step import (
    ADD,
    APPLY,
    DRAIN,
    MOST_REPLICAS,
    OF_NODES,
    ROLLOUT,
    SCALE,
    Step,
    StepError,
    with_zones,
)
from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import Raw, as_mapping, texts_at
from webhook.kubernetes.kinds import KINDS, Kinds
from webhook.kubernetes.labels import Labels, labels_in
from webhook.kubernetes.reader import Reader, brief
from webhook.kubernetes.references import ObjectKey, ObjectRef, Scaling
from webhook.kubernetes.update_strategies import strategies
from webhook.kubernetes.workload import parse_workloads
from webhook.spread.constraint import read_selector

# Kinds of owners for whose Pods the claims may be deleted together with the Pod.
LOSING_CLAIMS = frozenset({"CloneSet", JOB})
PER_INDEX = "backoffLimitPerIndex"
# The fields of a spec that are simulated, or that decide nothing about where Pods run, by kind.
FIELDS = {
    DEPLOYMENT: """minReadySeconds paused progressDeadlineSeconds replicas revisionHistoryLimit selector template
        strategy.type strategy.rollingUpdate.maxSurge strategy.rollingUpdate.maxUnavailable""",
    STATEFUL: """minReadySeconds ordinals.start podManagementPolicy replicas revisionHistoryLimit selector serviceName
        template volumeClaimTemplates
        persistentVolumeClaimRetentionPolicy.whenDeleted persistentVolumeClaimRetentionPolicy.whenScaled
        updateStrategy.type updateStrategy.rollingUpdate.maxUnavailable updateStrategy.rollingUpdate.partition""",
    DAEMON_SET: """minReadySeconds revisionHistoryLimit selector template templateGeneration
        updateStrategy.type updateStrategy.rollingUpdate.maxSurge updateStrategy.rollingUpdate.maxUnavailable""",
    SET: "minReadySeconds replicas selector template",
    CONTROLLER: "minReadySeconds replicas selector template",
    JOB: """activeDeadlineSeconds backoffLimit completionMode completions manualSelector maxFailedIndexes parallelism
        podFailurePolicy podReplacementPolicy selector successPolicy suspend template ttlSecondsAfterFinished""",
}
POD_MANAGEMENT_POLICIES = (None, "", "OrderedReady", "Parallel")
ROLLING = (DEPLOYMENT, STATEFUL, DAEMON_SET)  # Kinds that replace their Pods when their template changes.
# Fields of a spec that no update may change, by the kind of the workload, with what they are where they are absent.
IMMUTABLE: Mapping[str, Mapping[str, str | None]] = {
    DEPLOYMENT: {"selector": None},
    SET: {"selector": None},
    DAEMON_SET: {"selector": None},
    STATEFUL: {"selector": None, "podManagementPolicy": "OrderedReady", "serviceName": None},
}


NOTHING_STORED: Mapping[ObjectKey, Raw] = {}
NONE_APPLIED: Set[ObjectKey] = frozenset()


class Planned(NamedTuple):
    """A plan, and what a report of it must say."""

    plan: Plan
    not_judged: tuple[str, ...]
    notes: tuple[str, ...]
    preemptor_priority: int  # Pods of a lower priority may be preempted: all of them have to be known one by one
    makers: Makers
    assumed: tuple[str, ...] = ()  # why default constraints of the Pods are taken for the cluster's


def is_simulated(raw: Raw) -> bool:
    """Return whether it is a workload whose controller is simulated."""
    ref = ObjectRef.of(raw)
    return (ref.api_version, ref.kind) in SIMULATED


def takes(raw: Raw, steps: Iterable[Step], features: Features) -> bool:
    """Return whether each of these steps does anything to a workload."""
    workload, actions = read_workload_object(raw), {step.action for step in steps}
    if ROLLOUT in actions and _unable_to_roll_out(workload, features) is not None:
        return False
    return not (SCALE in actions and workload.ref.kind == DAEMON_SET)


def moves_any(steps: Iterable[Step]) -> bool:
    """Return whether the steps may move Pods of any workload."""
    return any(step.action in OF_NODES or step.action == ADD for step in steps)


def wanted(ref: ObjectRef, steps: Iterable[Step], preemptor_priority: int = LOWEST_PRIORITY) -> Callable[[Raw], bool]:
    """
    Return a predicate for the Pods that a simulation of these steps needs one by one.

    `preemptor_priority`: Pods of a lower priority may be preempted.
    """
    moves = moves_any(steps)

    def is_needed(pod: Raw) -> bool:
        if moves:
            return True
        node, namespace = texts_at(pod, "spec.nodeName", "metadata.namespace")  # of each of many Pods
        if not node or namespace == ref.namespace:
            return True
        return preemptor_priority > LOWEST_PRIORITY and priority_of(pod) < preemptor_priority

    return is_needed


def planned(
    raw: Raw,
    cluster: SimulatedCluster,
    steps: Sequence[Step],
    kinds: Kinds = KINDS,
    *,
    applied: bool = False,
    stored: Raw | None = None,
    defaults: DefaultsOf = none_given,
    profiles: Profiles = USUAL_PROFILES,
) -> Planned:
    """Return the plan of one workload, as `planned_workloads` does; `stored` is the workload before it is applied."""
    key = ObjectRef.of(raw).key
    before = {key: stored} if stored is not None else {}
    from_file = {key} if applied else NONE_APPLIED
    return planned_workloads(
        [raw], cluster, steps, kinds, applied=from_file, stored=before, defaults=defaults, profiles=profiles
    )


def planned_workloads(
    raws: Sequence[Raw],
    cluster: SimulatedCluster,
    steps: Sequence[Step],
    kinds: Kinds = KINDS,
    *,
    applied: Set[ObjectKey] = NONE_APPLIED,
    stored: Mapping[ObjectKey, Raw] = NOTHING_STORED,
    defaults: DefaultsOf = none_given,
    profiles: Profiles = USUAL_PROFILES,
) -> Planned:
    """
    Return all that runs need of a cluster to simulate the steps.

    `raws`: the workloads that are simulated by name; without any, steps are about nodes and all Pods on them.
    `applied`: the keys of those that come from files, and are applied before all steps.
    `stored`: those of the cluster that the files replace.
    `defaults`: the constraints that new Pods without any are given.
    StepError for a step that does nothing.
    """
    before = {key: stored_workload for key in applied if (stored_workload := stored.get(key)) is not None}
    if refused := [
        error
        for raw in raws
        if ObjectRef.of(raw).key in before
        for error in _refused(raw, before[ObjectRef.of(raw).key])
    ]:
        raise StepError("\n".join(refused))
    keyed = [(ObjectRef.of(raw).key, raw) for raw in raws]
    raws = [_once_applied(raw, before.get(key)) if key in applied else raw for key, raw in keyed]
    cluster_makers = Makers(cluster, kinds, defaults, profiles, raws)
    first = first_ground(cluster.snapshot.nodes)
    all_steps = [Step(APPLY, APPLY), *steps] if applied else list(steps)
    grounds = _grounds(first, all_steps)
    others = [raw for _, raw in sorted(cluster.others.items())]
    scalings = [dict(scalings_of(controllers.ref, others)) for controllers in cluster_makers.controllers]
    named = [
        _named_with_rollouts(
            controllers,
            all_steps,
            before.get(controllers.ref.key),
            own_scalings,
            applied=controllers.ref.key in applied,
        )
        for controllers, own_scalings in zip(cluster_makers.controllers, scalings, strict=True)
    ]
    all_makers = [
        maker for workload in named for maker in (*(found.maker for found in workload.sets), *workload.makers.values())
    ]
    situation = _initial_situation(cluster_makers, all_makers, (first, *grounds), all_steps)
    notes = [
        note
        for controllers, workload, own_scalings in zip(cluster_makers.controllers, named, scalings, strict=True)
        for note in (
            *_notes_on_rollouts(controllers.workload, cluster.features),
            *_notes(own_scalings, workload, all_steps),
        )
    ]
    notes += _notes_on_kinds(cluster_makers, situation)
    all_makers += {pod.maker.of_class: pod.maker for pod in situation.pods if pod.maker is not None}.values()
    notes += _notes_on_claims(cluster_makers, all_makers, situation.changed)
    for controllers, workload in zip(cluster_makers.controllers, named, strict=True):
        if controllers.updating.lost:
            what = f"No Pod of {controllers.ref} has the revision {controllers.updating.current}"
            notes.append(f"{what}, so Pods below the partition are simulated with the new template.")
        if workload.applied and controllers.updating.current:
            assumed = "the simulation assumes that the file changes it, and replaces its Pods"
            notes.append(f"The old template of {controllers.ref} is not known, so {assumed}.")
    if cluster_makers.errors:
        raise StepError("\n".join(cluster_makers.errors))
    plan = Plan(
        situation.start,
        tuple(named),
        tuple(all_steps),
        tuple(grounds),
        situation.budgets,
        situation.daemons,
        _workloads(cluster_makers),
    )
    most_replicas = max(
        [
            1,
            *(workload.replicas for workload in named),
            *(step.number for step in all_steps if step.action == SCALE),
        ]
    )
    not_judged = dict.fromkeys(
        [
            *(gap for maker in all_makers for gap in _gaps(maker, cluster_makers, most_replicas)),
            *situation.not_judged,
            *(field for raw in raws for field in unknown_fields(raw, cluster.features)),
            *(KUEUE for raw in raws for workload in parse_workloads(raw, kinds) if workload.by_kueue),
        ]
    )
    premises = {maker.of_class.assumed: None for maker in all_makers if maker.of_class.assumed}
    return Planned(
        plan,
        tuple(not_judged),
        tuple(dict.fromkeys(notes)),
        situation.preemptor_priority,
        cluster_makers,
        tuple(premises),
    )


def unknown_fields(raw: Raw, features: Features) -> Iterator[str]:
    """Yield what is not simulated in the spec of a workload whose controller is simulated."""
    workload = read_workload_object(raw)
    ref, spec = workload.ref, workload.spec
    fields = [*_other_fields(FIELDS[ref.kind].split(), spec, "spec.")]
    if strategy_error(workload, features):
        fields.append("spec.strategy.type" if ref.kind == DEPLOYMENT else "spec.updateStrategy.type")
    if ref.kind == STATEFUL and spec.get("podManagementPolicy") not in POD_MANAGEMENT_POLICIES:
        fields.append("spec.podManagementPolicy")
    for field in fields:
        yield f"{ref}: {field}"


def _other_fields(known: Sequence[str], raw: Raw, path: str) -> Iterator[str]:
    """Yield the paths of the fields that are written in an object, and are not known in it."""
    for name, value in raw.items():
        within = [field.removeprefix(f"{name}.") for field in known if field.startswith(f"{name}.")]
        if within:
            yield from _other_fields(within, as_mapping(value), f"{path}{name}.")
        elif value is not None and name not in known:
            yield f"{path}{name}"


def strategy_error(workload: WorkloadObject, features: Features) -> str:
    """Return what is wrong with a strategy that Kubernetes of this version does not have; "" if nothing."""
    known = strategies(workload.ref.kind, features)
    written = as_mapping(workload.spec.get(known.field)).get("type") if known is not None else None
    if known is None or written in (None, "", *known.types):
        return ""
    wanted_types = f"wanted {' or '.join(known.types)} in Kubernetes 1.{features.minor}"
    return f"{workload.ref}: spec.{known.field}.type: found {brief(written)}, {wanted_types}"


def _once_applied(raw: Raw, stored: Raw | None) -> Raw:
    """Return a workload of a file as it is in the cluster once it is applied, before its controller has reacted."""
    kind = ObjectRef.of(raw).kind
    if kind == JOB and stored is not None:
        return {**raw, "status": stored.get("status")}
    return with_new_template(raw) if kind in (STATEFUL, DAEMON_SET) else raw


def _named_with_rollouts(
    controllers: Controllers,
    steps: Sequence[Step],
    stored: Raw | None,
    scalings: Mapping[str, Scaling],
    *,
    applied: bool,
) -> Named:
    """Return a workload with what makes its Pods in each rollout; StepError for a step that does nothing to it."""
    named = _named_at_start(controllers, controllers.makers)
    if named.replicas > MOST_REPLICAS:
        raise StepError(f"{controllers.ref}: spec.replicas: found {named.replicas}, wanted {MOST_REPLICAS:,} or fewer")
    widest = reduce(Scaling.widened, scalings.values()) if scalings else None
    unable = _unable_to_roll_out(controllers.workload, controllers.cluster.features)
    rollouts = dict[int, Maker]()
    for i, step in enumerate(steps):
        if step.action == SCALE and controllers.ref.kind == DAEMON_SET:
            raise StepError(f"{step.text}: does nothing: a {DAEMON_SET} has a Pod on each of its nodes; leave it out")
        if step.action == ROLLOUT:
            if unable:
                raise StepError(f"{ROLLOUT}: {unable}")
            rollouts[i] = controllers.next_maker(len(rollouts) + 1)
    return replace(
        named,
        name=str(controllers.ref),
        scaling=widest,
        makers=rollouts,
        stored=controllers.stored_class(stored) if stored is not None else None,
        applied=applied and unable is None,
    )


def _grounds(first: Ground, steps: Iterable[Step]) -> list[Ground]:
    """Return the nodes after each step."""
    grounds = [first]
    for step in steps:
        grounds.append(after(grounds[-1], with_zones(step, grounds[-1].nodes)))
    return grounds[1:]


def _workloads(cluster_makers: Makers) -> dict[str, FoundWorkload]:
    """
    Return the workloads by their names: those that are simulated by name, and all that have Pods.

    A Pod that nothing has made is one, too, but not a static Pod.
    """
    pods_by_bound = {controllers.ref: Counter[bool]() for controllers in cluster_makers.controllers}
    labels: dict[ObjectRef, Labels] = {
        controllers.ref: labels_in(controllers.workload.raw) for controllers in cluster_makers.controllers
    }
    others, priorities = cluster_makers.cluster.others, dict[ObjectRef, int]()
    for pod in cluster_makers.pods:
        if pod.phase not in FINISHED and not pod.terminating and not pod.static:
            ref = maker_of(pod, others) or ObjectRef.of(pod.raw)
            pods_by_bound.setdefault(ref, Counter())[pod.node != ""] += 1
            labels.setdefault(ref, labels_in(others[ref.key]) if ref.key in others else pod.labels)
            priorities[ref] = pod.priority
    return {
        str(ref): FoundWorkload(ref, labels[ref], by_bound[True], by_bound[False], priorities.get(ref, 0))
        for ref, by_bound in pods_by_bound.items()
    }


def _notes_on_kinds(cluster_makers: Makers, situation: _InitialSituation) -> Iterator[str]:
    """Yield a note on the Pods that may move, and whose owners' controllers are not simulated."""
    kinds = Counter(
        pod.owner.kind
        for pod in cluster_makers.pods
        if pod.owner is not None and pod.node in situation.changed and not pod.terminating
        if not (pod.static or pod.owner.kind == DAEMON_SET or cluster_makers.makes_anew(pod.owner))
    )
    if kinds:
        named = ", ".join(f"{kind} ({number:,})" for kind, number in sorted(kinds.items()))
        yield f"The controllers of some kinds are not simulated, so their lost Pods are not replaced: {named}."


class _InitialSituation(NamedTuple):
    """What runs begin with."""

    start: Start
    pods: tuple[InitialPod, ...]  # those that may move or go
    changed: frozenset[str]  # names of the nodes that the steps change, or model new ones on
    budgets: tuple[Budget, ...]
    daemons: Mapping[str, tuple[InitialPod, ...]]  # Pods that start on each node that is added
    preemptor_priority: int  # Pods of a lower priority may be preempted
    not_judged: tuple[str, ...]


def _initial_situation(
    cluster_makers: Makers,
    makers: Sequence[Maker],
    grounds: Sequence[Ground],
    steps: Sequence[Step],
) -> _InitialSituation:
    """
    Return what runs begin with.

    `makers`: for each revision of the named workloads, and for each rollout.
    `grounds`: the nodes before all steps, and after each.
    """
    first, *later = grounds
    cluster, snapshot = cluster_makers.cluster, cluster_makers.snapshot
    changed = frozenset(name for ground in later for name in (*ground.touched, *dict(ground.like).values()))
    priorities = [maker.of_class.pod.priority for maker in makers] + [pod.priority for pod in cluster_makers.pods]
    lowest = min([*snapshot.priorities.values(), *priorities], default=0)
    preemptor_priority = _preemptor_priority(cluster_makers, makers, changed, lowest)
    pods = tuple(_initial_pods(cluster_makers, changed, preemptor_priority))
    by_node: dict[str, list[InitialPod]] = {}
    for pod in pods:
        by_node.setdefault(pod.node, []).append(pod)
    waiting = [pod for pod in by_node.pop("", ()) if pod.spreads]
    start = Start(
        snapshot,
        first,
        by_node={name: tuple(on_node) for name, on_node in by_node.items()},
        waiting=tuple(sorted(waiting, key=lambda pod: pod.created or 0.0)),
        features=cluster.features,
        now=cluster.time if cluster.time is not None else _latest(pods),
        lowest=lowest,
    )
    budgets = tuple(initial_budgets(cluster_makers))
    disrupting = preemptor_priority > lowest or any(step.action == DRAIN for step in steps)
    unknown = (DISRUPTION_BUDGETS,) if disrupting and snapshot.budgets is None else ()
    daemons = on_added_nodes(start.by_node, later)
    return _InitialSituation(start, pods, changed, budgets, daemons, preemptor_priority, unknown)


def _refused(raw: Raw, stored: Raw) -> Iterator[str]:
    """
    Yield why the API server refuses an update of a stored workload.

    upstream: validation.go:ValidateDeploymentUpdate, ValidateReplicaSetUpdate, ValidateStatefulSetUpdate (v1.37)
    """
    ref, new, old = ObjectRef.of(raw), as_mapping(raw.get("spec")), as_mapping(stored.get("spec"))
    for name, default in IMMUTABLE.get(ref.kind, {}).items():
        written, stored_value = new.get(name, default), old.get(name, default)
        if None not in (written, stored_value) and _field(name, written) != _field(name, stored_value):
            values = f"found {json.dumps(written)}, wanted {json.dumps(stored_value)} as it is in the cluster"
            yield f"{ref}: spec.{name}: {values}: field is immutable; keep it, or give the workload another name"


def _field(name: str, value: object) -> object:
    return read_selector(Reader(), value, ("spec", name)) if name == "selector" else value


def _preemptor_priority(cluster_makers: Makers, makers: Iterable[Maker], changed_nodes: Set[str], lowest: int) -> int:
    """
    Return the highest priority of the Pods that may preempt others; LOWEST_PRIORITY if there is nothing to preempt.

    These are new Pods, those that wait, and those that may have to leave their nodes.
    """
    priorities = [maker.of_class.pod.priority for maker in makers if maker.of_class.pod.preempts]
    priorities += [
        pod.priority for pod in cluster_makers.pods if pod.preempts and (not pod.node or pod.node in changed_nodes)
    ]
    highest = max(priorities, default=LOWEST_PRIORITY)
    return highest if highest > lowest else LOWEST_PRIORITY


def _gaps(maker: Maker, cluster_makers: Makers, replicas: int) -> tuple[str, ...]:
    """Return what is not simulated of the Pods of a maker; their claims count if there are so many replicas."""
    cycle = maker.of_class.cycle(cluster_makers.snapshot, cluster_makers.cluster.features)
    return gaps_of_runs(with_volumes(cycle, maker.volumes, replicas), maker.of_class.unmodelled)


def _initial_pods(cluster_makers: Makers, changed_nodes: Set[str], preemptor_priority: int) -> Iterator[InitialPod]:
    """
    Yield the Pods that may move or go.

    They are of a named workload, are on nodes that steps change, wait, terminate, or may be preempted.
    """
    for pod in sorted(cluster_makers.pods, key=lambda pod: (pod.namespace, pod.name)):
        moves = not pod.node or pod.node in changed_nodes or pod.terminating
        is_of_named = cluster_makers.revision_and_maker(pod)[0] >= 0
        if moves or is_of_named or pod.priority < preemptor_priority:
            initial = initial_pod(pod, cluster_makers, preemptor_priority)
            if initial is not None:
                yield initial


def _named_at_start(controllers: Controllers, makers: Sequence[Maker]) -> Named:
    """Return the workload as its controller has it now; `makers`: one for each revision."""
    workload, kind = controllers.workload, controllers.ref.kind
    replicas = _replicas(workload)
    # A controller that does not know the strategy replaces no Pods.
    unknown = bool(strategy_error(workload, controllers.cluster.features))
    if kind == STATEFUL:
        of_revisions = tuple(SetFound(maker, replicas) for maker in makers)
        update = workload.stateful_set_update
        return Named(replicas, of_revisions, update=update._replace(on_delete=True) if unknown else update)
    if kind == DAEMON_SET:
        number = len(nodes_of(makers[-1].of_class, controllers.cluster.snapshot.nodes)[0])
        of_revisions = tuple(SetFound(maker, number) for maker in makers)
        daemon = workload.daemon_set_update
        return Named(number, of_revisions, daemon=daemon._replace(on_delete=True) if unknown else daemon)
    if kind == JOB:
        return _job_at_start(controllers, makers[-1])
    if kind != DEPLOYMENT:
        return Named(replicas, (SetFound(makers[-1], replicas),), controlled=workload.owner is not None)
    desired = [replica_set.replicas or 0 for replica_set in controllers.sets]
    return Named(
        replicas,
        tuple(
            SetFound(maker, number, replica_set.revision)
            for maker, number, replica_set in zip(makers, desired, controllers.sets, strict=True)
        ),
        workload.deployment_strategy,
        paused=workload.paused or unknown,
    )


def _job_at_start(controllers: Controllers, maker: Maker) -> Named:
    """Return the Job as its controller has it now; failures of single indexes are not simulated."""
    raw = controllers.workload.raw
    progress, replacement = read_job_progress(raw), read_job_replacement(raw)
    if PER_INDEX in controllers.workload.spec:
        replacement = replacement._replace(retries=None)
    active = sum(controllers.revision(pod) >= 0 and not pod.terminating for pod in controllers.cluster_makers.pods)
    wanted = progress.wanted(active)
    return Named(wanted, (SetFound(maker, wanted),), job=(progress, replacement))


def _replicas(workload: WorkloadObject) -> int:
    return 1 if workload.replicas is None else workload.replicas


def _unable_to_roll_out(workload: WorkloadObject, features: Features) -> str | None:
    """Return why a workload replaces no Pods, or it is not known how, and what to do instead; None if it does."""
    ref, nothing = workload.ref, "does nothing: "
    if ref.kind == JOB:
        return f"{nothing}the template of {ref} cannot be changed; wanted a {DEPLOYMENT} or {STATEFUL}"
    if ref.kind not in ROLLING:
        return f"{nothing}{ref} keeps its Pods when its template changes; wanted a {DEPLOYMENT} or {STATEFUL}"
    if error := strategy_error(workload, features):
        return f"{error}; change it"
    if workload.paused:
        return f"{nothing}{ref} is paused; kubectl rollout resume lets it begin"
    update = workload.stateful_set_update if ref.kind == STATEFUL else workload.daemon_set_update
    if ref.kind != DEPLOYMENT and update.on_delete:
        instead = "; simulate drain=NODES or delete=NODES instead" if ref.kind == STATEFUL else ""
        return f"{nothing}updateStrategy of {ref} is OnDelete, so it replaces no Pods by itself{instead}"
    return None


def _notes_on_rollouts(workload: WorkloadObject, features: Features) -> Iterator[str]:
    """Yield notes on what stops a rollout."""
    if error := strategy_error(workload, features):
        yield f"{error}: no change of its template is rolled out."
    if workload.paused:
        yield f"{workload.ref} is paused: no change of its template is rolled out."
    if workload.ref.kind in (STATEFUL, DAEMON_SET) and workload.stateful_set_update.on_delete:
        yield f"{workload.ref} has the updateStrategy OnDelete: a new template is for Pods that somebody deletes."


def _notes(scalings: Mapping[str, Scaling], named: Named, steps: Iterable[Step]) -> Iterator[str]:
    """Yield notes on a Job that makes no Pods, and on autoscalers."""
    scaling_steps = [step for step in steps if step.action in (SCALE, APPLY)]
    if named.job is not None and (named.job[0].finished or named.job[0].suspended):
        yield f"{named.name} {'has finished' if named.job[0].finished else 'is suspended'}, and makes no Pods."
    for name, scaling in scalings.items():
        who = f"HorizontalPodAutoscaler {name}"
        yield f"{who} also scales {named.name}: its bounds are simulated, its metrics are not."
        for step in scaling_steps:
            number = step.number if step.action == SCALE else named.replicas
            if (bounded := scaling.bounded(number)) != number:
                bounds = f"{scaling.least} and {scaling.most}"
                yield f"{step.text}: {who} keeps {named.name} between {bounds}, and scales it to {bounded}."


def _notes_on_claims(cluster_makers: Makers, makers: Iterable[Maker], changed_nodes: Set[str]) -> Iterator[str]:
    """Yield what is assumed of new volumes, and what is not simulated of claims."""
    storage = cluster_makers.snapshot.storage or NO_STORAGE
    unknown = dict.fromkeys(
        provisioner
        for maker in makers
        for mounts, claims in (maker.volumes.of_pod(MOST_REPLICAS, 0),)  # of a Pod that cannot exist yet
        for provisioner in unknown_topologies(with_made(storage, claims), mounts)
    )
    for provisioner in unknown:
        where = f"No CSINode says on which nodes volumes of {provisioner} can be used"
        yield f"{where}: a new volume is assumed to stay in the zone of its Pod."
    kinds = {
        pod.owner.kind
        for pod in cluster_makers.pods
        if pod.owner is not None and pod.node in changed_nodes and read_mounts(Reader(), pod.raw).claims
    }
    for kind in sorted(kinds & LOSING_CLAIMS):
        yield f"In the cluster, the claims of deleted Pods of a {kind} may be deleted, too. The simulation keeps them."


def _latest(pods: Iterable[InitialPod]) -> float:
    """Return the latest of all times, where that of the dump is not known."""
    return max((time for pod in pods for time in (pod.ready_at, pod.created) if time is not None), default=0.0)
