"""What kube-scheduler has said of a Pod, and in what that differs from what is computed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from difflib import SequenceMatcher

from evenkeel.placement.explanation import Explanation
from evenkeel.placement.subject import UNSCHEDULABLE_REASON, PlacementSubject

# upstream: types.go:FitError.Error (v1.37)
_COUNTED = re.compile(r"0/\d+ nodes are available: (\d.*?)\.(?= |$)")
_NEXT_REASON = re.compile(r", (?=\d+ )")
PREEMPTION = " preemption: "


def said(subject: PlacementSubject, explanation: Explanation, now: datetime | None) -> Iterator[str]:
    """Yield what kube-scheduler has said of the Pod, and what it would say now as far as that differs."""
    verdict, computed = subject.verdict, explanation.message
    if verdict.message:
        yield f"kube-scheduler said{_for_at_least(verdict.time, now)}: {verdict.message}"
        if verdict.reason not in ("", UNSCHEDULABLE_REASON):
            yield f"kube-scheduler gives the reason {verdict.reason}, which does not mean that no node passes."
        elif explanation.agrees(verdict.message):
            yield "evenkeel computes the same."
        elif not computed:
            yield "evenkeel computes now: a node passes"
        elif not verdict.states_cause:
            yield f"evenkeel computes: {computed}"
        else:
            yield from _now(verdict.message, computed)
    elif computed:
        yield f"evenkeel computes: {computed}"


def _now(then: str, now: str) -> Iterator[str]:
    """Yield what of a message is otherwise now; the whole message if it does not say how many nodes have a reason."""
    (filters_then, _, preemption_then), (filters_now, _, preemption_now) = (
        message.partition(PREEMPTION) for message in (then, now)
    )
    if not (_COUNTED.match(filters_then) and _COUNTED.match(filters_now)):
        yield f"evenkeel computes now: {now}"
        return
    yield "evenkeel computes now, where that differs:"
    number_then, number_now = (filters.partition(" ")[0].removeprefix("0/") for filters in (filters_then, filters_now))
    if number_then != number_now:
        yield f"  {number_then} -> {number_now} nodes"
    yield from (f"  {change}" for change in _changes(filters_then, filters_now))
    if preemption_now:  # Else it is not certain.
        yield from (f"  preemption: {change}" for change in _changes(preemption_then, preemption_now))


def _changes(then: str, now: str) -> Iterator[str]:
    """Yield the reasons that other numbers of nodes have now, as `3 -> 4 node(s) ...`, or else the other words."""
    if then == now:
        return
    numbers_then, numbers_now = _numbers(then), _numbers(now)
    if numbers_then and numbers_now and numbers_then != numbers_now:
        for reason in dict.fromkeys((*numbers_then, *numbers_now)):
            before, after = numbers_then.get(reason, 0), numbers_now.get(reason, 0)
            if before != after:
                yield f"{before} -> {after} {reason}"
        return
    words_then, words_now = then.split(), now.split()
    for kind, start, end, start_now, end_now in SequenceMatcher(None, words_then, words_now, False).get_opcodes():
        if kind != "equal":
            changed = words_then[start:end], words_now[start_now:end_now]
            yield " -> ".join(" ".join(words) or "nothing" for words in changed)


def _numbers(message: str) -> Mapping[str, int]:
    """Return to how many nodes a message gives each reason; nothing if it counts none."""
    counted = _COUNTED.match(message)
    parts = [part.partition(" ") for part in _NEXT_REASON.split(counted[1])] if counted is not None else []
    return {reason: int(number) for number, _, reason in parts}


def _for_at_least(time: str, now: datetime | None) -> str:
    """
    Return how long the Pod has waited at least; "" if not known.

    `time` is that of its condition, which does not change with the message.
    """
    if now is None:
        return ""
    try:
        seconds = (now - datetime.fromisoformat(time)).total_seconds()
    except (TypeError, ValueError):
        return ""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f" (it has waited for {seconds // length:.0f} {unit} at least)"
    return f" (it has waited for {max(0, seconds):.0f} s at least)"
