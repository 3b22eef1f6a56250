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

TOO_MANY = Reason("node(s) exceed max volume count", "has as many volumes as the CSI driver attaches")


class NodeVolumeLimits(Plugin):
    """Counts the volumes that CSI drivers attach to each node."""

    name = NODE_VOLUME_LIMITS
    counts_pods = True

    def __init__(self, cycle: Cycle) -> None:
        super().__init__(cycle)
        self._attached = cycle.snapshot.attached_volumes(cycle.features) if cycle.mounts.volumes else None
        self._is_own = False

    @property
    def skipped(self) -> bool:
        return self._attached is None

    def refusals(self, remaining: NodeSet) -> Iterator[Refusal]:
        """
        Yield the nodes where a driver is missing that must be there, and those that take no more volumes.

        upstream: csi.go:CSILimits.Filter (v1.37)
        """
        attached = self._attached
        if attached is None:
            return
        for nodes, wanted in self._wanted:
            left = nodes & remaining
            if not wanted or not left:
                continue
            for driver in sorted({volume.driver for volume in wanted}):
                if missing := left & self._lacking(driver):
                    text = f"{driver} CSI driver is not installed on the node"
                    yield Refusal(self.name, (Reason(text, f"does not have the CSI driver {driver}"),), missing, True)
                    left &= ~missing
            wrong = left & self.nodes.named(attached.errors)
            for node in self.nodes.names(wrong and wrong & self._limited):
                error = min(attached.errors[node].values())
                raise SchedulerError(f'running "{self.name}" filter plugin: {error}')
            yield Refusal(self.name, (TOO_MANY,), left & attached.refused(wanted), True)

    @cached_property
    def _wanted(self) -> list[tuple[NodeSet, Sequence[AttachedVolume]]]:
        """The volumes of the Pod that count; on which nodes the disks of a cloud do depends on the node."""
        if self._attached is None:
            return []
        mounts, attacher = self.cycle.mounts, self._attached.attacher
        csi_nodes = attacher.storage.csi_nodes

        def migrating(csi_node: CSINode | None) -> tuple[AttachedVolume, ...]:
            return tuple(dict.fromkeys(attacher.attached(mounts, csi_node)))

        if not attacher.storage.names_cloud_disk(mounts):
            return [(self.nodes.all, migrating(None))]
        alike = self.nodes.grouped(self.nodes.all, lambda node: csi_nodes.get(node.name))
        return [(nodes, migrating(csi_node)) for csi_node, nodes in alike.items()]

    def _lacking(self, driver: str) -> NodeSet:
        """
        Return the nodes without a driver, if its CSIDriver has Pods wait there.

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
        """The nodes that take only so many volumes of any driver."""
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
