"""The Pods of a run: those that the cluster has, as they were read, and each while it is made, bound and deleted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import NamedTuple

from evenkeel.placement.subject import FROM_POD
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
    """
    Pods that are placed alike: what one asks of a node, and the constraints in force.

    `waits` says why kube-scheduler does not look at them, "" if it does.  `tolerations` are those of the Pod with the
    time for which they hold.  `unmodelled` is what they use that is not computed, `source` where the constraints come
    from.  Those that are `gone_at_once` when they are deleted wait for no kubelet.
    """

    pod: IncomingPod
    constraints: tuple[Constraint, ...]
    system_defaults: bool = False
    profile: Profile = USUAL_PROFILE
    waits: str = ""
    tolerations: LimitedTolerations = ()
    unmodelled: tuple[str, ...] = ()
    source: str = FROM_POD
    gone_at_once: bool = False
    _on_nodes: dict[str, PodClass] = field(default_factory=dict, init=False, repr=False)

    @property
    def own_node(self) -> str:
        """
        The node for which a DaemonSet has made such Pods; "" for other Pods.

        upstream: daemonset_util.go:GetTargetNodeName (v1.37)
        """
        return min(self.pod.affinity.names or (), default="")

    def on(self, node: str) -> PodClass:
        """Return such Pods as a DaemonSet makes them for a node; always the same class, which all runs share."""
        if node not in self._on_nodes:
            self._on_nodes[node] = replace(self, pod=replace(self.pod, affinity=for_node(self.pod.affinity, node)))
        return self._on_nodes[node]

    def cycle(self, snapshot: Snapshot, features: Features) -> Cycle:
        """Return an attempt to place such a Pod."""
        return Cycle(self.pod, self.constraints, snapshot, features, self.system_defaults, self.profile)

    def asks_for_the_same(self, other: PodClass) -> bool:
        """Return whether Pods of both are placed alike, but for labels, volumes and names of their own."""
        pod = other.pod
        alike = replace(
            self.pod, labels=pod.labels, mounts=pod.mounts, name=pod.name, nominated_node=pod.nominated_node
        )
        if (alike, self.waits, len(self.constraints)) != (pod, other.waits, len(other.constraints)):
            return False
        pairs = zip(self.constraints, other.constraints, strict=True)
        return all(
            replace(constraint, selector=of.selector, label_selector=of.label_selector) == of
            for constraint, of in pairs
        )


class Maker(NamedTuple):
    """
    What makes a Pod anew: `of_class` it then is.

    One that `replaces` a Pod, as a StatefulSet and a DaemonSet do, waits until the old one is gone; the new one has its
    claims.  A Pod is available once it has been ready for `min_ready_seconds`.  `volumes` are those of its Pods.
    `source` is the simulated workload as it is written, "" for the maker of other Pods.  A Job makes another Pod for so
    many that are deleted, its `retries`; None is any number.  A StatefulSet may make Pods `ordered`: each once those
    before it are ready.  Where a finalizer keeps its Pods until they have ended, it `waits_for_kubelet`.  A drain
    leaves the Pods of a `daemon`.
    """

    of_class: PodClass
    replaces: bool = False
    min_ready_seconds: int = 0
    volumes: VolumeTemplates = NO_VOLUMES
    source: str = ""
    retries: int | None = None
    ordered: bool = False
    waits_for_kubelet: bool = False
    daemon: bool = False

    def on(self, node: str) -> Maker:
        """Return what makes such a Pod for this node."""
        return self._replace(of_class=self.of_class.on(node))


@dataclass(frozen=True, slots=True)
class InitialPod:
    """
    A Pod as the cluster has it; times are seconds since 1970, None where they are not known.

    `maker` is None for a Pod that nothing makes anew, `revision` the number of the ReplicaSet, of those of the named
    workload, that has it, or -1.  `home` is the node on which a DaemonSet or the kubelet keeps it, "" for other Pods.
    It `started` so many seconds after 1970, at infinity if it has not yet.  `nominated` is the node that it waits for.
    One that is `pending` has a node, whose kubelet has not started it.
    `source` names what has made it, or the Pod itself if nothing did.  `name` is "" for a Pod that a run has made.
    One that is `gone_at_once` when it is deleted waits for no kubelet.
    """

    namespace: str
    labels: LabelSet
    node: str
    requests: Requests = NO_REQUESTS
    spreads: bool = True
    ready: bool = True
    ready_at: float | None = None
    created: float | None = None
    cost: int = 0
    restarts: int = 0
    tolerations: LimitedTolerations = ()
    home: str = ""
    maker: Maker | None = None
    revision: int = -1
    ordinal: int = -1
    affinity: PodAffinity | None = None
    ports: tuple[HostPort, ...] = ()
    mounts: Mounts | None = None
    priority: int = 0
    started: float = inf
    preempted: bool = False
    nominated: str = ""
    pending: bool = False
    source: str = ""
    name: str = ""
    gone_at_once: bool = False


class Pod:
    """
    A Pod in a run.

    `node` is "" until it is bound.  `serial` is its place in the order in which Pods came, `luck` stands for its uid.
    One that waits was `queued` after so many events.
    One that is `fresh` is not yet available, for it has not been ready for minReadySeconds.  `nominated` is the node
    that it waits for, and one that is `preempted` is being deleted to make room for another.
    """

    __slots__ = (
        *("affinity", "cost", "created", "fresh", "labels", "luck", "maker", "mounts", "namespace", "node"),
        *("ordinal", "ports", "ready", "ready_at", "requests", "restarts", "revision", "serial", "terminating"),
        *("home", "name", "nominated", "pending", "preempted", "priority", "source", "started", "tolerations"),
        *("gone_at_once", "queued"),
    )

    def __init__(self, initial: InitialPod, serial: int, luck: float, revision: int) -> None:
        self.namespace, self.labels, self.node, self.requests = (
            initial.namespace,
            initial.labels,
            initial.node,
            initial.requests,
        )
        self.ready, self.ready_at, self.created = initial.ready, initial.ready_at, initial.created
        self.cost, self.restarts, self.tolerations = initial.cost, initial.restarts, initial.tolerations
        self.maker, self.revision, self.ordinal = initial.maker, revision, initial.ordinal
        self.terminating, self.fresh = not initial.spreads, False
        self.serial, self.luck, self.queued = serial, luck, 0
        self.affinity, self.ports, self.mounts = initial.affinity, initial.ports, initial.mounts
        self.priority, self.started, self.preempted = initial.priority, initial.started, initial.preempted
        self.nominated, self.home, self.pending = initial.nominated, initial.home, initial.pending
        self.source, self.name, self.gone_at_once = initial.source, initial.name, initial.gone_at_once

    @property
    def of_class(self) -> PodClass:
        """The class of a Pod that was made in a run."""
        assert self.maker is not None
        return self.maker.of_class

    @property
    def workload(self) -> str:
        """What has made the Pod, as it is written; the Pod itself if nothing did."""
        return self.maker.source if self.revision >= 0 and self.maker is not None else self.source

    @property
    def info(self) -> PodInfo:
        """What Pods that are to be placed have to heed of it."""
        return PodInfo(self.namespace, self.labels, self.affinity, self.ports, self.terminating, self.mounts)

    def on(self, node: str) -> BoundPod:
        """Return the Pod as it is on a node, or would be there."""
        return BoundPod(
            self.labels if self.node or self.maker is None else self.labels or label_set(self.of_class.pod.labels),
            node,
            self.requests,
            not self.terminating,
            self.affinity,
            self.ports,
            self.priority,
            self.mounts,
            self.started,
            self.preempted,
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
