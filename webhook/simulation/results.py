"""
What many runs have come to: for each step and constraint the Pods per domain, and what waits and why.

    outcomes of each run ──least, most likely, most, and shares of the runs──> Result of each step
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from webhook.scheduler.constraint import Constraint
from webhook.scheduler.nodes import Nodes
from webhook.simulation.disruption import BlockedEviction, Drained
from webhook.simulation.node_changes import Ground
from webhook.simulation.run import Plan, StepOutcome

Value = TypeVar("Value", int, str)


class Range(NamedTuple):
    """A number over all runs; of several that are as likely the smallest stands for the most likely."""

    least: int
    most_likely: int
    most: int


class OfConstraint(NamedTuple):
    """A constraint with the Pods in each domain, and the share of the runs in which the skew exceeds maxSkew."""

    constraint: Constraint
    domains: Mapping[str, Range]
    exceeds: float


class OfDrain(NamedTuple):
    """A drain of these nodes, of which it cordons so many, and how many Pods it evicts."""

    nodes: Sequence[str]
    cordoned: int
    evicted: Range


class StepResult(NamedTuple):
    """
    What a step has come to; `step` is "" for the situation before all.

    `reasons`, `holding` (constraints by their index) and `held` (what a drain waits for) come with the share of the
    runs; `unfinished` is that in which not every Pod is in the end as the workload wants it.
    """

    step: str
    constraints: tuple[OfConstraint, ...]
    pending: Range
    reasons: Mapping[str, float]
    others: Range
    unfinished: float
    holding: Mapping[int, float]
    updated: Range
    there: Range
    held: Mapping[str, float]
    missing: Range
    leaving: Range
    drained: OfDrain | None = None


def results(plan: Plan, outcomes: Sequence[Sequence[StepOutcome]]) -> tuple[StepResult, ...]:
    """Return the result before any step, and after each; `outcomes` are those of each run."""
    found, of_class, grounds = [], plan.named.sets[-1].maker.of_class, (plan.start.ground, *plan.grounds)
    for i in range(len(plan.steps) + 1):
        if i:
            of_class = plan.makers[i - 1].of_class if i - 1 in plan.makers else of_class
        text = plan.steps[i - 1].text if i else ""
        those = [each[i] for each in outcomes]
        drained = _drained(grounds[i - 1], grounds[i], [one.drained for one in those if one.drained is not None])
        found.append(_result(text, of_class.constraints, grounds[i].nodes, those)._replace(drained=drained))
    return tuple(found)


def _drained(before: Ground, after: Ground, drains: Sequence[Drained]) -> OfDrain | None:
    if not drains:
        return None
    cordoned = sum(one is not other and one != other for one, other in zip(before.order, after.order, strict=True))
    return OfDrain(after.touched, cordoned, ranged(one.evicted for one in drains))


def _result(step: str, constraints: Sequence[Constraint], nodes: Nodes, those: Sequence[StepOutcome]) -> StepResult:
    of_constraints = [
        _of_constraint(constraint, nodes, [one.domains[i] for one in those], [one.exceeds[i] for one in those])
        for i, constraint in enumerate(constraints)
    ]
    return StepResult(
        step,
        tuple(of_constraints),
        ranged(one.pending for one in those),
        _shares([one.reasons for one in those]),
        ranged(one.others for one in those),
        sum(not one.complete for one in those) / len(those),
        _shares([one.holding for one in those]),
        ranged(one.updated for one in those),
        ranged(one.there for one in those),
        _shares([_held(one.drained) for one in those]),
        ranged(one.missing for one in those),
        ranged(one.leaving for one in those),
    )


def _held(drained: Drained | None) -> list[str]:
    held = drained.held if drained is not None else ()
    return [f"{one.budgets[0]}, which {_beside(one)}keeps a Pod on {one.node}" for one in held]


def _beside(held: BlockedEviction) -> str:
    others = " and ".join(held.budgets[1:])
    return f"with {others} " if others else ""


def _of_constraint(
    constraint: Constraint, nodes: Nodes, counted: Sequence[Mapping[str, int]], exceeds: Sequence[bool]
) -> OfConstraint:
    domains = set(nodes.domains(constraint.topology_key)).union(*counted)
    by_domain = {domain: ranged(one.get(domain, 0) for one in counted) for domain in sorted(domains)}
    return OfConstraint(constraint, by_domain, sum(exceeds) / len(exceeds))


def ranged(numbers: Iterable[int]) -> Range:
    """Return the least, the most likely and the most of numbers, of which there is one at least."""
    counted = Counter(numbers)
    likely = min(counted, key=lambda number: (-counted[number], number))
    return Range(min(counted), likely, max(counted))


def _shares(each: Sequence[Iterable[Value]]) -> dict[Value, float]:
    """Return what is in any of them by the share of those that have it, the most frequent first."""
    counted = Counter(item for those in each for item in those)
    most_frequent = sorted(counted.items(), key=lambda one: (-one[1], str(one[0])))
    return {item: number / len(each) for item, number in most_frequent}
