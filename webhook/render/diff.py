"""A repair as a unified diff that `git apply` and `patch -p1` accept."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff


def as_diff(file: str, old: str, new: str) -> str:
    """The changed lines of `file` with three lines around them; "" if nothing changed."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    return "".join(_ended(unified_diff(before, after, f"a/{file}", f"b/{file}")))


def _ended(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
