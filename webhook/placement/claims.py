"""
The claims of a Pod, and what of them is not known.

    volumes of the Pod, what there is of them ──each claim by itself──> the nodes that it leaves, and in which places
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from webhook.objects.names import HOSTNAME, ZONE
from webhook.scheduler.attached_volumes import SchedulerError
from webhook.scheduler.features import Features
from webhook.scheduler.framework import Framework
from webhook.scheduler.in_tree_volumes import BY_PROVISIONER, IN_TREE
from webhook.scheduler.incoming import IncomingPod
from webhook.scheduler.nodes import NodeSet
from webhook.scheduler.plugins.volume_binding import VolumeBinding
from webhook.scheduler.profile import VOLUME_BINDING, VOLUME_ZONE, Cycle
from webhook.scheduler.snapshot import Snapshot
from webhook.scheduler.storage import (
    ATTACHMENTS,
    CAPACITIES,
    CSI_DRIVERS,
    CSI_NODES,
    NO_STORAGE,
    Claim,
    PersistentVolume,
    StorageClass,
)
from webhook.scheduler.volumes import Mounts, PodVolume

VOLUMES, VOLUME_LIMITS, FREE_STORAGE = "volumes", "limits of volumes", "free storage"
LAST_WITH_IN_TREE_LIMITS = 30  # The last minor version whose scheduler has EBSLimits, GCEPDLimits, AzureDiskLimits.


class ClaimReach(NamedTuple):
    """
    A claim of a Pod with the nodes that it leaves; `claim` is None if it is not there.

    `volume` is what it is bound to, `free` are volumes that it would be bound to.  `key` is the topology key of the
    `domains` of these nodes, which are none where it leaves all nodes.
    """

    name: str
    claim: Claim | None
    volume: PersistentVolume | None
    of_class: StorageClass | None
    nodes: NodeSet
    key: str
    domains: tuple[str, ...]
    free: tuple[str, ...] = ()
    capacity: bool = False

    @property
    def pins(self) -> bool:
        """Whether it is bound to a volume that some nodes do not reach."""
        return self.volume is not None and bool(self.domains)


def claims_of(cycle: Cycle, key: str = "") -> tuple[ClaimReach, ...]:
    """Return the claims of the Pod; places are named by the topology key `key`, or else by zone."""
    return tuple(_reach(cycle, volume, key or ZONE) for volume in cycle.mounts.claims)


def _reach(cycle: Cycle, volume: PodVolume, key: str) -> ClaimReach:
    storage, namespace, nodes = cycle.storage, cycle.mounts.namespace, cycle.snapshot.nodes
    claim = storage.claim(namespace, volume.claim)
    alone = replace(cycle, pod=replace(cycle.pod, mounts=cycle.mounts._replace(volumes=(volume,))))
    left, free, capacity = nodes.all, set[str](), False
    try:
        framework = Framework(alone)
        for name in (VOLUME_BINDING, VOLUME_ZONE):
            plugin = framework.plugin(name)
            left = 0 if plugin.pre_filter().rejected else plugin.passing(left)
        binding = framework.plugin(VOLUME_BINDING)
        if claim is not None and left and storage.waits(claim) and isinstance(binding, VolumeBinding):
            for possible in binding.bindings(left):
                free |= {free_volume.name for _, free_volume in possible.free}
                capacity |= any(made.capacity is not None for made in possible.made)
    except SchedulerError:
        left = 0
    of_class = storage.classes.get(claim.class_name) if claim is not None else None
    bound = storage.volumes.get(claim.volume_name) if claim is not None else None
    key, domains = _places(cycle, left, key)
    return ClaimReach(volume.claim, claim, bound, of_class, left, key, domains, tuple(sorted(free)), capacity)


def _places(cycle: Cycle, left: NodeSet, key: str) -> tuple[str, tuple[str, ...]]:
    """Return the domains that have some of the nodes, by hostname where a domain has only part of its nodes."""
    nodes = cycle.snapshot.nodes
    if left == nodes.all:
        return key, ()
    domains = {value: members for value, members in nodes.domains(key).items() if members & left}
    whole = sum(members for members in domains.values()) == left if domains else False
    if not whole and left:
        key, domains = HOSTNAME, dict.fromkeys(nodes.names(left), 0)
    return key, tuple(sorted(domains))


class Pins:
    """Where the claims of a cluster pin Pods; volumes that the same nodes reach are looked at once."""

    def __init__(self, snapshot: Snapshot, features: Features) -> None:
        self._snapshot, self._features = snapshot, features
        self._reaches: dict[object, ClaimReach] = {}

    def of(self, namespace: str, names: Iterable[str]) -> dict[str, ClaimReach]:
        """Return those of the claims that are bound to a volume which some nodes do not reach, by their names."""
        storage = self._snapshot.storage or NO_STORAGE
        pinned = {}
        for name in names:
            claim = storage.claim(namespace, name)
            volume = storage.volumes.get(claim.volume_name) if claim is not None and claim.bound else None
            if volume is None or not self._snapshot.nodes:
                continue
            alike = volume.terms, volume.in_tree, tuple(sorted(volume.labels.items()))
            if alike not in self._reaches:
                pod = IncomingPod(namespace, {}, mounts=Mounts(namespace, (PodVolume(name),)))
                self._reaches[alike] = claims_of(Cycle(pod, (), self._snapshot, self._features))[0]
            if self._reaches[alike].pins:
                pinned[name] = self._reaches[alike]
        return pinned


def volume_gaps(cycle: Cycle) -> Iterator[str]:
    """Yield what is not known of the Pod's volumes, and may change where it can run."""
    if not cycle.pod.mounts:
        return
    if cycle.mounts != cycle.pod.mounts:
        yield VOLUMES
    storage = cycle.storage
    waiting = [claim for claim in _claims(cycle) if storage.waits(claim)]
    made = [claim for claim in waiting if storage.classes[claim.class_name].makes_volumes]
    tracked = [driver for driver in storage.csi_drivers.values() if driver.tracks_capacity]
    if made and (CSI_DRIVERS in storage.unread or (CAPACITIES in storage.unread and tracked)):
        yield FREE_STORAGE
    unread = {CSI_NODES, *((ATTACHMENTS,) if cycle.features.counts_volume_attachments else ())}
    if (unread & storage.unread and _may_be_attached(cycle)) or _has_limits_of_plugins(cycle):
        yield VOLUME_LIMITS


def _claims(cycle: Cycle) -> list[Claim]:
    claims = (cycle.storage.claim(cycle.mounts.namespace, volume.claim) for volume in cycle.mounts.claims)
    return [claim for claim in claims if claim is not None]


def _may_be_attached(cycle: Cycle) -> bool:
    """Return whether a CSI driver may attach a volume of the Pod to its node."""
    storage = cycle.storage
    if any(disk.kind in IN_TREE for disk in cycle.mounts.disks):
        return True
    for claim in _claims(cycle):
        volume, of_class = storage.volumes.get(claim.volume_name), storage.classes.get(claim.class_name)
        if volume is not None and (volume.driver or volume.in_tree is not None):
            return True
        if volume is None and of_class is not None and of_class.makes_volumes:
            return True
    return False


def _has_limits_of_plugins(cycle: Cycle) -> bool:
    """Return whether a plugin that evenkeel does not know counts disks of the Pod: up to 1.30, disks of clouds."""
    if cycle.features.minor > LAST_WITH_IN_TREE_LIMITS:
        return False
    storage = cycle.storage
    if any(disk.kind in IN_TREE for disk in cycle.mounts.disks):
        return True
    for claim in _claims(cycle):
        volume, of_class = storage.volumes.get(claim.volume_name), storage.classes.get(claim.class_name)
        if (volume is not None and volume.in_tree is not None) or (
            of_class is not None and of_class.provisioner in BY_PROVISIONER
        ):
            return True
    return False
