"""What a cluster has for the volumes of Pods: claims, PersistentVolumes, StorageClasses, what CSI drivers report."""

from __future__ import annotations

from bisect import insort
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, TypeVar, cast

from evenkeel.scheduler.in_tree_volumes import BY_PROVISIONER, IN_TREE, handle, translated_terms
from evenkeel.scheduler.volumes import ClaimKey, Mounts, PodVolume
from webhook.kubernetes.labels import Labels
from webhook.spread.affinity import NodeTerm
from webhook.spread.selectors import EQUALS, IN, Selector

# The resources of which objects are read.
CLAIMS, PERSISTENT_VOLUMES, CLASSES = "persistentvolumeclaims", "persistentvolumes", "storageclasses"
CSI_NODES, CSI_DRIVERS = "csinodes", "csidrivers"
CAPACITIES, ATTACHMENTS = "csistoragecapacities", "volumeattachments"
FIRST_CONSUMER = "WaitForFirstConsumer"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
FILESYSTEM, ONE_POD = "Filesystem", "ReadWriteOncePod"
KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim."""

    namespace: str
    name: str
    uid: str = ""
    class_name: str = ""
    volume_name: str = ""
    bound: bool = False  # Its volume is its own for good.
    lost: bool = False
    deleting: bool = False
    selected_node: str | None = None  # Where its volume is being made.
    access_modes: tuple[str, ...] = ()
    requested: int | None = None  # Nanos of bytes, as read_quantity returns them.
    mode: str = FILESYSTEM
    selector: Selector | None = None
    attributes_class: str = ""
    controller: str = ""  # The uid of the object that controls it.
    expected: bool = False  # It does not exist yet: it is made with the Pod.

    @property
    def selector_labels(self) -> Labels:
        """The labels that a volume must have for its selector, as far as those name values."""
        requirements = self.selector.requirements if self.selector is not None else ()
        return {
            requirement.key: requirement.values[0]
            for requirement in requirements
            if requirement.operator in (EQUALS, IN)
        }


class ClaimRef(NamedTuple):
    """The claim for which a PersistentVolume is kept."""

    namespace: str
    name: str
    uid: str = ""  # "" for any claim of this name.

    def names(self, claim: Claim) -> bool:
        """
        Whether it is this claim.

        upstream: pv_helpers.go:IsVolumeBoundToClaim (v1.37)
        """
        return (self.namespace, self.name) == (claim.namespace, claim.name) and self.uid in ("", claim.uid)


class InTreeSource(NamedTuple):
    """The disk of a cloud that a PersistentVolume names."""

    kind: str  # A key of IN_TREE.
    identity: str
    azure_kind: str = ""  # The field `kind` of an Azure disk.


@dataclass(frozen=True, slots=True)
class PersistentVolume:
    """A PersistentVolume."""

    name: str
    labels: Labels
    class_name: str = ""
    class_in_spec: str = ""  # Without the older annotation, at which VolumeBinding does not look when it scores.
    capacity: int = 0  # In nanos.
    access_modes: tuple[str, ...] = ()
    mode: str = FILESYSTEM
    claim: ClaimRef | None = None
    available: bool = False
    deleting: bool = False
    attributes_class: str = ""
    terms: tuple[NodeTerm, ...] | None = None  # Of its node affinity: a node must meet one.  None: any node.
    driver: str = ""  # The driver and the handle of a CSI volume.
    handle: str = ""
    in_tree: InTreeSource | None = None

    def translated(self) -> PersistentVolume:
        """Return the volume as the CSI driver in place of its in-tree plugin sees it, or raise TranslationError."""
        if self.in_tree is None:
            return self
        kind, driver = self.in_tree.kind, IN_TREE[self.in_tree.kind].driver
        csi_handle = handle(kind, self.in_tree.identity, self.labels, self.in_tree.azure_kind)
        return replace(self, driver=driver, handle=csi_handle, terms=translated_terms(kind, self.terms, self.labels))


Use = tuple[str, ClaimKey | None]  # The class of PersistentVolumes, and the claim for which they are kept.


class PersistentVolumes(Mapping[str, PersistentVolume]):
    """PersistentVolumes by name, which do not change; `plus` makes another mapping that shares what is the same."""

    def __init__(self, by_name: Mapping[str, PersistentVolume]) -> None:
        self._by_name = by_name

    def __getitem__(self, name: str) -> PersistentVolume:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    @cached_property
    def _by_use(self) -> Mapping[Use, list[PersistentVolume]]:
        """All volumes, those of one use in the order in which they are tried: by capacity, then by name."""
        by_use: dict[Use, list[PersistentVolume]] = {}
        for volume in sorted(self._by_name.values(), key=_by_capacity):
            by_use.setdefault(_use(volume), []).append(volume)
        return by_use

    def candidates(self, claim: Claim) -> list[PersistentVolume]:
        """Return the volumes of a claim's class that are kept for it, and then those that are free, smallest first."""
        same_name = self._by_use.get((claim.class_name, (claim.namespace, claim.name)), ())
        kept_for_claim = [volume for volume in same_name if volume.claim is not None and volume.claim.names(claim)]
        return [*kept_for_claim, *self._by_use.get((claim.class_name, None), ())]

    def plus(self, volumes: Sequence[PersistentVolume]) -> PersistentVolumes:
        """Add volumes, in place of those with the same names."""
        more = {volume.name: volume for volume in volumes}
        by_use: dict[Use, list[PersistentVolume]] = {}
        for volume in (*(self._by_name[name] for name in more if name in self._by_name), *more.values()):
            use = _use(volume)
            others = by_use.get(use, self._by_use.get(use, ()))
            by_use[use] = [other for other in others if other.name not in more]
        for volume in more.values():
            insort(by_use[_use(volume)], volume, key=_by_capacity)
        new = PersistentVolumes(_plus(self._by_name, more))
        new._by_use = _plus(self._by_use, by_use)
        return new


def _use(volume: PersistentVolume) -> Use:
    return volume.class_name, None if volume.claim is None else volume.claim[:2]


def _by_capacity(volume: PersistentVolume) -> tuple[int, str]:
    return volume.capacity, volume.name


def _plus(values: Mapping[KeyT, ValueT], more: Mapping[KeyT, ValueT]) -> Mapping[KeyT, ValueT]:
    """
    Return both mappings as one, with `more` in place of what has the same keys.

    Only what was added since the first mapping is copied: a run adds to a large one thousands of times.
    """
    changed, *first = values.maps if isinstance(values, ChainMap) else ({}, values)
    return ChainMap({**changed, **more}, *cast("list[dict[KeyT, ValueT]]", first))


@dataclass(frozen=True, slots=True)
class StorageClass:
    """A StorageClass."""

    name: str
    provisioner: str
    binding_mode: str  # "" where it is absent.
    allowed: tuple[NodeTerm, ...] | None = None  # allowedTopologies: a node must meet one.  None: any node.
    default: bool = False  # New claims that name no class may have it.
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
    """A CSI driver of a node."""

    name: str
    limit: int | None = None  # The most volumes that it attaches there; None: any number.
    topology_keys: tuple[str, ...] = ()  # Nodes with equal values of these can use the same volumes.


class CSINode(NamedTuple):
    """The CSI drivers of a node."""

    drivers: tuple[NodeDriver, ...] = ()
    migrated: frozenset[str] = frozenset()  # The in-tree plugins whose volumes the drivers have taken over.

    @property
    def is_limited(self) -> bool:
        """Whether it takes only so many volumes of any driver."""
        return any(driver.limit is not None for driver in self.drivers)

    def limit(self, driver: str) -> int | None:
        """Return how many volumes a driver attaches; None if any number, or if the node lacks the driver."""
        return next((node_driver.limit for node_driver in self.drivers if node_driver.name == driver), None)

    def topology_keys(self, driver: str) -> tuple[str, ...] | None:
        """Return the topology keys of a driver; None if the node lacks the driver."""
        return next((node_driver.topology_keys for node_driver in self.drivers if node_driver.name == driver), None)


class CSIDriver(NamedTuple):
    """What a CSIDriver says."""

    tracks_capacity: bool = False  # spec.storageCapacity
    needed: bool = False  # spec.preventPodSchedulingIfMissing: Pods do not go to nodes that lack the driver.


class StorageCapacity(NamedTuple):
    """A CSIStorageCapacity, in nanos."""

    name: str
    class_name: str
    nodes: Selector | None  # Selects the nodes that have it; None: no node.
    capacity: int | None
    largest: int | None  # maximumVolumeSize

    @property
    def limit(self) -> int | None:
        """
        The size of the largest volume for which there is room; None: unknown.

        upstream: binder.go:volumeLimit (v1.37)
        """
        return self.capacity if self.largest is None else self.largest


class Attachment(NamedTuple):
    """A VolumeAttachment: a PersistentVolume that an attacher brings to a node."""

    node: str
    attacher: str
    volume: str


StorageObject = Claim | PersistentVolume | StorageClass | CSINode | CSIDriver | StorageCapacity | Attachment


@dataclass(frozen=True)
class Storage:
    """What a cluster has for the volumes of Pods."""

    claims: Mapping[ClaimKey, Claim] = field(default_factory=dict)
    volumes: PersistentVolumes = field(default_factory=lambda: PersistentVolumes({}))
    classes: Mapping[str, StorageClass] = field(default_factory=dict)
    csi_nodes: Mapping[str, CSINode] = field(default_factory=dict)
    csi_drivers: Mapping[str, CSIDriver] = field(default_factory=dict)
    capacities: tuple[StorageCapacity, ...] = ()
    attachments: Mapping[str, frozenset[tuple[str, str]]] = field(default_factory=dict)  # (attacher, volume) by node.
    unread: frozenset[str] = frozenset()  # The resources that may not be listed, or that the input lacks.

    @cached_property
    def default_class(self) -> str:
        """
        The class of new claims that name none: the newest that is marked so, "" if none is.

        upstream: util.go:GetDefaultClass (v1.37)
        """
        defaults = [storage_class for storage_class in self.classes.values() if storage_class.default]
        defaults.sort(key=lambda storage_class: storage_class.name)  # Of equally old ones the first name wins.
        return max(defaults, key=lambda storage_class: storage_class.created).name if defaults else ""

    def claim(self, namespace: str, name: str) -> Claim | None:
        return self.claims.get((namespace, name))

    def with_claims(self, claims: Iterable[Claim]) -> Storage:
        """Add claims, in place of those with the same names."""
        more = {(claim.namespace, claim.name): claim for claim in claims}
        return replace(self, claims=_plus(self.claims, more)) if more else self

    def with_volumes(self, volumes: Sequence[PersistentVolume]) -> Storage:
        """Add PersistentVolumes, in place of those with the same names."""
        return replace(self, volumes=self.volumes.plus(volumes)) if volumes else self

    def with_csi_nodes(self, like: Mapping[str, str]) -> Storage:
        """Give new nodes the CSI drivers of others: `like` has the name of the other by that of the new node."""
        new = {name: self.csi_nodes[other] for name, other in like.items() if other in self.csi_nodes}
        return replace(self, csi_nodes={**self.csi_nodes, **new}) if new else self

    def waits(self, claim: Claim) -> bool:
        """
        Whether a claim is bound when a Pod is placed that uses it; one that names its volume never is.

        upstream: binder.go:volumeBinder.GetPodVolumeClaims (v1.37)
        """
        storage_class = self.classes.get(claim.class_name)
        return not claim.bound and not claim.volume_name and storage_class is not None and storage_class.waits

    def names_cloud_disk(self, mounts: Mounts) -> bool:
        """Whether a Pod has the disk of a cloud that Kubernetes once attached itself, also by a claim."""
        if any(disk.kind in IN_TREE for disk in mounts.disks):
            return True
        claims = (self.claim(mounts.namespace, volume.claim) for volume in mounts.claims)
        return any(self._is_on_cloud_disk(claim) for claim in claims if claim is not None)

    def _is_on_cloud_disk(self, claim: Claim) -> bool:
        volume, storage_class = self.volumes.get(claim.volume_name), self.classes.get(claim.class_name)
        on_disk = volume is not None and volume.in_tree is not None
        return on_disk or (storage_class is not None and storage_class.provisioner in BY_PROVISIONER)

    def judged(self, mounts: Mounts) -> Mounts:
        """Drop the volumes that cannot be judged, since something that decides about them is unread."""
        return mounts._replace(volumes=tuple([volume for volume in mounts.volumes if self._is_judged(mounts, volume)]))

    def _is_judged(self, mounts: Mounts, volume: PodVolume) -> bool:
        claim = self.claim(mounts.namespace, volume.claim) if volume.disk is None else None
        if claim is not None and claim.expected and claim.class_name in self.classes and not self.waits(claim):
            return False  # It is bound before the Pod is placed, and nobody knows where.
        return not self.lacking(mounts, volume)

    def lacking(self, mounts: Mounts, volume: PodVolume) -> frozenset[str]:
        """Return the resources that are unread, and decide where a volume of a Pod can be used."""
        if volume.disk is not None:
            return frozenset()
        claim = self.claim(mounts.namespace, volume.claim)
        if claim is None or CLAIMS in self.unread:
            return self.unread & {CLAIMS}
        if claim.lost or claim.deleting or claim.volume_name in self.volumes:
            return frozenset()
        if not (claim.bound or self.waits(claim)) and (claim.volume_name or CLASSES not in self.unread):
            return frozenset()  # Whatever volumes there are, the Pod waits until the claim is bound.
        return self.unread & ({PERSISTENT_VOLUMES} if claim.volume_name else {PERSISTENT_VOLUMES, CLASSES})


NO_STORAGE = Storage()
