"""VolumeRestrictions: no other Pod uses a ReadWriteOncePod claim of the Pod, nor one of its disks on the same node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from evenkeel.scheduler.plugins.plugin import EVERY_NODE, Plugin, PreFilterResult, Reason, Refusal
from evenkeel.scheduler.pod_counts import PodInfo
from evenkeel.scheduler.profile import VOLUME_RESTRICTIONS, Cycle
from evenkeel.scheduler.storage import ONE_POD
from evenkeel.scheduler.volumes import ClaimKey, Mounts
from webhook.spread.nodes import NodeSet

DISK_CONFLICT = Reason("node(s) had no available disk", "disk in use")
_IN_USE = "claim in use"
CLAIM_IN_USE = Reason(
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
    _IN_USE,
)
CLAIM_IN_USE_TO_33 = Reason(
    "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode", _IN_USE
)


def not_found(claim: str) -> str:
    """What kube-scheduler says of a claim that does not exist."""
    return f'persistentvolumeclaim "{claim}" not found'


class VolumeRestrictions(Plugin):
    """Counts the Pods that use claims of the incoming Pod, and on each node those whose disks conflict with its own."""

    name = VOLUME_RESTRICTIONS
    counts_pods = True

    def __init__(self, cycle: Cycle) -> None:
        super().__init__(cycle)
        self._in_use = cycle.snapshot.claims_in_use if cycle.mounts.claims else {}
        self._changes: dict[ClaimKey, int] = {}  # By how much that has changed since the snapshot.
        self._tried = 0  # Uses of a ReadWriteOncePod claim's name by Pods of a DryRun.
        self._conflicts: dict[str, int] = {}  # The number of Pods with a conflicting disk, by node.
        if cycle.mounts.disks:
            for mounts, numbers in cycle.snapshot.mounts.items():
                self._count_disks(mounts, numbers)

    @cached_property
    def _claims_of_one_pod(self) -> list[ClaimKey]:
        """The ReadWriteOncePod claims of the Pod."""
        mounts, storage = self.cycle.mounts, self.cycle.storage
        claims = {key: storage.claim(*key) for key in mounts.shared_claims}
        return [key for key, claim in claims.items() if claim is not None and ONE_POD in claim.access_modes]

    @property
    def _is_in_use(self) -> bool:
        """Whether another Pod uses one of them."""
        used = sum(self._in_use.get(key, 0) + self._changes.get(key, 0) > 0 for key in self._claims_of_one_pod)
        return used + self._tried > 0

    @property
    def skipped(self) -> bool:
        return not self.cycle.mounts.disks and not self._is_in_use

    def pre_filter(self) -> PreFilterResult:
        """
        Reject a Pod with a claim that does not exist.

        upstream: volume_restrictions.go:VolumeRestrictions.PreFilter (v1.37)
        """
        mounts, storage = self.cycle.mounts, self.cycle.storage
        for volume in mounts.claims:
            if not volume.ephemeral and storage.claim(mounts.namespace, volume.claim) is None:
                return PreFilterResult(not_found(volume.claim))
        return EVERY_NODE

    def refusals(self, remaining: NodeSet) -> Iterator[Refusal]:
        """
        Yield the nodes on which a Pod has one of the disks, and all others if another Pod uses one of the claims.

        upstream: volume_restrictions.go:VolumeRestrictions.Filter (v1.37)
        """
        conflicting = self._with_conflicts()
        yield Refusal(self.name, (DISK_CONFLICT,), remaining & conflicting, True)
        if self._is_in_use:
            reason = CLAIM_IN_USE if self.cycle.features.claim_in_use_reason else CLAIM_IN_USE_TO_33
            yield Refusal(self.name, (reason,), remaining & ~conflicting, True)

    def _with_conflicts(self) -> NodeSet:
        return self.nodes.named(node for node, number in self._conflicts.items() if number > 0)

    def add_pods(self, info: PodInfo, node: str, number: int) -> None:
        if info.mounts is None or self.nodes.get(node) is None:
            return
        for key in info.mounts.shared_claims if self.cycle.mounts.claims else ():
            self._changes[key] = self._changes.get(key, 0) + number
        self._count_disks(info.mounts, {node: number})

    def heeds(self, info: PodInfo) -> bool:
        return info.mounts is not None and bool(self.cycle.pod.mounts.volumes)

    def try_pods(self, info: PodInfo, node: str, number: int) -> None:
        """
        Count Pods for a DryRun: as upstream does, by the names of their claims, whatever their namespace.

        upstream: volume_restrictions.go:preFilterState.conflictingPVCRefCountForPod (v1.37)
        """
        if info.mounts is None or self.nodes.get(node) is None:
            return
        names = {name for _, name in self._claims_of_one_pod}
        self._tried += number * sum(name in names for _, name in info.mounts.shared_claims)
        self._count_disks(info.mounts, {node: number})

    def _count_disks(self, mounts: Mounts, numbers: Mapping[str, int]) -> None:
        others = mounts.disks
        if any(disk.conflicts(other) for disk in self.cycle.mounts.disks for other in others):
            for node, number in numbers.items():
                self._conflicts[node] = self._conflicts.get(node, 0) + number

    def of(self, cycle: Cycle) -> VolumeRestrictions:
        new = VolumeRestrictions.__new__(VolumeRestrictions)
        Plugin.__init__(new, cycle)
        new._in_use, new._changes, new._conflicts = self._in_use, self._changes, self._conflicts
        new._tried = self._tried
        return new

    def copy(self) -> VolumeRestrictions:
        new = self.of(self.cycle)
        new._changes, new._conflicts = dict(self._changes), dict(self._conflicts)
        return new
