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


class ResourceRequirements(TypedDict, total=False):
    requests: Any


class Container(TypedDict, total=False):
    name: Any
    resources: ResourceRequirements | None


class InitContainer(Container, total=False):
    restartPolicy: Any


class ContainerStatus(TypedDict, total=False):
    name: Any
    resources: ResourceRequirements | None
    allocatedResources: Any


class Condition(TypedDict, total=False):
    type: Any
    reason: Any


class SpecWithResources(Spec, total=False):
    containers: list[Container] | None
    initContainers: list[InitContainer] | None
    overhead: Any
    resources: ResourceRequirements | None


class StatusWithResources(Status, total=False):
    allocatable: Any
    conditions: list[Condition] | None
    containerStatuses: list[ContainerStatus] | None
    initContainerStatuses: list[ContainerStatus] | None
    resources: ResourceRequirements | None
    allocatedResources: Any


class ObjectWithResources(TypedDict, total=False):
    """The same, and what Pods request and nodes have."""

    metadata: WatchedMetadata | None
    spec: SpecWithResources | None
    status: StatusWithResources | None
    message: Any
    code: Any


class PageWithResources(TypedDict, total=False):
    metadata: dict[str, Any]
    items: list[ObjectWithResources] | None


class EventWithResources(TypedDict):
    type: str
    object: ObjectWithResources


class Decoding:
    """One form of pages and events, decoded to raw JSON that has only its fields."""

    def __init__(self, page: Any, event: Any) -> None:
        self._page, self._event = msgspec.json.Decoder(page), msgspec.json.Decoder(event)

    def page(self, body: bytes) -> Any:
        """A page of a list.  ValueError or RecursionError if it cannot be parsed."""
        return _decoded(self._page, body)

    def event(self, line: bytes) -> Any:
        """An event of a watch, likewise."""
        return _decoded(self._event, line)


PLAIN, WITH_RESOURCES = Decoding(Page, Event), Decoding(PageWithResources, EventWithResources)


def _decoded(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return json.loads(body)
