"""
The volumes that CSI drivers attach to each node, as kube-scheduler counts them, while Pods come and go.

    Pods on a node ──their claims and disks──> volumes, each once ──+ VolumeAttachments of others──> number by driver
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import NamedTuple

from evenkeel.scheduler.in_tree_volumes import (
    BY_PROVISIONER,
    IN_TREE,
    UNCOUNTED_PROVISIONERS,
    TranslationError,
    handle,
)
from evenkeel.scheduler.storage import Claim, CSINode, Storage
from evenkeel.scheduler.volumes import PORTWORX_DISK, Disk, Mounts
from webhook.kubernetes.features import Features
from webhook.spread.nodes import Nodes, NodeSet, union

NodesByRoom = dict[int, NodeSet]  # The nodes by how many more volumes they take.


class SchedulerError(Exception):
    """An error at which kube-scheduler gives up an attempt; the message is its own."""


class AttachedVolume(NamedTuple):
    """A volume as its CSI driver knows it."""

    driver: str
    handle: str


class Attacher(NamedTuple):
    """Finds the volumes of a Pod that CSI drivers attach to a node."""

    storage: Storage
    features: Features

    def migrates(self, plugin: str, csi_node: CSINode | None) -> bool:
        """
        Whether a CSI driver attaches the volumes of an in-tree plugin to a node.

        upstream: utils.go:isCSIMigrationOn (v1.37)
        """
        if csi_node is None:
            return False
        by_annotation = self.features.migrates_portworx_by_annotation and plugin == IN_TREE[PORTWORX_DISK].name
        return plugin in csi_node.migrated if by_annotation else True

    def attached(self, mounts: Mounts, csi_node: CSINode | None) -> Iterator[AttachedVolume]:
        """
        Yield the volumes of a Pod that are attached to a node; SchedulerError for a claim that is another Pod's.

        upstream: csi.go:CSILimits.filterAttachableVolumes (v1.37)
        """
        for volume in mounts.volumes:
            if volume.disk is not None:
                attached = self._of_disk(volume.disk, csi_node)
            else:
                claim = self.storage.claim(mounts.namespace, volume.claim)
                if claim is None:
                    continue
                if volume.ephemeral and not is_owned(claim, mounts):
                    raise SchedulerError(not_owned(claim, mounts))
                attached = self._of_claim(claim, csi_node)
            if attached is not None:
                yield attached

    def _of_disk(self, disk: Disk, csi_node: CSINode | None) -> AttachedVolume | None:
        plugin = IN_TREE.get(disk.kind)
        if plugin is None or not self.migrates(plugin.name, csi_node):
            return None
        try:
            return AttachedVolume(plugin.driver, handle(disk.kind, disk.identity, {}))
        except TranslationError:
            return None

    def _of_claim(self, claim: Claim, csi_node: CSINode | None) -> AttachedVolume | None:
        """
        Return the volume of a claim; None if it counts for no driver.

        upstream: csi.go:CSILimits.getCSIDriverInfo (v1.37)
        """
        volume = self.storage.volumes.get(claim.volume_name)
        if volume is None:
            return self._of_class(claim, csi_node)
        if volume.in_tree is not None and not volume.driver:
            if not self.migrates(IN_TREE[volume.in_tree.kind].name, csi_node):
                return None
            try:
                volume = volume.translated()
            except TranslationError:
                return None
        return AttachedVolume(volume.driver, volume.handle) if volume.driver and volume.handle else None

    def _of_class(self, claim: Claim, csi_node: CSINode | None) -> AttachedVolume | None:
        """
        Return the volume that will be made for a claim.

        upstream: csi.go:CSILimits.getCSIDriverInfoFromSC (v1.37)
        """
        storage_class = self.storage.classes.get(claim.class_name)
        provisioner = storage_class.provisioner if storage_class is not None else ""
        if not provisioner or provisioner in UNCOUNTED_PROVISIONERS:
            return None
        # The volume has no handle yet: the claim stands for it, as upstream has it.
        plugin, claim_handle = BY_PROVISIONER.get(provisioner), f"{claim.namespace}/{claim.name}"
        if plugin is None:
            return AttachedVolume(provisioner, claim_handle)
        return AttachedVolume(plugin.driver, claim_handle) if self.migrates(plugin.name, csi_node) else None


def is_owned(claim: Claim, mounts: Mounts) -> bool:
    """
    Whether the claim of an ephemeral volume is the Pod's own; one that is about to be made is.

    upstream: ephemeral.go:VolumeIsForPod (v1.37)
    """
    return claim.expected or (bool(mounts.uid) and claim.controller == mounts.uid)


def not_owned(claim: Claim, mounts: Mounts) -> str:
    """
    The error for a Pod that may not use the claim of an ephemeral volume.

    upstream: ephemeral.go:VolumeIsForPod (v1.37)
    """
    pod = f"{mounts.namespace}/{mounts.pod}"
    return f"PVC {claim.namespace}/{claim.name} was not created for pod {pod} (pod is not owner)"


class AttachedVolumes:
    """The volumes attached to each node that exists; a volume counts once, however many Pods of the node use it."""

    def __init__(self, nodes: Nodes, mounts: Mapping[Mounts, Mapping[str, int]], attacher: Attacher) -> None:
        self._nodes, self.attacher = nodes, attacher
        self._pods: dict[str, dict[AttachedVolume, int]] = {}  # The number of Pods by node and volume.
        self._numbers: dict[str, dict[str, int]] = {}  # The number of volumes by node and driver.
        self._rooms: dict[str, NodesByRoom] = {}  # By driver; made when they are asked for.
        self._users: dict[AttachedVolume, NodeSet] = {}  # The nodes whose Pods use a volume.
        self._own: set[str] = set()  # The nodes whose `_pods` and `_numbers` no copy shares: others are copied first.
        # What Pods with these volumes count as on a node.  It is remembered, since their claims may be bound or deleted
        # before they go.
        self._counted: dict[tuple[Mounts, str], tuple[AttachedVolume, ...]] = {}
        # Messages by node and volumes, where a Pod's claim is another Pod's: kube-scheduler gives up at that node.
        self.errors: dict[str, dict[Mounts, str]] = {}
        for pod_mounts, numbers in mounts.items():
            for node, number in numbers.items():
                self.add(pod_mounts, node, number)

    def copy(self) -> AttachedVolumes:
        new = copy(self)
        new._pods, new._numbers = dict(self._pods), dict(self._numbers)
        new._own, self._own = set(), set()  # Both now share the counts of each node.
        new._rooms = {driver: dict(room) for driver, room in self._rooms.items()}
        new._users, new._counted = dict(self._users), dict(self._counted)
        new.errors = {node: dict(errors) for node, errors in self.errors.items()}
        return new

    def add(self, mounts: Mounts, node: str, number: int) -> None:
        """Count `number` more Pods with these volumes on a node, fewer if it is negative."""
        if self._nodes.get(node) is None:
            return
        if number < 0:
            self._forget_error(mounts, node)
        counted = self._counted.get((mounts, node)) if number < 0 else None
        if counted is None:
            counted = self._attached(mounts, node)
        self._counted[mounts, node] = counted
        for volume in counted:
            self._count(volume, node, number)

    def _attached(self, mounts: Mounts, node: str) -> tuple[AttachedVolume, ...]:
        try:
            return tuple(dict.fromkeys(self.attacher.attached(mounts, self.attacher.storage.csi_nodes.get(node))))
        except SchedulerError as error:
            self.errors.setdefault(node, {})[mounts] = str(error)
            return ()

    def _forget_error(self, mounts: Mounts, node: str) -> None:
        errors = self.errors.get(node, {})
        errors.pop(mounts, None)
        if not errors:
            self.errors.pop(node, None)

    def _count(self, volume: AttachedVolume, node: str, number: int) -> None:
        if node not in self._own:
            self._pods[node], self._numbers[node] = dict(self._pods.get(node, {})), dict(self._numbers_of(node))
            self._own.add(node)
        pods = self._pods[node]
        before, after = pods.get(volume, 0), pods.get(volume, 0) + number
        if after > 0:
            pods[volume] = after
        else:
            pods.pop(volume, None)
        change = (after > 0) - (before > 0)
        if change:
            self._users[volume] = self._users.get(volume, 0) ^ self._nodes.named_one(node)
        if change and volume not in self._attachments(node):
            self._change(volume.driver, node, change)

    def _change(self, driver: str, node: str, change: int) -> None:
        numbers, room = self._numbers[node], self._rooms.get(driver)
        if room is not None and (limit := self._limit(driver, node)) is not None:
            bit, before = self._nodes.named_one(node), limit - numbers.get(driver, 0)
            room[before] &= ~bit
            room[before - change] = room.get(before - change, 0) | bit
        numbers[driver] = numbers.get(driver, 0) + change

    def _numbers_of(self, node: str) -> Mapping[str, int]:
        """The number of volumes of a node by driver; what VolumeAttachments name counts even if no Pod uses it."""
        numbers = self._numbers.get(node)
        if numbers is None:
            numbers = self._numbers[node] = {}
            for driver, _ in self._attachments(node):
                numbers[driver] = numbers.get(driver, 0) + 1
        return numbers

    def _attachments(self, node: str) -> frozenset[AttachedVolume]:
        """
        Return the CSI volumes that VolumeAttachments name for a node.

        upstream: csi.go:CSILimits.getNodeVolumeAttachmentInfo (v1.37)
        """
        storage = self.attacher.storage
        attachments = storage.attachments.get(node)
        if not attachments or not self.attacher.features.counts_volume_attachments:
            return frozenset()
        volumes = ((attacher, storage.volumes.get(name)) for attacher, name in attachments)
        return frozenset(
            [AttachedVolume(attacher, volume.handle) for attacher, volume in volumes if volume and volume.driver]
        )

    def _limit(self, driver: str, node: str) -> int | None:
        csi_node = self.attacher.storage.csi_nodes.get(node)
        return csi_node.limit(driver) if csi_node is not None else None

    def room(self, driver: str) -> NodesByRoom:
        """The nodes that limit a driver, by how many more volumes they take; below 0 where they have too many."""
        room = self._rooms.get(driver)
        if room is None:
            by_room: dict[int, list[str]] = {}
            limits: dict[CSINode, int | None] = {}
            for node, csi_node in self.attacher.storage.csi_nodes.items():
                if csi_node not in limits:
                    limits[csi_node] = csi_node.limit(driver)
                if (limit := limits[csi_node]) is not None:
                    by_room.setdefault(limit - self._numbers_of(node).get(driver, 0), []).append(node)
            room = self._rooms[driver] = {number: self._nodes.named(names) for number, names in by_room.items()}
        return room

    def refused(self, wanted: Sequence[AttachedVolume]) -> NodeSet:
        """
        Return the nodes that do not take all of these volumes; those that a Pod there already uses cost nothing.

        upstream: csi.go:CSILimits.Filter (v1.37)
        """
        numbers: dict[str, int] = {}
        for volume in wanted:
            numbers[volume.driver] = numbers.get(volume.driver, 0) + 1
        refused = 0
        for driver, number in numbers.items():
            for room, nodes in self.room(driver).items():
                if room < number:
                    refused |= nodes
        # Few nodes have any of the volumes already: only these are looked at one by one.
        having = refused & union(self._users.get(volume, 0) for volume in wanted)
        taking = [node for node in self._nodes.names(having) if not self._refuses(node, self._pods[node], wanted)]
        return refused & ~self._nodes.named(taking)

    def _refuses(self, node: str, pods: Mapping[AttachedVolume, int], wanted: Sequence[AttachedVolume]) -> bool:
        """Whether a node, whose Pods use some of these volumes, does not take the others."""
        numbers: dict[str, int] = {}
        for volume in wanted:
            if volume not in pods:
                numbers[volume.driver] = numbers.get(volume.driver, 0) + 1
        for driver, number in numbers.items():
            limit = self._limit(driver, node)
            if limit is not None and self._numbers_of(node).get(driver, 0) + number > limit:
                return True
        return False
