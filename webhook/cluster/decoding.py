"""
Decodes pages and events of an API server: of each object only the fields that `read_object` reads.

The rest of an object, most of its bytes, is passed over and never built. What does not have this form is decoded
whole, so that what is wrong with it is found where any other object is read.
"""

from __future__ import annotations

import json
from typing import Any, TypedDict

import msgspec


class Metadata(TypedDict, total=False):
    name: Any
    namespace: Any
    uid: Any
    labels: Any
    deletionTimestamp: Any


class WatchedMetadata(Metadata, total=False):
    resourceVersion: Any


class Spec(TypedDict, total=False):
    selector: Any
    nodeName: Any
    taints: Any
    unschedulable: Any


class Status(TypedDict, total=False):
    phase: Any


class Object(TypedDict, total=False):
    """The fields that are read of any kind; `message` and `code` are those of a metav1.Status, an error."""

    metadata: WatchedMetadata | None
    spec: Spec | None
    status: Status | None
    message: Any
    code: Any


class Page(TypedDict, total=False):
    """A part of a list; its metadata has `resourceVersion`, and `continue` if more follows."""

    metadata: dict[str, Any]
    items: list[Object] | None


class Event(TypedDict):
    type: str
    object: Object


_PAGE, _EVENT = msgspec.json.Decoder(Page), msgspec.json.Decoder(Event)


def page(body: bytes) -> Any:
    """A page of a list, as raw JSON with the fields above.  ValueError or RecursionError if it cannot be parsed."""
    return _decoded(_PAGE, body)


def event(line: bytes) -> Any:
    """An event of a watch, likewise."""
    return _decoded(_EVENT, line)


def _decoded(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return json.loads(body)
