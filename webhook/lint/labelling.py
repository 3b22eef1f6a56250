"""
What labels a kustomization writes into an object, and where.

    commonLabels, labels ──read_labellings──> Labelling(pairs, places) ──labelled──> the object with these labels
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from webhook.lint.patched_fields import PatchedFields, by_path, union
from webhook.lint.templates import has_placeholders
from webhook.objects.fields import as_list, as_mapping, texts_at

MOST_PARTS = 50  # of a path; no field that a rule reads has a longer one


class LabelPlace(NamedTuple):
    """
    Where labels are written, in objects of a kind, group and version, "" for any; what is absent may be created.

    upstream: kustomize api/types/fieldspec.go:FieldSpec (v0.21.1)
    """

    path: tuple[str, ...]
    create: bool = True
    kind: str = ""
    group: str = ""
    version: str = ""

    def is_in(self, api_version: str, kind: str) -> bool:
        """Return whether objects of this kind have it."""
        group, _, version = api_version.rpartition("/")
        return self.kind in ("", kind) and self.group in ("", group) and self.version in ("", version)


class Labelling(NamedTuple):
    """Labels that one entry of a kustomization writes; what `touched` says may become of it where that is not known."""

    pairs: tuple[tuple[str, str], ...]
    places: tuple[LabelPlace, ...]
    touched: PatchedFields

    @property
    def of_pods_alone(self) -> bool:
        """Whether it writes only the labels of the object, which are those of Pods."""
        return self.places == (_METADATA_LABELS,)


_OF_LABELS = ("labels", "matchLabels", "selector")
_METADATA_LABELS = LabelPlace(("metadata", "labels"))
_LABELS, _TEMPLATE = ("metadata", "labels"), ("spec", "template", "metadata", "labels")
# upstream: kustomize api/internal/konfig/builtinpluginconsts/{metadatalabels,commonlabels}.go (v0.21.1), of workloads
_TEMPLATE_PLACES = (
    _METADATA_LABELS,
    LabelPlace(_TEMPLATE, kind="ReplicationController", version="v1"),
    LabelPlace(_TEMPLATE, kind="Deployment"),
    LabelPlace(_TEMPLATE, kind="ReplicaSet"),
    LabelPlace(_TEMPLATE, kind="DaemonSet"),
    LabelPlace(_TEMPLATE, kind="StatefulSet", group="apps"),
    LabelPlace(_TEMPLATE, kind="Job", group="batch"),
    LabelPlace(("spec", "jobTemplate", *_LABELS), kind="CronJob", group="batch"),
    LabelPlace(("spec", "jobTemplate", *_TEMPLATE), kind="CronJob", group="batch"),
)
_MATCH_LABELS = ("spec", "selector", "matchLabels")
_SPREAD = ("spec", "template", "spec", "topologySpreadConstraints", "labelSelector", "matchLabels")
_SELECTORS = (
    LabelPlace(("spec", "selector"), kind="ReplicationController", version="v1"),
    LabelPlace(_MATCH_LABELS, kind="Deployment"),
    LabelPlace(_MATCH_LABELS, kind="ReplicaSet"),
    LabelPlace(_MATCH_LABELS, kind="DaemonSet"),
    LabelPlace(_MATCH_LABELS, kind="StatefulSet", group="apps"),
    LabelPlace(_MATCH_LABELS, create=False, kind="Job", group="batch"),
    LabelPlace(("spec", "jobTemplate", *_MATCH_LABELS), create=False, kind="CronJob", group="batch"),
    LabelPlace(_SPREAD, create=False, kind="Deployment", group="apps"),
    LabelPlace(_SPREAD, create=False, kind="StatefulSet", group="apps"),
    *_TEMPLATE_PLACES,
)


def read_labellings(kustomization: Mapping[str, object]) -> tuple[tuple[Labelling, ...], PatchedFields]:
    """
    Return the labellings of a kustomization in their order, and the labels of which the value is not known.

    upstream: kustomize api/internal/target/kusttarget_configplugin.go:LabelTransformer (v0.21.1)
    """
    entries = [as_mapping(entry) for entry in as_list(kustomization.get("labels"))]
    entries.append({"pairs": kustomization.get("commonLabels"), "includeSelectors": True})
    labellings, unknown = list[Labelling](), set[str]()
    for entry in entries:
        pairs = {str(key): value for key, value in as_mapping(entry.get("pairs")).items()}
        known = {key: value for key, value in pairs.items() if isinstance(value, str) and not has_placeholders(value)}
        unknown |= pairs.keys() - known.keys()
        own = [*_own_places(entry)]
        places = [*own, *_of(entry)]
        if known:
            touched = PatchedFields(labels=frozenset(known))
            touched |= union(by_path(place.path) for place in own if place.path[-1] not in _OF_LABELS)
            labellings.append(Labelling(tuple(known.items()), tuple(places), touched))
    return tuple(labellings), PatchedFields(labels=frozenset(unknown))


def _own_places(entry: Mapping[str, object]) -> Iterator[LabelPlace]:
    for field in map(as_mapping, as_list(entry.get("fields"))):
        path, kind, group, version = texts_at(field, "path", "kind", "group", "version")
        if len(parts := _parts(path)) <= MOST_PARTS:
            yield LabelPlace(parts, field.get("create") is True, kind, group, version)


def _of(entry: Mapping[str, object]) -> tuple[LabelPlace, ...]:
    if entry.get("includeSelectors") is True:
        return _SELECTORS
    return _TEMPLATE_PLACES if entry.get("includeTemplates") is True else (_METADATA_LABELS,)


def _parts(path: str) -> tuple[str, ...]:
    """
    Split a path at its slashes; an escaped one stands in a name.

    upstream: kustomize kyaml/utils/pathsplitter.go:PathSplitter (v0.21.1)
    """
    escaped = path.removeprefix("/").replace("\\/", "\0")
    return tuple(part.replace("\0", "/") for part in escaped.split("/"))


def labelled(obj: Mapping[str, object], labellings: Iterable[Labelling]) -> Mapping[str, object]:
    """
    Return a copy of the object with the labels of each labelling written in its places.

    upstream: kustomize api/filters/labels/labels.go:Filter (v0.21.1)
    """
    api_version, kind = texts_at(obj, "apiVersion", "kind")
    labelled_obj: object = obj
    for pairs, places, _ in labellings:
        for place in places:
            if place.is_in(api_version, kind):
                labelled_obj = _written(labelled_obj, place.path, place.create, pairs)
    return as_mapping(labelled_obj)


def conflict(obj: Mapping[str, object], labellings: Iterable[Labelling]) -> bool:
    """
    Return whether labellings give a label of the object different values, and the last one not in all places of those
    before.

    kustomize then writes the last value also in places of an earlier one: they are one node of its YAML.
    """
    api_version, kind = texts_at(obj, "apiVersion", "kind")
    values, written, open_keys = dict[str, str](), defaultdict[str, set[tuple[str, ...]]](set), set[str]()
    for pairs, places, _ in labellings:
        here = {place.path for place in places if place.is_in(api_version, kind)}
        for key, value in pairs:
            if here >= written[key]:
                open_keys.discard(key)
            elif value != values[key]:
                open_keys.add(key)
            values[key] = value
            written[key] |= here
    return bool(open_keys)


def _written(value: object, path: tuple[str, ...], create: bool, pairs: tuple[tuple[str, str], ...]) -> object:
    """
    Return the value with `pairs` at `path`, in each item of the lists on the way.

    upstream: kustomize api/filters/fieldspec/fieldspec.go:Filter.filter (v0.21.1)
    """
    if isinstance(value, list) and path:
        return [_written(item, path, create, pairs) for item in value]
    if not isinstance(value, dict):
        return value
    if not path:
        return {**value, **dict(pairs)}
    name, creates = path[0].removesuffix("[]"), create and not path[0].endswith("[]")
    member = value.get(name)
    if member is None and not creates:
        return value
    return {**value, name: _written({} if member is None else member, path[1:], create, pairs)}
