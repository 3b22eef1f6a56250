"""Decides which files git ignores, by the patterns of .gitignore files (gitignore(5))."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line of a .gitignore."""

    regex: re.Pattern[str]
    negated: bool
    folders_only: bool

    def matches(self, path: str, is_folder: bool) -> bool:
        """Whether it matches `path`, relative to the folder of the .gitignore."""
        return (is_folder or not self.folders_only) and self.regex.fullmatch(path) is not None


@dataclass(frozen=True, slots=True)
class Ignore:
    """The patterns of one .gitignore; `base` is its folder."""

    base: str
    patterns: tuple[Pattern, ...]

    def decides(self, path: str, is_folder: bool) -> bool | None:
        """Whether the last pattern that matches `path`, below `base`, ignores it; None if no pattern matches."""
        relative = path.removeprefix(self.base).lstrip("/")
        for pattern in reversed(self.patterns):
            if pattern.matches(relative, is_folder):
                return not pattern.negated
        return None


def parse_gitignore(text: str, base: str) -> Ignore:
    """The patterns in the text of a .gitignore in the folder `base`."""
    found = (_pattern(line) for line in text.splitlines())
    return Ignore(base, tuple(pattern for pattern in found if pattern is not None))


def ignored(ignores: Iterable[Ignore], path: str, is_folder: bool) -> bool:
    """Whether the deepest .gitignore with a pattern for `path` ignores it; `ignores` come from the top folder down."""
    decisions = (ignore.decides(path, is_folder) for ignore in reversed([*ignores]))
    return next((decision for decision in decisions if decision is not None), False)


def _pattern(line: str) -> Pattern | None:
    line = _without_trailing_spaces(line)
    if not line or line.startswith("#"):
        return None
    negated = line.startswith("!")
    body = line[1:] if negated else line
    folders_only, body = body.endswith("/"), body.removesuffix("/")
    anchored, body = "/" in body, body.removeprefix("/")
    if not body:
        return None
    try:
        regex = re.compile(("" if anchored else "(?:.*/)?") + _translate(body), re.DOTALL)
    except re.error:
        return None  # to git, an invalid pattern matches nothing
    return Pattern(regex, negated, folders_only)


def _without_trailing_spaces(line: str) -> str:
    """upstream: git's dir.c:trim_trailing_spaces; a space after a backslash stays."""
    stripped = line.rstrip(" ")
    backslashes = len(stripped) - len(stripped.rstrip("\\"))
    return line[: len(stripped) + backslashes % 2]


_TOKENS = re.compile(
    r"(?P<lead>^(?:\*\*/)+)|(?P<tail>(?:/\*\*)+$)|(?P<inner>/(?:\*\*/)+)|(?P<any>\*+)|(?P<one>\?)|(?P<set>\[[!^]?\]?[^\]]*\])|\\?(?P<char>.)"
)
_GLOBS = {"lead": "(?:.*/)?", "tail": "/.+", "inner": "/(?:.*/)?", "any": "[^/]*", "one": "[^/]"}


def _translate(glob: str) -> str:
    parts = []
    for token in _TOKENS.finditer(glob):
        kind = str(token.lastgroup)
        if token[0] == "[":
            raise re.error("a set that is not closed")
        if kind == "char":
            parts.append(re.escape(token["char"]))
        elif kind == "set":
            parts.append(_set(token["set"][1:-1]))
        else:
            parts.append(_GLOBS[kind])
    return "".join(parts)


def _set(inside: str) -> str:
    negated = inside[:1] in ("!", "^")
    members = inside[1:] if negated else inside
    return f"(?!/)[{'^' if negated else ''}{members.replace('[', chr(92) + '[')}]"
