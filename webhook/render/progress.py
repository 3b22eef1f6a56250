"""A progress bar on a terminal."""

from __future__ import annotations

from typing import TextIO

PROGRESS_WIDTH = 30


def bar(done: int, total: int, what: str = "files") -> str:
    """Return a bar such as `[#########             ] 3,000 of 10,000 files`."""
    filled = PROGRESS_WIDTH * done // max(total, 1)
    return f"[{'#' * filled}{' ' * (PROGRESS_WIDTH - filled)}] {done:,} of {total:,} {what}"


def show(stream: TextIO, done: int, total: int, what: str = "files") -> None:
    """Write the bar over the one before."""
    stream.write(f"\r{bar(done, total, what)}")
    stream.flush()


def show_count(stream: TextIO, done: int, what: str) -> None:
    """Write how many there are so far, where the total is not known."""
    stream.write(f"\r{done:,} {what}")
    stream.flush()


def clear(stream: TextIO) -> None:
    """Remove the bar."""
    stream.write("\r\x1b[K")
    stream.flush()
