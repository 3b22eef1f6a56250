"""Shows on a terminal how far a command is, and nothing elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TextIO, TypeVar

from webhook.render import progress

SECONDS = 0.2  # Between two numbers that are shown.

T = TypeVar("T")


def with_count(items: Iterable[T], what: str) -> Iterator[T]:
    """Each item.  On a terminal, show how many there are so far."""
    return _shown(items, partial(progress.show_count, what=what))


def with_bar(items: Iterable[T], total: int, what: str) -> Iterator[T]:
    """Each item.  On a terminal, show how many of all there are so far."""
    return _shown(items, partial(progress.show, total=total, what=what))


def _shown(items: Iterable[T], show: Callable[[TextIO, int], None]) -> Iterator[T]:
    stream, shown = sys.stderr, time.monotonic()
    if stream is None or not stream.isatty():
        yield from items
        return
    try:
        for done, item in enumerate(items, 1):
            yield item
            if time.monotonic() - shown > SECONDS:
                show(stream, done)
                shown = time.monotonic()
    finally:
        progress.clear(stream)
