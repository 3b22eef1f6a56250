"""What a cluster has for the volumes of Pods: claims, PersistentVolumes, StorageClasses, what CSI drivers report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from webhook.objects.labels import Labels
from webhook.scheduler.affinity import NodeTerm
from webhook.scheduler.in_tree_volumes import IN_TREE, handle, translated_terms
from webhook.scheduler.selectors import EQUALS, IN, Selector
from webhook.scheduler.volumes import ClaimKey, Mounts, PodVolume

# The resources of which objects are read.
CLAIMS, PERSISTENT_VOLUMES, CLASSES = "persistentvolumeclaims", "persistentvolumes", "storageclasses"
CSI_NODES, CSI_DRIVERS = "csinodes", "csidrivers"
CAPACITIES, ATTACHMENTS = "csistoragecapacities", "volumeattachments"
STORAGE_RESOURCES = frozenset({CLAIMS, PERSISTENT_VOLUMES, CLASSES, CSI_NODES, CSI_DRIVERS, CAPACITIES, ATTACHMENTS})
IMMEDIATE, FIRST_CONSUMER = "Immediate", "WaitForFirstConsumer"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
FILESYSTEM, ONE_POD = "Filesystem", "ReadWriteOncePod"


@dataclass(frozen=True, slots=True)
class Claim:
    """
    A PersistentVolumeClaim.

    It is `bound` if its volume is its own for good.  `selected_node` is the node for which its volume is being made,
    None if there is none.  `requested` is in nanos, None if it requests no size.  `controller` is the uid of the object
    that controls it.  One that is `expected` is not there yet: what makes the Pod makes it.
    """

    namespace: str
    name: str
    uid: str = ""
    class_name: str = ""
    volume_name: str = ""
    bound: bool = False
    lost: bool = False
    deleting: bool = False
    selected_node: str | None = None
    access_modes: tuple[str, ...] = ()
    requested: int | None = None
    mode: str = FILESYSTEM
    selector: Selector | None = None
    attributes_class: str = ""
    controller: str = ""
    expected: bool = False

    @property
    def selector_labels(self) -> Labels:
        """The labels that a volume must have for its selector, as far as those name values."""
        requirements = self.selector.requirements if self.selector is not None else ()
        return {each.key: each.values[0] for each in requirements if each.operator in (EQUALS, IN)}


class ClaimRef(NamedTuple):
    """The claim for which a PersistentVolume is kept; `uid` is "" if it may be any of this name."""

    namespace: str
    name: str
    uid: str = ""

    def names(self, claim: Claim) -> bool:
        """
        Return whether it is this claim.

        upstream: pv_helpers.go:IsVolumeBoundToClaim (v1.37)
        """
        return (self.namespace, self.name) == (claim.namespace, claim.name) and self.uid in ("", claim.uid)


class InTreeSource(NamedTuple):
    """The disk of a PersistentVolume that names one of a cloud; `azure_kind` is that of an Azure disk."""

    kind: str
    identity: str
    azure_kind: str = ""


@dataclass(frozen=True, slots=True)
class PersistentVolume:
    """
    A PersistentVolume; `capacity` is in nanos.

    `terms` are those of its node affinity, one of which must hold; None if it can be used on every node.  `driver` and
    `handle` are those of a CSI volume, `in_tree` is the disk of a cloud.
    """

    name: str
    labels: Labels
    class_name: str = ""
    capacity: int = 0
    access_modes: tuple[str, ...] = ()
    mode: str = FILESYSTEM
    claim: ClaimRef | None = None
    available: bool = False
    deleting: bool = False
    attributes_class: str = ""
    terms: tuple[NodeTerm, ...] | None = None
    driver: str = ""
    handle: str = ""
    in_tree: InTreeSource | None = None

    def translated(self) -> PersistentVolume:
        """Return the volume as the CSI driver sees it that takes the place of its plugin; or raise TranslationError."""
        if self.in_tree is None:
            return self
        kind, driver = self.in_tree.kind, IN_TREE[self.in_tree.kind].driver
        named = handle(kind, self.in_tree.identity, self.labels, self.in_tree.azure_kind)
        return replace(self, driver=driver, handle=named, terms=translated_terms(kind, self.terms, self.labels))


@dataclass(frozen=True, slots=True)
class StorageClass:
    """
    A StorageClass; `allowed` are its allowedTopologies, one of which a node must meet, None if it may be any node.

    `binding_mode` is "" where it is absent.  One that is `default` is that of new claims without a class.
    """

    name: str
    provisioner: str
    binding_mode: str
    allowed: tuple[NodeTerm, ...] | None = None
    default: bool = False
    created: str = ""

    @property
    def makes_volumes(self) -> bool:
        """Whether a claim that finds no volume gets a new one."""
        return self.provisioner not in ("", NO_PROVISIONER)

    @property
    def waits(self) -> bool:
        """Whether its claims are bound when a Pod is placed that uses them."""
        return self.binding_mode == FIRST_CONSUMER


class NodeDriver(NamedTuple):
    """
    A CSI driver of a node: it attaches `limit` volumes there, None if any number.

    A volume that it makes can be used on the nodes with the same labels of `topology_keys`.
    """

    name: str
    limit: int | None = None
    topology_keys: tuple[str, ...] = ()


class CSINode(NamedTuple):
    """The CSI drivers of a node, and the plugins of Kubernetes whose volumes they have taken over."""

    drivers: tuple[NodeDriver, ...] = ()
    migrated: frozenset[str] = frozenset()

    @property
    def is_limited(self) -> bool:
        """Whether it takes only so many volumes of any driver."""
        return any(driver.limit is not None for driver in self.drivers)

    def limit(self, driver: str) -> int | None:
        """Return how many volumes a driver attaches; None if any number, or if it is not there."""
        return next((each.limit for each in self.drivers if each.name == driver), None)

    def topology_keys(self, driver: str) -> tuple[str, ...] | None:
        """Return the topology keys of a driver; None if it is not there."""
        return next((each.topology_keys for each in self.drivers if each.name == driver), None)


class CSIDriver(NamedTuple):
    """What a CSIDriver says: whether it `tracks_capacity`, and whether Pods wait where it is `needed` and missing."""

    tracks_capacity: bool = False
    needed: bool = False


class StorageCapacity(NamedTuple):
    """A CSIStorageCapacity, in nanos; `nodes` selects those that have it, None if none do."""

    name: str
    class_name: str
    nodes: Selector | None
    capacity: int | None
    largest: int | None

    @property
    def limit(self) -> int | None:
        """
        The size of the largest volume for which there is room, None if that is not known.

        upstream: binder.go:volumeLimit (v1.37)
        """
        return self.capacity if self.largest is None else self.largest


@dataclass(frozen=True)
class Storage:
    """
    All of that in a cluster; `attachments` are the attacher and the PersistentVolume of each, by the name of the node.

    `unread` are the resources that may not be listed, or that the input lacks.
    """

    claims: Mapping[ClaimKey, Claim] = field(default_factory=dict)
    volumes: Mapping[str, PersistentVolume] = field(default_factory=dict)
    classes: Mapping[str, StorageClass] = field(default_factory=dict)
    csi_nodes: Mapping[str, CSINode] = field(default_factory=dict)
    csi_drivers: Mapping[str, CSIDriver] = field(default_factory=dict)
    capacities: tuple[StorageCapacity, ...] = ()
    attachments: Mapping[str, frozenset[tuple[str, str]]] = field(default_factory=dict)
    unread: frozenset[str] = frozenset()

    @cached_property
    def _by_class(self) -> dict[str, dict[str, PersistentVolume]]:
        """The PersistentVolumes that are kept for no claim, by class and name; few of many."""
        of_class: dict[str, dict[str, PersistentVolume]] = {}
        for name, volume in self.volumes.items():
            if volume.claim is None:
                of_class.setdefault(volume.class_name, {})[name] = volume
        return of_class

    @cached_property
    def _by_claim(self) -> dict[tuple[str, ClaimKey], dict[str, PersistentVolume]]:
        """The other PersistentVolumes, by class, claim and name."""
        of_claim: dict[tuple[str, ClaimKey], dict[str, PersistentVolume]] = {}
        for name, volume in self.volumes.items():
            if volume.claim is not None:
                of_claim.setdefault((volume.class_name, volume.claim[:2]), {})[name] = volume
        return of_claim

    def volumes_for(self, claim: Claim) -> list[PersistentVolume]:
        """Return the PersistentVolumes of a claim's class that are kept for it or for no claim, by name."""
        free = self._by_class.get(claim.class_name, {}).values()
        kept = self._by_claim.get((claim.class_name, (claim.namespace, claim.name)), {}).values()
        of_claim = [volume for volume in kept if volume.claim is not None and volume.claim.names(claim)]
        return sorted((*free, *of_claim), key=lambda volume: volume.name)

    @cached_property
    def default_class(self) -> str:
        """
        The class of new claims that name none: the newest that is marked so, "" if none is.

        upstream: util.go:GetDefaultClass (v1.37)
        """
        marked = sorted((each for each in self.classes.values() if each.default), key=lambda each: each.name)
        return max(marked, key=lambda each: each.created).name if marked else ""

    def claim(self, namespace: str, name: str) -> Claim | None:
        """Return a claim, or None."""
        return self.claims.get((namespace, name))

    def with_claims(self, claims: Iterable[Claim]) -> Storage:
        """Return a copy with these claims in it, in place of those with the same names."""
        more = {(claim.namespace, claim.name): claim for claim in claims}
        return replace(self, claims={**self.claims, **more}) if more else self

    def with_volumes(self, volumes: Iterable[PersistentVolume]) -> Storage:
        """Return a copy with these PersistentVolumes in it, in place of those with the same names."""
        more = {volume.name: volume for volume in volumes}
        return replace(self, volumes={**self.volumes, **more}) if more else self

    def with_csi_nodes(self, like: Mapping[str, str]) -> Storage:
        """Return a copy in which nodes have the drivers of others, each by the name of the one that it is like."""
        new = {name: self.csi_nodes[other] for name, other in like.items() if other in self.csi_nodes}
        return replace(self, csi_nodes={**self.csi_nodes, **new}) if new else self

    def waits(self, claim: Claim) -> bool:
        """
        Return whether a claim is bound when a Pod is placed that uses it; one that names its volume never is.

        upstream: binder.go:volumeBinder.GetPodVolumeClaims (v1.37)
        """
        of_class = self.classes.get(claim.class_name)
        return not claim.bound and not claim.volume_name and of_class is not None and of_class.waits

    def judged(self, mounts: Mounts) -> Mounts:
        """Return the volumes of which enough is known: without claims of which something is unread that decides."""
        return mounts._replace(volumes=tuple([each for each in mounts.volumes if self._is_known(mounts, each)]))

    def _is_known(self, mounts: Mounts, volume: PodVolume) -> bool:
        if volume.disk is not None:
            return True
        if CLAIMS in self.unread:
            return False
        claim = self.claim(mounts.namespace, volume.claim)
        if claim is None:
            return True
        if claim.expected and not self.waits(claim):  # It is bound before the Pod is placed, and nobody knows where.
            return False
        return not self.unread & ({PERSISTENT_VOLUMES} if claim.volume_name else {PERSISTENT_VOLUMES, CLASSES})


NO_STORAGE = Storage()
