"""
What a kustomization builds from, and how far it may change what it builds.

    text of kustomization.yaml ──read_kustomization──> Kustomization(resources, components, patches, change)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

from webhook.kubernetes.documents import items_of, read_documents
from webhook.kubernetes.fields import as_list, as_mapping, pointer_parts, texts_at
from webhook.kubernetes.kinds import BUILT_IN_KINDS, FIELD
from webhook.kubernetes.names import IGNORE_ANNOTATION
from webhook.kubernetes.scalars import DocumentError

KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
ReadFile = Callable[[str], str | None]

_PATCHES = frozenset({"patches", "patchesStrategicMerge", "patchesJson6902"})
_CHANGES_AROUND = _PATCHES | {"commonLabels", "labels", "namePrefix", "nameSuffix", "replicas", "vars"}
_CHANGES_NOTHING = frozenset(
    {
        *("apiVersion", "kind", "metadata", "namespace", "resources", "bases", "components", "images", "crds"),
        *("commonAnnotations", "buildMetadata", "sortOptions", "openapi", "validators"),
        *("configMapGenerator", "secretGenerator", "generatorOptions", "generators"),
        *("helmCharts", "helmGlobals", "helmChartInflationGenerator"),
    }
)
_APART_FROM_CONSTRAINTS = frozenset({"metadata", "containers", "initContainers", "volumes"})
_SWITCHED_BY = (FIELD, IGNORE_ANNOTATION)
_LISTS_MERGED = frozenset(kind.kind for kind in BUILT_IN_KINDS)  # in other kinds, a patch replaces lists


class Change(IntEnum):
    """How far a kustomization may change objects; each value includes those before it."""

    NOTHING = 0
    AROUND = 1  # what stands around the constraints, such as labels
    CONSTRAINTS = 2


class Kustomized(NamedTuple):
    """What kustomizations make of the objects of a file."""

    change: Change = Change.NOTHING
    namespace: str = ""  # that they give the objects; "" for none


NOT_KUSTOMIZED = Kustomized()


class Kustomization(NamedTuple):
    """A kustomization; its paths are relative to its folder."""

    resources: tuple[str, ...] = ()  # files or folders
    components: tuple[str, ...] = ()
    patches: tuple[str, ...] = ()  # files
    change: Change = Change.NOTHING
    namespace: str = ""
    name: str = KUSTOMIZATIONS[0]
    is_component: bool = False
    has_charts: bool = False


def read_kustomization(text: str, read_file: ReadFile, name: str = KUSTOMIZATIONS[0]) -> Kustomization:
    """Return the kustomization in `text`; `read_file` reads a file of its folder, None if there is none."""
    kustomization = as_mapping(next(iter(_documents(text) or ()), None))
    patches = [*_patches(kustomization)]
    return Kustomization(
        resources=tuple(_texts(kustomization.get("resources"), kustomization.get("bases"))),
        components=tuple(_texts(kustomization.get("components"))),
        patches=tuple(patch.path for patch in patches if patch.path),
        change=_change(kustomization, patches, read_file),
        namespace=texts_at(kustomization, "namespace")[0],
        name=name,
        is_component=kustomization.get("kind") == "Component",
        has_charts="helmCharts" in kustomization,
    )


class _Patch(NamedTuple):
    """A patch in a file or inline."""

    path: str  # "" if it is inline
    text: str = ""
    has_options: bool = False  # which may let it change the kind or the name


def _patches(kustomization: Mapping[str, object]) -> Iterator[_Patch]:
    for text in _texts(kustomization.get("patchesStrategicMerge")):
        yield _Patch("", text) if "\n" in text else _Patch(text)
    for field in ("patches", "patchesJson6902"):
        for patch in map(as_mapping, as_list(kustomization.get(field))):
            path, text = texts_at(patch, "path", "patch")
            yield _Patch(path, text, "options" in patch)


def _change(kustomization: Mapping[str, object], patches: list[_Patch], read_file: ReadFile) -> Change:
    """
    Return how far a kustomization may change what it builds.

    upstream: kustomize api/types/kustomization.go:Kustomization (v0.21.1)
    """
    changing = {field for field, value in kustomization.items() if value} - _CHANGES_NOTHING
    if (
        not changing <= _CHANGES_AROUND
        or IGNORE_ANNOTATION in as_mapping(kustomization.get("commonAnnotations"))
        or any("fields" in as_mapping(entry) for entry in as_list(kustomization.get("labels")))
        or any(_reaches_constraints(patch, read_file) for patch in patches)
    ):
        return Change.CONSTRAINTS
    return Change.AROUND if changing else Change.NOTHING


def _reaches_constraints(patch: _Patch, read_file: ReadFile) -> bool:
    """Return whether a patch may change constraints, or remove what they are in; one that cannot be read may."""
    documents = _documents(patch.text or read_file(patch.path) or "")
    if patch.has_options or not documents:
        return True
    return any(_object_reaches(obj) for document in documents for _, obj in items_of(document))


def _object_reaches(patch: object) -> bool:
    """Whether a JSON patch, which is a list, or a strategic merge patch may reach constraints."""
    return any(map(_operation_reaches, patch)) if isinstance(patch, list) else _merge_reaches(patch)


def _merge_reaches(patch: object) -> bool:
    """
    Return whether a strategic merge patch may reach constraints.

    It does not have to name them: null, a directive, or a list that replaces another removes what is below.
    """
    marks = [*_SWITCHED_BY, '"$', "null"]
    if texts_at(patch, "kind")[0] not in _LISTS_MERGED:
        marks.append("[")
    text = json.dumps(patch, default=str)
    return any(mark in text for mark in marks)


def _operation_reaches(operation: object) -> bool:
    """
    Return whether an operation of a JSON patch may reach constraints.

    One that sets a number or a text at another path removes nothing.
    """
    op, value = as_mapping(operation).get("op"), as_mapping(operation).get("value")
    text = json.dumps(operation, default=str).replace("~1", "/")  # a JSON pointer writes "/" in a key as "~1"
    if op == "test":
        return False
    if any(mark in text for mark in _SWITCHED_BY):
        return True
    path, source = texts_at(operation, "path", "from")
    pointers = [path, source] if source else [path]
    is_apart = not any(_APART_FROM_CONSTRAINTS.isdisjoint(pointer_parts(pointer)) for pointer in pointers)
    return not is_apart and not isinstance(value, str | int | float)


def _texts(*lists: object) -> list[str]:
    return [text for texts in lists for text in as_list(texts) if isinstance(text, str)]


def _documents(text: str) -> list[object] | None:
    try:
        return [*read_documents(text, [])]
    except DocumentError:
        return None
