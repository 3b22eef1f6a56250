"""Which files are meant: files as they are given, folders with all manifests below them, patterns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from glob import glob, has_magic

from webhook.files.gitignore import Ignore, ignored, parse

SUFFIXES = (".yaml", ".yml", ".json")
STANDARD_INPUT = "-"


class NotFound(ValueError):
    """A path or pattern that leads to no file."""


def find(paths: Iterable[str], excluded: Sequence[str] = ()) -> list[str]:
    """
    The files that `paths` mean, each once, in the order given; those of a folder are sorted.

    In folders, .gitignore is honoured, and `excluded` are further lines of one; a file that is given by its name is
    always meant.
    """
    found: dict[str, None] = {}
    for path in paths:
        found |= dict.fromkeys(_meant(path, excluded))
    return list(found)


def _meant(path: str, excluded: Sequence[str]) -> Iterator[str]:
    if path == STANDARD_INPUT or os.path.isfile(path):
        yield path if path == STANDARD_INPUT else os.path.normpath(path)
    elif os.path.isdir(path):
        yield from _below(os.path.normpath(path), excluded)
    elif os.path.lexists(path):  # a pipe, say: <(helm template …)
        yield path
    else:
        yield from _matching(path, excluded)


def _matching(pattern: str, excluded: Sequence[str]) -> Iterator[str]:
    if not has_magic(pattern):
        raise NotFound(f"{pattern}: no such file or folder")
    matching = sorted(glob(pattern, recursive=True))
    if not matching:
        raise NotFound(f"{pattern}: matches no file")
    for path in matching:
        yield from _below(os.path.normpath(path), excluded) if os.path.isdir(path) else [os.path.normpath(path)]


def _below(folder: str, excluded: Sequence[str]) -> Iterator[str]:
    absolute = os.path.realpath(folder)
    extra = [parse("\n".join(excluded), absolute)] if excluded else []
    yield from _walk(folder, absolute, _above(absolute), extra)


def _above(folder: str) -> list[Ignore]:
    """The .gitignore files of the folders above, up to the top of the repository; without one, none."""
    above, at = [], folder
    while not os.path.exists(os.path.join(at, ".git")):
        parent = os.path.dirname(at)
        if parent == at:
            return []
        above.append(parent)
        at = parent
    top = above[-1] if above else folder
    exclude = _ignore(os.path.join(top, ".git", "info", "exclude"), top)
    return [*exclude, *(ignore for one in reversed(above) for ignore in _ignore(os.path.join(one, ".gitignore"), one))]


def _ignore(file: str, base: str) -> list[Ignore]:
    try:
        with open(file, encoding="utf-8", errors="replace") as opened:
            return [parse(opened.read(), base)]
    except OSError:
        return []


def _walk(folder: str, absolute: str, above: Sequence[Ignore], extra: Sequence[Ignore]) -> Iterator[str]:
    ignores = [*above, *_ignore(os.path.join(absolute, ".gitignore"), absolute)]
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise NotFound(f"{folder}: {error.strerror}") from error
    for entry in entries:
        is_folder = entry.is_dir(follow_symlinks=False)
        if not is_folder and not (entry.name.endswith(SUFFIXES) and entry.is_file()):
            continue
        path = f"{absolute}/{entry.name}"
        if entry.name == ".git" or ignored(ignores, path, is_folder) or ignored(extra, path, is_folder):
            continue
        name = entry.name if folder == os.curdir else os.path.join(folder, entry.name)
        if is_folder:
            yield from _walk(name, path, ignores, extra)
        else:
            yield name
