"""
Judges a change in a workload's template by the rollout that it starts.

    Remedy in the template, workload ──a rollout to the changed template, a few runs──> how often it ends, what waits
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from webhook.objects.kinds import KINDS, Kinds
from webhook.placement.inferred_defaults import Defaults, none_given
from webhook.placement.remedies import IN_TEMPLATE, Remedy
from webhook.placement.subject import Raw
from webhook.scheduler.profile import USUAL_PROFILES, Cycle, Profiles
from webhook.simulation.controllers import SimulatedCluster
from webhook.simulation.planning import is_simulated, planned
from webhook.simulation.pod import PodClass
from webhook.simulation.results import Range, ranged
from webhook.simulation.run import Plan, run
from webhook.simulation.step import ROLLOUT, Step, StepError

SEED, LEAST_RUNS, MOST_ROLLOUT_RUNS = 1, 3, 20
NODES_TRIED_IN_ROLLOUT = 15_000  # in the runs for one remedy


class Rollout(NamedTuple):
    """What the rollout of a change comes to in so many runs: the share that ends, and how many Pods wait."""

    runs: int
    finishes: float
    pending: Range
    replicas: int


def judged(
    remedies: Sequence[Remedy],
    cycle: Cycle,
    raw: Raw | None,
    cluster: SimulatedCluster,
    kinds: Kinds = KINDS,
    profiles: Profiles = USUAL_PROFILES,
    defaults: Defaults = none_given,
) -> tuple[Rollout | None, ...]:
    """
    For each remedy of the attempt `cycle` the rollout that it starts of the workload `raw`.

    None for one made in the cluster, also together with one in the template, and where no rollout can be simulated.
    `defaults` are the constraints that new Pods without any are given.
    """
    if raw is None or not is_simulated(raw) or not any(one.where == IN_TEMPLATE for one in remedies):
        return (None,) * len(remedies)
    try:
        plan = planned(raw, cluster, [Step(ROLLOUT, ROLLOUT)], kinds, profiles=profiles, defaults=defaults).plan
    except StepError:
        return (None,) * len(remedies)
    return tuple(
        _rolled_out(plan, one.cycle) if one.where == IN_TEMPLATE and one.cycle.snapshot is cycle.snapshot else None
        for one in remedies
    )


def _rolled_out(plan: Plan, changed: Cycle) -> Rollout:
    maker = plan.makers[0]
    made = replace(plan, makers={0: maker._replace(of_class=_changed(maker.of_class, changed))})
    runs = max(LEAST_RUNS, min(MOST_ROLLOUT_RUNS, NODES_TRIED_IN_ROLLOUT // max(1, len(changed.snapshot.nodes))))
    ends = [run(made, SEED, number)[-1] for number in range(runs)]
    finishes = sum(one.complete for one in ends) / runs
    return Rollout(runs, finishes, ranged(one.pending for one in ends), plan.named.replicas)


def _changed(of_class: PodClass, changed: Cycle) -> PodClass:
    """The class of the new Pods with what a remedy changes; what they count by stays that of their own revision."""
    own = {one.index: one.selector for one in of_class.constraints}
    constraints = [replace(one, selector=own[one.index]) for one in changed.constraints if one.index in own]
    pod = changed.pod
    asked = replace(of_class.pod, affinity=pod.affinity, tolerations=pod.tolerations, requests=pod.requests)
    return replace(of_class, pod=asked, constraints=tuple(constraints))
