"""
What a kustomization builds from, and what it changes in the objects that it builds.

    text of kustomization.yaml ──read_kustomization──> Kustomization(resources, components, patches, changes)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from webhook.documents.reading import items_of, read_documents
from webhook.documents.scalars import DocumentError
from webhook.lint.patched_fields import ALL_PATCHED, NO_PATCH, RENAMED, PatchedFields, by_patch, by_path, union
from webhook.objects.fields import as_list, as_mapping, texts_at, value_at
from webhook.objects.kinds import FIELD
from webhook.objects.names import IGNORE_ANNOTATION
from webhook.objects.operators import labelled_by_name

KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
MOST_WILDCARDS = 2  # times that `.*` stands in an expression for kinds, and it has one group: more may take long
_SIMPLE = re.compile(r"[A-Za-z0-9|]*(?:\([A-Za-z0-9|]*\)[A-Za-z0-9|]*)?")  # without `.*`
_MAGIC = frozenset(".*+?[](){}|^$\\")
_LABEL_PLACES = ("labels", "matchLabels", "selector")
_ON_LABELS = ("commonLabels", "templateLabels")  # say in `configurations` where labels are written
_ON_OTHERS = ("images", "replicas")  # change nothing else, wherever they are written

ReadFile = Callable[[str], str | None]


class BuildChange(NamedTuple):
    """
    What is changed in the objects of a kind and a name; "" is any.

    `kind` is a regular expression for all of a kind.  A name may have got a prefix or a suffix.
    """

    touched: PatchedFields
    kind: str = ""
    name: str = ""

    def concerns(self, kind: str, name: str) -> bool:
        return (not self.kind or _may_match(self.kind, kind)) and name in (self.name or name)


def _may_match(expression: str, kind: str) -> bool:
    """Return whether an expression matches a kind; each does that is no simple one, which never takes long."""
    simple = _SIMPLE.fullmatch(expression.replace(".*", "", MOST_WILDCARDS)) is not None
    return not simple or re.fullmatch(expression, kind) is not None


@dataclass(frozen=True, slots=True)
class Kustomized:
    """
    What kustomizations change in the objects of a file, and the namespace that they give them, "" if they do not.

    `of_charts` is what a kustomization itself changes in what its charts make.
    """

    changes: tuple[BuildChange, ...] = ()
    namespace: str = ""
    of_charts: tuple[BuildChange, ...] = ()

    def touched(self, kind: str, name: str) -> PatchedFields:
        """Return the fields that any of the changes changes in an object; in any object for the kind ""."""
        return union(change.touched for change in self.changes if not kind or change.concerns(kind, name))

    @property
    def touched_of_charts(self) -> PatchedFields:
        """The fields that any of the changes changes in what the charts of a kustomization make."""
        return union(change.touched for change in (*self.changes, *self.of_charts))


NOT_KUSTOMIZED = Kustomized()


@dataclass(frozen=True, slots=True)
class Kustomization:
    """
    A kustomization; its paths are relative to its folder.

    `name` is that of its file.  `resources` and `components` are files or folders, `patches` the files that hold
    patches.  `labels` are the changes of labels, which kustomize makes after the others.
    """

    resources: tuple[str, ...] = ()
    components: tuple[str, ...] = ()
    patches: tuple[str, ...] = ()
    changes: tuple[BuildChange, ...] = ()
    namespace: str = ""
    labels: tuple[BuildChange, ...] = ()
    name: str = KUSTOMIZATIONS[0]
    is_component: bool = False


def read_kustomization(text: str, read_file: ReadFile, name: str = KUSTOMIZATIONS[0]) -> Kustomization:
    """Return the kustomization in `text`; `read_file` reads a file of its folder, None if there is none."""
    kustomization = as_mapping(next(iter(_documents(text)), None))
    patches = [*_patches(kustomization)]
    changes = [change for patch in patches for change in _changes_by(patch, read_file)]
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
    for path in as_list(kustomization.get("configurations")):
        changes += _configured(path, read_file)
    if "transformers" in kustomization or IGNORE_ANNOTATION in as_mapping(kustomization.get("commonAnnotations")):
        changes.append(BuildChange(ALL_PATCHED))
    return Kustomization(
        tuple(_texts(kustomization.get("resources"), kustomization.get("bases"))),
        tuple(_texts(kustomization.get("components"))),
        tuple([patch.path for patch in patches if patch.path]),
        _once(changes),
        texts_at(kustomization, "namespace")[0],
        _once(_labelled(kustomization)),
        name,
        kustomization.get("kind") == "Component",
    )


def _once(changes: Iterable[BuildChange]) -> tuple[BuildChange, ...]:
    return tuple(dict.fromkeys(change for change in changes if change.touched != NO_PATCH))


def _labelled(kustomization: Mapping[str, object]) -> Iterator[BuildChange]:
    """
    Yield which labels are written; by an entry that only labels the objects themselves, those of Pods.

    upstream: kustomize api/internal/target/kusttarget_configplugin.go:LabelTransformer (v0.21.1)
    """
    yield BuildChange(_keys(kustomization.get("commonLabels")))
    for entry in map(as_mapping, as_list(kustomization.get("labels"))):
        touched, places = _keys(entry.get("pairs")), [*_places(entry.get("fields"))]
        further = places or any(entry.get(name) is True for name in ("includeSelectors", "includeTemplates"))
        yield BuildChange(touched, "" if further else "Pod")
        for place in places if touched != NO_PATCH else ():
            yield BuildChange(_written_at(place), *texts_at(place, "kind"))


def _keys(labels: object) -> PatchedFields:
    return PatchedFields(labels=frozenset(map(str, as_mapping(labels))))


def _places(places: object) -> Iterator[Mapping[str, object]]:
    """
    Return those of `places` that have a path.

    upstream: kustomize api/types/fieldspec.go:FieldSpec (v0.21.1)
    """
    return (place for place in map(as_mapping, as_list(places)) if texts_at(place, "path")[0])


def _written_at(place: Mapping[str, object]) -> PatchedFields:
    """Return what more than the labels themselves is changed where they are written at a place."""
    parts = _parts(place)
    creates = place.get("create") is True and FIELD in parts
    return by_path(parts) if creates or parts[-1] not in _LABEL_PLACES else NO_PATCH


def _parts(place: Mapping[str, object]) -> list[str]:
    return _names_in(texts_at(place, "path")[0].removeprefix("/"), "/")


def _names_in(path: str, separator: str) -> list[str]:
    """
    Split a path at a separator; an escaped one stands in a name, and so does one in brackets.

    upstream: kustomize kyaml/utils/pathsplitter.go:SmarterPathSplitter (v0.21.1)
    """
    escaped = path.replace(f"\\{separator}", "\0")
    names = re.findall(rf"(?:^|{re.escape(separator)})(\[[^\[\]]*\]|[^{separator}]*)", escaped)
    return [name.replace("\0", separator).removesuffix("[]").strip("[]") for name in names]


def _configured(path: object, read_file: ReadFile) -> Iterator[BuildChange]:
    """
    Yield what is changed at the places that a file of `configurations` adds; anything if it cannot be read.

    upstream: kustomize api/internal/plugins/builtinconfig/transformerconfig.go:TransformerConfig (v0.21.1)
    """
    text = read_file(path) if isinstance(path, str) else None
    if text is None:
        yield BuildChange(ALL_PATCHED)
    for configuration in map(as_mapping, _documents(text or "")):
        for transformer, places in configuration.items():
            nested = [field for place in as_list(places) for field in as_list(as_mapping(place).get("fieldSpecs"))]
            for place in () if transformer in _ON_OTHERS else _places([*as_list(places), *nested]):
                touched = _written_at(place) if transformer in _ON_LABELS else by_path(_parts(place))
                yield BuildChange(touched, *texts_at(place, "kind"))


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
            else:
                yield _selected(touched, kind, name)


def _selected(touched: PatchedFields, kind: str, name: str) -> BuildChange:
    """
    Return what is changed in what a target selects by regular expressions; by one for names, any name.

    upstream: kustomize api/types/selector.go:SelectorRegex (v0.21.1)
    """
    return BuildChange(touched, kind, "" if _MAGIC & set(name) else name)


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
        paths = as_list(as_mapping(target).get("fieldPaths")) or ["metadata.name"]
        yield _selected(union(by_path(_names_in(path, ".")) for path in paths if isinstance(path, str)), kind, name)


def _texts(*lists: object) -> Iterable[str]:
    return (text for texts in lists for text in as_list(texts) if isinstance(text, str))


def _documents(text: str) -> Iterable[object]:
    try:
        return read_documents(text, [])
    except DocumentError:
        return ()
