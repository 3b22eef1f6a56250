"""
Simulates the rollout that a change in a workload's template starts.

    Remedy in the template, workload ──a rollout to the changed template, a few runs──> how often it ends, what waits

The work is bounded by the number of Pods that are placed, never by time: equal input gives equal output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from webhook.objects.fields import Raw
from webhook.objects.kinds import KINDS, Kinds
from webhook.placement.inferred_defaults import Defaults, none_given
from webhook.placement.remedies import IN_TEMPLATE, Remedy
from webhook.scheduler.profile import USUAL_PROFILES, Cycle, Profiles
from webhook.simulation.controllers import SimulatedCluster
from webhook.simulation.planning import is_simulated, planned
from webhook.simulation.pod import PodClass
from webhook.simulation.results import Range, ranged
from webhook.simulation.run import Plan, run
from webhook.simulation.step import ROLLOUT, Step, StepError

SEED, LEAST_RUNS, MOST_ROLLOUT_RUNS = 1, 3, 20
NODES_TRIED_IN_ROLLOUT = 15_000  # in the runs for one remedy
MOST_PLACEMENTS = 20_000  # in the runs for all remedies of a Pod; a run places each replica anew


class Rollout(NamedTuple):
    """What the rollout of a change comes to in so many runs: the share that ends, and how many Pods wait."""

    runs: int
    finishes: float
    pending: Range
    replicas: int


class Rollouts(NamedTuple):
    """
    For each remedy the rollout that it starts, None where none was simulated.

    `left_out` is the number of those that were not simulated because MOST_PLACEMENTS would have been exceeded.
    """

    of_remedies: tuple[Rollout | None, ...]
    left_out: int = 0


def simulated_rollouts(
    remedies: Sequence[Remedy],
    cycle: Cycle,
    raw: Raw | None,
    cluster: SimulatedCluster,
    kinds: Kinds = KINDS,
    profiles: Profiles = USUAL_PROFILES,
    defaults: Defaults = none_given,
) -> Rollouts:
    """
    Simulate, for each remedy of the attempt `cycle`, the rollout that it starts of the workload `raw`.

    Nothing is simulated for a remedy that is made in the cluster, also together with one in the template.
    `defaults` are the constraints that new Pods without any are given.
    """
    nothing = Rollouts((None,) * len(remedies))
    if raw is None or not is_simulated(raw) or not any(remedy.where == IN_TEMPLATE for remedy in remedies):
        return nothing
    try:
        plan = planned(raw, cluster, [Step(ROLLOUT, ROLLOUT)], kinds, profiles=profiles, defaults=defaults).plan
    except StepError:
        return nothing
    placements_left, left_out = MOST_PLACEMENTS, 0
    rollouts: list[Rollout | None] = []
    for remedy in remedies:
        rollouts.append(None)
        if remedy.where != IN_TEMPLATE or remedy.cycle.snapshot is not cycle.snapshot:
            continue
        runs = _runs(plan, len(cycle.snapshot.nodes), placements_left)
        if runs:
            rollouts[-1] = _rolled_out(plan, remedy.cycle, runs)
            placements_left -= runs * plan.named.replicas
        else:
            left_out += 1
    return Rollouts(tuple(rollouts), left_out)


def _runs(plan: Plan, nodes: int, placements_left: int) -> int:
    """Return how often a rollout is simulated, 0 if too few placements are left."""
    runs = max(LEAST_RUNS, min(MOST_ROLLOUT_RUNS, NODES_TRIED_IN_ROLLOUT // max(1, nodes)))
    runs = min(runs, placements_left // max(1, plan.named.replicas))
    return runs if runs >= LEAST_RUNS else 0


def _rolled_out(plan: Plan, changed: Cycle, runs: int) -> Rollout:
    maker = plan.makers[0]
    made = replace(plan, makers={0: maker._replace(of_class=_changed(maker.of_class, changed))})
    ends = [run(made, SEED, number)[-1] for number in range(runs)]
    finishes = sum(end.complete for end in ends) / runs
    return Rollout(runs, finishes, ranged(end.pending for end in ends), plan.named.replicas)


def _changed(of_class: PodClass, changed: Cycle) -> PodClass:
    """Return the class of the new Pods with what a remedy changes; they count by their own revision."""
    own = {constraint.index: constraint.selector for constraint in of_class.constraints}
    constraints = [
        replace(constraint, selector=own[constraint.index])
        for constraint in changed.constraints
        if constraint.index in own
    ]
    pod = changed.pod
    asked = replace(of_class.pod, affinity=pod.affinity, tolerations=pod.tolerations, requests=pod.requests)
    return replace(of_class, pod=asked, constraints=tuple(constraints))
