"""The arithmetic of the tables: medians with least and most, ratios of the same rounds, and memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
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


def megabytes(process: int) -> float:
    """The memory of a process and those it has started; what several share is counted once."""
    return sum(map(pss, tree(process))) / 1024


def tree(process: int) -> Iterator[int]:
    yield process
    for child in Path(f"/proc/{process}/task/{process}/children").read_text("utf-8").split():
        yield from tree(int(child))


def pss(process: int) -> int:
    lines = Path(f"/proc/{process}/smaps_rollup").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
