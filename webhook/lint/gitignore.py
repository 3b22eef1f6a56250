"""Decides which files git ignores, by the patterns of .gitignore files (gitignore(5)), which pathspec matches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


class Ignore(NamedTuple):
    """The patterns of one .gitignore; `base` is its folder."""

    base: str
    patterns: GitIgnoreSpec

    def decides(self, path: str, is_folder: bool) -> bool | None:
        """Return whether the last pattern that matches `path`, below `base`, ignores it; None if no pattern matches."""
        relative = path.removeprefix(self.base).lstrip("/")
        return self.patterns.check_file(f"{relative}/" if is_folder else relative).include


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
