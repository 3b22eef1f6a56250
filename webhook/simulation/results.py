"""
What many runs have come to: for each step and constraint the Pods per domain, in each and in all of them together, and
what waits and why.

    outcomes of each run ──least, most likely, most, and shares of the runs──> Result of each step
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from typing import NamedTuple, TypeVar

from webhook.objects.fields import IntOrPercent
from webhook.scheduler.constraint import Constraint
from webhook.scheduler.nodes import Nodes
from webhook.simulation.disruption import BlockedEviction, Drained, KeptPod
from webhook.simulation.node_changes import Ground
from webhook.simulation.run import Plan, StepOutcome
from webhook.simulation.step import ROLLOUT

Value = TypeVar("Value", bound=Hashable)
Layout = tuple[tuple[int, int], ...]  # Pods, and how many domains have so many: the most Pods first.


class Range(NamedTuple):
    """A number over all runs; of several that are as likely the smallest stands for the most likely."""

    least: int
    most_likely: int
    most: int


class UncountedPods(NamedTuple):
    """Pods that a constraint does not count: see Uncounted."""

    running: Range
    unselected: Range
    outside: Range


class OfConstraint(NamedTuple):
    """
    A constraint with the Pods in each domain, and the share of the runs in which the skew exceeds maxSkew.

    `total` are the Pods that it counts in all domains, and `together` how they lie over these, with the share of the
    runs: outcomes in which domains have only changed places are one.  So many domains are `eligible`.  Of the Pods so
    many are `unreachable`, on nodes that nobody reaches, in the domains that have any.
    """

    constraint: Constraint
    domains: Mapping[str, Range]
    exceeds: float
    total: Range
    together: Mapping[Layout, float]
    eligible: int
    uncounted: UncountedPods
    unreachable: Mapping[str, Range]


class WaitingPods(NamedTuple):
    """The share of the runs in which any Pod waits, and how many do in these."""

    share: float
    pods: Range


class StuckRollout(NamedTuple):
    """The share of the runs in which a rollout never finishes, and in these the Pods that are new, and all of them."""

    share: float
    updated: Range
    pods: Range


class OfDrain(NamedTuple):
    """A drain of these nodes, of which it cordons so many, and how many Pods it evicts."""

    nodes: Sequence[str]
    cordoned: int
    evicted: Range


class BudgetNumbers(NamedTuple):
    """The numbers of a PodDisruptionBudget that keeps a Pod, in all runs in which it does: see BudgetStatus."""

    name: str
    field: str
    limit: IntOrPercent | None
    healthy: Range
    desired: Range
    expected: Range
    allowed: Range
    untold: bool = False


class KeptPods(NamedTuple):
    """
    The Pods that are kept from eviction for one reason, with the share of the runs: by name, or as `a Pod of` their
    workload where a run has made them; and the numbers of the budgets.
    """

    pods: Mapping[str, float]
    budgets: tuple[BudgetNumbers, ...]


class StepResult(NamedTuple):
    """
    What a step has come to; `step` is "" for the situation before all.

    `others` are Pods of other workloads that wait now and did not, `waiting_others` the same of each workload, and
    `preempted` those of each that had to go.

    `reasons`, `holding` (constraints by their index) and `held` (all that keeps a drain from its end) come with the
    share of the runs, and so do Pods that are `lost`, as no controller makes them, and PodDisruptionBudgets that are
    `violated`; `unfinished` is that in which not every Pod is in the end as the workload wants it.  `kept` are the Pods
    of each that is `held`.
    """

    step: str
    constraints: tuple[OfConstraint, ...]
    pending: Range
    reasons: Mapping[str, float]
    others: Range
    waiting_others: Mapping[str, Range]
    preempted: Mapping[str, Range]
    unfinished: float
    holding: Mapping[int, float]
    updated: Range
    there: Range
    held: Mapping[BlockedEviction, float]
    missing: Range
    leaving: Range
    violated: Mapping[str, float]
    lost: Mapping[str, float]
    waiting: WaitingPods | None = None
    stuck: StuckRollout | None = None
    drained: OfDrain | None = None
    kept: Mapping[BlockedEviction, KeptPods] = {}


def results(plan: Plan, outcomes: Sequence[Sequence[StepOutcome]], name: str = "") -> tuple[StepResult, ...]:
    """
    Return the result of the workload `name` before any step, and after each; `outcomes` are those of each run.

    Without a name there is only one workload.
    """
    named = next(of for of in plan.named if name in ("", of.name))
    step_results, grounds = [], (plan.start.ground, *plan.grounds)
    first, of_class = named.first_class, named.sets[-1].maker.of_class
    for i in range(len(plan.steps) + 1):
        if i:
            of_class = named.makers[i - 1].of_class if i - 1 in named.makers else of_class
        text = plan.steps[i - 1].text if i else ""
        at_step = [each[i] for each in outcomes]
        drained = drained_by(
            grounds[i - 1], grounds[i], [outcome.drained for outcome in at_step if outcome.drained is not None]
        )
        result = _result(text, (of_class if i else first).constraints, grounds[i].nodes, at_step)
        stuck = _stuck(plan, outcomes, i) if i else None
        step_results.append(result._replace(stuck=stuck, drained=drained))
    return tuple(step_results)


def never_finishes(plan: Plan, outcomes: Sequence[StepOutcome], i: int) -> bool:
    """Return whether in a run a rollout that begins in the step `i`, counted from 1, or before, does not finish."""
    return not outcomes[i].complete and (plan.steps[i - 1].action == ROLLOUT or outcomes[i - 1].old > 0)


def _stuck(plan: Plan, outcomes: Sequence[Sequence[StepOutcome]], i: int) -> StuckRollout | None:
    """Return what comes of a rollout that begins in step `i`, or before, where it does not finish."""
    ends = [each[i] for each in outcomes if never_finishes(plan, each, i)]
    if not ends:
        return None
    updated, there = (ranged(numbers) for numbers in zip(*((end.updated, end.there) for end in ends), strict=True))
    return StuckRollout(len(ends) / len(outcomes), updated, there)


def _waiting(outcomes: Sequence[StepOutcome]) -> WaitingPods | None:
    numbers = [outcome.pending for outcome in outcomes if outcome.pending]
    return WaitingPods(len(numbers) / len(outcomes), ranged(numbers)) if numbers else None


def drained_by(before: Ground, after: Ground, drains: Sequence[Drained]) -> OfDrain | None:
    """Return what drains of the nodes that a step touches have come to; None without any."""
    if not drains:
        return None
    cordoned = sum(name is not other and name != other for name, other in zip(before.order, after.order, strict=True))
    return OfDrain(after.touched, cordoned, ranged(drain.evicted for drain in drains))


def kept_pods(drains: Sequence[Drained], runs: int) -> dict[BlockedEviction, KeptPods]:
    """Return the Pods that are kept, for each cause."""
    by_cause: dict[BlockedEviction, list[list[KeptPod]]] = {}
    for drained in drains:
        of_run: dict[BlockedEviction, list[KeptPod]] = {}
        for pod in drained.kept:
            of_run.setdefault(pod.eviction, []).append(pod)
        for eviction, pods in of_run.items():
            by_cause.setdefault(eviction, []).append(pods)
    return {eviction: _kept_pods(each, runs) for eviction, each in by_cause.items()}


def _kept_pods(each: Sequence[Sequence[KeptPod]], runs: int) -> KeptPods:
    names = [{f"Pod {pod.name}" if pod.name else f"a Pod of {pod.workload}" for pod in kept} for kept in each]
    asked = zip(*(kept[0].budgets for kept in each), strict=True)  # All Pods of a run ask at the same time.
    budgets = list[BudgetNumbers]()
    for of_runs in asked:
        ranges = map(ranged, zip(*(status[3:-1] for status in of_runs), strict=True))
        budgets.append(BudgetNumbers(*of_runs[0][:3], *ranges)._replace(untold=of_runs[0].untold))
    return KeptPods({name: share * len(each) / runs for name, share in shares(names).items()}, tuple(budgets))


def _result(step: str, constraints: Sequence[Constraint], nodes: Nodes, outcomes: Sequence[StepOutcome]) -> StepResult:
    of_constraints = [
        _of_constraint(i, constraint, nodes.domains(constraint.topology_key), outcomes)
        for i, constraint in enumerate(constraints)
    ]
    return StepResult(
        step,
        tuple(of_constraints),
        ranged(outcome.pending for outcome in outcomes),
        shares([outcome.reasons for outcome in outcomes]),
        ranged(sum(outcome.others.values()) for outcome in outcomes),
        _of_each([outcome.others for outcome in outcomes]),
        _of_each([outcome.preempted for outcome in outcomes]),
        sum(not outcome.complete for outcome in outcomes) / len(outcomes),
        shares([outcome.holding for outcome in outcomes]),
        ranged(outcome.updated for outcome in outcomes),
        ranged(outcome.there for outcome in outcomes),
        shares([outcome.drained.held if outcome.drained is not None else () for outcome in outcomes]),
        ranged(outcome.missing for outcome in outcomes),
        ranged(outcome.leaving for outcome in outcomes),
        shares([outcome.violated for outcome in outcomes]),
        shares([outcome.lost for outcome in outcomes]),
        _waiting(outcomes),
        kept=kept_pods([outcome.drained for outcome in outcomes if outcome.drained is not None], len(outcomes)),
    )


def _of_constraint(
    i: int, constraint: Constraint, there: Iterable[str], outcomes: Sequence[StepOutcome]
) -> OfConstraint:
    """Return what has come of the constraint at `i`; `there` are the domains that have nodes."""
    counted = [outcome.domains[i] for outcome in outcomes]
    unreachable = [outcome.unreachable[i] if outcome.unreachable else {} for outcome in outcomes]
    domains = set(there).union(*counted)
    layouts = [tuple(sorted(Counter(of_run.get(domain, 0) for domain in domains).items())[::-1]) for of_run in counted]
    return OfConstraint(
        constraint,
        _ranges(counted, domains),
        sum(outcome.exceeds[i] for outcome in outcomes) / len(outcomes),
        ranged(sum(of_run.values()) for of_run in counted),
        shares([[layout] for layout in layouts]),
        outcomes[0].eligible[i],  # It depends on the nodes and the Pods' class, which are those of every run.
        UncountedPods(*map(ranged, zip(*(outcome.uncounted[i] for outcome in outcomes), strict=True))),
        {domain: lost for domain, lost in _ranges(unreachable, set().union(*unreachable)).items() if lost.most},
    )


def _ranges(counted: Sequence[Mapping[str, int]], domains: Set[str]) -> dict[str, Range]:
    return {domain: ranged(of_run.get(domain, 0) for of_run in counted) for domain in sorted(domains)}


def ranged(numbers: Iterable[int]) -> Range:
    """Return the least, the most likely and the most of numbers, of which there is one at least."""
    counted = Counter(numbers)
    likely = min(counted, key=lambda number: (-counted[number], number))
    return Range(min(counted), likely, max(counted))


def _of_each(by_workload: Sequence[Mapping[str, int]]) -> dict[str, Range]:
    """Return the numbers of each workload in all runs, the largest first."""
    names = {name for of_run in by_workload for name in of_run}
    numbers = {name: ranged(of_run.get(name, 0) for of_run in by_workload) for name in names}
    return dict(sorted(numbers.items(), key=lambda named: (-named[1].most, -named[1].most_likely, named[0])))


def shares(each: Sequence[Iterable[Value]]) -> dict[Value, float]:
    """Return each item with the share of the runs that have it, the most frequent first."""
    counted = Counter(item for items in each for item in items)
    most_frequent = sorted(counted.items(), key=lambda counted: (-counted[1], str(counted[0])))
    return {item: number / len(each) for item, number in most_frequent}
