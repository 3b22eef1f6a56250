"""Shows on a terminal how far a command is, and nothing elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TextIO, TypeVar

from evenkeel.terminal import progress_bar

PROGRESS_SECONDS = 0.2  # between two updates

Item = TypeVar("Item")
Done = Callable[[int], None]


def with_count(items: Iterable[Item], what: str) -> Iterator[Item]:
    """Yield each item.  On a terminal, show how many there are so far."""
    with _shown(partial(progress_bar.show_count, what=what)) as done:
        yield from _counted(items, done)


def with_bar(items: Iterable[Item], total: int, what: str, *, timed: bool = False) -> Iterator[Item]:
    """Yield each item.  On a terminal, show how many of all there are so far, if `timed` with the time that is left."""
    begun = time.monotonic()

    def show(stream: TextIO, done: int) -> None:
        seconds = (time.monotonic() - begun) * (total - done) / done if timed else None
        progress_bar.show(stream, done, total, what, seconds)

    with _shown(show, total) as done:
        yield from _counted(items, done)


def bar(total: int, what: str) -> AbstractContextManager[Done]:
    """Return a function to call with the number that is done; on a terminal it shows how many of all that is."""
    return _shown(partial(progress_bar.show, total=total, what=what), total)


@contextmanager
def line() -> Iterator[Callable[[str], None]]:
    """
    Return a function that shows a text in place of the last one, on a terminal; "" and the end take it away.
    """
    stream, shown_at = sys.stderr, 0.0

    def show(text: str) -> None:
        nonlocal shown_at
        if text and stream is not None and stream.isatty() and time.monotonic() - shown_at > PROGRESS_SECONDS:
            progress_bar.show_text(stream, text)
            shown_at = time.monotonic()
        elif shown_at and not text:
            progress_bar.clear(stream)
            shown_at = 0.0

    try:
        yield show
    finally:
        show("")


@contextmanager
def _shown(show: Callable[[TextIO, int], None], total: int | None = None) -> Iterator[Done]:
    stream, shown_at, is_shown = sys.stderr, time.monotonic(), False
    if stream is None or not stream.isatty():
        yield lambda _: None
        return

    def done(number: int) -> None:
        nonlocal shown_at, is_shown
        if number == total:
            clear()
        elif time.monotonic() - shown_at > PROGRESS_SECONDS:
            show(stream, number)
            shown_at, is_shown = time.monotonic(), True

    def clear() -> None:
        nonlocal is_shown
        if is_shown:
            progress_bar.clear(stream)
        is_shown = False

    try:
        yield done
    finally:
        clear()


def _counted(items: Iterable[Item], done: Done) -> Iterator[Item]:
    for number, item in enumerate(items, 1):
        yield item
        done(number)
