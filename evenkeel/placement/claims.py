"""
The claims of a Pod, and what of them is not known.

    volumes of the Pod, what there is of them ──each claim by itself──> the nodes that it leaves, and in which places
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from evenkeel.scheduler.attached_volumes import SchedulerError, is_owned
from evenkeel.scheduler.framework import Framework
from evenkeel.scheduler.in_tree_volumes import IN_TREE
from evenkeel.scheduler.incoming import IncomingPod
from evenkeel.scheduler.plugins.volume_binding import Binding, VolumeBinding
from evenkeel.scheduler.profile import VOLUME_BINDING, VOLUME_ZONE, Cycle
from evenkeel.scheduler.snapshot import Snapshot
from evenkeel.scheduler.storage import (
    ATTACHMENTS,
    CAPACITIES,
    CSI_DRIVERS,
    CSI_NODES,
    NO_STORAGE,
    Claim,
    PersistentVolume,
    StorageClass,
)
from evenkeel.scheduler.volumes import NO_MOUNTS, Mounts, PodVolume
from webhook.kubernetes.features import Features
from webhook.kubernetes.labels import Labels
from webhook.kubernetes.names import HOSTNAME, ZONE
from webhook.spread.nodes import NodeSet
from webhook.spread.selectors import IN

VOLUMES, VOLUME_LIMITS, FREE_STORAGE = "volumes", "limits of volumes", "free storage"
LAST_WITH_IN_TREE_LIMITS = 30  # The last minor version whose scheduler has EBSLimits, GCEPDLimits, AzureDiskLimits.


class VolumeGap(NamedTuple):
    """What is not judged of a Pod's volumes; `unread` are the resources for lack of which it is not."""

    what: str
    unread: frozenset[str] = frozenset()


class ClaimReach(NamedTuple):
    """
    A claim of a Pod with the nodes that it leaves, all if it is not `judged`; `claim` is None if it is not there.

    `volume` is what it is bound to, `free` are volumes that it would be bound to; on some nodes one would be `made`,
    from free storage that is reported if it `takes_capacity`.  `key` is the topology key of the `domains` of these
    nodes, which are none where it leaves all nodes.  `wanted` are labels that no node has, and one needs for it.  A
    claim that is `foreign` was made for another Pod.
    """

    name: str
    claim: Claim | None
    volume: PersistentVolume | None
    of_class: StorageClass | None
    nodes: NodeSet
    key: str
    domains: tuple[str, ...]
    wanted: Labels
    free: tuple[str, ...] = ()
    made: bool = False
    takes_capacity: bool = False
    judged: bool = True
    foreign: bool = False

    @property
    def pins(self) -> bool:
        """Whether it is bound to a volume that some nodes do not reach."""
        return self.volume is not None and bool(self.domains)


def claims_of(cycle: Cycle, key: str = "") -> tuple[ClaimReach, ...]:
    """Return the claims of the Pod; places are named by the topology key `key`, or else by zone."""
    mounts = cycle.pod.mounts or NO_MOUNTS
    return tuple(_reach(cycle, volume, key or ZONE) for volume in mounts.claims)


def _reach(cycle: Cycle, volume: PodVolume, key: str) -> ClaimReach:
    storage, mounts, nodes = cycle.storage, cycle.pod.mounts or NO_MOUNTS, cycle.snapshot.nodes
    claim = storage.claim(mounts.namespace, volume.claim)
    alone = replace(cycle, pod=replace(cycle.pod, mounts=mounts._replace(volumes=(volume,))))
    left, bindings = nodes.all, list[Binding]()
    try:
        framework = Framework(alone)
        for name in (VOLUME_BINDING, VOLUME_ZONE):
            plugin = framework.plugin(name)
            left = 0 if plugin.pre_filter().rejected else plugin.passing(left)
        binding = framework.plugin(VOLUME_BINDING)
        if claim is not None and left and storage.waits(claim) and isinstance(binding, VolumeBinding):
            bindings = binding.bindings(left)
    except SchedulerError:
        left = 0
    made = [new for possible in bindings for new in possible.made]
    key, domains = _places(cycle, left, key)
    return ClaimReach(
        volume.claim,
        claim,
        storage.volumes.get(claim.volume_name) if claim is not None else None,
        storage.classes.get(claim.class_name) if claim is not None else None,
        left,
        key,
        domains,
        wanted_labels(cycle, claim) if claim is not None else {},
        tuple(sorted({free_volume.name for possible in bindings for _, free_volume in possible.free})),
        bool(made),
        any(new.capacity is not None for new in made),
        bool(alone.mounts),
        claim is not None and volume.ephemeral and not is_owned(claim, mounts),
    )


def wanted_labels(cycle: Cycle, claim: Claim) -> Labels:
    """
    Return labels of a node that would reach the volume of a claim, or where one can be made; none if a node has them.

    They are those of the first term that asks for values alone.
    """
    storage, nodes = cycle.storage, cycle.snapshot.nodes
    volume, of_class = storage.volumes.get(claim.volume_name), storage.classes.get(claim.class_name)
    terms = volume.terms if volume is not None else of_class.allowed if of_class and storage.waits(claim) else None
    if terms is None or any(term.matching(nodes) for term in terms):
        return {}
    plain = [term for term in terms if term.expressions and not term.fields]
    return next(
        (
            {expression.key: expression.values[0] for expression in term.expressions}
            for term in plain
            if all(expression.operator == IN for expression in term.expressions)
        ),
        {},
    )


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
            if claim is None or volume is None or not self._snapshot.nodes:
                continue
            alike = volume.terms, volume.in_tree, tuple(sorted(volume.labels.items()))
            if alike not in self._reaches:
                self._reaches[alike] = self._reach(namespace, replace(claim, deleting=False, lost=False))
            if self._reaches[alike].pins:
                pinned[name] = self._reaches[alike]
        return pinned

    def _reach(self, namespace: str, claim: Claim) -> ClaimReach:
        """Return the nodes that a bound claim leaves for as long as it is there."""
        storage = (self._snapshot.storage or NO_STORAGE).with_claims([claim])
        pod = IncomingPod(namespace, {}, mounts=Mounts(namespace, (PodVolume(claim.name),)))
        return claims_of(Cycle(pod, (), replace(self._snapshot, storage=storage), self._features))[0]


def volume_gaps(cycle: Cycle) -> Iterator[VolumeGap]:
    """Yield what is not known of the Pod's volumes, and may change where it can run."""
    mounts, storage = cycle.pod.mounts, cycle.storage
    if not mounts:
        return
    if cycle.mounts != mounts:
        yield VolumeGap(VOLUMES, frozenset().union(*[storage.lacking(mounts, volume) for volume in mounts.volumes]))
    waiting = [claim for claim in cycle.claims if storage.waits(claim)]
    made = [claim for claim in waiting if storage.classes[claim.class_name].makes_volumes]
    tracked = [driver for driver in storage.csi_drivers.values() if driver.tracks_capacity]
    unread = storage.unread & {CSI_DRIVERS, *([CAPACITIES] if tracked else [])}
    if made and unread:
        yield VolumeGap(FREE_STORAGE, unread)
    limited = any(csi_node.is_limited for csi_node in storage.csi_nodes.values())
    counted = limited and cycle.features.counts_volume_attachments
    unread = storage.unread & {CSI_NODES, *([ATTACHMENTS] if counted else [])}
    if (unread and _may_be_attached(cycle)) or _has_limits_of_plugins(cycle):
        yield VolumeGap(VOLUME_LIMITS, unread)


def _may_be_attached(cycle: Cycle) -> bool:
    """Return whether a CSI driver may attach a volume of the Pod to its node."""
    storage = cycle.storage
    if any(disk.kind in IN_TREE for disk in cycle.mounts.disks):
        return True
    for claim in cycle.claims:
        volume, of_class = storage.volumes.get(claim.volume_name), storage.classes.get(claim.class_name)
        if volume is not None and (volume.driver or volume.in_tree is not None):
            return True
        if volume is None and of_class is not None and of_class.makes_volumes:
            return True
    return False


def _has_limits_of_plugins(cycle: Cycle) -> bool:
    """Return whether a plugin that evenkeel does not know counts disks of the Pod: up to 1.30, disks of clouds."""
    return cycle.features.minor <= LAST_WITH_IN_TREE_LIMITS and cycle.storage.names_cloud_disk(cycle.mounts)
