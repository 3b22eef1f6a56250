"""One consistent view of what decisions are made from: nodes, namespaces, Services and controllers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from webhook.scheduler.constraint import read_selector, selector_errors
from webhook.scheduler.fields import FieldError, path_text
from webhook.scheduler.reading import Reader, brief
from webhook.scheduler.selectors import Labels, Selector, as_selector, equals

CORE, APPS, BATCH = "v1", "apps/v1", "batch/v1"
CONTROLLER_KINDS = frozenset(
    {
        (CORE, "ReplicationController"),
        (APPS, "Deployment"),
        (APPS, "ReplicaSet"),
        (APPS, "StatefulSet"),
        (APPS, "DaemonSet"),
        (BATCH, "CronJob"),
        (BATCH, "Job"),
    }
)


KINDS = CONTROLLER_KINDS | {(CORE, kind) for kind in ("Node", "Namespace", "Service")}


@dataclass(frozen=True, slots=True)
class Node:
    name: str
    labels: Labels


@dataclass(frozen=True, slots=True)
class Service:
    """A Service that selects Pods; one whose selector is absent or `{}` selects none and is not kept."""

    name: str
    selector: Labels

    def selects(self, labels: Labels) -> bool:
        return self.selector.items() <= labels.items()


@dataclass(frozen=True, slots=True)
class Controller:
    """What can own Pods, or their owners; `selector` is None where it has none or none that is valid."""

    api_version: str
    kind: str
    name: str
    uid: str
    selector: Selector | None


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner reference with `controller: true`."""

    api_version: str
    kind: str
    name: str
    uid: str = ""


@dataclass(frozen=True)
class Snapshot:
    """
    `nodes` is empty where nodes are not known; Services and controllers are kept by namespace.

    A Service is found by one label of its selector, (namespace, key, value), with its place among all.
    """

    nodes: tuple[Node, ...] = ()
    namespaces: Mapping[str, Labels] = field(default_factory=dict)
    services: Mapping[tuple[str, str, str], tuple[tuple[int, Service], ...]] = field(default_factory=dict)
    controllers: Mapping[tuple[str, str, str, str], Controller] = field(default_factory=dict)

    @cached_property
    def node_label_keys(self) -> frozenset[str]:
        """The label keys that its nodes carry; empty where nodes are not known."""
        return frozenset(key for node in self.nodes for key in node.labels)

    def services_of(self, namespace: str, labels: Labels) -> tuple[Service, ...]:
        """The Services whose selector matches a Pod with `labels` (helper.GetPodServices)."""
        asking = (one for item in labels.items() for one in self.services.get((namespace, *item), ()))
        found = [(place, service) for place, service in asking if service.selects(labels)]
        return tuple(service for _, service in sorted(found, key=lambda one: one[0]))

    def controller(self, namespace: str, owner: Owner) -> Controller | None:
        """The owner, found by name as the scheduler finds it; the uid is not compared."""
        return self.controllers.get((namespace, owner.api_version, owner.kind, owner.name))


class SnapshotError(ValueError):
    """An object that cannot be what it says it is; the message names the object, the field and what it must be."""


def from_objects(objects: Iterable[Mapping[str, object]]) -> Snapshot:
    """The snapshot that `objects`, raw JSON as the API server prints it, make up; other kinds are passed over."""
    nodes: list[Node] = []
    namespaces: dict[str, Labels] = {}
    services: list[tuple[str, Service]] = []
    controllers: dict[tuple[str, str, str, str], Controller] = {}
    for raw in objects:
        if not any((raw.get("apiVersion"), raw.get("kind")) == kind for kind in KINDS):
            continue
        one = _Object(raw)
        if one.gvk == (CORE, "Node"):
            nodes.append(Node(one.name, one.labels))
        elif one.gvk == (CORE, "Namespace"):
            namespaces[one.name] = one.labels
        elif one.gvk == (CORE, "Service"):
            if selector := one.label_map_selector():
                services.append((one.namespace, Service(one.name, selector)))
        else:
            controllers[one.namespace, *one.gvk, one.name] = one.controller()
        one.check()
    return Snapshot(tuple(nodes), namespaces, _by_rarest_label(services), controllers)


def _by_rarest_label(
    services: Sequence[tuple[str, Service]],
) -> dict[tuple[str, str, str], tuple[tuple[int, Service], ...]]:
    """Each Service under that label of its selector which the fewest Services of its namespace ask for."""
    asked = Counter((namespace, *item) for namespace, service in services for item in service.selector.items())
    found: dict[tuple[str, str, str], list[tuple[int, Service]]] = {}
    for place, (namespace, service) in enumerate(services):
        rarest = min(((namespace, *item) for item in service.selector.items()), key=lambda label: asked[label])
        found.setdefault(rarest, []).append((place, service))
    return {label: tuple(those) for label, those in found.items()}


class _Object:
    """One raw object while it is read."""

    def __init__(self, raw: Mapping[str, object]) -> None:
        self.reader = Reader()
        self.gvk = (self._string(raw, "apiVersion"), self._string(raw, "kind"))
        metadata = self.reader.mapping(raw.get("metadata"), ("metadata",))
        self.name = self._string(metadata, "name", "metadata")
        self.namespace = self._string(metadata, "namespace", "metadata")
        self.uid = self._string(metadata, "uid", "metadata")
        self.raw_labels = metadata.get("labels")
        self.raw_spec = raw.get("spec")

    def _string(self, raw: Mapping[str, object], name: str, *parent: str) -> str:
        return self.reader.string(raw.get(name), (*parent, name)) or ""

    @property
    def labels(self) -> Labels:
        return self.reader.string_map(self.raw_labels, ("metadata", "labels"))

    def label_map_selector(self) -> Labels:
        spec = self.reader.mapping(self.raw_spec, ("spec",))
        return self.reader.string_map(spec.get("selector"), ("spec", "selector"))

    def controller(self) -> Controller:
        return Controller(*self.gvk, self.name, self.uid, self._selector())

    def _selector(self) -> Selector | None:
        if self.gvk == (CORE, "ReplicationController"):
            return Selector().add(equals(self.label_map_selector()))
        spec = self.reader.mapping(self.raw_spec, ("spec",))
        selector = read_selector(self.reader, spec.get("selector"), ("spec", "selector"))
        valid = selector is not None and not any(selector_errors(selector, ()))
        return as_selector(selector) if valid else None

    def check(self) -> None:
        if self.reader.errors:
            raise SnapshotError(self._complaint(self.reader.errors[0]))

    def _complaint(self, error: FieldError) -> str:
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        where = f'{self.gvk[1]} "{name}"'
        return f"{where}: {path_text(error.path)}: found {brief(error.value)}, {error.detail}"
