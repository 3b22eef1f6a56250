"""A consistent view of the objects that decisions depend on: nodes, namespaces, Services, controllers and Pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from sys import intern
from typing import TYPE_CHECKING, NamedTuple

from webhook.objects.fields import FieldError, as_list, as_mapping, as_text, integer, path_text, texts_at
from webhook.objects.kinds import APPS, BATCH, CORE, DISRUPTION_BUDGET
from webhook.objects.labels import Labels
from webhook.objects.names import DEFAULT_SCHEDULER, DEVICE_PREFIX, NAMESPACE_NAME
from webhook.objects.reading import Reader, brief, printable
from webhook.objects.references import ObjectRef, Owner, controller_of
from webhook.objects.times import seconds_at
from webhook.scheduler.affinity import has_pod_affinity
from webhook.scheduler.constraint import read_selector
from webhook.scheduler.counts import (
    FINISHED,
    BoundPod,
    Demands,
    LabelSet,
    NodeUsage,
    PodCounts,
    PodGroup,
    Requests,
    Usage,
    label_set,
)
from webhook.scheduler.features import Features
from webhook.scheduler.nodes import NO_ROOM, Allocatable, Node, Nodes, NodeSet
from webhook.scheduler.selectors import Selector, as_selector, selecting
from webhook.scheduler.taints import read_taints
from webhook.scheduler.validation import selector_errors

if TYPE_CHECKING:  # A server that reads no such fields has no use for these modules.
    from webhook.objects.disruption_budget import DisruptionBudget
    from webhook.scheduler.attached_volumes import AttachedVolumes
    from webhook.scheduler.host_ports import HostPort
    from webhook.scheduler.pod_affinity import PodAffinity
    from webhook.scheduler.storage import Storage
    from webhook.scheduler.storage_objects import StorageReader
    from webhook.scheduler.volumes import ClaimKey, Mounts

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
# No set, since what an object gives as its kind need not be hashable.
READ_KINDS = (*[(CORE, kind) for kind in ("Pod", "Node", "Namespace", "Service")], *CONTROLLER_KINDS)
DEVICE_CLASS, PRIORITY_CLASS = ("resource.k8s.io", "DeviceClass"), ("scheduling.k8s.io", "PriorityClass")
NODE_POOL, NODE_POOL_LABEL = ("karpenter.sh", "NodePool"), "karpenter.sh/nodepool"
KARPENTER = "Karpenter"


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
    """An object that can own Pods or their owners; `selector` is None if it has no selector or an invalid one."""

    api_version: str
    kind: str
    name: str
    uid: str
    selector: Selector | None


class NamedPod(NamedTuple):
    """A Pod on a node, by its name."""

    namespace: str
    name: str
    pod: BoundPod


class NominatedPod(NamedTuple):
    """
    A Pod that waits for its nominated node, as it will be there: kube-scheduler keeps room for it.

    One that `may_be_assumed` is perhaps bound already, and only waits for its volumes.  `scheduler` is the name of what
    places it.
    """

    namespace: str
    name: str
    pod: BoundPod
    may_be_assumed: bool = False
    scheduler: str = DEFAULT_SCHEDULER


SnapshotObject = Node | Namespace | Service | Controller | BoundPod | NominatedPod
# The Services by one label of their selectors, each with its place among those of its namespace.
ServiceIndex = Mapping[tuple[str, str], tuple[tuple[int, Service], ...]]


@dataclass(frozen=True)
class Snapshot:
    """
    The objects of a cluster at one moment; nothing in it is ever changed.

    `namespaces` holds labels by name.  Services and Pods are kept by namespace, controllers by (namespace, apiVersion,
    kind) and then by name.  `usage` is by the name of the node; a node without Pods is left out.  `nodes`, `pods` and
    `usage` are empty where they are not known.

    `terminating` are the Pods that are being deleted, `affine` the number of Pods with these terms by the name of the
    node, `ports` that of Pods with a host port, and `priorities` the lowest priority of a Pod, both by node.
    `mounts` is the number of Pods with these volumes by the name of the node, `storage` what there is for volumes,
    None where it is not read.
    `device_resources` are the extended resources that a DeviceClass gives out, None where that may not be read;
    `nominated` are the Pods that wait for a node on which room is made for them.  `pods_on` are all Pods on a node, by
    its name, and `budgets` the PodDisruptionBudgets, None where those may not be read.  The webhook reads none of it.
    `unread` is what the source of the objects has left out, in a few words each.  `default_priority` is that of a new
    Pod that names no PriorityClass, None where that may be any.  `nodes_in_manifests` may lack labels that their
    kubelets and the cloud give them.  `serves_node_pools` says whether the API server has Karpenter's NodePools, False
    where that is not known.
    """

    nodes: Nodes = field(default_factory=Nodes)
    namespaces: Mapping[str, Labels] = field(default_factory=dict)
    services: Mapping[str, ServiceIndex] = field(default_factory=dict)
    controllers: Mapping[tuple[str, str, str], Mapping[str, Controller]] = field(default_factory=dict)
    pods: Mapping[str, Mapping[LabelSet, PodGroup]] = field(default_factory=dict)
    usage: Mapping[str, Usage] = field(default_factory=dict)
    terminating: Mapping[str, Mapping[LabelSet, PodGroup]] = field(default_factory=dict)
    affine: Mapping[PodAffinity, Mapping[str, int]] = field(default_factory=dict)
    ports: Mapping[str, Mapping[HostPort, int]] = field(default_factory=dict)
    priorities: Mapping[str, int] = field(default_factory=dict)
    device_resources: frozenset[str] | None = frozenset()
    nominated: tuple[NominatedPod, ...] = ()
    pods_on: Mapping[str, tuple[NamedPod, ...]] = field(default_factory=dict)
    budgets: tuple[DisruptionBudget, ...] | None = ()
    unread: tuple[str, ...] = ()
    default_priority: int | None = 0
    mounts: Mapping[Mounts, Mapping[str, int]] = field(default_factory=dict)
    storage: Storage | None = None
    nodes_in_manifests: bool = False
    serves_node_pools: bool = False

    def node_makers(self, nodes: NodeSet) -> frozenset[str]:
        """Return who makes nodes here: for the whole cluster as far as it says, and of `nodes` by their labels."""
        karpenter = self.serves_node_pools or bool(nodes & self.nodes.carrying(NODE_POOL_LABEL))
        return frozenset({KARPENTER} if karpenter else ())

    def pods_of(self, node: str) -> tuple[NamedPod, ...]:
        """Return all Pods on the node with this name."""
        return self.pods_on.get(node, ())

    @cached_property
    def claims_in_use(self) -> Mapping[ClaimKey, int]:
        """
        The number of Pods on nodes that use a claim; those with a claim of their own are left out.

        upstream: types.go:NodeInfo.updatePVCRefCounts (v1.37)
        """
        in_use: dict[ClaimKey, int] = {}
        for mounts, numbers in self.mounts.items():
            users = sum([number for node, number in numbers.items() if self.nodes.get(node) is not None])
            for key in mounts.shared_claims if users else ():
                in_use[key] = in_use.get(key, 0) + users
        return in_use

    def attached_volumes(self, features: Features) -> AttachedVolumes:
        """Return the volumes that CSI drivers attach to each node; they are added up once, and not to be changed."""
        if features not in self._attached:
            from webhook.scheduler.attached_volumes import AttachedVolumes, Attacher
            from webhook.scheduler.storage import NO_STORAGE

            attacher = Attacher(self.storage or NO_STORAGE, features)
            self._attached[features] = AttachedVolumes(self.nodes, self.mounts, attacher)
        return self._attached[features]

    @cached_property
    def _attached(self) -> dict[Features, AttachedVolumes]:
        return {}

    def services_of(self, namespace: str, labels: Labels) -> tuple[Service, ...]:
        """
        Return the Services of the namespace whose selector matches a Pod with `labels`, in the order of the snapshot.

        upstream: spread.go:GetPodServices (v1.37)
        """
        index = self.services.get(namespace, {})
        asking = (placed for item in labels.items() for placed in index.get(item, ()))
        selecting_services = [(place, service) for place, service in asking if service.selects(labels)]
        return tuple(service for _, service in sorted(selecting_services, key=lambda placed: placed[0]))

    def controller(self, namespace: str, owner: Owner) -> Controller | None:
        """Return the owner of an object in `namespace`, looked up by name, not by uid, as the scheduler does."""
        return self.controllers.get((namespace, owner.api_version, owner.kind), {}).get(owner.name)

    def with_namespace(self, namespace: Namespace) -> Snapshot:
        """Return a copy that holds `namespace`, too."""
        return replace(self, namespaces={**self.namespaces, namespace.name: namespace.labels})

    def with_controller(self, namespace: str, controller: Controller) -> Snapshot:
        """Return a copy that holds `controller`, too."""
        key = (namespace, controller.api_version, controller.kind)
        named = {**self.controllers.get(key, {}), controller.name: controller}
        return replace(self, controllers={**self.controllers, key: named})


class SnapshotError(ValueError):
    """An object with a field of a wrong type; the message names the object, the field and what it must be."""


def from_objects(
    objects: Iterable[Mapping[str, object]],
    features: Features | None = None,
) -> Snapshot:
    """
    Return the snapshot of `objects`, raw JSON as the API server prints it; kinds other than READ_KINDS are passed over.

    With `features`, it has all that kube-scheduler of that version reads; otherwise no more than the webhook reads.
    SnapshotError names the first field that has a wrong type.
    """
    nodes: dict[str, Node] = {}
    namespaces: dict[str, Labels] = {}
    services: dict[str, list[Service]] = {}
    controllers: dict[tuple[str, str, str], dict[str, Controller]] = {}
    whole = features is not None
    pods = _BoundPods()
    nominated, default_priorities = list[NominatedPod](), list[int]()
    budgets: list[DisruptionBudget] = []
    device_resources: set[str] = set()
    serves_node_pools = False
    storage = _storage_reader() if whole else None
    for raw in objects:
        api_version, kind = raw.get("apiVersion"), raw.get("kind")
        if (api_version, kind) not in READ_KINDS:
            group_kind = (as_text(api_version).partition("/")[0], kind)
            if group_kind == NODE_POOL:
                serves_node_pools = True
            elif not whole:
                continue
            elif group_kind == DEVICE_CLASS:
                device_resources |= set(resources_of_class(raw))
            elif group_kind == PRIORITY_CLASS and raw.get("globalDefault") is True:
                default_priorities.append(integer(raw.get("value")) or 0)
            elif group_kind == DISRUPTION_BUDGET:
                budgets.append(_budget(raw))
            elif storage is not None and (errors := storage.add(raw)):
                raise SnapshotError(in_words(ObjectRef.of(raw), errors[0]))
            continue
        namespace, name, kept = read_object(raw, str(api_version), str(kind), features)
        if isinstance(kept, Node):
            nodes[kept.name] = kept
        elif isinstance(kept, Namespace):
            namespaces[kept.name] = kept.labels
        elif isinstance(kept, Service):
            services.setdefault(namespace, []).append(kept)
        elif isinstance(kept, Controller):
            controllers.setdefault((namespace, kept.api_version, kept.kind), {})[kept.name] = kept
        elif isinstance(kept, NominatedPod):
            nominated.append(kept)
        elif isinstance(kept, BoundPod):
            pods.add(namespace, name, kept)
    return Snapshot(
        Nodes(nodes[name] for name in sorted(nodes)),  # What is said does not depend on the order of the objects.
        namespaces,
        {namespace: by_rarest_label(of_namespace) for namespace, of_namespace in services.items()},
        controllers,
        {namespace: groups for namespace, counts in pods.counted.items() if (groups := counts.groups())},
        pods.usage.by_node,
        pods.demands.terminating,
        pods.demands.affine,
        pods.demands.ports,
        pods.priorities,
        frozenset(device_resources),
        tuple(sorted(nominated, key=lambda pod: (pod.namespace, pod.name))),
        {node: tuple(sorted(named, key=lambda pod: pod[:2])) for node, named in pods.by_node.items()},
        tuple(budgets),
        default_priority=min(default_priorities, default=0),
        mounts=pods.demands.mounts,
        storage=storage.storage() if storage is not None else None,
        serves_node_pools=serves_node_pools,
    )


def _budget(raw: Mapping[str, object]) -> DisruptionBudget:
    from webhook.objects.disruption_budget import disruption_budget

    return disruption_budget(raw)


def _storage_reader() -> StorageReader:
    from webhook.scheduler.storage_objects import StorageReader

    return StorageReader()


class _BoundPods:
    """The Pods of a cluster, while they are read, by what Pods that are to be placed have to heed of them."""

    def __init__(self) -> None:
        self.counted: dict[str, PodCounts] = {}
        self.usage, self.demands = NodeUsage(), Demands({}, {}, {}, {})
        self.priorities: dict[str, int] = {}
        self.by_node: dict[str, list[NamedPod]] = {}

    def add(self, namespace: str, name: str, pod: BoundPod) -> None:
        """Count a Pod."""
        shared = self.usage.add(self.counted.setdefault(namespace, PodCounts()).add(pod))
        if pod.affinity is not None or pod.ports or pod.mounts is not None or not pod.spreads:
            self.demands.add(pod.info(namespace), pod.node, 1)
        if (lowest := self.priorities.get(pod.node)) is None or pod.priority < lowest:
            self.priorities[pod.node] = pod.priority
        self.by_node.setdefault(pod.node, []).append(NamedPod(intern(namespace), name, shared))


def resources_of_class(raw: Mapping[str, object]) -> tuple[str, ...]:
    """
    Return the extended resources by which Pods ask for the devices of a DeviceClass.

    upstream: extendeddeviceresource.go:ExtendedResourceCache.updateMapping (v1.37)
    """
    name, resource = texts_at(raw, "metadata.name", "spec.extendedResourceName")
    return (f"{DEVICE_PREFIX}{name}", resource) if resource else (f"{DEVICE_PREFIX}{name}",)


def by_rarest_label(services: Sequence[Service]) -> ServiceIndex:
    """Return the Services of a namespace, each under the label of its selector that the fewest of them have."""
    asked = Counter(item for service in services for item in service.selector.items())
    by_label: dict[tuple[str, str], list[tuple[int, Service]]] = {}
    for place, service in enumerate(services):
        rarest = min(service.selector.items(), key=lambda label: (asked[label], label))  # whatever their order
        by_label.setdefault(rarest, []).append((place, service))
    return {label: tuple(of_label) for label, of_label in by_label.items()}


def read_object(
    raw: Mapping[str, object], api_version: str, kind: str, features: Features | None = None
) -> tuple[str, str, SnapshotObject | None]:
    """
    Return the namespace and the name of an object of READ_KINDS, and what is kept of it; what the webhook does
    not read only with `features`: resources, images, ports, affinity and the like.

    Nothing is kept of a Service that selects nothing, or of a Pod that does not count.  A selector that takes more than
    LARGEST bytes is kept as if it selected nothing, a Pod whose labels do counts for its requests only, and one whose
    extended resources do not for these. SnapshotError names the first field that has a wrong type.
    """
    reader = _Object(raw, api_version, kind, features)
    kept = reader.kept()
    if errors := reader.reader.errors:
        raise SnapshotError(in_words(ObjectRef(api_version, kind, reader.namespace, reader.name), errors[0]))
    return reader.namespace, reader.name, kept


class _Object:
    """One raw object while it is read."""

    def __init__(self, raw: Mapping[str, object], api_version: str, kind: str, features: Features | None) -> None:
        self.reader, self.features = Reader(), features
        self.gvk = (api_version, kind)
        metadata = self.reader.mapping(raw.get("metadata"), ("metadata",))
        self.name = self._string(metadata, "metadata", "name")
        self.namespace = self._string(metadata, "metadata", "namespace")
        self.metadata, self.raw = metadata, raw

    def _string(self, raw: Mapping[str, object], parent: str, name: str) -> str:
        return self.reader.string(raw.get(name), (parent,), name) or ""

    @cached_property
    def spec(self) -> Mapping[str, object]:
        return self.reader.mapping(self.raw.get("spec"), ("spec",))

    @cached_property
    def status(self) -> Mapping[str, object]:
        return self.reader.mapping(self.raw.get("status"), ("status",))

    def kept(self) -> SnapshotObject | None:
        if self.gvk == (CORE, "Node"):
            return self._node()
        if self.gvk == (CORE, "Namespace"):
            return Namespace(self.name, {**self._labels(), NAMESPACE_NAME: self.name})  # as kube-apiserver has each
        if self.gvk == (CORE, "Service"):
            selector = self._label_map_selector()
            return Service(self.name, selector) if selector and not _is_large(selecting(selector)) else None
        if self.gvk == (CORE, "Pod"):
            return self._pod(self.features) if self.features is not None else None
        return Controller(*self.gvk, self.name, self._string(self.metadata, "metadata", "uid"), self._selector())

    def _node(self) -> Node:
        taints = read_taints(self.reader, self.spec.get("taints"), ("spec", "taints"))
        unschedulable, allocatable = self.spec.get("unschedulable") is True, self._allocatable()
        node = Node(self.name, self._labels(), taints, unschedulable, allocatable)
        if self.features is None:
            return node
        from webhook.scheduler.images import read_node_images

        declared = self.reader.strings(self.status.get("declaredFeatures"), ("status",), "declaredFeatures")
        images = read_node_images(self.reader, self.status.get("images"), ("status", "images"))
        return replace(node, images=images, declared=frozenset(declared))

    def _allocatable(self) -> Allocatable:
        if self.features is None:
            return NO_ROOM
        from webhook.scheduler.resources import read_allocatable

        return read_allocatable(self.reader, self.status.get("allocatable"), ("status", "allocatable"))

    def _requests(self, features: Features) -> Requests:
        from webhook.scheduler.resources import read_requests

        requests = read_requests(self.reader, self.raw, features, bound=True)
        large = sum(len(name) + 2 * PART for name, _ in requests.scalars) > LARGEST
        return requests._replace(scalars=()) if large else requests

    def _labels(self) -> Labels:
        return self.reader.string_map(self.metadata.get("labels"), ("metadata", "labels"))

    def _label_map_selector(self) -> Labels:
        return self.reader.string_map(self.spec.get("selector"), ("spec", "selector"))

    def _pod(self, features: Features) -> BoundPod | NominatedPod | None:
        node = self._string(self.spec, "spec", "nodeName")
        if self._string(self.status, "status", "phase") in FINISHED:
            return None
        if node:
            return self._bound(node, features)
        nominated = self._string(self.status, "status", "nominatedNodeName")
        if not nominated:
            return None
        scheduler = as_text(self.spec.get("schedulerName")) or DEFAULT_SCHEDULER
        bound = self._bound(nominated, features)
        return NominatedPod(self.namespace, self.name, bound, self._may_be_assumed(features), scheduler)

    def _may_be_assumed(self, features: Features) -> bool:
        """
        Return whether kube-scheduler has perhaps decided for the node already, and only binds volumes or devices.

        upstream: schedule_one.go:Scheduler.prepareForBindingCycle (v1.37)
        """
        if not features.nominates_before_binding:
            return False
        volumes = map(as_mapping, as_list(self.spec.get("volumes")))
        claims = any("persistentVolumeClaim" in volume or "ephemeral" in volume for volume in volumes)
        return claims or bool(self.spec.get("resourceClaims"))

    def _bound(self, node: str, features: Features) -> BoundPod:
        labels = self._labels()
        leaving = self.metadata.get("deletionTimestamp") is not None
        large = sum(len(key) + len(value) + 2 * PART for key, value in labels.items()) > LARGEST
        spreads = not (leaving or large)
        priority = self.reader.integer(self.spec.get("priority"), ("spec",), "priority") or 0
        started = seconds_at(self.status.get("startTime"))
        return BoundPod(
            () if large else label_set(labels),
            node,
            self._requests(features),
            spreads,
            self._affinity(),
            self._ports(),
            priority,
            self._mounts(),
            inf if started is None else started,
            leaving and self._is_preempted(),
            controller_of(self.metadata) is not None,
        )

    def _is_preempted(self) -> bool:
        """
        Return whether kube-scheduler deletes the Pod to make room for another.

        upstream: util.go:PodTerminatingByPreemption (v1.37)
        """
        for condition in map(as_mapping, as_list(self.status.get("conditions"))):
            if condition.get("type") == "DisruptionTarget":
                return condition.get("status") == "True" and condition.get("reason") == "PreemptionByScheduler"
        return False

    def _affinity(self) -> PodAffinity | None:
        written = self.spec.get("affinity")
        if not has_pod_affinity(written):
            return None
        from webhook.scheduler.pod_affinity import read_pod_affinity

        return read_pod_affinity(self.reader, written, self.namespace)

    def _ports(self) -> tuple[HostPort, ...]:
        if not _has_host_port(self.spec):
            return ()
        from webhook.scheduler.host_ports import read_host_ports

        return read_host_ports(self.reader, self.spec)

    def _mounts(self) -> Mounts | None:
        if not self.spec.get("volumes"):
            return None
        from webhook.scheduler.volumes import read_mounts

        return read_mounts(self.reader, self.raw) or None

    def _selector(self) -> Selector | None:
        if self.gvk == (CORE, "ReplicationController"):
            of_map = selecting(self._label_map_selector())
            return None if _is_large(of_map) else of_map
        selector = read_selector(self.reader, self.spec.get("selector"), ("spec", "selector"))
        of_map = as_selector(selector)
        valid = selector is not None and not _is_large(of_map) and not any(selector_errors(selector, ()))
        return of_map if valid else None


def in_words(ref: ObjectRef, error: FieldError) -> str:
    return f"{printable(f'{ref}: {path_text(error.path)}')}: found {brief(error.value)}, {error.detail}"


def _has_host_port(spec: Mapping[str, object]) -> bool:
    """Return whether any container has one: most have ports, but few one of the node."""
    for name in ("containers", "initContainers"):
        for container in as_list(spec.get(name)):
            for port in as_list(as_mapping(container).get("ports")):
                if as_mapping(port).get("hostPort"):
                    return True
    return False


def _is_large(selector: Selector) -> bool:
    taken = (
        len(requirement.key) + PART + sum(len(value) + PART for value in requirement.values)
        for requirement in selector.requirements
    )
    return sum(taken) > LARGEST
