"""What would let in a Pod that waits in the end: changes that were each tried on one run that comes to that."""

from __future__ import annotations

from collections.abc import Sequence

from webhook.placement.remedies import Remedy, remedies
from webhook.scheduler.framework import find_feasible
from webhook.simulation.run import Plan, StepOutcome, last_attempt


def helping(plan: Plan, seed: int, outcomes: Sequence[Sequence[StepOutcome]]) -> tuple[Remedy, ...]:
    """Return the remedies for one of the workload's Pods, at the end of the first run in which any waits; or none."""
    number = next((i for i, outcome in enumerate(outcomes) if outcome[-1].pending), None)
    cycle = last_attempt(plan, seed, number) if number is not None else None
    return remedies(cycle, find_feasible(cycle)) if cycle is not None else ()
