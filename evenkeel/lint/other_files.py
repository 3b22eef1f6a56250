"""
What all files of the input state, and what of it stands around the workloads of one of them.

Files from which one kustomization builds go into one cluster.  For other files that is a guess:

* Two files are copies, such as those for dev and prod, if a workload of the same kind, namespace and name stands in
  both; or in both of the folders below which they lie, where their paths part.
* An object that names no namespace has neighbours in its own folder, and in the files of its kustomizations.
* A workload of another file with the same selector, or without one the same labels, is most likely the same service for
  another cluster.  But Pods that are spread among each other are alike.

An autoscaler scales the workload of its target's name that is nearest in the folders.  If several scale one workload,
as the autoscalers of overlays scale that of their base, their bounds are joined.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice

from evenkeel.lint.declarations import NOTHING_AROUND, Declarations, DeclaredWorkload, FileNeighbours, unpacked, within
from webhook.findings.neighbours import Neighbour
from webhook.kubernetes.references import ScaleTarget, Scaling
from webhook.spread.selectors import EQUALS, IN, Match, Selector

MOST_CANDIDATES = 200  # that are looked at for one selector, the nearest first

NOTHING_BUILT: Mapping[str, frozenset[str]] = {}

# Namespace, folder or kustomization, label key and value; the last two are empty for all Pods.
Hook = tuple[str, str, str, str]


class OtherFiles:
    """
    What all files of the input state, and what of it stands around one of them.

    To save memory, workloads are kept compressed, and only those with labels that a selector asks for are unpacked.
    """

    def __init__(self, built_by: Mapping[str, frozenset[str]] = NOTHING_BUILT) -> None:
        self._built_by = built_by  # the kustomizations that build from each file
        self._batches: list[bytes] = []
        self._once, self._again = set[int](), set[int]()  # hashes of hooks that one workload has, or several
        self._autoscalers: dict[ScaleTarget, list[tuple[str, Scaling]]] = {}
        self._candidates: dict[Hook, list[tuple[str, DeclaredWorkload]]] = {}
        self._scalings: dict[ScaleTarget, dict[str, Scaling]] | None = None
        # Hashes of kind, namespace and name of the workloads: by file, sorted, and of all files below a folder.
        self._names: list[tuple[str, frozenset[int]]] | None = None
        self._below: dict[str, frozenset[int]] = {}

    def add(self, batch: bytes) -> None:
        """Add what `packed` gives for some files."""
        if not batch:
            return
        self._batches.append(batch)
        for file, stated in unpacked(batch):
            for target, scaling in stated.autoscalers:
                self._autoscalers.setdefault(target, []).append((file, scaling))
            for workload in stated.workloads:
                if workload.makes_pods:
                    self._count_hooks(file, workload)

    def _count_hooks(self, file: str, workload: DeclaredWorkload) -> None:
        for hook in self._hooks(file, workload):
            number = hash(hook)
            if number in self._once:
                self._again.add(number)
            else:
                self._once.add(number)

    def concerned(self) -> dict[str, FileNeighbours]:
        """Return the files that others concern, each with its neighbours.  Call it after every file was added."""
        self._learn(
            hook
            for file, stated in self._stated()
            for workload in stated.workloads
            for selector in workload.selectors
            for hooks in self._hooks_of_selector(file, workload, selector)
            for hook in hooks
        )
        return {file: around for file, stated in self._stated() if (around := self.around(file, stated))}

    def around(self, file: str, stated: Declarations) -> FileNeighbours:
        """Return the neighbours and autoscalers in other files of a file that states this."""
        asking = [workload for workload in stated.workloads if workload.asks is not None]
        if not asking:
            return NOTHING_AROUND
        others = [
            neighbour
            for workload in asking
            for selector in workload.selectors
            if (neighbour := self._other(file, workload, selector)) is not None
        ]
        scalings = {
            workload.target: scaling
            for workload in asking
            if (scaling := self._scaling(file, workload.target)) is not None
        }
        own = within(stated)
        if not others and scalings == own.scalings:
            return NOTHING_AROUND
        return FileNeighbours((*own.others, *others), scalings)

    def _scopes(self, file: str, workload: DeclaredWorkload) -> list[tuple[str, str]]:
        """Return the beginnings of its hooks; what names no namespace is told apart by folder and kustomization."""
        if workload.named:
            return [(workload.namespace, "")]
        return [("", place) for place in (file.rpartition("/")[0] or ".", *self._built_by.get(file, ()))]

    def _hooks(self, file: str, workload: DeclaredWorkload) -> Iterator[Hook]:
        """Yield the hooks by which selectors find the Pods of a workload."""
        for scope in self._scopes(file, workload):
            yield (*scope, "", "")
            for key, value in workload.labels.items():
                yield (*scope, key, value)

    def _stated(self) -> Iterator[tuple[str, Declarations]]:
        return (stated for batch in self._batches for stated in unpacked(batch))

    def _hooks_of_selector(self, file: str, workload: DeclaredWorkload, selector: Selector) -> list[list[Hook]]:
        """Return the hooks for each label that the selector asks for; [] if no other workload has one of the labels."""
        scopes = self._scopes(file, workload)
        hooks_of_labels = [
            [(*scope, requirement.key, value) for scope in scopes for value in requirement.values]
            for requirement in selector.requirements
            if requirement.operator in (EQUALS, IN)
        ] or [[(*scope, "", "") for scope in scopes]]  # all Pods
        all_carried = all(any(hash(hook) in self._again for hook in hooks) for hooks in hooks_of_labels)
        return hooks_of_labels if all_carried else []

    def _learn(self, wanted: Iterable[Hook]) -> None:
        """Unpack the workloads that have the labels of these hooks."""
        new = set(wanted) - self._candidates.keys()
        if not new:
            return
        self._candidates |= {hook: [] for hook in new}
        for file, stated in self._stated():
            for workload in stated.workloads:
                for hook in self._hooks(file, workload) if workload.makes_pods else ():
                    if hook in new:
                        self._candidates[hook].append((file, workload))
        for hook in new:
            self._candidates[hook].sort(key=_file)

    def _other(self, file: str, workload: DeclaredWorkload, selector: Selector) -> Neighbour | None:
        """Return the nearest workload of another file that the selector counts; a likely copy if there is no other."""
        hooks_of_labels = self._hooks_of_selector(file, workload, selector)
        if not hooks_of_labels:
            return None
        self._learn(hook for hooks in hooks_of_labels for hook in hooks)
        fewest = min(hooks_of_labels, key=lambda hooks: sum(len(self._candidates[hook]) for hook in hooks))
        candidates = (candidate for hook in fewest for candidate in _nearest_first(self._candidates[hook], file))
        likely_copy = None
        for other_file, other in islice(candidates, MOST_CANDIDATES):
            if other[:4] == workload[:4] or selector.match(other.labels, other.addable) is not Match.YES:
                continue
            if self._are_built_together(file, other_file):
                return other.other
            are_pods = workload.kind == other.kind == "Pod"
            alike = not are_pods and (other.own or other.labels) == (workload.own or workload.labels)
            if (alike and likely_copy is not None) or self._are_copies(file, other_file):
                continue
            if not alike:
                return other.other
            likely_copy = other.other._replace(is_likely_copy=True)
        return likely_copy

    def _scaling(self, file: str, target: ScaleTarget) -> Scaling | None:
        """Return the bounds that autoscalers give the workload of this name in `file`."""
        if target not in self._autoscalers:
            return None
        if self._scalings is None:
            self._scalings = self._anchored()
        anchored, bounds = self._scalings.get(target, {}), None
        for path in _upwards(file):
            if path in anchored:
                bounds = anchored[path] if bounds is None else bounds.widened(anchored[path])
        return bounds

    def _anchored(self) -> dict[ScaleTarget, dict[str, Scaling]]:
        """Return, by target, the bounds of autoscalers, each at the nearest path above it that has the workload."""
        places: dict[ScaleTarget, set[str]] = {}
        for file, stated in self._stated():
            for target in {workload.target for workload in stated.workloads} & self._autoscalers.keys():
                places.setdefault(target, set()).update(_upwards(file))
        by_folder: dict[ScaleTarget, dict[str, Scaling]] = {}
        for target, paths in places.items():
            anchored = by_folder.setdefault(target, {})
            for file, scaling in self._autoscalers[target]:
                anchor = next(path for path in _upwards(file) if path in paths)
                anchored[anchor] = anchored[anchor].widened(scaling) if anchor in anchored else scaling
        return by_folder

    def _are_built_together(self, file: str, other: str) -> bool:
        return not self._built_by.get(file, frozenset()).isdisjoint(self._built_by.get(other, frozenset()))

    def _are_copies(self, file: str, other: str) -> bool:
        """Return whether the same workload stands in both files, or in both of the folders where their paths part."""
        ours, theirs = file.split("/"), other.split("/")
        parted = next(
            i for i, (our_part, their_part) in enumerate(zip(ours, theirs, strict=False)) if our_part != their_part
        )
        below = self._names_below("/".join(ours[: parted + 1]))
        return not below.isdisjoint(self._names_below("/".join(theirs[: parted + 1])))

    def _names_below(self, path: str) -> frozenset[int]:
        """Return a hash of kind, namespace and name for each workload in a file, or in all files below a folder."""
        if self._names is None:
            names = (
                (
                    file,
                    frozenset(
                        hash((workload.kind, workload.namespace, workload.name)) for workload in stated.workloads
                    ),
                )
                for file, stated in self._stated()
            )
            self._names = sorted(names, key=_file)
        if path not in self._below:
            self._below[path] = frozenset().union(
                *(self._names[index][1] for index in range(*_below(self._names, path)))
            )
        return self._below[path]


def _upwards(file: str) -> Iterator[str]:
    """Yield the path of a file, those of the folders that it is in, and "" for all."""
    while file:
        yield file
        file = file.rpartition("/")[0]
    yield ""


def _nearest_first(
    candidates: Sequence[tuple[str, DeclaredWorkload]], file: str
) -> Iterator[tuple[str, DeclaredWorkload]]:
    """
    Yield the workloads of other files: of its folder, then of the folder above; `candidates` are sorted by their files.
    """
    first, last = _below(candidates, file)
    for path in _upwards(file):
        start, end = _below(candidates, path)
        yield from (candidates[index] for index in chain(range(start, first), range(last, end)))
        first, last = start, end


def _below(sorted_by_file: Sequence[tuple[str, object]], path: str) -> tuple[int, int]:
    """Return the first and last index of the files at `path` or below it; "" is the folder of all."""
    if not path:
        return 0, len(sorted_by_file)
    start, end = (bisect_left(sorted_by_file, edge, key=_file) for edge in (f"{path}/", f"{path}0"))  # "0" follows "/"
    if start < end:
        return start, end
    own = bisect_left(sorted_by_file, path, key=_file), bisect_right(sorted_by_file, path, key=_file)
    return own if own[0] < own[1] else (start, end)


def _file(entry: tuple[str, object]) -> str:
    return entry[0]
