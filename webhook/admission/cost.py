"""Whether an object can be judged in reasonable time: one review must not keep all others waiting."""

from __future__ import annotations

from collections.abc import Sequence

from webhook.kubernetes.workload import MOST_TEMPLATES, Workload

MOST_CONSTRAINTS, MOST_SELECTOR_VALUES = 100, 700  # of one object
AT_MOST = f"constraints, at most {MOST_CONSTRAINTS} can be judged"  # follows the number
TOO_MANY_VALUES = f"found more than {MOST_SELECTOR_VALUES} values in constraints, no more can be judged"


class TooLarge(ValueError):
    """More constraints than any person writes: judging them all would keep every other request waiting."""


def weigh(workloads: Sequence[Workload]) -> None:
    """Raise TooLarge if the workloads of an object cannot be judged in reasonable time."""
    if len(workloads) > MOST_TEMPLATES:
        raise TooLarge(f"found more than {MOST_TEMPLATES} Pod templates, no more can be judged")
    weigh_constraints([workload.raw_constraints for workload in workloads])


def weigh_constraints(lists: Sequence[object]) -> None:
    """Raise TooLarge if these lists of constraints are more than can be judged."""
    count = sum([len(constraints) for constraints in lists if isinstance(constraints, list)])
    if count > MOST_CONSTRAINTS:
        raise TooLarge(f"found {count} {AT_MOST}")
    values = list(lists)
    for value in values:  # The loop appends to the list: recursion would fail on values that are nested too deep.
        if isinstance(value, dict | list):
            values += value.values() if isinstance(value, dict) else value
            if len(values) - len(lists) > MOST_SELECTOR_VALUES:
                raise TooLarge(TOO_MANY_VALUES)
