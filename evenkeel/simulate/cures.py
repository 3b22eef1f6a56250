"""
What lets a rollout finish that does not: another strategy, the template before it, or that Pods are deleted.

    plan, runs in which a rollout does not finish ──each change, in some runs──> Cure, if it then finishes in all
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil, log
from random import Random
from typing import NamedTuple

from evenkeel.placement.closed_nodes import ClosedNodes, closed_nodes
from evenkeel.placement.kubectl_commands import ClusterEdit, deleting, patching
from evenkeel.placement.remedies import MOST_PODS_DELETED, pods_by_name
from evenkeel.scheduler.framework import feasible_nodes, find_feasible
from evenkeel.simulate.controllers import DAEMON_SET, DEPLOYMENT, STATEFUL
from evenkeel.simulate.outcomes import StepOutcome, run
from evenkeel.simulate.run import Named, Plan, at_end
from evenkeel.simulate.state import State
from evenkeel.simulate.step import REPLACE, UNDO, Step
from evenkeel.terminal.progress import with_bar
from webhook.kubernetes.references import ObjectRef
from webhook.kubernetes.update_strategies import DaemonSetUpdate, DeploymentStrategy

LEAST_RUNS, MOST_RUNS = 3, 30  # in which a change is tried
CHANCE = 0.05  # that a change without any effect seems to help
ROLLING = DeploymentStrategy(max_surge=0, max_unavailable=1)
RECREATE = DeploymentStrategy(recreate=True)
STRATEGIES: Mapping[DeploymentStrategy, Mapping[str, object]] = {
    ROLLING: {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
    RECREATE: {"type": "Recreate"},
}

Outcomes = Sequence[StepOutcome]  # of a run, before any step and after each


class Cure(NamedTuple):
    """A change with which a rollout finishes, and the edits that make it; none of what is to be changed in files."""

    change: str
    edits: tuple[ClusterEdit, ...]


def cures(plan: Plan, seed: int, outcomes: Sequence[Outcomes], *, applied: bool) -> dict[ObjectRef, list[Cure]]:
    """
    Return what lets rollouts finish, for each workload whose rollout does not finish in some run.

    Each change is tried for all workloads at once.
    `applied`: the workloads come from files, so that they are changed there, and not rolled back in the cluster.
    """
    named = {workload.name: workload for workload in plan.named}
    refs = [plan.workloads[workload.name].ref for workload in plan.named]
    stuck = {ref: runs for ref in refs if (runs := _stuck_runs(outcomes, str(ref), 1))}
    if not stuck:
        return {}
    found_cures: dict[ObjectRef, list[Cure]] = {ref: [] for ref in stuck}
    # The rollout that is stuck most rarely needs the most runs to tell that a change helps.
    wanted = wanted_runs(min(map(len, stuck.values())) / len(outcomes))
    for strategy in STRATEGIES:
        refs_tried = [ref for ref in stuck if _takes(ref, named[str(ref)], strategy)]
        for ref in _finishing(_with_strategy(plan, strategy, refs_tried), seed, wanted, refs_tried):
            cure = _of_strategy(ref, strategy, named[str(ref)])
            found_cures[ref].append(cure._replace(edits=()) if applied else cure)
    # From here on only what is stuck after the last step counts: the number of one such run.
    stuck_in_end = {ref: runs[0] for ref in stuck if (runs := _stuck_runs(outcomes, str(ref), len(plan.steps)))}
    for ref, deletion in _deletions(plan, seed, wanted, stuck_in_end):
        found_cures[ref].append(deletion)
    if applied:
        return found_cures
    plan_undone = _with_step(plan, UNDO)
    complete = _complete(plan_undone, seed, wanted, stuck_in_end)
    for ref in complete:
        found_cures[ref].append(_undo(ref, named[str(ref)]))
    incomplete = {ref: number for ref, number in stuck_in_end.items() if ref not in complete}
    for ref, deletion in _deletions(plan_undone, seed, wanted, incomplete):
        undo = _undo(ref, named[str(ref)])
        found_cures[ref].append(Cure(f"{undo.change}, then {deletion.change}", (*undo.edits, *deletion.edits)))
    return found_cures


def _stuck_runs(outcomes: Iterable[Outcomes], name: str, first: int) -> list[int]:
    """Return the numbers of the runs in which a rollout does not finish in step `first`, counted from 1, or later."""
    return [number for number, of_run in enumerate(outcomes) if _is_stuck(of_run, name, first)]


def _is_stuck(of_run: Outcomes, name: str, first: int) -> bool:
    of_workload = [step.workloads[name] for step in of_run[first:]]
    return any(outcome.rolling and outcome.unfinished for outcome in of_workload)


def wanted_runs(stuck: float) -> int:
    """Return how many runs it takes until a rollout stuck in this share of them finishes in all by CHANCE only."""
    enough = ceil(log(CHANCE) / log(1 - stuck)) if stuck < 1 else 1
    return min(max(LEAST_RUNS, enough), MOST_RUNS)


def _finishing(plan: Plan, seed: int, wanted: int, tried: Iterable[ObjectRef]) -> list[ObjectRef]:
    """Return the workloads whose rollouts finish in all of so many runs."""
    return _helped(plan, seed, wanted, tried, lambda of_run, name: not _is_stuck(of_run, name, 1))


def _complete(plan: Plan, seed: int, wanted: int, tried: Iterable[ObjectRef]) -> list[ObjectRef]:
    """Return the workloads that are complete at the end of each of so many runs."""
    return _helped(plan, seed, wanted, tried, lambda of_run, name: of_run[-1].workloads[name].complete)


def _helped(
    plan: Plan, seed: int, wanted: int, tried: Iterable[ObjectRef], helps: Callable[[Outcomes, str], bool]
) -> list[ObjectRef]:
    helped = list(tried)
    for number in with_bar(range(wanted), wanted, "runs with a change"):
        if helped:
            of_run = run(plan, seed, number)
            helped = [ref for ref in helped if helps(of_run, str(ref))]
    return helped


def _with_step(plan: Plan, action: str) -> Plan:
    """Return the plan with one more step, which changes no node."""
    ground = replace((plan.start.ground, *plan.grounds)[-1], touched=(), like=())
    return replace(plan, steps=(*plan.steps, Step(action, action)), grounds=(*plan.grounds, ground))


def _takes(ref: ObjectRef, named: Named, strategy: DeploymentStrategy) -> bool:
    if ref.kind == DAEMON_SET:
        return strategy == ROLLING and named.daemon != DaemonSetUpdate()
    return ref.kind == DEPLOYMENT and named.strategy != strategy


def _with_strategy(plan: Plan, strategy: DeploymentStrategy, refs: Iterable[ObjectRef]) -> Plan:
    names = {str(ref) for ref in refs}
    changed = [
        replace(named, strategy=strategy, daemon=named.daemon and DaemonSetUpdate()) if named.name in names else named
        for named in plan.named
    ]
    return replace(plan, named=tuple(changed))


def _of_strategy(ref: ObjectRef, strategy: DeploymentStrategy, named: Named) -> Cure:
    words = "type: Recreate" if strategy.recreate else "maxSurge: 0 and maxUnavailable: 1"
    meanwhile = "no Pod runs" if strategy.recreate or named.replicas <= 1 else "one Pod fewer runs"
    name = "updateStrategy" if ref.kind == DAEMON_SET else "strategy"
    operation = {"op": "add", "path": f"/spec/{name}", "value": STRATEGIES[strategy]}
    return Cure(f"{words} in spec.{name} ({meanwhile} meanwhile)", (patching(ref, operation),))


def _undo(ref: ObjectRef, named: Named) -> Cure:
    """Return a rollback; it names the revision where that is not surely the one before the newest."""
    *_, before = named.sets if named.makers else named.sets[:-1]
    to_revision = () if named.makers or not before.revision else (f"--to-revision={before.revision}",)
    arguments = ("rollout", "undo", ref.in_kubectl, "-n", ref.namespace, *to_revision)
    return Cure("roll back to the old template", (ClusterEdit(arguments, (ref.namespace, ref.name)),))


def _deletions(plan: Plan, seed: int, wanted: int, stuck: Mapping[ObjectRef, int]) -> Iterator[tuple[ObjectRef, Cure]]:
    """
    Yield the deletion of the waiting Pods of StatefulSets that have an old template: no StatefulSet deletes these.

    `stuck`: for each workload, the number of a run at whose end it is not complete.
    """
    sets = [ref for ref in stuck if ref.kind == STATEFUL]
    for ref in _complete(_with_step(plan, REPLACE), seed, wanted, sets):
        run_at_end = at_end(plan, seed, stuck[ref])
        workload = run_at_end.workloads[str(ref)]
        waiting = [pod for pod in run_at_end.state.waiting if pod.workload == str(ref) and workload.is_outdated(pod)]
        names = [f"{ref.name}-{pod.ordinal}" for pod in waiting]
        if names:
            pods = pods_by_name(names) if len(names) <= MOST_PODS_DELETED else f"the {len(names):,} Pods that wait"
            yield ref, Cure(f"delete {pods}", (deleting(ref.namespace, *names),))


def closed(plan: Plan, seed: int, outcomes: Sequence[Outcomes]) -> tuple[ClosedNodes, ...]:
    """Return what is known, before all steps, of taints and cordons that refuse Pods which wait in the end."""
    before = State(plan.start, Random(seed))
    waiting = [named for named in plan.named if any(of_run[-1].workloads[named.name].waiting for of_run in outcomes)]
    cycles = [before.cycle(named.sets[-1].maker.of_class) for named in waiting]
    return tuple(dict.fromkeys(nodes for cycle in cycles for nodes in closed_nodes(cycle, find_feasible(cycle))))


def explained(plan: Plan, seed: int, outcomes: Sequence[Outcomes]) -> ObjectRef | None:
    """
    Return what a person can have explained of the Pods that wait in the end: a Pod that the cluster has, if one waits;
    else a workload, if its next Pod has no node before all steps either.

    None if no Pod waits, or only the steps make it wait.
    """
    names = [named.name for named in plan.named]
    waiting_in = (i for i, of_run in enumerate(outcomes) if any(of_run[-1].workloads[name].waiting for name in names))
    number = next(waiting_in, None)
    if number is None:
        return None
    waiting = [pod for pod in at_end(plan, seed, number).state.waiting if pod.revision >= 0]
    for pod in waiting:
        if pod.name:
            return ObjectRef("v1", "Pod", pod.namespace, pod.name)
    sets = {named.name: named.sets for named in plan.named}
    before = State(plan.start, Random(seed))
    for name in dict.fromkeys(pod.workload for pod in waiting):
        if not feasible_nodes(before.cycle(sets[name][-1].maker.of_class)):
            return plan.workloads[name].ref
    return None
