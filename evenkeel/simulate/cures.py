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

from evenkeel.placement.kubectl_commands import ClusterEdit, deleting, patching
from evenkeel.placement.remedies import MOST_PODS_DELETED, pods_by_name
from evenkeel.scheduler.framework import feasible_nodes
from evenkeel.simulate.controllers import DAEMON_SET, DEPLOYMENT, STATEFUL
from evenkeel.simulate.outcomes import StepOutcome, run
from evenkeel.simulate.run import Named, Plan, at_end
from evenkeel.simulate.state import State
from evenkeel.simulate.step import REPLACE, UNDO, Step
from webhook.kubernetes.references import ObjectRef
from webhook.kubernetes.update_strategies import DaemonSetUpdate, DeploymentStrategy

LEAST_RUNS, MOST_RUNS = 3, 30  # in which a change is tried
CHANCE = 0.05  # with which one that changes nothing may seem to help
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
    Return what lets the rollouts of workloads finish, for each of which one does not in some run.

    Each change is tried in all of them together.  What is `applied` from files is not rolled back in the cluster.
    """
    named = {of.name: of for of in plan.named}
    refs = [plan.workloads[of.name].ref for of in plan.named]
    stuck = {ref: runs for ref in refs if (runs := _stuck_runs(outcomes, str(ref), 1))}
    if not stuck:
        return {}
    found: dict[ObjectRef, list[Cure]] = {ref: [] for ref in stuck}
    wanted = wanted_runs(min(map(len, stuck.values())) / len(outcomes))
    for strategy in STRATEGIES:
        tried = [ref for ref in stuck if _takes(ref, named[str(ref)], strategy)]
        for ref in _finishing(_with_strategy(plan, strategy, tried), seed, wanted, tried):
            cure = _of_strategy(ref, strategy, named[str(ref)])
            found[ref].append(cure._replace(edits=()) if applied else cure)
    in_end = {ref: runs[0] for ref in stuck if (runs := _stuck_runs(outcomes, str(ref), len(plan.steps)))}
    for ref, deletion in _deletions(plan, seed, wanted, in_end):
        found[ref].append(deletion)
    if applied:
        return found
    undone = _further(plan, UNDO)
    complete = _complete(undone, seed, wanted, in_end)
    for ref in complete:
        found[ref].append(_undo(ref, named[str(ref)]))
    others = {ref: number for ref, number in in_end.items() if ref not in complete}
    for ref, deletion in _deletions(undone, seed, wanted, others):
        undo = _undo(ref, named[str(ref)])
        found[ref].append(Cure(f"{undo.change}, then {deletion.change}", (*undo.edits, *deletion.edits)))
    return found


def _stuck_runs(outcomes: Iterable[Outcomes], name: str, first: int) -> list[int]:
    """Return the runs in which a rollout does not finish in the step `first`, counted from 1, or in a later one."""
    return [number for number, of_run in enumerate(outcomes) if _is_stuck(of_run, name, first)]


def _is_stuck(of_run: Outcomes, name: str, first: int) -> bool:
    own = [step.workloads[name] for step in of_run[first:]]
    return any(outcome.rolling and outcome.unfinished for outcome in own)


def wanted_runs(stuck: float) -> int:
    """Return in how many runs a rollout that does not finish in this share seldom finishes in all."""
    enough = ceil(log(CHANCE) / log(1 - stuck)) if stuck < 1 else 1
    return min(max(LEAST_RUNS, enough), MOST_RUNS)


def _finishing(plan: Plan, seed: int, wanted: int, tried: Iterable[ObjectRef]) -> list[ObjectRef]:
    """Return the workloads whose rollouts finish in all of so many runs."""
    return _helped(plan, seed, wanted, tried, lambda of_run, name: not _is_stuck(of_run, name, 1))


def _complete(plan: Plan, seed: int, wanted: int, tried: Iterable[ObjectRef]) -> list[ObjectRef]:
    """Return the workloads of which in the end of all runs every Pod is as they want it."""
    return _helped(plan, seed, wanted, tried, lambda of_run, name: of_run[-1].workloads[name].complete)


def _helped(
    plan: Plan, seed: int, wanted: int, tried: Iterable[ObjectRef], helps: Callable[[Outcomes, str], bool]
) -> list[ObjectRef]:
    helped = list(tried)
    for number in range(wanted):
        if helped:
            of_run = run(plan, seed, number)
            helped = [ref for ref in helped if helps(of_run, str(ref))]
    return helped


def _further(plan: Plan, action: str) -> Plan:
    """Return the plan with one step more, which changes no node."""
    ground = replace((plan.start.ground, *plan.grounds)[-1], touched=(), like=())
    return replace(plan, steps=(*plan.steps, Step(action, action)), grounds=(*plan.grounds, ground))


def _takes(ref: ObjectRef, named: Named, strategy: DeploymentStrategy) -> bool:
    if ref.kind == DAEMON_SET:
        return strategy == ROLLING and named.daemon != DaemonSetUpdate()
    return ref.kind == DEPLOYMENT and named.strategy != strategy


def _with_strategy(plan: Plan, strategy: DeploymentStrategy, refs: Iterable[ObjectRef]) -> Plan:
    names = {str(ref) for ref in refs}
    changed = [
        replace(of, strategy=strategy, daemon=of.daemon and DaemonSetUpdate()) if of.name in names else of
        for of in plan.named
    ]
    return replace(plan, named=tuple(changed))


def _of_strategy(ref: ObjectRef, strategy: DeploymentStrategy, named: Named) -> Cure:
    words = "type: Recreate" if strategy.recreate else "maxSurge: 0 and maxUnavailable: 1"
    fewer = "no Pod runs" if strategy.recreate or named.replicas <= 1 else "one Pod fewer runs"
    name = "updateStrategy" if ref.kind == DAEMON_SET else "strategy"
    operation = {"op": "add", "path": f"/spec/{name}", "value": STRATEGIES[strategy]}
    return Cure(f"{words} in spec.{name} ({fewer} meanwhile)", (patching(ref, operation),))


def _undo(ref: ObjectRef, named: Named) -> Cure:
    """Return a rollback; it names the revision where that is not surely the one before the newest."""
    *_, before = named.sets if named.makers else named.sets[:-1]
    to_revision = () if named.makers or not before.revision else (f"--to-revision={before.revision}",)
    arguments = ("rollout", "undo", ref.in_kubectl, "-n", ref.namespace, *to_revision)
    return Cure("roll back to the old template", (ClusterEdit(arguments, (ref.namespace, ref.name)),))


def _deletions(plan: Plan, seed: int, wanted: int, stuck: Mapping[ObjectRef, int]) -> Iterator[tuple[ObjectRef, Cure]]:
    """
    Yield the deletion of StatefulSets' Pods that wait and have an old template, which they do not do themselves.

    Each of them is `stuck` in the end of the run of this number.
    """
    sets = [ref for ref in stuck if ref.kind == STATEFUL]
    for ref in _complete(_further(plan, REPLACE), seed, wanted, sets):
        end = at_end(plan, seed, stuck[ref])
        workload = end.workloads[str(ref)]
        waiting = [pod for pod in end.state.waiting if pod.workload == str(ref) and workload.is_outdated(pod)]
        names = [f"{ref.name}-{pod.ordinal}" for pod in waiting]
        if names:
            pods = pods_by_name(names) if len(names) <= MOST_PODS_DELETED else f"the {len(names):,} Pods that wait"
            yield ref, Cure(f"delete {pods}", (deleting(ref.namespace, *names),))


def explained(plan: Plan, seed: int, outcomes: Sequence[Outcomes]) -> ObjectRef | None:
    """
    Return the Pod that waits first in the end, of those that the cluster has, or else the workload that makes it.

    None if none waits, or if the workload's next Pod has a node as the cluster is before all steps.
    """
    names = [of.name for of in plan.named]
    waiting_in = (i for i, of_run in enumerate(outcomes) if any(of_run[-1].workloads[name].waiting for name in names))
    number = next(waiting_in, None)
    if number is None:
        return None
    waiting = [pod for pod in at_end(plan, seed, number).state.waiting if pod.revision >= 0]
    for pod in waiting:
        if pod.name:
            return ObjectRef("v1", "Pod", pod.namespace, pod.name)
    sets = {of.name: of.sets for of in plan.named}
    before = State(plan.start, Random(seed))
    for name in dict.fromkeys(pod.workload for pod in waiting):
        if not feasible_nodes(before.cycle(sets[name][-1].maker.of_class)):
            return plan.workloads[name].ref
    return None
