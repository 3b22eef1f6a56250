"""A progress bar on a terminal."""

from __future__ import annotations

from math import ceil
from typing import TextIO

PROGRESS_WIDTH = 30
SECONDS_IN_WORDS = 90  # Beyond, minutes are told.
CLEAR_LINE = "\x1b[K"  # from here to its end


def bar(done: int, total: int, what: str = "files", seconds: float | None = None) -> str:
    """Return a bar such as `[#########             ] 3,000 of 10,000 files, 40 s left`; `seconds` are what is left."""
    filled = PROGRESS_WIDTH * done // max(total, 1)
    time_left = f", {_time(seconds)} left" if seconds is not None else ""
    return f"[{'#' * filled}{' ' * (PROGRESS_WIDTH - filled)}] {done:,} of {total:,} {what}{time_left}"


def _time(seconds: float) -> str:
    """Return a time such as `40 s` or `3 min`, rounded up."""
    return f"{ceil(seconds)} s" if seconds <= SECONDS_IN_WORDS else f"{ceil(seconds / 60)} min"


def show(stream: TextIO, done: int, total: int, what: str = "files", seconds: float | None = None) -> None:
    """Write the bar over the one before, which may be longer."""
    stream.write(f"\r{bar(done, total, what, seconds)}{CLEAR_LINE if seconds is not None else ''}")
    stream.flush()


def show_text(stream: TextIO, text: str) -> None:
    """Write a text over the one before."""
    stream.write(f"\r{text}{CLEAR_LINE}")
    stream.flush()


def show_count(stream: TextIO, done: int, what: str) -> None:
    """Write how many there are so far, where the total is not known."""
    stream.write(f"\r{done:,} {what}")
    stream.flush()


def clear(stream: TextIO) -> None:
    """Remove the bar."""
    stream.write(f"\r{CLEAR_LINE}")
    stream.flush()
