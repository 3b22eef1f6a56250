"""
Gives inputs to targets for as long as there is time: what hypothesis makes, and changes to that and to the corpus.

An input is bytes: a number, which chooses among the ways in which a target takes it, a line end, and the rest.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Protocol

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.fuzz.changing import changed
from tests.fuzz.corpus import Corpus

CHANGES = 40  # For each input that hypothesis makes.
MADE = 50  # By hypothesis before it begins anew.
SLICE_SECONDS = 4.0
SHRINK_SECONDS = 20.0


class Target(Protocol):
    """Something that takes inputs."""

    name: str
    share: int  # Of the time, beside that of others.
    bases: st.SearchStrategy[bytes]

    def check(self, given: bytes) -> Hashable:
        """How the input was answered, in outline; any exception if that is not as it must be."""


@dataclass
class Progress:
    """What was given to one target so far; `failure` is why it got no more."""

    target: Target
    corpus: Corpus
    inputs: int = 0
    seconds: float = 0.0
    failure: str = ""
    file: Path | None = None

    def give(self, given: bytes) -> bool:
        """Whether the target answered as it must."""
        self.inputs += 1
        try:
            self.corpus.keep(given, self.target.check(given))
        except Exception:
            self.failure = traceback.format_exc(limit=-4)
            self.file = self.corpus.found(smallest(given, self.target.check, SHRINK_SECONDS))
        return not self.failure


def run(targets: list[Target], folder: Path, seconds: float, seed: int) -> list[Progress]:
    """Give each target its share of the time, or up to its first failure; first what is in the corpus."""
    found = [Progress(target, Corpus(folder / target.name)) for target in targets]
    deadline = time.monotonic() + seconds
    for one in found:
        _timed(one, lambda one=one: all(map(one.give, (*one.corpus.failed(), *one.corpus.inputs))))
    random = Random(seed)
    shares = sum(target.share for target in targets)
    while (left := deadline - time.monotonic()) > 0 and (open_ := [one for one in found if not one.failure]):
        for one in open_:
            share = one.target.share / shares
            until = time.monotonic() + min(left, SLICE_SECONDS * len(targets)) * share
            _timed(one, lambda one=one, until=until: _slice(one, until, random))
    return found


def _timed(progress: Progress, work: Callable[[], object]) -> None:
    begin = time.monotonic()
    work()
    progress.seconds += time.monotonic() - begin


def _slice(progress: Progress, until: float, random: Random) -> None:
    """Hypothesis makes, and nothing is raised into it: it would try again, where the corpus is another by then."""

    @settings(
        max_examples=MADE,
        phases=[Phase.generate],
        derandomize=False,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(base=progress.target.bases)
    def make(base: bytes) -> None:
        if time.monotonic() > until or not progress.give(base):
            return
        for _ in range(CHANGES):
            kept = progress.corpus.inputs
            start = random.choice(kept) if kept and random.random() < 0.4 else base
            other = random.choice(kept) if kept else base
            if not progress.give(changed(start, other, random)) or time.monotonic() > until:
                return

    while time.monotonic() < until and not progress.failure:
        make()


def smallest(given: bytes, check: Callable[[bytes], object], seconds: float) -> bytes:
    """A part of an input that fails in the same way, found by leaving out pieces."""
    deadline, wanted = time.monotonic() + seconds, _kind(given, check)
    size = len(given) // 2
    while size and time.monotonic() < deadline:
        at = 0
        while at < len(given) and time.monotonic() < deadline:
            shorter = given[:at] + given[at + size :]
            if wanted is not None and _kind(shorter, check) == wanted:
                given = shorter
            else:
                at += size
        size //= 2
    return given


def _kind(given: bytes, check: Callable[[bytes], object]) -> tuple[type, int] | None:
    """Which error it is, and where it was raised; None if there is none."""
    try:
        check(given)
    except Exception as error:
        return type(error), traceback.extract_tb(error.__traceback__)[-1].lineno or 0
    return None


def report(found: list[Progress]) -> str:
    """A line for each target, one for all, and what failed."""
    rows = [("target", "inputs", "a second", "answers", "corpus")]
    for one in found:
        speed = f"{one.inputs / max(one.seconds, 0.001):,.0f}"
        rows.append(
            (one.target.name, f"{one.inputs:,}", speed, f"{len(one.corpus.seen):,}", f"{len(one.corpus.inputs):,}")
        )
    lines = [f"{name:10}" + "".join(f"{cell:>12}" for cell in cells) for name, *cells in rows]
    failed = [one for one in found if one.failure]
    for one in failed:
        lines.append(f"\n{one.target.name}: {one.file}\n{one.failure}")
    total = sum(one.inputs for one in found)
    lines.append(f"{total - len(failed)} passed, {len(failed)} failed")
    return "\n".join(lines).encode("ascii", "backslashreplace").decode()  # What failed may be what no terminal takes.
