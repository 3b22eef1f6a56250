"""kube-apiserver's own code on Pods that were patched: a patch may not be why it refuses one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.fuzz.reviews import Patched
from tests.support.kubernetes_source import MissingError

Ask = Callable[[Sequence[dict[str, Any]]], Sequence[Any]]


def refused(patched: Sequence[Patched], ask: Ask) -> tuple[int, list[str]]:
    """
    How many Pods kube-apiserver can read, and those of them that it refuses because of their patch, with its errors.

    `ask` gives the oracle's decision on each case; MissingError if it cannot read one of them.
    """
    sent = _decisions([one.before for one in patched], ask)
    readable = [(one, _errors(before)) for one, before in zip(patched, sent, strict=True) if before is not None]
    found = []
    for (one, before), after in zip(readable, _decisions([one.after for one, _ in readable], ask), strict=True):
        errors = {"cannot be read"} if after is None else _errors(after) - before
        if errors:
            found.append(f"{sorted(errors)}: {one.after}")
    return len(readable), found


def _decisions(pods: Sequence[Any], ask: Ask) -> list[Any]:
    """The decision on each Pod, None if it cannot be read."""
    if not pods:
        return []
    try:
        return [*ask([{"id": str(number), "pod": pod} for number, pod in enumerate(pods)])]
    except MissingError:
        half = len(pods) // 2
        return [*_decisions(pods[:half], ask), *_decisions(pods[half:], ask)] if half else [None]


def _errors(decision: Any) -> set[str]:
    return {f"{error['field']}: {error['type']}: {error['detail']}" for error in decision["podCreate"] or ()}
