"""A repair as a unified diff that `git apply` and `patch -p1` accept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import unified_diff


def as_diff(file: str, old: str, new: str) -> str:
    """The changed lines of `file` with three lines around them; "" if nothing changed."""
    return "".join(_ended(unified_diff(_lines(old), _lines(new), f"a/{file}", f"b/{file}")))


def _lines(text: str) -> list[str]:
    """The lines as `patch` counts them; `str.splitlines` would end one at U+2028, a form feed or a carriage return."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _ended(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
