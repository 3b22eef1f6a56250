"""
Simulates the rollout that a change in a workload's template starts.

    Remedy in the template, workload ──a rollout to the changed template, a few runs──> how often it ends, what waits

The work is bounded by how often Pods are tried to be placed, never by time: equal input gives equal output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from webhook.objects.fields import Raw
from webhook.objects.kinds import KINDS, Kinds
from webhook.objects.references import ObjectRef
from webhook.placement.inferred_defaults import DefaultsOf, none_given
from webhook.placement.remedies import IN_TEMPLATE, Remedy, asking_as
from webhook.scheduler.pod_affinity import PodAffinity, preferring
from webhook.scheduler.profile import USUAL_PROFILES, Cycle, Profiles
from webhook.simulation.controllers import STATEFUL, SimulatedCluster
from webhook.simulation.planning import is_simulated, planned
from webhook.simulation.pod import PodClass
from webhook.simulation.results import Range, ranged
from webhook.simulation.run import Plan, StepOutcome, run
from webhook.simulation.state import OutOfPlacementsError
from webhook.simulation.step import REPLACE, ROLLOUT, Step, StepError

SEED, LEAST_RUNS, MOST_ROLLOUT_RUNS = 1, 3, 20
NODES_TRIED_IN_ROLLOUT = 15_000  # in the runs for one remedy
MOST_PLACEMENTS = 40_000  # In the runs for all remedies, as State counts them; each remedy has an equal share.


class Rollout(NamedTuple):
    """
    What the rollout of a change comes to in so many runs: the share that ends, and how many Pods wait.

    There are fewer `runs` than `wanted_runs`, or none, where its share of the placements was spent.  `replaced` is the
    share that ends if Pods of the old template that wait are deleted, which a StatefulSet does not do itself.
    """

    runs: int
    wanted_runs: int
    finishes: float
    pending: Range
    replicas: int
    replaced: float = 0.0


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
    Simulate, for each remedy of the attempt `cycle`, the rollout that it starts of the workload `raw`.

    None is simulated for a remedy that is made in the cluster, also together with one in the template.
    `defaults` are the constraints that new Pods without any are given.
    """
    nothing = (None,) * len(remedies)
    if raw is None or not is_simulated(raw) or not any(remedy.where == IN_TEMPLATE for remedy in remedies):
        return nothing
    try:
        steps = [Step(ROLLOUT, ROLLOUT), *([Step(REPLACE, REPLACE)] if ObjectRef.of(raw).kind == STATEFUL else [])]
        made = planned(raw, cluster, steps, kinds, profiles=profiles, defaults=defaults)
    except StepError:
        return nothing
    if made.preempting > cluster.known_below:  # The Pods that may be preempted are not known one by one.
        return nothing
    plan = made.plan
    starting = [remedy.where == IN_TEMPLATE and not remedy.also_now for remedy in remedies]
    runs = max(LEAST_RUNS, min(MOST_ROLLOUT_RUNS, NODES_TRIED_IN_ROLLOUT // max(1, len(cycle.snapshot.nodes))))
    share = most_placements // max(1, sum(starting))
    return tuple(
        _rolled_out(plan, cycle, remedy.cycle, runs, share) if starts else None
        for remedy, starts in zip(remedies, starting, strict=True)
    )


def _rolled_out(plan: Plan, before: Cycle, changed: Cycle, wanted_runs: int, placements: int) -> Rollout:
    """Simulate the rollout of a change, as often as it is wanted and the placements suffice for."""
    (named,) = plan.named
    maker = named.makers[0]
    anew = maker._replace(of_class=_changed_class(maker.of_class, before, changed))
    made = replace(plan, named=(replace(named, makers={0: anew}),))
    runs: list[tuple[StepOutcome, ...]] = []
    while len(runs) < wanted_runs:
        try:
            runs.append(run(made, SEED, len(runs), placements))
        except OutOfPlacementsError:
            break
        placements -= runs[-1][-1].placements
    if len(runs) < LEAST_RUNS:  # Few runs say little of what is chance.
        return Rollout(0, wanted_runs, 0.0, Range(0, 0, 0), named.replicas)
    finishes, replaced = (sum(of_run[step].complete for of_run in runs) / len(runs) for step in (1, -1))
    pending = ranged(of_run[1].pending for of_run in runs)
    return Rollout(len(runs), wanted_runs, finishes, pending, named.replicas, replaced)


def _changed_class(of_class: PodClass, before: Cycle, changed: Cycle) -> PodClass:
    """Return the class of the new Pods with what a remedy changes; they count by their own revision."""
    own = {constraint.index: constraint.selector for constraint in of_class.constraints}
    constraints = [
        replace(constraint, selector=own[constraint.index])
        for constraint in changed.constraints
        if constraint.index in own
    ]
    softened = _softened(of_class.pod.pod_affinity, before.pod.pod_affinity, changed.pod.pod_affinity)
    asked = replace(asking_as(of_class.pod, changed.pod), pod_affinity=softened)
    return replace(of_class, pod=asked, constraints=tuple(constraints))


def _softened(own: PodAffinity | None, before: PodAffinity | None, after: PodAffinity | None) -> PodAffinity | None:
    """
    Return the affinity of the new Pods, with the terms preferred that a remedy prefers.

    Terms are known by their place: by matchLabelKeys a new revision may select other Pods than the old one.
    """
    if own is None or before is None or after is None:
        return own
    for apart in (True, False):
        terms, left = (affinity.anti_affinity if apart else affinity.affinity for affinity in (before, after))
        if len(left) < len(terms):
            moved = next(i for i, term in enumerate(terms) if i == len(left) or term != left[i])
            own = preferring(own, moved, apart=apart)
    return own
