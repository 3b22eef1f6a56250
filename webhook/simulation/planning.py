"""
The plan of a simulation, the same for every run: what it begins with, the nodes after each step, and what makes Pods.

    raw workload, cluster, steps ──> Plan; a step that would do nothing is an error
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import NamedTuple

from webhook.objects.fields import as_mapping, texts_at, value_at
from webhook.objects.kinds import KINDS, Kinds
from webhook.objects.references import ObjectRef, controller_of
from webhook.placement.inferred_defaults import Defaults, none_given
from webhook.placement.subject import Raw
from webhook.scheduler.profile import USUAL_PROFILES, Profiles
from webhook.simulation import ties
from webhook.simulation.controllers import DEPLOYMENT, SIMULATED, STATEFUL, Controllers, SimulatedCluster
from webhook.simulation.initial_pods import found_budgets, found_pod
from webhook.simulation.node_changes import Ground, after, first_ground
from webhook.simulation.pod import InitialPod, Maker
from webhook.simulation.reading import replicas_of, strategy_of, update_of
from webhook.simulation.revisions import with_new_template
from webhook.simulation.run import Named, Plan, SetFound
from webhook.simulation.state import Start
from webhook.simulation.step import ADD, APPLY, DRAIN, MOST_REPLICAS, OF_NODES, ROLLOUT, SCALE, Step, StepError


class Planned(NamedTuple):
    """A plan, and what is to be said with it."""

    plan: Plan
    not_judged: tuple[str, ...]
    notes: tuple[str, ...]


def is_simulated(raw: Raw) -> bool:
    """Whether it is a workload whose controller is simulated."""
    return tuple(texts_at(raw, "apiVersion", "kind")) in SIMULATED


def wanted(ref: ObjectRef, steps: Iterable[Step]) -> Callable[[Raw], bool]:
    """Which Pods a simulation of these steps needs one by one: all where it moves those of any workload."""
    moves = any(step.action in OF_NODES or step.action == ADD for step in steps)

    def asks(pod: Raw) -> bool:
        namespace, node = texts_at(pod, "metadata.namespace", "spec.nodeName")
        return moves or not node or namespace == ref.namespace

    return asks


def planned(
    raw: Raw,
    cluster: SimulatedCluster,
    steps: Sequence[Step],
    kinds: Kinds = KINDS,
    *,
    applied: bool = False,
    how_ties: str = "",
    defaults: Defaults = none_given,
    profiles: Profiles = USUAL_PROFILES,
) -> Planned:
    """
    All that runs need of a cluster, to simulate steps of the workload `raw`; StepError for a step that does nothing.

    With `applied`, the workload comes from a file, and replaces the one of its name or is new.  `defaults` are the
    constraints that new Pods without any are given, `profiles` those of the cluster's kube-scheduler.
    """
    if applied and ObjectRef.of(raw).kind == STATEFUL:
        raw = with_new_template(raw)
    makers = Controllers(raw, cluster, kinds, defaults, profiles)
    of_sets = list(makers.of_sets())
    named = _named(makers, of_sets)
    taken = [Step(APPLY, APPLY, replicas_of(raw, 1)), *steps] if applied else list(steps)
    if named.replicas > MOST_REPLICAS:
        raise StepError(f"{makers.ref}: spec.replicas: found {named.replicas}, wanted {MOST_REPLICAS:,} or fewer")
    first = first_ground(cluster.snapshot.nodes)
    grounds, rollouts = _changes(makers, named, first, taken)
    found = list(
        _found(makers, of_sets, {name for one in grounds for name in (*one.touched, *dict(one.like).values())})
    )
    notes = list(_notes(makers.ref, named, cluster))
    if makers.updating.lost:
        what = f"No Pod of revision {makers.updating.current} is there"
        notes.append(f"{what}: what is made below the partition has the new template.")
    if applied and makers.updating.current:
        notes.append("What the StatefulSet's template was is not known: applying it replaces its Pods.")
    if makers.errors:
        raise StepError("\n".join(makers.errors))
    by_node: dict[str, list[InitialPod]] = {}
    for one in found:
        by_node.setdefault(one.node, []).append(one)
    start = Start(
        makers.snapshot,
        first,
        {name: tuple(those) for name, those in by_node.items() if name},
        tuple(sorted((one for one in by_node.get("", ()) if one.spreads), key=lambda one: one.created or 0.0)),
        cluster.features,
        how_ties or ties.usual(cluster.features),
        cluster.time if cluster.time is not None else _latest(found),
        {},
    )
    budgets = tuple(found_budgets(makers)) if any(step.action == DRAIN for step in taken) else ()
    plan = Plan(start, named, tuple(taken), tuple(grounds), rollouts, budgets)
    classes = [*of_sets, *rollouts.values()]
    not_judged = dict.fromkeys(what for maker in classes for what in maker.of_class.not_judged)
    return Planned(plan, tuple(not_judged), tuple(notes))


def _found(makers: Controllers, of_sets: Sequence[Maker], touched: Set[str]) -> Iterator[InitialPod]:
    """The Pods that may move or go: of the workload, on nodes that steps touch, waiting or terminating."""
    named = sorted(makers.cluster.pods, key=lambda pod: texts_at(pod, "metadata.namespace", "metadata.name"))
    for pod in named:
        leaves = value_at(pod, ("metadata", "deletionTimestamp")) is not None
        node = texts_at(pod, "spec.nodeName")[0]
        if not node or node in touched or leaves or makers.revision(pod) >= 0:
            found = found_pod(pod, makers, of_sets)
            if found is not None:
                yield found


def _changes(
    makers: Controllers, named: Named, ground: Ground, steps: Sequence[Step]
) -> tuple[list[Ground], dict[int, Maker]]:
    """The nodes after each step, and what makes the Pods of each rollout."""
    grounds, rollouts, replicas = list[Ground](), dict[int, Maker](), named.replicas
    for i, step in enumerate(steps):
        ground = after(ground, step)
        grounds.append(ground)
        if step.action == SCALE and step.number == replicas:
            there = f"{makers.ref} has {replicas} replicas already"
            raise StepError(f"{step.text}: does nothing: {there}; leave the step out")
        if step.action in (SCALE, APPLY):
            replicas = step.number
        if step.action == ROLLOUT:
            _check_rollout(makers.ref, named)
            rollouts[i] = makers.next_maker(len(rollouts) + 1)
    return grounds, rollouts


def _named(makers: Controllers, of_sets: Sequence[Maker]) -> Named:
    """The workload as its controller has it now."""
    spec = as_mapping(makers.raw.get("spec"))
    replicas = replicas_of(makers.raw, 1)
    if makers.ref.kind == STATEFUL:
        return Named(replicas, tuple(SetFound(one, replicas) for one in of_sets), update=update_of(spec))
    if makers.ref.kind != DEPLOYMENT:
        controlled = controller_of(as_mapping(makers.raw.get("metadata"))) is not None
        return Named(replicas, (SetFound(of_sets[-1], replicas),), controlled=controlled)
    desired = [replicas_of(one, 0) for one in makers.sets]
    return Named(
        replicas,
        tuple(SetFound(maker, number) for maker, number in zip(of_sets, desired, strict=True)),
        strategy_of(as_mapping(spec.get("strategy"))),
        paused=spec.get("paused") is True,
    )


def _check_rollout(ref: ObjectRef, named: Named) -> None:
    if ref.kind not in (DEPLOYMENT, STATEFUL):
        raise StepError(f"{ROLLOUT}: does nothing: a {ref.kind} replaces no Pods; wanted a {DEPLOYMENT} or {STATEFUL}")
    if named.paused:
        raise StepError(f"{ROLLOUT}: does nothing: {ref} is paused; kubectl rollout resume lets it begin")
    if named.update is not None and named.update.on_delete:
        why = f"updateStrategy of {ref} is OnDelete"
        raise StepError(f"{ROLLOUT}: does nothing: {why}; drain or delete its nodes instead")


def _notes(ref: ObjectRef, named: Named, cluster: SimulatedCluster) -> Iterator[str]:
    """What keeps the workload from changing; what else changes it or where its Pods go, and is not simulated."""
    if named.paused:
        yield "It is paused: no change of its template is rolled out."
    affinities = [value_at(pod, ("spec", "affinity")) for pod in cluster.pods]
    if any(as_mapping(one).keys() & {"podAffinity", "podAntiAffinity"} for one in affinities):
        yield "Some Pods have affinity to other Pods, which scores nodes for all, and is not simulated."
    for (_, kind, namespace, name), raw in sorted(cluster.others.items()):
        target = as_mapping(value_at(raw, ("spec", "scaleTargetRef")))
        scales = tuple(texts_at(target, "kind", "name")) == (ref.kind, ref.name)
        if kind == "HorizontalPodAutoscaler" and namespace == ref.namespace and scales:
            yield f"HorizontalPodAutoscaler {name} scales it, too; what it does is not simulated."


def _latest(found: Iterable[InitialPod]) -> float:
    """The latest of all times, where that of the dump is not known."""
    return max((time for one in found for time in (one.ready_at, one.created) if time is not None), default=0.0)
