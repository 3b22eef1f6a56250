"""The arithmetic of the tables: medians with least and most, and ratios of the same rounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from random import Random
from statistics import median


def span(values: Iterable[float], digits: int = 0) -> str:
    """The median, and in brackets the least and the most."""
    ordered = sorted(values)
    return f"{median(ordered):,.{digits}f} ({ordered[0]:,.{digits}f}–{ordered[-1]:,.{digits}f})"


def ratios(dividends: Sequence[float], divisors: Sequence[float]) -> str:
    """The ratios of the same rounds, likewise."""
    return span([dividend / divisor for dividend, divisor in zip(dividends, divisors, strict=True)], 2)


def by_turns(rounds: int, names: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Each round, and in it each name, in an order that changes."""
    for i in range(rounds):
        yield from ((i, name) for name in Random(i).sample(names, len(names)))
