"""A consistent view of the objects that decisions depend on: nodes, namespaces, Services, controllers and Pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from webhook.objects.fields import path_text
from webhook.objects.kinds import APPS, BATCH, CORE
from webhook.objects.labels import Labels
from webhook.objects.reading import Reader, brief
from webhook.objects.references import ObjectRef, Owner
from webhook.scheduler.constraint import read_selector
from webhook.scheduler.counts import FINISHED, BoundPod, LabelSet, PodCounts, PodGroup, label_set
from webhook.scheduler.nodes import Node, Nodes, read_taints
from webhook.scheduler.selectors import Selector, as_selector, selecting
from webhook.scheduler.validation import selector_errors

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
# Bytes that labels or a selector may take, some 90 labels; those of a real object take some hundred to two thousand.
# Whoever may create Services could otherwise fill the memory of all replicas with a hundred of them.
LARGEST, PART = 16 << 10, 64  # A string takes PART bytes besides its characters.
READ_KINDS = CONTROLLER_KINDS | {(CORE, kind) for kind in ("Node", "Namespace", "Service", "Pod")}


@dataclass(frozen=True, slots=True)
class Namespace:
    name: str
    labels: Labels


@dataclass(frozen=True, slots=True)
class Service:
    """A Service that selects Pods; one whose selector is absent or `{}` selects none and is not kept."""

    name: str
    selector: Labels

    def selects(self, labels: Labels) -> bool:
        """Whether a Pod with `labels` is one of its Pods."""
        return self.selector.items() <= labels.items()


@dataclass(frozen=True, slots=True)
class Controller:
    """An object that can own Pods or their owners; `selector` is None if it has no selector or an invalid one."""

    api_version: str
    kind: str
    name: str
    uid: str
    selector: Selector | None


Kept = Node | Namespace | Service | Controller | BoundPod
# The Services by one label of their selectors, each with its place among those of its namespace.
ServiceIndex = Mapping[tuple[str, str], tuple[tuple[int, Service], ...]]


@dataclass(frozen=True)
class Snapshot:
    """
    The objects of a cluster at one moment; nothing in it is ever changed.

    `namespaces` holds labels by name.  Services and Pods are kept by namespace, controllers by (namespace, apiVersion,
    kind) and then by name.  `nodes` and `pods` are empty where they are not known.
    """

    nodes: Nodes = field(default_factory=Nodes)
    namespaces: Mapping[str, Labels] = field(default_factory=dict)
    services: Mapping[str, ServiceIndex] = field(default_factory=dict)
    controllers: Mapping[tuple[str, str, str], Mapping[str, Controller]] = field(default_factory=dict)
    pods: Mapping[str, Mapping[LabelSet, PodGroup]] = field(default_factory=dict)

    def services_of(self, namespace: str, labels: Labels) -> tuple[Service, ...]:
        """
        upstream: spread.go:GetPodServices (v1.37)

        The Services of the namespace whose selector matches a Pod with `labels`, in the order of the snapshot.
        """
        index = self.services.get(namespace, {})
        asking = (placed for item in labels.items() for placed in index.get(item, ()))
        found = [(place, service) for place, service in asking if service.selects(labels)]
        return tuple(service for _, service in sorted(found, key=lambda placed: placed[0]))

    def controller(self, namespace: str, owner: Owner) -> Controller | None:
        """The owner of an object in `namespace`, looked up by name as the scheduler does; the uid is not compared."""
        return self.controllers.get((namespace, owner.api_version, owner.kind), {}).get(owner.name)

    def with_namespace(self, namespace: Namespace) -> Snapshot:
        """A copy that holds `namespace`, too."""
        return replace(self, namespaces={**self.namespaces, namespace.name: namespace.labels})

    def with_controller(self, namespace: str, controller: Controller) -> Snapshot:
        """A copy that holds `controller`, too."""
        key = (namespace, controller.api_version, controller.kind)
        named = {**self.controllers.get(key, {}), controller.name: controller}
        return replace(self, controllers={**self.controllers, key: named})


class SnapshotError(ValueError):
    """An object with a field of a wrong type; the message names the object, the field and what it must be."""


def from_objects(objects: Iterable[Mapping[str, object]]) -> Snapshot:
    """
    The snapshot of `objects`, raw JSON as the API server prints it; kinds other than READ_KINDS are passed over.

    SnapshotError names the first field that has a wrong type.
    """
    nodes: dict[str, Node] = {}
    namespaces: dict[str, Labels] = {}
    services: dict[str, list[Service]] = {}
    controllers: dict[tuple[str, str, str], dict[str, Controller]] = {}
    pods: dict[str, PodCounts] = {}
    for raw in objects:
        api_version, kind = raw.get("apiVersion"), raw.get("kind")
        if not any((api_version, kind) == known for known in READ_KINDS):
            continue
        namespace, _, kept = read_object(raw, str(api_version), str(kind))
        if isinstance(kept, Node):
            nodes[kept.name] = kept
        elif isinstance(kept, Namespace):
            namespaces[kept.name] = kept.labels
        elif isinstance(kept, Service):
            services.setdefault(namespace, []).append(kept)
        elif isinstance(kept, Controller):
            controllers.setdefault((namespace, kept.api_version, kept.kind), {})[kept.name] = kept
        elif isinstance(kept, BoundPod):
            pods.setdefault(namespace, PodCounts()).add(kept)
    return Snapshot(
        Nodes(nodes.values()),
        namespaces,
        {namespace: by_rarest_label(those) for namespace, those in services.items()},
        controllers,
        {namespace: counts.groups() for namespace, counts in pods.items()},
    )


def by_rarest_label(services: Sequence[Service]) -> ServiceIndex:
    """The Services of a namespace, each under the label of its selector that the fewest of them have."""
    asked = Counter(item for service in services for item in service.selector.items())
    found: dict[tuple[str, str], list[tuple[int, Service]]] = {}
    for place, service in enumerate(services):
        rarest = min(service.selector.items(), key=lambda label: (asked[label], label))  # whatever their order
        found.setdefault(rarest, []).append((place, service))
    return {label: tuple(those) for label, those in found.items()}


def read_object(raw: Mapping[str, object], api_version: str, kind: str) -> tuple[str, str, Kept | None]:
    """
    The namespace and the name of an object of READ_KINDS, and what is kept of it.

    Nothing is kept of a Service that selects nothing, or of a Pod that does not count.  A selector that takes more than
    LARGEST bytes is kept as if it selected nothing, and a Pod whose labels do is not counted.  SnapshotError names the
    first field that has a wrong type.
    """
    found = _Object(raw, api_version, kind)
    kept = found.kept()
    found.check()
    return found.namespace, found.name, kept


class _Object:
    """One raw object while it is read."""

    def __init__(self, raw: Mapping[str, object], api_version: str, kind: str) -> None:
        self.reader = Reader()
        self.gvk = (api_version, kind)
        metadata = self.reader.mapping(raw.get("metadata"), ("metadata",))
        self.name = self._string(metadata, "metadata", "name")
        self.namespace = self._string(metadata, "metadata", "namespace")
        self.metadata, self.raw = metadata, raw

    def _string(self, raw: Mapping[str, object], parent: str, name: str) -> str:
        return self.reader.string(raw.get(name), (parent,), name) or ""

    @property
    def spec(self) -> Mapping[str, object]:
        return self.reader.mapping(self.raw.get("spec"), ("spec",))

    def kept(self) -> Kept | None:
        if self.gvk == (CORE, "Node"):
            return self._node()
        if self.gvk == (CORE, "Namespace"):
            return Namespace(self.name, self._labels())
        if self.gvk == (CORE, "Service"):
            selector = self._label_map_selector()
            return Service(self.name, selector) if selector and not _is_large(selecting(selector)) else None
        if self.gvk == (CORE, "Pod"):
            return self._pod()
        return Controller(*self.gvk, self.name, self._string(self.metadata, "metadata", "uid"), self._selector())

    def _node(self) -> Node:
        taints = read_taints(self.reader, self.spec.get("taints"), ("spec", "taints"))
        return Node(self.name, self._labels(), taints, self.spec.get("unschedulable") is True)

    def _labels(self) -> Labels:
        return self.reader.string_map(self.metadata.get("labels"), ("metadata", "labels"))

    def _label_map_selector(self) -> Labels:
        return self.reader.string_map(self.spec.get("selector"), ("spec", "selector"))

    def _pod(self) -> BoundPod | None:
        labels, node = self._labels(), self._string(self.spec, "spec", "nodeName")
        status = self.reader.mapping(self.raw.get("status"), ("status",))
        phase = self._string(status, "status", "phase")
        if not node or phase in FINISHED or self.metadata.get("deletionTimestamp") is not None:
            return None
        if sum(len(key) + len(value) + 2 * PART for key, value in labels.items()) > LARGEST:
            return None
        return BoundPod(label_set(labels), node)

    def _selector(self) -> Selector | None:
        if self.gvk == (CORE, "ReplicationController"):
            found = selecting(self._label_map_selector())
            return None if _is_large(found) else found
        selector = read_selector(self.reader, self.spec.get("selector"), ("spec", "selector"))
        found = as_selector(selector)
        valid = selector is not None and not _is_large(found) and not any(selector_errors(selector, ()))
        return found if valid else None

    def check(self) -> None:
        if self.reader.errors:
            ref, error = ObjectRef(*self.gvk, self.namespace, self.name), self.reader.errors[0]
            raise SnapshotError(f"{ref}: {path_text(error.path)}: found {brief(error.value)}, {error.detail}")


def _is_large(selector: Selector) -> bool:
    taken = (len(one.key) + PART + sum(len(value) + PART for value in one.values) for one in selector.requirements)
    return sum(taken) > LARGEST
