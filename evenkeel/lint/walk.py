"""Finds files from paths, folders and patterns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from glob import glob, has_magic
from typing import NamedTuple

from evenkeel.lint.builds import PARTIAL_SUFFIX
from evenkeel.lint.configuration import CONFIGURATION_NAME
from evenkeel.lint.gitignore import Ignore, ignored, parse_gitignore
from evenkeel.lint.helm_templates import without_comments
from evenkeel.terminal.inputs import MANIFEST_SUFFIXES
from webhook.kubernetes.kinds import FIELD

STANDARD_INPUT = "-"
# Of Helm and helmfile.  Most define other things, so that one in a folder is read only if it has the field.
_TEMPLATE_SUFFIXES = (PARTIAL_SUFFIX, ".gotmpl")
_DOCUMENT_SUFFIX = ".md.gotmpl"  # of helm-docs


class NotFound(NamedTuple):
    """A path or pattern that names no file, or a folder that cannot be read."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


def root_of(path: str) -> str:
    """
    Return the top of the git repository of a file, a folder or a pattern; outside of a repository the folder itself.

    A pattern is in its first folders, and standard input in the folder where the command is run.
    """
    folder = os.curdir if path == STANDARD_INPUT else path
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder) or os.curdir
    absolute = os.path.realpath(folder)
    return (_up_to_the_top(absolute) or [absolute])[-1]


def find(
    paths: Iterable[str], excluded: Sequence[str] = (), ignores: Sequence[Ignore] = ()
) -> tuple[list[str], list[NotFound]]:
    """
    Return the files that `paths` name, each once, in the given order, and what cannot be found.

    The files of a folder are sorted, without those that .gitignore, `excluded` or `ignores` match.  A file given by
    name is never left out.
    """
    files = dict.fromkeys(file for path in paths for file in _named(path, excluded, ignores))
    return [file for file in files if isinstance(file, str)], [file for file in files if isinstance(file, NotFound)]


def _named(path: str, excluded: Sequence[str], ignores: Sequence[Ignore]) -> Iterator[str | NotFound]:
    if path == STANDARD_INPUT or os.path.isfile(path):
        yield path if path == STANDARD_INPUT else os.path.normpath(path)
    elif os.path.isdir(path):
        yield from _below(os.path.normpath(path), excluded, ignores)
    elif os.path.lexists(path):  # such as a pipe: <(helm template …)
        yield path
    else:
        yield from _matching(path, excluded, ignores)


def _matching(pattern: str, excluded: Sequence[str], ignores: Sequence[Ignore]) -> Iterator[str | NotFound]:
    matching = sorted(glob(pattern, recursive=True)) if has_magic(pattern) else []
    if not matching:
        yield NotFound(pattern, "matches no file" if has_magic(pattern) else "no such file or folder")
    for path in matching:
        normal_path = os.path.normpath(path)
        yield from _below(normal_path, excluded, ignores) if os.path.isdir(path) else [normal_path]


def _below(folder: str, excluded: Sequence[str], ignores: Sequence[Ignore]) -> Iterator[str | NotFound]:
    absolute = os.path.realpath(folder)
    extra = [*ignores, parse_gitignore("\n".join(excluded), absolute)] if excluded else ignores
    yield from _walk(folder, absolute, _above(absolute), extra)


def _above(folder: str) -> list[Ignore]:
    """Return the .gitignore files of the folders above, up to the top of the repository; none outside a repository."""
    upwards = _up_to_the_top(folder)
    if not upwards:
        return []
    above, top = upwards[1:], upwards[-1]
    exclude = _ignore(os.path.join(top, ".git", "info", "exclude"), top)
    folders = reversed(above)
    # From the top down, as the last one with a pattern decides.
    return [*exclude, *(ignore for folder in folders for ignore in _ignore(os.path.join(folder, ".gitignore"), folder))]


def _up_to_the_top(folder: str) -> list[str]:
    """Return a folder and those above it, up to the top of its repository; none outside a repository."""
    folders = [folder]
    while not os.path.exists(os.path.join(folders[-1], ".git")):
        parent = os.path.dirname(folders[-1])
        if parent == folders[-1]:
            return []
        folders.append(parent)
    return folders


def _ignore(file: str, base: str) -> list[Ignore]:
    try:
        with open(file, encoding="utf-8", errors="replace") as opened:
            return [parse_gitignore(opened.read(), base)]
    except OSError:
        return []


def _walk(folder: str, absolute: str, above: Sequence[Ignore], extra: Sequence[Ignore]) -> Iterator[str | NotFound]:
    ignores = [*above, *_ignore(os.path.join(absolute, ".gitignore"), absolute)]
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield NotFound(folder, error.strerror or str(error))
        return
    for entry in entries:
        is_folder = entry.is_dir(follow_symlinks=False)
        if not is_folder and not (entry.name.endswith((*MANIFEST_SUFFIXES, *_TEMPLATE_SUFFIXES)) and entry.is_file()):
            continue
        path = f"{absolute}/{entry.name}"
        if entry.name in (".git", CONFIGURATION_NAME) or any(
            ignored(patterns, path, is_folder) for patterns in (ignores, extra)
        ):
            continue
        name = entry.name if folder == os.curdir else os.path.join(folder, entry.name)
        if is_folder:
            yield from _walk(name, path, ignores, extra)
        elif entry.name.endswith(MANIFEST_SUFFIXES) or _has_field(path):
            yield name


def _has_field(template: str) -> bool:
    """Return whether a template that is no document has the field; one that cannot be read may have it."""
    if template.endswith(_DOCUMENT_SUFFIX):
        return False
    try:
        with open(template, encoding="utf-8", errors="replace") as opened:
            return FIELD in without_comments(opened.read())
    except OSError:
        return True
