"""NodeVolumeLimits: the CSI drivers of a node attach the volumes of the Pod, too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from evenkeel.scheduler.attached_volumes import AttachedVolume, SchedulerError
from evenkeel.scheduler.plugins.plugin import Plugin, Reason, Refusal
from evenkeel.scheduler.pod_counts import PodInfo
from evenkeel.scheduler.profile import NODE_VOLUME_LIMITS, Cycle
from evenkeel.scheduler.storage import CSINode, Storage
from webhook.spread.nodes import NodeSet

TOO_MANY = Reason("node(s) exceed max volume count", "as many volumes as the CSI driver attaches")


class NodeVolumeLimits(Plugin):
    """Counts the volumes that CSI drivers attach to each node."""

    name = NODE_VOLUME_LIMITS
    counts_pods = True

    def __init__(self, cycle: Cycle) -> None:
        super().__init__(cycle)
        self._attached = cycle.snapshot.attached_volumes(cycle.features) if cycle.mounts.volumes else None
        self._is_own = False  # At first it is the snapshot's, which is not to be changed: a change copies it.

    @property
    def skipped(self) -> bool:
        return self._attached is None

    @property
    def may_give_up(self) -> bool:
        """Whether a node has a Pod with the claim of another."""
        return self._attached is not None and bool(self._attached.errors)

    def refusals(self, remaining: NodeSet) -> Iterator[Refusal]:
        """
        Yield the nodes where a driver is missing that must be there, and those that take no more volumes.

        upstream: csi.go:CSILimits.Filter (v1.37)
        """
        attached = self._attached
        if attached is None:
            return
        for nodes, volumes in self._wanted:
            passing = nodes & remaining
            if not volumes or not passing:
                continue
            for driver in sorted({volume.driver for volume in volumes}):
                if missing := passing & self._lacking(driver):
                    text = f"{driver} CSI driver is not installed on the node"
                    yield Refusal(self.name, (Reason(text, f"without the CSI driver {driver}"),), missing, True)
                    passing &= ~missing
            with_errors = passing & self.nodes.named(attached.errors)
            if with_errors:  # Mostly not, and _limited looks at every CSINode.
                with_errors &= self._limited
            for node in self.nodes.names(with_errors):
                error = min(attached.errors[node].values())
                raise SchedulerError(f'running "{self.name}" filter plugin: {error}')
            yield Refusal(self.name, (TOO_MANY,), passing & attached.refused(volumes), True)

    @cached_property
    def _wanted(self) -> list[tuple[NodeSet, Sequence[AttachedVolume]]]:
        """The volumes of the Pod that count, by nodes: whether a cloud's disk counts depends on the node's drivers."""
        if self._attached is None:
            return []
        mounts, attacher = self.cycle.mounts, self._attached.attacher
        csi_nodes = attacher.storage.csi_nodes

        def attached_to(csi_node: CSINode | None) -> tuple[AttachedVolume, ...]:
            return tuple(dict.fromkeys(attacher.attached(mounts, csi_node)))

        if not attacher.storage.names_cloud_disk(mounts):
            return [(self.nodes.all, attached_to(None))]
        alike = self.nodes.grouped(self.nodes.all, lambda node: csi_nodes.get(node.name))
        return [(nodes, attached_to(csi_node)) for csi_node, nodes in alike.items()]

    def _lacking(self, driver: str) -> NodeSet:
        """
        Return the nodes without a driver, if its CSIDriver keeps Pods off these.

        upstream: csi.go:CSILimits.checkCSIDriverOnNode (v1.37)
        """
        storage, features = self.cycle.storage, self.cycle.features
        reported = storage.csi_drivers.get(driver)
        if not features.prevents_missing_driver or reported is None or not reported.needed:
            return 0
        having = [node for node, csi_node in storage.csi_nodes.items() if csi_node.topology_keys(driver) is not None]
        return self.nodes.all & ~self.nodes.named(having)

    @cached_property
    def _limited(self) -> NodeSet:
        """The nodes on which any driver has a limit."""
        csi_nodes = self.cycle.storage.csi_nodes.items()
        return self.nodes.named(name for name, csi_node in csi_nodes if csi_node.is_limited)

    def add_pods(self, info: PodInfo, node: str, number: int) -> None:
        if self._attached is None or info.mounts is None:
            return
        if not self._is_own:
            self._attached, self._is_own = self._attached.copy(), True
        self._attached.add(info.mounts, node, number)

    def heeds(self, info: PodInfo) -> bool:
        return info.mounts is not None and self._attached is not None

    def set_storage(self, storage: Storage) -> None:
        if self._attached is not None and self._attached.attacher.storage is not storage:
            if not self._is_own:
                self._attached, self._is_own = self._attached.copy(), True
            self._attached.attacher = self._attached.attacher._replace(storage=storage)

    def of(self, cycle: Cycle) -> NodeVolumeLimits:
        new = NodeVolumeLimits.__new__(NodeVolumeLimits)
        Plugin.__init__(new, cycle)
        new._attached, new._is_own = self._attached, False
        return new

    def copy(self) -> NodeVolumeLimits:
        new = self.of(self.cycle)
        if new._attached is not None and self._is_own:
            new._attached, new._is_own = new._attached.copy(), True
        return new
