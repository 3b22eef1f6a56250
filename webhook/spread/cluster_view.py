"""What the webhook keeps of a cluster: nodes, namespaces, Services and controllers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, Self

from webhook.kubernetes.fields import FieldError, as_text, path_text, texts_at, value_at
from webhook.kubernetes.kinds import APPS, BATCH, CORE
from webhook.kubernetes.labels import Labels
from webhook.kubernetes.names import NAMESPACE_NAME
from webhook.kubernetes.reader import Reader, brief, printable
from webhook.kubernetes.references import ObjectRef, Owner
from webhook.spread.constraint import read_selector
from webhook.spread.known_taints import AUTOSCALER_TAINTS
from webhook.spread.nodes import Node, Nodes, NodeSet, union
from webhook.spread.selectors import Selector, as_selector, selecting
from webhook.spread.taints import read_taints
from webhook.spread.validation import selector_errors

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
# Bytes of memory that labels or a selector may take, some 90 labels; real ones take some hundred to two thousand.
# Whoever may create Services could otherwise fill the memory of all replicas with a hundred of them.
LARGEST = 16 << 10
PART = 64  # bytes that a string takes besides its characters
# Not a set, since the kind that an object names need not be hashable.
VIEW_KINDS = (*[(CORE, kind) for kind in ("Node", "Namespace", "Service")], *CONTROLLER_KINDS)
NODE_POOL, NODE_POOL_LABEL = ("karpenter.sh", "NodePool"), "karpenter.sh/nodepool"
KARPENTER, CLUSTER_AUTOSCALER = "Karpenter", "cluster-autoscaler"


class Namespace(NamedTuple):
    name: str
    labels: Labels


class Service(NamedTuple):
    """A Service that selects Pods; one whose selector is absent or `{}` selects none and is not kept."""

    name: str
    selector: Labels

    def selects(self, labels: Labels) -> bool:
        """Return whether a Pod with `labels` is one of its Pods."""
        return self.selector.items() <= labels.items()


class Controller(NamedTuple):
    """An object that can own Pods or their owners."""

    api_version: str
    kind: str
    name: str
    uid: str
    selector: Selector | None  # None if there is none, or it is invalid or too large


ViewObject = Node | Namespace | Service | Controller
# The Services of a namespace by one label of their selectors, each with its position among them.
ServiceIndex = Mapping[tuple[str, str], tuple[tuple[int, Service], ...]]


@dataclass(frozen=True)
class ClusterView:
    """What the webhook keeps of a cluster at one moment; nothing in it is ever changed, and no Pod is known."""

    nodes: Nodes = field(default_factory=Nodes)  # empty if they are not known
    namespaces: Mapping[str, Labels] = field(default_factory=dict)  # labels by name
    services: Mapping[str, ServiceIndex] = field(default_factory=dict)  # by namespace
    # By (namespace, apiVersion, kind), and then by name.
    controllers: Mapping[tuple[str, str, str], Mapping[str, Controller]] = field(default_factory=dict)
    nodes_in_manifests: bool = False  # the nodes may lack labels that their kubelets and the cloud give them
    serves_node_pools: bool = False  # whether the API server has Karpenter's NodePools; False if not known
    static_pools: frozenset[str] = frozenset()  # names of known NodePools that start no node for a Pod

    @property
    def knows_pods(self) -> bool:
        """Whether any Pod is known."""
        return False

    def labels_of_pods(self, namespace: str) -> Iterable[Labels]:
        """Return the different labels of the Pods on nodes that constraints count."""
        return ()

    def without_pods(self) -> ClusterView:
        """Return a view with the fields of ClusterView alone; a subclass has more."""
        return ClusterView(
            self.nodes,
            self.namespaces,
            self.services,
            self.controllers,
            self.nodes_in_manifests,
            self.serves_node_pools,
            self.static_pools,
        )

    def node_makers(self, nodes: NodeSet) -> frozenset[str]:
        """
        Return who makes nodes for Pods that wait: as far as the API server tells, or the labels and taints of `nodes`.

        A group of nodes of a cloud proves nobody.
        """
        served = {KARPENTER} if self.serves_node_pools else set()
        return frozenset(served.union(maker for maker, members in self._made.items() if members & nodes))

    @cached_property
    def _made(self) -> Mapping[str, NodeSet]:
        """The nodes that tell who makes nodes, by who that is."""
        by_pool = self.nodes.domains(NODE_POOL_LABEL).items()
        return {
            KARPENTER: union(members for pool, members in by_pool if pool not in self.static_pools),
            CLUSTER_AUTOSCALER: self.nodes.tainted_by(AUTOSCALER_TAINTS),
        }

    def services_of(self, namespace: str, labels: Labels) -> tuple[Service, ...]:
        """
        Return the Services of the namespace whose selector matches a Pod with `labels`, in the order of the view.

        upstream: spread.go:GetPodServices (v1.37)
        """
        index = self.services.get(namespace, {})
        candidates = (entry for label in labels.items() for entry in index.get(label, ()))
        matching = [(position, service) for position, service in candidates if service.selects(labels)]
        return tuple(service for _, service in sorted(matching, key=lambda entry: entry[0]))

    def controller(self, namespace: str, owner: Owner) -> Controller | None:
        """Return the owner of an object in `namespace`; looked up by name, not by uid, as the scheduler does."""
        return self.controllers.get((namespace, owner.api_version, owner.kind), {}).get(owner.name)

    def controllers_in(self, namespace: str) -> Iterator[Controller]:
        """Yield all controllers of a namespace."""
        for api_version, kind in CONTROLLER_KINDS:
            yield from self.controllers.get((namespace, api_version, kind), {}).values()

    def with_nodes(self, nodes: Nodes) -> Self:
        """Return a copy with the nodes of manifests."""
        return replace(self, nodes=nodes, nodes_in_manifests=True)

    def with_namespace(self, namespace: Namespace) -> Self:
        """Return a copy that holds `namespace`, too."""
        return replace(self, namespaces={**self.namespaces, namespace.name: namespace.labels})

    def with_controller(self, namespace: str, controller: Controller) -> Self:
        """Return a copy that holds `controller`, too."""
        key = (namespace, controller.api_version, controller.kind)
        by_name = {**self.controllers.get(key, {}), controller.name: controller}
        return replace(self, controllers={**self.controllers, key: by_name})


class SnapshotError(ValueError):
    """An object with a field of a wrong type; the message names the object, the field and what it must be."""


def view_of(objects: Iterable[Mapping[str, object]]) -> ClusterView:
    """
    Read `objects`, raw JSON as the API server prints it; kinds that the view does not have are passed over.

    SnapshotError names the first field that has a wrong type.
    """
    parts = ViewParts()
    for raw in objects:
        api_version, kind = raw.get("apiVersion"), raw.get("kind")
        if (api_version, kind) in VIEW_KINDS:
            namespace, _, view_object = read_view_object(raw, str(api_version), str(kind))
            parts.add(namespace, view_object)
        elif group_kind(raw) == NODE_POOL:
            parts.add_node_pool(raw)
    return parts.view()


def group_kind(raw: Mapping[str, object]) -> tuple[str, object]:
    """Return the API group of an object, which is the version for the core group, and what it gives as its kind."""
    return as_text(raw.get("apiVersion")).partition("/")[0], raw.get("kind")


class ViewParts:
    """The objects of a view, while they are read."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._namespaces: dict[str, Labels] = {}
        self._services: dict[str, list[Service]] = {}
        self._controllers: dict[tuple[str, str, str], dict[str, Controller]] = {}
        self._serves_node_pools = False
        self._static_pools = set[str]()

    def add(self, namespace: str, view_object: ViewObject | None) -> None:
        """Add an object, if anything is kept of it."""
        if isinstance(view_object, Node):
            self._nodes[view_object.name] = view_object
        elif isinstance(view_object, Namespace):
            self._namespaces[view_object.name] = view_object.labels
        elif isinstance(view_object, Service):
            self._services.setdefault(namespace, []).append(view_object)
        elif isinstance(view_object, Controller):
            key = (namespace, view_object.api_version, view_object.kind)
            self._controllers.setdefault(key, {})[view_object.name] = view_object

    def add_node_pool(self, raw: Mapping[str, object]) -> None:
        """
        Add a NodePool of Karpenter; one that fixes its number of nodes starts none for a Pod.

        upstream: nodepool.go:IsStatic, provisioner.go:Provisioner.NewScheduler (karpenter v1.15.0)
        """
        if value_at(raw, ("spec", "replicas")) is None:
            self._serves_node_pools = True
        else:
            self._static_pools.update(texts_at(raw, "metadata.name"))

    def view(self) -> ClusterView:
        return ClusterView(
            # Sorted, so that messages about nodes do not depend on the order of the objects.
            Nodes(self._nodes[name] for name in sorted(self._nodes)),
            self._namespaces,
            {namespace: by_rarest_label(services) for namespace, services in self._services.items()},
            self._controllers,
            serves_node_pools=self._serves_node_pools,
            static_pools=frozenset(self._static_pools),
        )


def by_rarest_label(services: Sequence[Service]) -> ServiceIndex:
    """Return the Services of a namespace, each under the label of its selector that the fewest of them select."""
    uses = Counter(label for service in services for label in service.selector.items())
    by_label: dict[tuple[str, str], list[tuple[int, Service]]] = {}
    for position, service in enumerate(services):
        # Of equally rare labels the first in the alphabet, so that the order in the selector does not matter.
        rarest = min(service.selector.items(), key=lambda label: (uses[label], label))
        by_label.setdefault(rarest, []).append((position, service))
    return {label: tuple(entries) for label, entries in by_label.items()}


def read_view_object(raw: Mapping[str, object], api_version: str, kind: str) -> tuple[str, str, ViewObject | None]:
    """
    Return the namespace and the name of an object of VIEW_KINDS, and what the webhook keeps of it.

    Nothing is kept of a Service that selects nothing.  A selector that takes more than LARGEST bytes is kept as if it
    selected nothing.  SnapshotError names the first field that has a wrong type.
    """
    reader = ObjectReader(raw, api_version, kind)
    view_object = reader.kept()
    reader.check()
    return reader.namespace, reader.name, view_object


class ObjectReader:
    """One raw object while it is read."""

    def __init__(self, raw: Mapping[str, object], api_version: str, kind: str) -> None:
        self.reader, self.gvk, self.raw = Reader(), (api_version, kind), raw
        self.metadata = self.reader.mapping(raw.get("metadata"), ("metadata",))
        self.name = self.string(self.metadata, "metadata", "name")
        self.namespace = self.string(self.metadata, "metadata", "namespace")

    def check(self) -> None:
        """Raise the first error as SnapshotError."""
        if errors := self.reader.errors:
            raise SnapshotError(in_words(ObjectRef(*self.gvk, self.namespace, self.name), errors[0]))

    def string(self, raw: Mapping[str, object], parent: str, name: str) -> str:
        """Return a string below `parent`; "" if it is absent."""
        return self.reader.string(raw.get(name), (parent,), name) or ""

    @cached_property
    def spec(self) -> Mapping[str, object]:
        return self.reader.mapping(self.raw.get("spec"), ("spec",))

    def kept(self) -> ViewObject | None:
        """Return what is kept of the object, None if nothing is."""
        if self.gvk == (CORE, "Node"):
            return self.node()
        if self.gvk == (CORE, "Namespace"):
            return Namespace(self.name, {**self.labels(), NAMESPACE_NAME: self.name})  # as kube-apiserver has each
        if self.gvk == (CORE, "Service"):
            selector = self._label_map_selector()
            return Service(self.name, selector) if selector and not _is_large(selecting(selector)) else None
        return Controller(*self.gvk, self.name, self.string(self.metadata, "metadata", "uid"), self._selector())

    def node(self) -> Node:
        taints = read_taints(self.reader, self.spec.get("taints"), ("spec", "taints"))
        return Node(self.name, self.labels(), taints, self.spec.get("unschedulable") is True)

    def labels(self) -> Labels:
        return self.reader.string_map(self.metadata.get("labels"), ("metadata", "labels"))

    def _label_map_selector(self) -> Labels:
        return self.reader.string_map(self.spec.get("selector"), ("spec", "selector"))

    def _selector(self) -> Selector | None:
        if self.gvk == (CORE, "ReplicationController"):
            selector = selecting(self._label_map_selector())
            return None if _is_large(selector) else selector
        label_selector = read_selector(self.reader, self.spec.get("selector"), ("spec", "selector"))
        selector = as_selector(label_selector)
        valid = label_selector is not None and not _is_large(selector) and not any(selector_errors(label_selector, ()))
        return selector if valid else None


def in_words(ref: ObjectRef, error: FieldError) -> str:
    """Return an error in one line."""
    return f"{printable(f'{ref}: {path_text(error.path)}')}: found {brief(error.value)}, {error.detail}"


def _is_large(selector: Selector) -> bool:
    sizes = (
        len(requirement.key) + PART + sum(len(value) + PART for value in requirement.values)
        for requirement in selector.requirements
    )
    return sum(sizes) > LARGEST
