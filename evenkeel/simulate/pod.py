"""The Pods of a run: those that the cluster has, as they were read, and each while it is made, bound and deleted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import NamedTuple

from evenkeel.placement.subject import FROM_POD, FROM_SCHEDULER
from evenkeel.scheduler.host_ports import HostPort
from evenkeel.scheduler.incoming import IncomingPod
from evenkeel.scheduler.pod_affinity import PodAffinity
from evenkeel.scheduler.pod_counts import NO_REQUESTS, BoundPod, LabelSet, PodInfo, Requests, label_set
from evenkeel.scheduler.profile import USUAL_PROFILE, Cycle, Profile
from evenkeel.scheduler.snapshot import Snapshot
from evenkeel.scheduler.volumes import Mounts
from evenkeel.simulate.bound_claims import NO_VOLUMES, VolumeTemplates
from webhook.kubernetes.features import Features
from webhook.spread.affinity import for_node
from webhook.spread.constraint import Constraint
from webhook.spread.taints import LimitedTolerations


@dataclass(frozen=True, eq=False)
class PodClass:
    """Pods that are placed alike."""

    pod: IncomingPod
    constraints: tuple[Constraint, ...]  # in force
    system_defaults: bool = False  # they are kube-scheduler's own
    profile: Profile = USUAL_PROFILE
    waits: str = ""  # why kube-scheduler does not look at these Pods; "" if it does
    tolerations: LimitedTolerations = ()  # with the time for which each holds
    unmodelled: tuple[str, ...] = ()  # what they use that is not computed
    source: str = FROM_POD  # where the constraints come from
    gone_at_once: bool = False  # when deleted, without waiting for the kubelet
    _on_nodes: dict[str, PodClass] = field(default_factory=dict, init=False, repr=False)

    @property
    def assumed(self) -> str:
        """Why default constraints in force are taken for the cluster's; "" if nothing is assumed of any in force."""
        return self.profile.assumed if self.source == FROM_SCHEDULER and self.constraints else ""

    @property
    def own_node(self) -> str:
        """
        The node for which a DaemonSet has made such Pods; "" for other Pods.

        upstream: daemonset_util.go:GetTargetNodeName (v1.37)
        """
        return min(self.pod.affinity.names or (), default="")

    def on(self, node: str) -> PodClass:
        """Return such Pods as a DaemonSet makes them for a node; the same object each time, so that runs share it."""
        if node not in self._on_nodes:
            self._on_nodes[node] = replace(self, pod=replace(self.pod, affinity=for_node(self.pod.affinity, node)))
        return self._on_nodes[node]

    def cycle(self, snapshot: Snapshot, features: Features) -> Cycle:
        return Cycle(self.pod, self.constraints, snapshot, features, self.system_defaults, self.profile)

    def asks_for_the_same(self, other: PodClass) -> bool:
        """Return whether both ask for the same, apart from labels, selectors, volumes and names."""
        pod = other.pod
        alike = replace(
            self.pod, labels=pod.labels, mounts=pod.mounts, name=pod.name, nominated_node=pod.nominated_node
        )
        if (alike, self.waits, len(self.constraints)) != (pod, other.waits, len(other.constraints)):
            return False
        pairs = zip(self.constraints, other.constraints, strict=True)
        return all(
            replace(constraint, selector=other_constraint.selector, label_selector=other_constraint.label_selector)
            == other_constraint
            for constraint, other_constraint in pairs
        )


class Maker(NamedTuple):
    """What makes Pods of one template."""

    of_class: PodClass  # of the Pods
    replaces: bool = False  # a new Pod waits until the old one is gone, and has its claims: StatefulSet, DaemonSet
    min_ready_seconds: int = 0
    volumes: VolumeTemplates = NO_VOLUMES
    source: str = ""  # the workload, if it is simulated by name
    retries: int | None = None  # deleted Pods for which a Job makes others; None = any number
    ordered: bool = False  # a StatefulSet makes each Pod once those before it are ready
    waits_for_kubelet: bool = False  # a finalizer keeps deleted Pods until they have ended
    daemon: bool = False  # a DaemonSet, whose Pods a drain leaves

    def on(self, node: str) -> Maker:
        """Return what makes such a Pod for this node."""
        return self._replace(of_class=self.of_class.on(node))


@dataclass(frozen=True, slots=True)
class InitialPod:
    """A Pod as the cluster has it; times are seconds since 1970, None where they are not known."""

    namespace: str
    labels: LabelSet
    node: str  # "" if it waits for one
    requests: Requests = NO_REQUESTS
    spreads: bool = True  # False: it is being deleted, so that no constraint counts it
    ready: bool = True
    ready_at: float | None = None
    created: float | None = None
    cost: int = 0  # pod-deletion-cost
    restarts: int = 0
    tolerations: LimitedTolerations = ()
    home: str = ""  # the node to which a DaemonSet or the kubelet ties it; "" for other Pods
    maker: Maker | None = None  # None: nothing makes it anew
    revision: int = -1  # the number of its ReplicaSet or revision of a named workload; -1 for other Pods
    ordinal: int = -1
    affinity: PodAffinity | None = None
    ports: tuple[HostPort, ...] = ()
    mounts: Mounts | None = None
    priority: int = 0
    started: float = inf  # infinity: not yet
    preempted: bool = False  # it is being deleted to make room for another Pod
    nominated: str = ""  # the node that it waits for
    pending: bool = False  # it has a node, but the kubelet has not started it
    source: str = ""  # the workload that has made it; the Pod itself if nothing has
    name: str = ""  # "" for a Pod that a run has made
    gone_at_once: bool = False  # when deleted, without waiting for the kubelet


class Pod:
    """A Pod in a run; most fields are those of InitialPod, and change in the run."""

    __slots__ = (
        *("affinity", "cost", "created", "fresh", "labels", "luck", "maker", "mounts", "namespace", "node"),
        *("ordinal", "ports", "ready", "ready_at", "requests", "restarts", "revision", "serial", "terminating"),
        *("home", "name", "nominated", "pending", "preempted", "priority", "source", "started", "tolerations"),
        *("gone_at_once", "queued"),
    )

    def __init__(self, initial: InitialPod, serial: int, luck: float, revision: int) -> None:
        self.namespace, self.labels = initial.namespace, initial.labels
        self.node, self.requests = initial.node, initial.requests
        self.ready, self.ready_at, self.created = initial.ready, initial.ready_at, initial.created
        self.cost, self.restarts, self.tolerations = initial.cost, initial.restarts, initial.tolerations
        self.maker, self.revision, self.ordinal = initial.maker, revision, initial.ordinal
        self.terminating = not initial.spreads
        self.fresh = False  # ready, but not for minReadySeconds yet, so not available
        self.serial = serial  # its place in the order in which Pods came
        self.luck = luck  # stands for its uid
        self.queued = 0  # how many events there were before it began to wait, or was refused last
        self.affinity, self.ports, self.mounts = initial.affinity, initial.ports, initial.mounts
        self.priority, self.started, self.preempted = initial.priority, initial.started, initial.preempted
        self.nominated, self.home, self.pending = initial.nominated, initial.home, initial.pending
        self.source, self.name, self.gone_at_once = initial.source, initial.name, initial.gone_at_once

    @property
    def of_class(self) -> PodClass:
        """The class of a Pod that has a maker, as all have that wait."""
        assert self.maker is not None
        return self.maker.of_class

    @property
    def workload(self) -> str:
        """The name of the workload that has made the Pod; the Pod itself if nothing has."""
        return self.maker.source if self.revision >= 0 and self.maker is not None else self.source

    @property
    def info(self) -> PodInfo:
        """What of it may affect where other Pods can be placed."""
        return PodInfo(self.namespace, self.labels, self.affinity, self.ports, self.terminating, self.mounts)

    def on(self, node: str) -> BoundPod:
        """Return the Pod as it is on a node, or would be there."""
        labels = self.labels
        if not labels and not self.node and self.maker is not None:  # A Pod that a run makes gets labels when bound.
            labels = label_set(self.of_class.pod.labels)
        return BoundPod(
            labels,
            node,
            self.requests,
            spreads=not self.terminating,
            affinity=self.affinity,
            ports=self.ports,
            priority=self.priority,
            mounts=self.mounts,
            started=self.started,
            preempted=self.preempted,
        )

    @property
    def active(self) -> bool:
        """Whether its controller still counts it."""
        return not self.terminating

    @property
    def available(self) -> bool:
        """
        Whether it runs, has been ready for long enough, and is not about to go.

        upstream: pod/util.go:IsPodAvailable (v1.37)
        """
        return self.ready and not self.terminating and not self.fresh
