"""What differs between two texts, and a repair as a diff that `git apply` and `patch -p1` accept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import unified_diff


def as_diff(file: str, old: str, new: str) -> str:
    """Return the change of a file as a diff; "" if nothing changed."""
    return unified(old, new, _quoted(f"a/{file}"), _quoted(f"b/{file}"))


def unified(old: str, new: str, before: str, after: str) -> str:
    """Return a diff of two texts, which are called `before` and `after`; "" if they are equal."""
    return "".join(_ended(unified_diff(_lines(old), _lines(new), before, after)))


def _quoted(name: str) -> str:
    """Return the name as git writes it: in quotes, with octal escapes, if it has characters that cannot be printed."""
    if name.isprintable():
        return name
    shown = (char if char.isprintable() and char not in '"\\' else _octal(char) for char in name)
    return f'"{"".join(shown)}"'


def _octal(char: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogatepass"))


def _lines(text: str) -> list[str]:
    """Return the lines as `patch` counts them; `str.splitlines` would end one at U+2028 or a form feed, too."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _ended(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
