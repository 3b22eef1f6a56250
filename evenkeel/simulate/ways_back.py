"""
The way back to even of each of some workloads of a cluster.

    cluster, workloads ──one plan for all──> a plan for each, and the workloads that count its Pods ──> WayBack
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from evenkeel.placement.inferred_defaults import DefaultsOf
from evenkeel.scheduler.profile import Profiles
from evenkeel.simulate.controllers import DAEMON_SET, JOB, Makers, SimulatedCluster
from evenkeel.simulate.disruption import Budget
from evenkeel.simulate.moves import NOT_SIMULATED, Hindrance, Neighbour, WayBack, beginning, way_back
from evenkeel.simulate.outcomes import StepOutcome, WorkloadOutcome
from evenkeel.simulate.planning import Planned, is_simulated, planned_workloads
from evenkeel.simulate.pod import InitialPod
from evenkeel.simulate.run import Named, Plan
from evenkeel.simulate.step import StepError
from webhook.kubernetes.fields import Raw
from webhook.kubernetes.kinds import Kinds
from webhook.kubernetes.references import ObjectRef, owner_of

SEED = 1
NOT_MOVED = (DAEMON_SET, JOB)  # A Pod that is deleted is made on the same node, or counts as failed.
MOST_ENDS, RUNS_AFTER = 3, 5  # layouts in which deletions are tried, and in how many runs each
Way = tuple[ObjectRef, WayBack]
Layout = tuple[tuple[int, ...], ...]  # of each constraint, the Pods in each domain, the most first


def ways_back(
    raws: Sequence[Raw], cluster: SimulatedCluster, kinds: Kinds, defaults: DefaultsOf, profiles: Profiles
) -> Iterator[Way]:
    """Yield the way back of each of these workloads; what may be wrong with one does not touch the others."""
    movable: list[Raw] = []
    for raw in raws:
        ref = ObjectRef.of(raw)
        if is_simulated(raw) and ref.kind not in NOT_MOVED:
            movable.append(raw)
        else:
            yield ref, WayBack(hindrance=Hindrance(NOT_SIMULATED))
    if movable:
        yield from _of_movable(movable, cluster, kinds, defaults, profiles)


def _of_movable(
    raws: Sequence[Raw], cluster: SimulatedCluster, kinds: Kinds, defaults: DefaultsOf, profiles: Profiles
) -> Iterator[Way]:
    """Yield the way back of each of these workloads; where no plan can be made for all of them, of each half."""
    try:
        planned = planned_workloads(raws, cluster, (), kinds, defaults=defaults, profiles=profiles)
    except StepError as error:
        if len(raws) == 1:
            yield ObjectRef.of(raws[0]), WayBack(hindrance=Hindrance(NOT_SIMULATED, detail=str(error)))
            return
        half = len(raws) // 2
        for some in (raws[:half], raws[half:]):
            yield from _of_movable(some, cluster, kinds, defaults, profiles)
        return
    yield from _of_plan(planned)


def deletions_after(
    planned: Planned, seed: int, outcomes: Sequence[Sequence[StepOutcome]]
) -> Iterator[tuple[ObjectRef, list[int]]]:
    """
    Yield the named workloads that the steps leave uneven, and that deletions bring back to even.

    With each comes how many deletions that takes, in a run of each of its layouts that are most frequent; `outcomes`
    has those of each run.
    """
    plan, neighbours = planned.plan, _Neighbours(planned.makers)
    for named in plan.named:
        ref, numbers = plan.workloads[named.name].ref, list[int]()
        by_layout = dict[Layout, list[int]]()
        for i, of_run in enumerate(outcomes):
            outcome = of_run[-1].workloads[named.name]
            if _is_uneven(outcome):
                by_layout.setdefault(_layout(outcome), []).append(i)
        ends = [runs[0] for runs in sorted(by_layout.values(), key=len, reverse=True)[:MOST_ENDS]]
        for end in ends if ref.kind not in NOT_MOVED else ():
            way = way_back(beginning(plan, seed, end), named.name, neighbours.of(named, ref), RUNS_AFTER)
            if way.hindrance is not None:
                break
            numbers.append(len(way.moves))
        if numbers and len(numbers) == len(ends) and all(numbers):
            yield ref, numbers


def _layout(outcome: WorkloadOutcome) -> Layout:
    return tuple([tuple(sorted(constraint.domains.values(), reverse=True)) for constraint in outcome.constraints])


def _is_uneven(outcome: WorkloadOutcome) -> bool:
    return any(constraint.exceeds for constraint in outcome.constraints)


def _of_plan(planned: Planned) -> Iterator[Way]:
    plan, neighbours = planned.plan, _Neighbours(planned.makers)
    replicas = {named.name: named.replicas for named in plan.named}
    # Of each workload, the Pods on nodes; and those that no controller acts on in runs of another one.
    own: dict[str, dict[str, list[InitialPod]]] = {}
    ending: dict[str, list[InitialPod]] = {}
    for node, pods in plan.start.by_node.items():
        for pod in pods:
            if not pod.spreads:
                ending.setdefault(node, []).append(pod)
            elif pod.revision >= 0 and pod.maker is not None:
                own.setdefault(pod.maker.source, {}).setdefault(node, []).append(pod)
    for named in plan.named:
        ref = plan.workloads[named.name].ref
        of_named = _alone(plan, named, own.get(named.name, {}), ending, replicas)
        yield ref, way_back(beginning(of_named, SEED), named.name, neighbours.of(named, ref))


def _alone(
    plan: Plan,
    named: Named,
    own: Mapping[str, Sequence[InitialPod]],
    ending: Mapping[str, Sequence[InitialPod]],
    replicas: Mapping[str, int],
) -> Plan:
    """Return the plan of one workload, in whose runs its own Pods may be deleted, and no others preempted."""

    def passive(pods: Iterable[InitialPod]) -> Iterator[InitialPod]:
        for pod in pods:
            is_own = pod.maker is not None and pod.maker.source == named.name
            yield pod if is_own or pod.revision < 0 else replace(pod, revision=-1)

    start, workload = plan.start, plan.workloads[named.name]
    by_node = {node: (*passive(ending.get(node, ())), *own.get(node, ())) for node in own.keys() | ending.keys()}
    return Plan(
        start._replace(by_node=dict(sorted(by_node.items())), waiting=tuple(passive(start.waiting))),
        (named,),
        (),
        (),
        tuple(
            [
                _with_replicas(budget, named.name, replicas)
                for budget in plan.budgets
                if budget.namespace == workload.ref.namespace
            ]
        ),
        workloads={named.name: workload},
    )


def _with_replicas(budget: Budget, name: str, replicas: Mapping[str, int]) -> Budget:
    """Return a budget that expects as many Pods of the workloads that are not simulated as they want."""
    others = [workload for workload in budget.workloads if workload != name]
    return budget._replace(
        expected=budget.expected + sum(replicas[workload] for workload in others),
        workloads=tuple([workload for workload in budget.workloads if workload == name]),
    )


class _Neighbours:
    """The workloads of each namespace, by what their next Pods are like."""

    def __init__(self, makers: Makers) -> None:
        self._makers = makers
        self._raws: dict[str, list[Raw]] = {}
        for _, raw in sorted(makers.cluster.others.items()):
            self._raws.setdefault(ObjectRef.of(raw).namespace, []).append(raw)
        self._by_namespace: dict[str, list[Neighbour]] = {}

    def of(self, named: Named, ref: ObjectRef) -> list[Neighbour]:
        """Return the other workloads that have a constraint which counts the Pods of a workload."""
        if ref.namespace not in self._by_namespace:
            self._by_namespace[ref.namespace] = list(self._in(ref.namespace))
        labels = named.first_class.pod.labels
        return [
            neighbour
            for neighbour in self._by_namespace[ref.namespace]
            if neighbour.name != named.name
            if any(constraint.selector.matches(labels) for constraint in neighbour.of_class.constraints)
        ]

    def _in(self, namespace: str) -> Iterator[Neighbour]:
        for raw in self._raws.get(namespace, ()):
            subject = self._makers.next(raw) if owner_of(raw) is None else None
            if subject is not None:
                yield Neighbour(str(ObjectRef.of(raw)), self._makers.pod_class(subject)[0])
