"""What overrides reach: notes on those that never apply, that apply to everything, and that end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.kubernetes.times import days_at
from webhook.policy.policy import ENDED, ENDS_SOON, STATES, Override, Policy, covered_by

WHAT = {"namespaceSelector": "namespace", "podSelector": "Pod"}
SOON_DAYS = 30


def notes_on(policy: Policy) -> Iterator[str]:
    """Yield a line for each override that never applies, and each selector that matches everything."""
    overrides, covered = policy.overrides, covered_by(policy.overrides)
    for i, override in enumerate(overrides):
        empty = [name for name, selector in override.selectors.items() if selector.empty]
        if i in covered:
            yield f"overrides[{i}]: never applies: {_covered(override, overrides[covered[i]], covered[i])}"
        elif override.scheduler_name is None and len(empty) == len(override.selectors):
            if i == len(overrides) - 1:
                fix = "; move its settings to the top of the policy"
            else:
                fix = ", so no later override applies; put it last"
            yield f"overrides[{i}].{empty[0]}: {{}} matches every {WHAT[empty[0]]}{fix}, or give it labels"
        else:
            for name in empty:
                yield f"overrides[{i}].{name}: {{}} matches every {WHAT[name]}; delete it, or give it labels"


def _covered(override: Override, earlier: Override, index: int) -> str:
    """Return why an override never applies, and the fix; `index` is that of the earlier one, which covers it."""
    if override.covers(earlier):
        return f"overrides[{index}] matches the same Pods; merge the two, or delete this one"
    return f"overrides[{index}] matches all Pods of this one; move this one before it, or delete this one"


def ends(policy: Policy, today: str) -> Mapping[str, list[str]]:
    """Return a line for each override that has ended, or ends within 30 days, by the two STATES."""
    by_state: dict[str, list[str]] = {state: [] for state in STATES}
    for i, override in enumerate(policy.overrides):
        last, now = days_at(override.until), days_at(today)
        if last is None or now is None:
            continue
        days, what = last - now, f"overrides[{i}].until: {override.until}"
        if days < 0:
            by_state[ENDED].append(
                f"{what} has passed: {override.name} no longer applies; delete it, or write a later day"
            )
        elif days <= SOON_DAYS:
            when = {0: "today", 1: "tomorrow"}.get(days, f"in {days} days")
            by_state[ENDS_SOON].append(f"{what} is {when}: {override.name} does not apply after that day")
    return by_state
