"""
Reduces a cluster's objects to what commands read: all that the webhook watches, and what says where a Pod may go.

A dump of a cluster has these fields and no others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from evenkeel.objects.contacts import contacts_in
from webhook.cluster.read_fields import (
    CONDITIONS,
    KEPT_METADATA,
    NAMESPACE_FIELDS,
    OBJECT_FIELDS,
    TEMPLATE_FIELDS,
    form,
    page_form,
)
from webhook.cluster.watched_resources import WATCHED_NAMESPACES
from webhook.kubernetes.fields import FieldPath, as_list, as_mapping
from webhook.kubernetes.kinds import EACH, EACH_KEY, Kind

_OBJECT_FORM, _NAMESPACE_FORM, _TEMPLATE_FORM, _METADATA_FORM = map(
    form, (OBJECT_FIELDS, NAMESPACE_FIELDS, TEMPLATE_FIELDS, KEPT_METADATA)
)
_PAGE, _NAMESPACES = (msgspec.json.Decoder(page_form(item)) for item in (_OBJECT_FORM, _NAMESPACE_FORM))
_ENCODER = msgspec.json.Encoder(order="sorted")
_KeptPath = tuple[FieldPath, Any]  # and the form of the value there


def page(body: bytes) -> Any:
    """Return a page of a list, as raw JSON with the fields above. ValueError or RecursionError for another form."""
    decoded = _PAGE.decode(body)
    for obj in decoded.get("items") or ():
        _drop_conditions(obj)
    return decoded


def namespaces_page(body: bytes) -> Any:
    """Return a page of a list of Namespaces, with the annotations that name a team or a contact, and no conditions."""
    decoded = _NAMESPACES.decode(body)
    for obj in decoded.get("items") or ():
        _reduce_namespace(obj)
    return decoded


def custom_page(body: bytes, kinds: Sequence[Kind]) -> Any:
    """Return a page of a list of custom resources of these `kinds`, each reduced by `only_read_custom`."""
    decoded = msgspec.json.decode(body)
    if isinstance(decoded, dict) and isinstance(items := decoded.get("items"), list):
        decoded["items"] = [only_read_custom(item, kinds) for item in items if isinstance(item, dict)]
    return decoded


def only_read_custom(raw: Mapping[str, object], kinds: Sequence[Kind]) -> Mapping[str, object]:
    """
    Return a copy of a raw custom resource with its metadata, Pod templates, constraints, replicas and selector.

    `kinds` describe it.  A field that has another form than in built-in kinds is left out.
    """
    paths: list[_KeptPath] = [((name,), Any) for name in ("apiVersion", "kind")]
    paths += [(("metadata",), _METADATA_FORM), *((("spec", name), Any) for name in ("selector", "strategy"))]
    for kind in kinds:
        paths += [(path, Any) for path in (kind.replicas, kind.constraints, kind.labels) if path]
        if kind.template:
            paths.append((kind.template, _TEMPLATE_FORM))
    return as_mapping(_reduced({"metadata": {}, **raw}, paths))


def _reduced(value: object, paths: Sequence[_KeptPath]) -> object:
    """Return the parts of a value at the paths, which may have wildcards; {} for a part that has another form."""
    for path, wanted_form in paths:
        if not path:
            return _converted(value, wanted_form)
    if paths[0][0][0] == EACH:
        below = [(path[1:], wanted_form) for path, wanted_form in paths if path[0] == EACH]
        return [_reduced(item, below) for item in as_list(value)]
    members = {}
    for name, member in as_mapping(value).items():
        if below := [(path[1:], wanted_form) for path, wanted_form in paths if path[0] in (name, EACH_KEY)]:
            members[name] = _reduced(member, below)
    return members


def _converted(value: object, form: Any) -> Any:
    try:
        return msgspec.convert(value, form)
    except (ValueError, RecursionError):
        return {}


def only_read(raw: Mapping[str, object]) -> Mapping[str, object]:
    """Return a copy of a raw object with the fields above.  ValueError or RecursionError if one has another form."""
    if (raw.get("apiVersion"), raw.get("kind")) == WATCHED_NAMESPACES.gvk:
        return _reduce_namespace(msgspec.convert(raw, _NAMESPACE_FORM))
    obj = msgspec.convert(raw, _OBJECT_FORM)
    _drop_conditions(obj)
    return obj


def as_line(obj: Mapping[str, object]) -> bytes:
    """Return the object as one line of JSON, with the members in the order of their names."""
    return _ENCODER.encode(obj) + b"\n"


def from_line(line: bytes) -> object:
    """Return the value in a line of JSON.  ValueError or RecursionError if it has none."""
    return msgspec.json.decode(line)


def _reduce_namespace(obj: Any) -> Any:
    metadata = obj.get("metadata")
    if metadata and (annotations := metadata.get("annotations")):
        metadata["annotations"] = contacts_in(annotations)
    return obj


def _drop_conditions(obj: Any) -> None:
    """Keep those of CONDITIONS only."""
    status = obj.get("status")
    if status and (conditions := status.get("conditions")):
        status["conditions"] = [condition for condition in conditions if condition.get("type") in CONDITIONS]
