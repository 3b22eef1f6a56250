"""What kube-scheduler reads of a cluster, beyond what the webhook keeps of it: Pods, resources, images, volumes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from sys import intern
from typing import NamedTuple, Self

from evenkeel.objects.disruption_budget import DisruptionBudget, disruption_budget
from evenkeel.scheduler.attached_volumes import AttachedVolumes, Attacher
from evenkeel.scheduler.host_ports import HostPort, read_host_ports
from evenkeel.scheduler.images import read_node_images
from evenkeel.scheduler.pod_affinity import PodAffinity, read_pod_affinity
from evenkeel.scheduler.pod_counts import (
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
from evenkeel.scheduler.resources import read_allocatable, read_requests
from evenkeel.scheduler.scheduler_nodes import SchedulerNode, SchedulerNodes
from evenkeel.scheduler.storage import NO_STORAGE, Storage
from evenkeel.scheduler.storage_objects import StorageReader
from evenkeel.scheduler.volumes import ClaimKey, Mounts, read_mounts
from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import as_list, as_mapping, as_text, integer, texts_at
from webhook.kubernetes.kinds import CORE, DISRUPTION_BUDGET
from webhook.kubernetes.labels import Labels
from webhook.kubernetes.names import DEFAULT_SCHEDULER, DEVICE_PREFIX
from webhook.kubernetes.references import ObjectRef, controller_of
from webhook.kubernetes.times import seconds_at
from webhook.spread.affinity import has_pod_affinity
from webhook.spread.cluster_view import (
    LARGEST,
    NODE_POOL,
    PART,
    VIEW_KINDS,
    ClusterView,
    ObjectReader,
    SnapshotError,
    ViewObject,
    ViewParts,
    group_kind,
    in_words,
)
from webhook.spread.nodes import Nodes

POD = (CORE, "Pod")
READ_KINDS = (POD, *VIEW_KINDS)
DEVICE_CLASS, PRIORITY_CLASS = ("resource.k8s.io", "DeviceClass"), ("scheduling.k8s.io", "PriorityClass")


class NamedPod(NamedTuple):
    """A Pod on a node, by its name."""

    namespace: str
    name: str
    pod: BoundPod


class NominatedPod(NamedTuple):
    """A Pod that waits for its nominated node: kube-scheduler keeps room for it there."""

    namespace: str
    name: str
    pod: BoundPod  # As if it were bound to the nominated node.
    may_be_assumed: bool = False  # kube-scheduler has perhaps decided already, and only binds its volumes.
    scheduler: str = DEFAULT_SCHEDULER  # The name of the scheduler that places it.


SnapshotObject = ViewObject | BoundPod | NominatedPod


@dataclass(frozen=True)
class Snapshot(ClusterView):
    """What kube-scheduler reads of a cluster, by which Pods are placed."""

    nodes: SchedulerNodes = field(default_factory=SchedulerNodes)
    pods: Mapping[str, Mapping[LabelSet, PodGroup]] = field(default_factory=dict)  # By namespace.
    usage: Mapping[str, Usage] = field(default_factory=dict)  # By node; one without Pods is left out.
    terminating: Mapping[str, Mapping[LabelSet, PodGroup]] = field(default_factory=dict)  # Pods that are being deleted.
    affine: Mapping[PodAffinity, Mapping[str, int]] = field(default_factory=dict)  # Number of Pods, by terms and node.
    ports: Mapping[str, Mapping[HostPort, int]] = field(default_factory=dict)  # Number of Pods, by node and host port.
    priorities: Mapping[str, int] = field(default_factory=dict)  # The lowest priority of a Pod on each node.
    device_resources: frozenset[str] | None = frozenset()  # Resources of DeviceClasses; None: may not be read.
    nominated: tuple[NominatedPod, ...] = ()  # Pods that wait for a node on which room is made for them.
    pods_on: Mapping[str, tuple[NamedPod, ...]] = field(default_factory=dict)  # By node.
    budgets: tuple[DisruptionBudget, ...] | None = ()  # None: may not be read.
    unread: tuple[str, ...] = ()  # What the source of the objects left out, in a few words each.
    default_priority: int | None = 0  # Of a Pod that names no PriorityClass; None: unknown.
    mounts: Mapping[Mounts, Mapping[str, int]] = field(default_factory=dict)  # Number of Pods, by volumes and node.
    storage: Storage | None = None  # None: not read.

    @property
    def knows_pods(self) -> bool:
        return bool(self.pods)

    def with_nodes(self, nodes: Nodes) -> Self:
        scheduler_nodes = [SchedulerNode(node.name, node.labels, node.taints, node.unschedulable) for node in nodes]
        return replace(self, nodes=SchedulerNodes(scheduler_nodes), nodes_in_manifests=True)

    def labels_of_pods(self, namespace: str) -> Iterable[Labels]:
        return [group.labels for group in self.pods.get(namespace, {}).values()]

    def pods_of(self, node: str) -> tuple[NamedPod, ...]:
        return self.pods_on.get(node, ())

    @cached_property
    def claims_in_use(self) -> Mapping[ClaimKey, int]:
        """
        How many Pods on nodes use each claim; claims of ephemeral volumes are left out, which have one user.

        upstream: types.go:NodeInfo.updatePVCRefCounts (v1.37)
        """
        in_use: dict[ClaimKey, int] = {}
        for mounts, numbers in self.mounts.items():
            users = sum([number for node, number in numbers.items() if self.nodes.get(node) is not None])
            for key in mounts.shared_claims if users else ():
                in_use[key] = in_use.get(key, 0) + users
        return in_use

    def attached_volumes(self, features: Features) -> AttachedVolumes:
        """Count the volumes that CSI drivers attach to each node; callers share the result, so copy it to change it."""
        if features not in self._attached:
            attacher = Attacher(self.storage or NO_STORAGE, features)
            self._attached[features] = AttachedVolumes(self.nodes, self.mounts, attacher)
        return self._attached[features]

    @cached_property
    def _attached(self) -> dict[Features, AttachedVolumes]:
        return {}


def from_objects(objects: Iterable[Mapping[str, object]], features: Features) -> Snapshot:
    """
    Return what kube-scheduler of this version reads of `objects`, raw JSON as the API server prints it.

    SnapshotError names the first field that has a wrong type.
    """
    parts, pods, storage = ViewParts(), _BoundPods(), StorageReader()
    nominated, default_priorities = list[NominatedPod](), list[int]()
    budgets: list[DisruptionBudget] = []
    device_resources: set[str] = set()
    nodes: dict[str, SchedulerNode] = {}
    for raw in objects:
        api_version, kind = raw.get("apiVersion"), raw.get("kind")
        if (api_version, kind) in READ_KINDS:
            namespace, name, value = read_object(raw, str(api_version), str(kind), features)
            if isinstance(value, NominatedPod):
                nominated.append(value)
            elif isinstance(value, BoundPod):
                pods.add(namespace, name, value)
                if features.equal_victims_by_uid:
                    pods.uids[namespace, name] = texts_at(raw, "metadata.uid")[0]
            elif isinstance(value, SchedulerNode):
                nodes[value.name] = value
            else:
                parts.add(namespace, value)
        elif (group_and_kind := group_kind(raw)) == NODE_POOL:
            parts.add_node_pool(raw)
        elif group_and_kind == DEVICE_CLASS:
            device_resources |= set(resources_of_class(raw))
        elif group_and_kind == PRIORITY_CLASS and raw.get("globalDefault") is True:
            default_priorities.append(integer(raw.get("value")) or 0)
        elif group_and_kind == DISRUPTION_BUDGET:
            budgets.append(disruption_budget(raw))
        elif errors := storage.add(raw):
            raise SnapshotError(in_words(ObjectRef.of(raw), errors[0]))
    view = parts.view()
    return Snapshot(
        SchedulerNodes(nodes[name] for name in sorted(nodes)),
        view.namespaces,
        view.services,
        view.controllers,
        serves_node_pools=view.serves_node_pools,
        static_pools=view.static_pools,
        pods={namespace: groups for namespace, counts in pods.counted.items() if (groups := counts.groups())},
        usage=pods.usage.by_node,
        terminating=pods.demands.terminating,
        affine=pods.demands.affine,
        ports=pods.demands.ports,
        priorities=pods.priorities,
        device_resources=frozenset(device_resources),
        nominated=tuple(sorted(nominated, key=lambda pod: (pod.namespace, pod.name))),
        pods_on={node: tuple(sorted(on_node, key=pods.place)) for node, on_node in pods.by_node.items()},
        budgets=tuple(budgets),
        default_priority=min(default_priorities, default=0),
        mounts=pods.demands.mounts,
        storage=storage.storage(),
    )


class _BoundPods:
    """Collects the Pods of a cluster while they are read."""

    def __init__(self) -> None:
        self.counted: dict[str, PodCounts] = {}
        self.usage, self.demands = NodeUsage(), Demands({}, {}, {}, {})
        self.priorities: dict[str, int] = {}
        self.by_node: dict[str, list[NamedPod]] = {}
        self.uids: dict[tuple[str, str], str] = {}  # by namespace and name, where they decide

    def place(self, pod: NamedPod) -> tuple[str, str, str]:
        """Return a key that sorts the Pods of a node by their UIDs, and those without by their names."""
        return self.uids.get(pod[:2], ""), pod.namespace, pod.name

    def add(self, namespace: str, name: str, pod: BoundPod) -> None:
        shared = self.usage.add(self.counted.setdefault(namespace, PodCounts()).add(pod))
        # Most Pods have none of these: to skip them saves time with 150,000 Pods.
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


def read_object(
    raw: Mapping[str, object], api_version: str, kind: str, features: Features
) -> tuple[str, str, SnapshotObject | None]:
    """
    Return the namespace, the name and the value of an object of READ_KINDS; None for a Pod that does not count.

    Labels of more than LARGEST bytes are dropped: no constraint counts the Pod then.  So are extended resources of more
    than that.  SnapshotError names the first field that has a wrong type.
    """
    reader = _SnapshotObject(raw, api_version, kind, features)
    value = reader.pod() if reader.gvk == POD else reader.kept()
    reader.check()
    return reader.namespace, reader.name, value


class _SnapshotObject(ObjectReader):
    """One raw object while it is read, with all that kube-scheduler reads of it."""

    def __init__(self, raw: Mapping[str, object], api_version: str, kind: str, features: Features) -> None:
        super().__init__(raw, api_version, kind)
        self.features = features

    @cached_property
    def status(self) -> Mapping[str, object]:
        return self.reader.mapping(self.raw.get("status"), ("status",))

    def node(self) -> SchedulerNode:
        node = super().node()
        return SchedulerNode(
            node.name,
            node.labels,
            node.taints,
            node.unschedulable,
            allocatable=read_allocatable(self.reader, self.status.get("allocatable"), ("status", "allocatable")),
            declared=frozenset(
                self.reader.strings(self.status.get("declaredFeatures"), ("status",), "declaredFeatures")
            ),
            images=read_node_images(self.reader, self.status.get("images"), ("status", "images")),
        )

    def _requests(self) -> Requests:
        requests = read_requests(self.reader, self.raw, self.features, bound=True)
        large = sum(len(name) + 2 * PART for name, _ in requests.scalars) > LARGEST
        return requests._replace(scalars=()) if large else requests

    def pod(self) -> BoundPod | NominatedPod | None:
        node = self.string(self.spec, "spec", "nodeName")
        if self.string(self.status, "status", "phase") in FINISHED:
            return None
        if node:
            return self._bound(node)
        nominated = self.string(self.status, "status", "nominatedNodeName")
        if not nominated:
            return None
        scheduler = as_text(self.spec.get("schedulerName")) or DEFAULT_SCHEDULER
        bound = self._bound(nominated)
        return NominatedPod(self.namespace, self.name, bound, self._may_be_assumed(), scheduler)

    def _may_be_assumed(self) -> bool:
        """
        Whether kube-scheduler has perhaps decided for the node already, and only binds volumes or devices.

        upstream: schedule_one.go:Scheduler.prepareForBindingCycle (v1.37)
        """
        if not self.features.nominates_before_binding:
            return False
        volumes = map(as_mapping, as_list(self.spec.get("volumes")))
        claims = any("persistentVolumeClaim" in volume or "ephemeral" in volume for volume in volumes)
        return claims or bool(self.spec.get("resourceClaims"))

    def _bound(self, node: str) -> BoundPod:
        labels = self.labels()
        terminating, owner = self.metadata.get("deletionTimestamp") is not None, controller_of(self.metadata)
        large = sum(len(key) + len(value) + 2 * PART for key, value in labels.items()) > LARGEST
        spreads = not (terminating or large)
        priority = self.reader.integer(self.spec.get("priority"), ("spec",), "priority") or 0
        started = seconds_at(self.status.get("startTime"))
        return BoundPod(
            () if large else label_set(labels),
            node,
            self._requests(),
            spreads=spreads,
            affinity=self._affinity(),
            ports=self._ports(),
            priority=priority,
            mounts=self._mounts(),
            started=inf if started is None else started,
            preempted=terminating and self._is_preempted(),
            owned=owner is not None,
            of_node=owner is not None and owner.kind in ("DaemonSet", "Node"),
        )

    def _is_preempted(self) -> bool:
        """
        Whether kube-scheduler deletes the Pod to make room for another.

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
        return read_pod_affinity(self.reader, written, self.namespace)

    def _ports(self) -> tuple[HostPort, ...]:
        if not _has_host_port(self.spec):
            return ()
        return read_host_ports(self.reader, self.spec)

    def _mounts(self) -> Mounts | None:
        if not self.spec.get("volumes"):
            return None
        return read_mounts(self.reader, self.raw) or None


def _has_host_port(spec: Mapping[str, object]) -> bool:
    """A quick look before all ports are read: most containers have ports, but few a hostPort."""
    for name in ("containers", "initContainers"):
        for container in as_list(spec.get(name)):
            for port in as_list(as_mapping(container).get("ports")):
                if as_mapping(port).get("hostPort"):
                    return True
    return False
