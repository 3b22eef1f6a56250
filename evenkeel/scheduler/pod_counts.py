"""
The number of Pods by namespace, label set and node, as the scheduler counts them, and the sum of requests on each node.

    150,000 Pods ──> some thousand label sets, each with {node: number of Pods}
                 ──> {node: number of Pods and sum of their requests}
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from sys import intern
from typing import NamedTuple, TypeVar

from evenkeel.scheduler.host_ports import HostPort
from evenkeel.scheduler.pod_affinity import PodAffinity
from evenkeel.scheduler.volumes import Mounts
from webhook.kubernetes.labels import Labels

KeyT = TypeVar("KeyT")
LabelSet = tuple[tuple[str, str], ...]  # in the order of the keys
Scalars = tuple[tuple[str, int], ...]  # Extended resources, hugepages and the like, in the order of their names.
FINISHED = ("Succeeded", "Failed")


class PodInfo(NamedTuple):
    """
    What of a Pod on a node decides where other Pods may run, beside what it requests.

    upstream: types.go:PodInfo (v1.37)
    """

    namespace: str
    labels: LabelSet
    affinity: PodAffinity | None = None
    ports: tuple[HostPort, ...] = ()
    terminating: bool = False  # No constraint counts it, but other Pods' affinity and ports do.
    mounts: Mounts | None = None

    @property
    def reach(self) -> frozenset[str] | None:
        """
        The namespaces whose Pods it may concern by its labels and terms; None for all.

        Pods of any namespace that have ports, volumes or terms of their own may heed it besides.
        """
        own = frozenset({self.namespace})
        if self.affinity is None:
            return own
        return None if self.affinity.namespaces is None else own | self.affinity.namespaces


class Requests(NamedTuple):
    """What a Pod requests: CPU in thousandths, all else in whole units."""

    milli_cpu: int = 0
    memory: int = 0
    ephemeral_storage: int = 0
    scalars: Scalars = ()  # Without zeros.
    # By these NodeResourcesFit scores nodes: a container that states no request counts for 0.1 CPUs and 200 MiB.
    non_zero_milli_cpu: int = 0
    non_zero_memory: int = 0


class Usage(NamedTuple):
    """The number of Pods on a node and the sum of their requests."""

    pods: int = 0
    milli_cpu: int = 0
    memory: int = 0
    ephemeral_storage: int = 0
    scalars: Scalars = ()
    non_zero_milli_cpu: int = 0
    non_zero_memory: int = 0

    def plus(self, requests: Requests, pods: int = 1) -> Usage:
        """
        Add `pods` Pods that each have these requests; fewer if it is negative.

        upstream: types.go:NodeInfo.update (v1.37)
        """
        scalars = self.scalars
        if requests.scalars:
            amounts = dict(scalars)
            for name, amount in requests.scalars:
                amounts[name] = amounts.get(name, 0) + pods * amount
            scalars = in_order(amounts)
        return Usage(
            self.pods + pods,
            self.milli_cpu + pods * requests.milli_cpu,
            self.memory + pods * requests.memory,
            self.ephemeral_storage + pods * requests.ephemeral_storage,
            scalars,
            self.non_zero_milli_cpu + pods * requests.non_zero_milli_cpu,
            self.non_zero_memory + pods * requests.non_zero_memory,
        )


NO_REQUESTS, UNUSED = Requests(), Usage()


def in_order(amounts: Mapping[str, int]) -> Scalars:
    """Sort the amounts by name, without zeros."""
    return tuple(sorted([(name, amount) for name, amount in amounts.items() if amount]))


class BoundPod(NamedTuple):
    """A Pod that is bound to a node and has not finished."""

    labels: LabelSet
    node: str
    requests: Requests = NO_REQUESTS
    spreads: bool = True  # Constraints count it; False if it is being deleted, or has too many labels.
    affinity: PodAffinity | None = None
    ports: tuple[HostPort, ...] = ()
    priority: int = 0
    mounts: Mounts | None = None
    started: float = inf  # In seconds since 1970; infinite if it has not started.
    preempted: bool = False  # It is being deleted to make room for another Pod.
    owned: bool = False  # A controller makes another once it is deleted.
    of_node: bool = False  # It is of a DaemonSet or static: such nodes each have one, and a drain leaves it there.

    def info(self, namespace: str) -> PodInfo:
        return PodInfo(namespace, self.labels, self.affinity, self.ports, not self.spreads, self.mounts)


class PodGroup(NamedTuple):
    """The Pods with the same labels."""

    labels: Labels
    nodes: Mapping[str, int]  # The number of these Pods by the name of their node.


def label_set(labels: Labels) -> LabelSet:
    """Make the labels one hashable value, sorted by key; equal keys share one string in memory."""
    return tuple(sorted((intern(key), value) for key, value in labels.items()))


class PodCounts:
    """
    The Pods of one namespace that constraints count, by label set and node, while they are read.

    A cluster has many more Pods than label sets, so equal label sets are kept once.
    """

    def __init__(self) -> None:
        self._counts: dict[LabelSet, tuple[LabelSet, dict[str, int]]] = {}

    def add(self, pod: BoundPod) -> BoundPod:
        """Count a Pod; returns an equal one whose label set is shared with the other Pods that have the same labels."""
        if not pod.spreads:
            return pod
        labels, nodes = self._counts.setdefault(pod.labels, (pod.labels, {}))
        nodes[pod.node] = nodes.get(pod.node, 0) + 1
        return pod if pod.labels is labels else pod._replace(labels=labels)

    def groups(self) -> Mapping[LabelSet, PodGroup]:
        return {labels: PodGroup(dict(labels), nodes) for labels, nodes in self._counts.values()}


class NodeUsage:
    """
    What the Pods of each node request, added up while they are read.

    Most Pods of a workload request the same, so equal requests are kept once.
    """

    def __init__(self) -> None:
        self.by_node: dict[str, Usage] = {}  # without nodes that have no Pods
        self._requests: dict[Requests, Requests] = {}

    def add(self, pod: BoundPod) -> BoundPod:
        """Add what a Pod requests; returns an equal one whose requests are shared with Pods that request the same."""
        shared = self._requests.setdefault(pod.requests, pod.requests)
        self.by_node[pod.node] = self.by_node.get(pod.node, UNUSED).plus(shared, 1)
        return pod if pod.requests is shared else pod._replace(requests=shared)


class Demands:
    """Counts the Pods on nodes that others heed for more than labels and requests, and those that are terminating."""

    def __init__(
        self,
        terminating: Mapping[str, Mapping[LabelSet, PodGroup]],
        affine: Mapping[PodAffinity, Mapping[str, int]],
        ports: Mapping[str, Mapping[HostPort, int]],
        mounts: Mapping[Mounts, Mapping[str, int]],
    ) -> None:
        self._terminating = {
            namespace: {labels: dict(group.nodes) for labels, group in groups.items()}
            for namespace, groups in terminating.items()
        }
        # The number of Pods: by terms and node, by node and port, by volumes and node.
        self.affine = {affinity: dict(nodes) for affinity, nodes in affine.items()}
        self.ports = {node: dict(taken) for node, taken in ports.items()}
        self.mounts = {volumes: dict(nodes) for volumes, nodes in mounts.items()}

    def add(self, info: PodInfo, node: str, number: int) -> None:
        """Count `number` more Pods that are alike on a node, fewer if it is negative."""
        if info.terminating:
            _add(self._terminating.setdefault(info.namespace, {}).setdefault(info.labels, {}), node, number)
        if info.affinity is not None:
            _add(self.affine.setdefault(info.affinity, {}), node, number)
        for port in info.ports:
            _add(self.ports.setdefault(node, {}), port, number)
        if info.mounts is not None:
            _add(self.mounts.setdefault(info.mounts, {}), node, number)

    @property
    def terminating(self) -> Mapping[str, Mapping[LabelSet, PodGroup]]:
        """The Pods that are being deleted, by namespace and labels: constraints do not count them."""
        return {
            namespace: {labels: PodGroup(dict(labels), nodes) for labels, nodes in groups.items()}
            for namespace, groups in self._terminating.items()
        }


def _add(numbers: dict[KeyT, int], key: KeyT, number: int) -> None:
    """Add to the number of a key; 0 removes the key."""
    after = numbers.get(key, 0) + number
    if after:
        numbers[key] = after
    else:
        numbers.pop(key, None)
