"""
Simulates the rollout that a change in a workload's template starts.

    Remedy in the template, workload ──a rollout to the changed template, a few runs──> how often it ends, what waits

The work is bounded by how often Pods are tried to be placed, never by time: equal input gives equal output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple

from evenkeel.placement.inferred_defaults import DefaultsOf, none_given
from evenkeel.placement.remedies import IN_TEMPLATE, Remedy, asking_as
from evenkeel.scheduler.pod_affinity import PodAffinity, preferring
from evenkeel.scheduler.preemption import LOWEST_PRIORITY
from evenkeel.scheduler.profile import USUAL_PROFILES, Cycle, Profiles
from evenkeel.simulate import rollout_bounds
from evenkeel.simulate.controllers import DAEMON_SET, STATEFUL, SimulatedCluster
from evenkeel.simulate.planning import Planned, is_simulated, planned
from evenkeel.simulate.pod import Maker, PodClass
from evenkeel.simulate.results import Range, ranged
from evenkeel.simulate.run import HOUR, Plan, SimulatedRun
from evenkeel.simulate.state import OutOfPlacementsError
from evenkeel.simulate.step import REPLACE, ROLLOUT, Step, StepError
from webhook.kubernetes.fields import Raw
from webhook.kubernetes.kinds import KINDS, Kinds
from webhook.kubernetes.references import ObjectRef

SEED, LEAST_RUNS, MOST_ROLLOUT_RUNS = 1, 3, 20
NODES_TRIED_IN_ROLLOUT = 15_000  # in the runs for one remedy
MOST_PLACEMENTS = 40_000  # In the runs for all remedies, as State counts them; each remedy has an equal share.


class Rollout(NamedTuple):
    """What the rollout of a change comes to."""

    runs: int  # fewer than wanted, or none, where the share of the placements was spent
    wanted_runs: int  # 0 where counts say how it ends
    finishes: float  # the share of the runs
    pending: Range  # Pods that wait
    replicas: int
    replaced: float = 0.0  # the share in which it finishes if waiting Pods of the old template are deleted

    @property
    def known(self) -> bool:
        """Whether it is known how it ends."""
        return self.runs > 0 or not self.wanted_runs


Rollouts = tuple[Rollout | None, ...]  # For each remedy; None where it starts none that can be simulated.


def simulated_rollouts(
    remedies: Sequence[Remedy],
    cycle: Cycle,
    raw: Raw | None,
    cluster: SimulatedCluster,
    kinds: Kinds = KINDS,
    profiles: Profiles = USUAL_PROFILES,
    defaults: DefaultsOf = none_given,
    most_placements: int = MOST_PLACEMENTS,
) -> Rollouts:
    """
    Simulate for each remedy of the attempt `cycle` the rollout that it starts of the workload `raw`.

    None is simulated for a remedy in the cluster, or in both the template and the cluster.
    `defaults`: the constraints that new Pods without any are given.
    """
    nothing = (None,) * len(remedies)
    if raw is None or not is_simulated(raw) or ObjectRef.of(raw).kind == DAEMON_SET:  # A Pod of it has its own node.
        return nothing
    if not any(remedy.where == IN_TEMPLATE for remedy in remedies):
        return nothing
    try:
        steps = [Step(ROLLOUT, ROLLOUT), *([Step(REPLACE, REPLACE)] if ObjectRef.of(raw).kind == STATEFUL else [])]
        rollout_plan = planned(raw, cluster, steps, kinds, profiles=profiles, defaults=defaults)
    except StepError:
        return nothing
    # The Pods that may be preempted are not known one by one.
    if rollout_plan.preemptor_priority > cluster.known_below:
        return nothing
    starting = [remedy.where == IN_TEMPLATE and not remedy.also_now for remedy in remedies]
    runs = max(LEAST_RUNS, min(MOST_ROLLOUT_RUNS, NODES_TRIED_IN_ROLLOUT // max(1, len(cycle.snapshot.nodes))))
    placements_each = most_placements // max(1, sum(starting))
    rollouts: list[Rollout | None] = []
    for remedy, starts in zip(remedies, starting, strict=True):
        if starts:
            of_class = _changed_class(_maker(rollout_plan.plan).of_class, cycle, remedy.cycle)
            rollouts.append(_rolled_out(rollout_plan, of_class, runs, placements_each))
        else:
            rollouts.append(None)
    return tuple(rollouts)


def _maker(plan: Plan) -> Maker:
    (named,) = plan.named
    return named.makers[0]


def _rolled_out(planned_rollout: Planned, of_class: PodClass, wanted_runs: int, placements: int) -> Rollout:
    """
    Return what the rollout to Pods of this class comes to, by counts alone, or by runs as far as the placements last.

    Where counts say that it never finishes, runs only tell how many Pods wait: a few that agree are enough.
    """
    (named,) = planned_rollout.plan.named
    finishes = (
        rollout_bounds.finishes(planned_rollout.plan, of_class)
        if planned_rollout.preemptor_priority == LOWEST_PRIORITY
        else None
    )
    if finishes:
        return Rollout(0, 0, 1.0, Range(0, 0, 0), named.replicas, 1.0)
    with_change = replace(named, makers={0: _maker(planned_rollout.plan)._replace(of_class=of_class)})
    plan, ends = replace(planned_rollout.plan, named=(with_change,)), list[_End]()
    while len(ends) < wanted_runs:
        try:
            ends.append(_ended(plan, len(ends), placements))
        except OutOfPlacementsError:
            break
        placements -= ends[-1].placements
        if finishes is False and len(ends) >= LEAST_RUNS and len({end.pending for end in ends}) == 1:
            wanted_runs = len(ends)
    if len(ends) < LEAST_RUNS:  # Few runs say little of what is chance.
        return Rollout(0, wanted_runs, 0.0, Range(0, 0, 0), named.replicas)
    finished = sum(end.finishes for end in ends) / len(ends)
    replaced = sum(end.replaced for end in ends) / len(ends)
    return Rollout(len(ends), wanted_runs, finished, ranged(end.pending for end in ends), named.replicas, replaced)


class _End(NamedTuple):
    """How a run ends."""

    finishes: bool  # the rollout
    replaced: bool  # it finishes once waiting Pods of the old template are deleted
    pending: int  # Pods that wait before these are deleted
    placements: int


def _ended(plan: Plan, number: int, placements: int) -> _End:
    """Return how one run ends; once the rollout has finished no further step is taken."""
    simulated = SimulatedRun(plan, Random(f"{SEED}/{number}"), placements)
    (workload,) = simulated.workloads.values()
    rollout, *further = plan.steps
    simulated.take(0, rollout)
    finishes, pending = workload.complete, sum(pod.revision >= 0 for pod in simulated.state.waiting)
    for i, step in enumerate(further, 1):
        if not workload.complete:
            simulated.state.now += HOUR
            simulated.take(i, step)
    return _End(finishes, workload.complete, pending, simulated.state.placements)


def _changed_class(of_class: PodClass, before: Cycle, changed: Cycle) -> PodClass:
    """Return the class of the new Pods with what a remedy changes; selectors stay, as they are of the new revision."""
    own_selectors = {constraint.index: constraint.selector for constraint in of_class.constraints}
    constraints = [
        replace(constraint, selector=own_selectors[constraint.index])
        for constraint in changed.constraints
        if constraint.index in own_selectors
    ]
    softened = _softened(of_class.pod.pod_affinity, before.pod.pod_affinity, changed.pod.pod_affinity)
    pod = replace(asking_as(of_class.pod, changed.pod), pod_affinity=softened)
    return replace(of_class, pod=pod, constraints=tuple(constraints))


def _softened(own: PodAffinity | None, before: PodAffinity | None, after: PodAffinity | None) -> PodAffinity | None:
    """
    Return the affinity of the new Pods, in which those terms are preferred that a remedy makes preferred.

    Terms are told by their positions, not by what they are: by matchLabelKeys a new revision has other selectors.
    """
    if own is None or before is None or after is None:
        return own
    for apart in (True, False):
        terms, remaining = (affinity.anti_affinity if apart else affinity.affinity for affinity in (before, after))
        if len(remaining) < len(terms):
            position = next(i for i, term in enumerate(terms) if i == len(remaining) or term != remaining[i])
            own = preferring(own, position, apart=apart)
    return own
