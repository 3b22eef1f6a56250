"""Shows on standard error how far long work is: on a terminal as a text that changes, elsewhere as a line at times."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from math import ceil
from typing import TypeVar

PROGRESS_SECONDS = 0.2  # between two updates on a terminal
LINE_SECONDS = 10.0  # between two lines elsewhere, such as in the log of a pipeline
WIDTH = 30  # of a bar, in characters
SECONDS_IN_WORDS = 90  # Beyond, minutes are told.
CLEAR_LINE = "\x1b[K"  # from here to its end

Item = TypeVar("Item")
Done = Callable[[int], None]


def with_count(items: Iterable[Item], what: str) -> Iterator[Item]:
    """Yield each item, and show how many there are so far."""
    with _shown(what) as done:
        yield from _counted(items, done)


def with_bar(items: Iterable[Item], total: int, what: str, *, timed: bool = False) -> Iterator[Item]:
    """Yield each item, and show how many of all there are so far, if `timed` with the time that is left."""
    with _shown(what, total, timed=timed) as done:
        yield from _counted(items, done)


def bar(total: int, what: str) -> AbstractContextManager[Done]:
    """Return a function to call with the number that is done, which shows how many of all that is."""
    return _shown(what, total)


@contextmanager
def _shown(what: str, total: int | None = None, *, timed: bool = False) -> Iterator[Done]:
    stream, begun = sys.stderr, time.monotonic()
    if stream is None:
        yield lambda _: None
        return
    on_terminal, shown_at, is_shown = stream.isatty(), begun, False
    pause = PROGRESS_SECONDS if on_terminal else LINE_SECONDS

    def done(number: int) -> None:
        nonlocal shown_at, is_shown
        now = time.monotonic()
        if number == total:
            clear()
        elif now - shown_at > pause:
            told = amount(number, total, what, now - begun if timed else None)
            begin, end = (f"\r{drawn(number, total)}", CLEAR_LINE) if on_terminal else ("evenkeel: ", "\n")
            print(f"{begin}{told}", end=end, file=stream, flush=True)
            shown_at, is_shown = now, on_terminal

    def clear() -> None:
        nonlocal is_shown
        if is_shown:
            print(f"\r{CLEAR_LINE}", end="", file=stream, flush=True)
        is_shown = False

    try:
        yield done
    finally:
        clear()


def amount(done: int, total: int | None, what: str, seconds: float | None = None) -> str:
    """Return how much is done, such as `3,000 of 10,000 runs, 40 s left` after so many seconds, or `3,000 objects`."""
    if total is None:
        return f"{done:,} {what}"
    left = "" if seconds is None else f", {_time(seconds * (total - done) / done)} left"
    return f"{done:,} of {total:,} {what}{left}"


def _time(seconds: float) -> str:
    """Return a time such as `40 s` or `3 min`, rounded up."""
    return f"{ceil(seconds)} s" if seconds <= SECONDS_IN_WORDS else f"{ceil(seconds / 60)} min"


def drawn(done: int, total: int | None) -> str:
    """Return a bar such as `[#########             ] `; nothing if it is not known where it ends."""
    if not total:
        return ""
    filled = WIDTH * done // total
    return f"[{'#' * filled}{' ' * (WIDTH - filled)}] "


def _counted(items: Iterable[Item], done: Done) -> Iterator[Item]:
    for number, item in enumerate(items, 1):
        yield item
        done(number)
