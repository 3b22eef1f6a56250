"""
What a kustomization builds from, and what it changes in the objects that it builds.

    text of kustomization.yaml ──read_kustomization──> Kustomization(resources, components, patches, changes)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from webhook.documents.reading import items_of, read_documents
from webhook.documents.scalars import DocumentError
from webhook.lint.labelling import Labelling, conflict, labelled, read_labellings
from webhook.lint.patched_fields import ALL_PATCHED, NO_PATCH, RENAMED, PatchedFields, by_patch, by_path, union
from webhook.objects.fields import as_list, as_mapping, texts_at, value_at
from webhook.objects.names import IGNORE_ANNOTATION
from webhook.objects.operators import labelled_by_name

KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_MAGIC = frozenset(".*+?[](){}|^$\\")
_FIELDS_NOT_MODELLED = ("transformers", "configurations")  # may change anything
_WIDENS = ("configurations", "crds")  # say where labels are written, also to kustomizations that build from this one

ReadFile = Callable[[str], str | None]


class BuildChange(NamedTuple):
    """What is changed in the objects of a kind and a name; "" is any, and a name may have got a prefix or a suffix."""

    touched: PatchedFields
    kind: str = ""
    name: str = ""

    def concerns(self, kind: str, name: str) -> bool:
        return self.kind in ("", kind) and name in (self.name or name)


@dataclass(frozen=True, slots=True)
class Built:
    """
    What kustomizations change in the objects of a file, and the namespace that they give them, "" if they do not.

    `labels` are those that each build of the objects writes into them, in different builds different ones.
    """

    changes: tuple[BuildChange, ...] = ()
    namespace: str = ""
    labels: tuple[tuple[Labelling, ...], ...] = ()

    def touched(self, kind: str, name: str) -> PatchedFields:
        """Return the fields that any of the changes changes in an object; in any object for the kind ""."""
        return union(change.touched for change in self.changes if not kind or change.concerns(kind, name))

    def labelled(self, obj: Mapping[str, object]) -> list[Mapping[str, object]]:
        """Return the object with the labels of each build; several where builds make different ones of it."""
        objects = list[Mapping[str, object]]()
        for of_build in (labelled(obj, labels) for labels in self.labels):
            objects += [] if of_build in objects else [of_build]
        return objects or [obj]

    def conflict(self, obj: Mapping[str, object], touched: PatchedFields) -> bool:
        """Return whether a build writes a label in two ways, or other changes touch it, so that it is not known."""
        keys = self.open_keys.labels or frozenset()
        return (
            touched.labels is None
            or bool(touched.labels & keys)
            or any(conflict(obj, labelling) for labelling in self.labels)
        )

    @property
    def open_labels(self) -> PatchedFields:
        """What may become of an object if its labels are not written into it."""
        return union(labelling.touched for labels in self.labels for labelling in labels)

    @property
    def open_keys(self) -> PatchedFields:
        """The keys of the labels alone."""
        return PatchedFields(
            labels=frozenset(key for labels in self.labels for labelling in labels for key, _ in labelling.pairs)
        )


NOT_BUILT = Built()


@dataclass(frozen=True, slots=True)
class Kustomization:
    """
    A kustomization; its paths are relative to its folder.

    `resources` and `components` are files or folders, `patches` the files that hold patches.  With `widens` labels are
    written in further places, also by kustomizations that build from this one.
    """

    resources: tuple[str, ...] = ()
    components: tuple[str, ...] = ()
    patches: tuple[str, ...] = ()
    changes: tuple[BuildChange, ...] = ()
    namespace: str = ""
    labels: tuple[Labelling, ...] = ()
    widens: bool = False


def read_kustomization(text: str, read_file: ReadFile) -> Kustomization:
    """Return the kustomization in `text`; `read_file` reads a file of its folder, None if there is none."""
    kustomization = as_mapping(next(iter(_documents(text)), None))
    patches = [*_patches(kustomization)]
    changes = [change for patch in patches for change in _changes_by(patch, read_file)]
    labels, unknown = read_labellings(kustomization)
    changes.append(BuildChange(unknown))
    changes += [
        BuildChange(PatchedFields(fields=frozenset({"replicas"})), name=texts_at(replica_count, "name")[0])
        for replica_count in as_list(kustomization.get("replicas"))
    ]
    if any(texts_at(kustomization, "namePrefix", "nameSuffix")):
        changes += [BuildChange(RENAMED, kind) for kind in ("CronJob", "Job", *labelled_by_name())]
    changes += [
        change
        for replacement in as_list(kustomization.get("replacements"))
        for change in _replaced(replacement, read_file)
    ]
    if any(name in kustomization for name in _FIELDS_NOT_MODELLED) or IGNORE_ANNOTATION in as_mapping(
        kustomization.get("commonAnnotations")
    ):
        changes.append(BuildChange(ALL_PATCHED))
    return Kustomization(
        tuple(_texts(kustomization.get("resources"), kustomization.get("bases"))),
        tuple(_texts(kustomization.get("components"))),
        tuple([patch.path for patch in patches if patch.path]),
        tuple(dict.fromkeys(change for change in changes if change.touched != NO_PATCH)),
        texts_at(kustomization, "namespace")[0],
        labels,
        any(name in kustomization for name in _WIDENS),
    )


class _Patch(NamedTuple):
    """A patch in a file or inline; `target` is None where the patch itself names what it is for."""

    path: str
    text: str
    target: Mapping[str, object] | None
    any_kind: bool = False


def _patches(kustomization: Mapping[str, object]) -> Iterator[_Patch]:
    for patch in as_list(kustomization.get("patchesStrategicMerge")):
        if isinstance(patch, str):
            yield _Patch("", patch, None) if "\n" in patch else _Patch(patch, "", None)
    for patch in map(
        as_mapping, (*as_list(kustomization.get("patches")), *as_list(kustomization.get("patchesJson6902")))
    ):
        target = patch.get("target")
        any_kind = value_at(patch, ("options", "allowKindChange")) is True
        path, text = texts_at(patch, "path", "patch")
        yield _Patch(path, text, target if isinstance(target, dict) else None, any_kind)


def _changes_by(patch: _Patch, read_file: ReadFile) -> Iterator[BuildChange]:
    text = patch.text or (read_file(patch.path) if patch.path else None)
    documents = _documents(text) if text is not None else ()
    kind, name = texts_at(patch.target or {}, "kind", "name")
    for document in documents:
        for _, obj in items_of(document):
            touched = ALL_PATCHED if patch.any_kind else by_patch(obj)
            if patch.target is None:
                yield BuildChange(touched, *texts_at(obj, "kind", "metadata.name"))
            else:  # kind and name are regular expressions
                yield BuildChange(touched, *("" if _MAGIC & set(each) else each for each in (kind, name)))


def _replaced(replacement: object, read_file: ReadFile) -> Iterator[BuildChange]:
    (path,) = texts_at(replacement, "path")
    if path:
        documents = _documents(read_file(path) or "")
        written = [
            replacement
            for document in documents
            for replacement in (document if isinstance(document, list) else [document])
        ]
    else:
        written = [replacement]
    for target in (target for replacement in written for target in as_list(as_mapping(replacement).get("targets"))):
        kind, name = texts_at(target, "select.kind", "select.name")
        paths = as_list(as_mapping(target).get("fieldPaths"))
        yield BuildChange(union(_at_path(path, ".") for path in paths if isinstance(path, str)), kind, name)


def _at_path(path: str, separator: str) -> PatchedFields:
    return by_path(path.split(separator))


def _texts(*lists: object) -> Iterable[str]:
    return (text for texts in lists for text in as_list(texts) if isinstance(text, str))


def _documents(text: str) -> Iterable[object]:
    try:
        return read_documents(text, [])
    except DocumentError:
        return ()
