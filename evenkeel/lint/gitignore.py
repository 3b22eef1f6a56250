"""Decides which files git ignores, by the patterns of .gitignore files (gitignore(5)), which pathspec matches."""

from __future__ import annotations

from collections.abc import Iterable
from re import Pattern
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


_SLASH = "ps_d"  # pathspec's group for the slash behind a folder that matches; it matches what is in the folder, too


class Ignore(NamedTuple):
    """The patterns of one .gitignore; `base` is its folder."""

    base: str
    patterns: GitIgnoreSpec

    def decides(self, path: str, is_folder: bool) -> bool | None:
        """Return whether the last pattern that matches `path`, below `base`, ignores it; None if no pattern matches."""
        relative = path.removeprefix(self.base).lstrip("/")
        matching = (
            pattern.include
            for pattern in reversed(self.patterns.patterns)
            if pattern.regex is not None and _matches(pattern.regex, relative, is_folder)
        )
        return next(matching, None)


def _matches(pattern: Pattern[str], path: str, is_folder: bool) -> bool:
    """Return whether a pattern matches a file or folder itself, and not just a folder above it."""
    if pattern.search(f"{path}/") is None:
        return False
    if any(match.groupdict().get(_SLASH) is None for match in pattern.finditer(path)):
        return True
    ends = (match.end(_SLASH) for match in pattern.finditer(f"{path}/") if match.groupdict().get(_SLASH))
    return is_folder and len(path) + 1 in ends


def parse_gitignore(text: str, base: str) -> Ignore:
    """Return the patterns in the text of a .gitignore in the folder `base`."""
    from pathspec import GitIgnoreSpec  # The import takes long, and a file that is named needs no patterns.
    from pathspec.patterns.gitignore import GitIgnorePatternError

    def is_valid(line: str) -> bool:
        """Return whether pathspec can read a pattern; to git, an invalid one matches nothing."""
        try:
            GitIgnoreSpec.from_lines([line])
        except GitIgnorePatternError:
            return False
        return True

    return Ignore(base, GitIgnoreSpec.from_lines(filter(is_valid, map(_without_trailing_spaces, text.splitlines()))))


def ignored(ignores: Iterable[Ignore], path: str, is_folder: bool) -> bool:
    """Return what the deepest .gitignore with a pattern for `path` decides; `ignores` come from the top folder down."""
    decisions = (ignore.decides(path, is_folder) for ignore in reversed([*ignores]))
    return next((decision for decision in decisions if decision is not None), False)


def _without_trailing_spaces(line: str) -> str:
    """
    Return the line without the spaces at its end; a space after a backslash stays, which pathspec 1.1 strips, too.

    upstream: git's dir.c:trim_trailing_spaces
    """
    stripped = line.rstrip(" ")
    backslashes = len(stripped) - len(stripped.rstrip("\\"))
    return line[: len(stripped) + backslashes % 2]
