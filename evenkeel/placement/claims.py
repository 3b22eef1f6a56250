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
from webhook.spread.nodes import NodeSet, union
from webhook.spread.selectors import IN

VOLUMES, VOLUME_LIMITS, FREE_STORAGE = "volumes", "limits of volumes", "free storage"
LAST_WITH_IN_TREE_LIMITS = 30  # The last minor version whose scheduler has EBSLimits, GCEPDLimits, AzureDiskLimits.


class VolumeGap(NamedTuple):
    """What is not judged of a Pod's volumes."""

    what: str
    unread: frozenset[str] = frozenset()  # The resources that one would need to read for it.


class ClaimReach(NamedTuple):
    """A claim of a Pod, and where the Pod can run as far as this claim decides."""

    name: str
    claim: Claim | None  # None if it does not exist.
    volume: PersistentVolume | None  # What it is bound to.
    of_class: StorageClass | None
    nodes: NodeSet  # The nodes that it leaves.
    key: str  # The topology key of `domains`.
    domains: tuple[str, ...]  # Those of the nodes; none where it leaves all nodes.
    wanted: Labels  # Labels that a node needs for it, where no node has them.
    free: tuple[str, ...] = ()  # Names of the volumes that it would be bound to.
    makes_volume: bool = False  # On some nodes a volume would be made.
    takes_capacity: bool = False  # That volume takes free storage which the driver reports.
    judged: bool = True  # False: too little is known, so it leaves all nodes.
    foreign: bool = False  # It was made for another Pod.

    @property
    def pins(self) -> bool:
        """Whether it is bound to a volume that some nodes do not reach."""
        return self.volume is not None and bool(self.domains)


def claims_of(cycle: Cycle, key: str = "") -> tuple[ClaimReach, ...]:
    """Return the claims of the Pod; places are named by this topology key, by default by zone."""
    mounts = cycle.pod.mounts or NO_MOUNTS
    return tuple(_reach(cycle, volume, key or ZONE) for volume in mounts.claims)


def _reach(cycle: Cycle, volume: PodVolume, key: str) -> ClaimReach:
    storage, mounts, nodes = cycle.storage, cycle.pod.mounts or NO_MOUNTS, cycle.snapshot.nodes
    claim = storage.claim(mounts.namespace, volume.claim)
    alone = replace(cycle, pod=replace(cycle.pod, mounts=mounts._replace(volumes=(volume,))))
    passing, bindings = nodes.all, list[Binding]()
    try:
        framework = Framework(alone)
        for name in (VOLUME_BINDING, VOLUME_ZONE):
            plugin = framework.plugin(name)
            passing = 0 if plugin.pre_filter().rejected else plugin.passing(passing)
        volume_binding = framework.plugin(VOLUME_BINDING)
        if claim is not None and passing and storage.waits(claim) and isinstance(volume_binding, VolumeBinding):
            bindings = volume_binding.bindings(passing)
    except SchedulerError:
        passing = 0
    new_volumes = [new_volume for binding in bindings for new_volume in binding.new_volumes]
    key, domains = _places(cycle, passing, key)
    return ClaimReach(
        name=volume.claim,
        claim=claim,
        volume=storage.volumes.get(claim.volume_name) if claim is not None else None,
        of_class=storage.classes.get(claim.class_name) if claim is not None else None,
        nodes=passing,
        key=key,
        domains=domains,
        wanted=wanted_labels(cycle, claim) if claim is not None else {},
        free=tuple(sorted({free_volume.name for binding in bindings for _, free_volume in binding.free})),
        makes_volume=bool(new_volumes),
        takes_capacity=any(new_volume.capacity is not None for new_volume in new_volumes),
        judged=bool(alone.mounts),
        foreign=claim is not None and volume.ephemeral and not is_owned(claim, mounts),
    )


def wanted_labels(cycle: Cycle, claim: Claim) -> Labels:
    """
    Return labels with which a node would reach the volume of a claim, or have one made; none if a node has them.

    They are those of the first term that only asks for values of labels.
    """
    storage, nodes = cycle.storage, cycle.snapshot.nodes
    volume, storage_class = storage.volumes.get(claim.volume_name), storage.classes.get(claim.class_name)
    terms = None
    if volume is not None:
        terms = volume.terms
    elif storage_class is not None and storage.waits(claim):
        terms = storage_class.allowed
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


def _places(cycle: Cycle, passing: NodeSet, key: str) -> tuple[str, tuple[str, ...]]:
    """
    Return a topology key, and the domains that make up these nodes; none where they are all nodes.

    The key is HOSTNAME where a domain has only some of its nodes among them, or a node has no domain.
    """
    nodes = cycle.snapshot.nodes
    if passing == nodes.all:
        return key, ()
    domains = {value: members for value, members in nodes.domains(key).items() if members & passing}
    are_whole = union(domains.values()) == passing
    if not are_whole:
        key, domains = HOSTNAME, dict.fromkeys(nodes.names(passing), 0)
    return key, tuple(sorted(domains))


class Pins:
    """Where the claims of a cluster pin Pods; volumes that the same nodes reach are looked at once."""

    def __init__(self, snapshot: Snapshot, features: Features) -> None:
        self._snapshot, self._features = snapshot, features
        self._reaches: dict[object, ClaimReach] = {}

    def of(self, namespace: str, names: Iterable[str]) -> dict[str, ClaimReach]:
        """Return those of the claims that are bound to a volume that some nodes do not reach, by name."""
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
        """Return the nodes that a bound claim leaves."""
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
    provisioned = [claim for claim in waiting if storage.classes[claim.class_name].makes_volumes]
    tracked = [driver for driver in storage.csi_drivers.values() if driver.tracks_capacity]
    unread = storage.unread & {CSI_DRIVERS, *([CAPACITIES] if tracked else [])}
    if provisioned and unread:
        yield VolumeGap(FREE_STORAGE, unread)
    limited = any(csi_node.is_limited for csi_node in storage.csi_nodes.values())
    counted = limited and cycle.features.counts_volume_attachments
    unread = storage.unread & {CSI_NODES, *([ATTACHMENTS] if counted else [])}
    if (unread and _may_be_attached(cycle)) or _has_limits_of_plugins(cycle):
        yield VolumeGap(VOLUME_LIMITS, unread)


def _may_be_attached(cycle: Cycle) -> bool:
    """Whether a CSI driver may attach a volume of the Pod to its node."""
    storage = cycle.storage
    if any(disk.kind in IN_TREE for disk in cycle.mounts.disks):
        return True
    for claim in cycle.claims:
        volume, storage_class = storage.volumes.get(claim.volume_name), storage.classes.get(claim.class_name)
        if volume is not None and (volume.driver or volume.in_tree is not None):
            return True
        if volume is None and storage_class is not None and storage_class.makes_volumes:
            return True
    return False


def _has_limits_of_plugins(cycle: Cycle) -> bool:
    """Whether a plugin that is not modelled counts disks of the Pod: up to 1.30, those of clouds."""
    return cycle.features.minor <= LAST_WITH_IN_TREE_LIMITS and cycle.storage.names_cloud_disk(cycle.mounts)
