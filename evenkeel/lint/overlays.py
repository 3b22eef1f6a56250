"""
What the kustomizations that build from a file make of it, also those that build from these.

    overlays/prod ──resources──> base ──resources──> base/web.yaml
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial

from evenkeel.lint.kustomization import (
    KUSTOMIZATIONS,
    NOT_KUSTOMIZED,
    Change,
    Kustomization,
    Kustomized,
    ReadFile,
    read_kustomization,
)


class Overlays:
    """
    The kustomizations in the folders of files, above them, and in the folders that they name.

    Kustomizations `elsewhere` may build from the files, too.  These folders are gone through only if the files have a
    kustomization at all: to list them means to walk a repository.
    """

    def __init__(self, files: Iterable[str], read_file: ReadFile, elsewhere: Iterable[str] = ()) -> None:
        self._read_file = read_file
        self._read = dict[str, Kustomization | None]()
        self._built_by = dict[str, list[str]]()  # the folders of the kustomizations that build from a file or folder
        self._parts = dict[str, list[str]]()  # the folders of the components of a kustomization
        self._named = dict[str, list[str]]()  # the files and folders that a kustomization builds from, and its patches
        self._patch_of = dict[str, list[str]]()  # the folders of the kustomizations that name a patch
        self._looked_around = set[str]()
        in_folders = defaultdict[str, list[str]](list)
        for file in files:
            in_folders[os.path.dirname(file)].append(file)
        absolute = {folder: os.path.abspath(folder) for folder in in_folders}
        for path in absolute.values():
            self._look_around(path)
        if any(kustomization is not None for kustomization in self._read.values()):
            for path in elsewhere:
                self._add(os.path.abspath(path))
        concerned = self._folders()
        self._paths = {
            file: os.path.join(path, os.path.basename(file))
            for folder, path in absolute.items()
            if path in concerned
            for file in in_folders[folder]
        }

    @property
    def patches(self) -> frozenset[str]:
        """The files that a kustomization names as patches."""
        return frozenset(file for file, path in self._paths.items() if path in self._patch_of)

    @property
    def kustomized(self) -> Mapping[str, Kustomized]:
        """What becomes of the objects in each file from which a kustomization builds."""
        kustomized = {file: self._kustomized(path) for file, path in self._paths.items()}
        return {file: change for file, change in kustomized.items() if change != NOT_KUSTOMIZED}

    @cached_property
    def roots(self) -> Mapping[str, tuple[str, ...]]:
        """
        The kustomizations from which no other builds, by file, each with all files that it is built from.

        At least one of the files goes into each.  Components are left out: they are not built by themselves.
        """
        files = {path: file for file, path in self._paths.items()}
        roots = dict[str, tuple[str, ...]]()
        for folder, kustomization in self._read.items():
            if kustomization is not None and not kustomization.is_component and folder not in self._built_by:
                sources = [*self._sources(folder)]
                if not files.keys().isdisjoint(sources):
                    existing = (source for source in sources if source in files or os.path.isfile(source))
                    source_files = sorted(files.get(source) or os.path.relpath(source) for source in existing)
                    root = os.path.join(folder, kustomization.name)
                    roots[files.get(root) or os.path.relpath(root)] = tuple(source_files)
        return roots

    @property
    def built_by(self) -> Mapping[str, frozenset[str]]:
        """The `roots` that each file goes into."""
        built_by = defaultdict[str, set[str]](set)
        for root, sources in self.roots.items():
            for source in sources:
                built_by[source].add(root)
        return {file: frozenset(roots) for file, roots in built_by.items()}

    def _sources(self, folder: str) -> Iterator[str]:
        """Yield the paths of all files that a kustomization is built from."""
        for path in _reached([folder], self._named):
            kustomization = self._read.get(path)
            yield path if kustomization is None else os.path.join(path, kustomization.name)

    def _look_around(self, folder: str) -> None:
        """Read the kustomizations of an absolute `folder` and of those above it, up to the top of the repository."""
        while folder not in self._looked_around:
            self._looked_around.add(folder)
            self._add(folder)
            if os.path.exists(os.path.join(folder, ".git")):
                return
            folder = os.path.dirname(folder)

    def _add(self, folder: str) -> None:
        """Read the kustomization of a folder, and those that it names."""
        unread = [folder]
        while unread:
            current = unread.pop()
            if current in self._read:
                continue
            kustomization = self._read[current] = self._kustomization(current)
            if kustomization is not None:
                in_folder = partial(_join, current)
                for name in map(in_folder, kustomization.patches):
                    self._patch_of.setdefault(name, []).append(current)
                self._parts[current] = [*map(in_folder, kustomization.components)]
                sources = [*map(in_folder, kustomization.resources), *self._parts[current]]
                self._named[current] = [*sources, *map(in_folder, kustomization.patches)]
                for name in sources:
                    self._built_by.setdefault(name, []).append(current)
                    unread.append(name)

    def _kustomization(self, folder: str) -> Kustomization | None:
        for name in KUSTOMIZATIONS:
            if (text := self._read_file(os.path.join(folder, name))) is not None:
                return read_kustomization(text, lambda path: self._read_file(_join(folder, path)), name)
        return None

    def _folders(self) -> set[str]:
        """Return the folders with kustomizations or with files that they name; other files are not concerned."""
        folders_of_files = set(map(os.path.dirname, (*self._built_by, *self._patch_of)))
        return folders_of_files | {folder for folder, kustomization in self._read.items() if kustomization is not None}

    def _kustomized(self, path: str) -> Kustomized:
        """
        Return what becomes of the objects in the file at an absolute path; no namespace if builds give them several.

        Patches are changed only by what builds from their own kustomization; the objects of a chart by this one, too.
        """
        own = self._read.get(os.path.dirname(path)) if os.path.basename(path) in KUSTOMIZATIONS else None
        first_folders = [os.path.dirname(path)] if own is not None else self._patch_of.get(path, [])
        change = own.change if own is not None and own.has_charts else Change.NOTHING
        namespaces, seen = set[str](), set[tuple[str, str]]()
        unvisited = [(folder, self._namespace(folder)) for folder in first_folders] or [(path, "")]
        while unvisited:
            built, namespace = unvisited.pop()
            above = self._built_by.get(built, ())
            if not above:
                namespaces.add(namespace)
            for folder in above:
                change = max(change, self._change(folder))
                state = (folder, self._namespace(folder) or namespace)
                if state not in seen:
                    unvisited.append(state)
                seen.add(state)
        return Kustomized(change, namespaces.pop() if len(namespaces) == 1 else "")

    def _namespace(self, folder: str) -> str:
        kustomization = self._read.get(folder)
        return kustomization.namespace if kustomization is not None else ""

    def _change(self, folder: str) -> Change:
        """Return how far a kustomization and its components change what it builds from."""
        parts = (self._read.get(part) for part in _reached([folder], self._parts))
        return max((part.change for part in parts if part is not None), default=Change.NOTHING)


def _reached(paths: Iterable[str], further: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Yield the paths, and all to which they lead, each once."""
    seen, unvisited = set[str](), [*paths]
    while unvisited:
        path = unvisited.pop()
        if path not in seen:
            seen.add(path)
            yield path
            unvisited += further.get(path, ())


def _join(folder: str, path: str) -> str:
    return os.path.normpath(os.path.join(folder, path))


def folders_with_kustomizations(top: str) -> Iterator[str]:
    """Yield each folder below `top` with a kustomization; none that is hidden, or holds packages of Node.js."""
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "node_modules"]
        if not set(KUSTOMIZATIONS).isdisjoint(names):
            yield folder
