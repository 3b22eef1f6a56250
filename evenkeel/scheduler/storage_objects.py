"""
Reads the objects that volumes depend on.

    raw objects ──StorageReader──> Storage: values by name
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from sys import intern
from typing import TypeVar, cast

from evenkeel.objects.quantities import read_quantity
from evenkeel.scheduler.in_tree_volumes import IN_TREE
from evenkeel.scheduler.storage import (
    ATTACHMENTS,
    CAPACITIES,
    CLAIMS,
    CLASSES,
    CSI_DRIVERS,
    CSI_NODES,
    FILESYSTEM,
    PERSISTENT_VOLUMES,
    Attachment,
    Claim,
    ClaimRef,
    CSIDriver,
    CSINode,
    InTreeSource,
    NodeDriver,
    PersistentVolume,
    PersistentVolumes,
    Storage,
    StorageCapacity,
    StorageClass,
    StorageObject,
)
from evenkeel.scheduler.volumes import AZURE_DISK, DISK_IDS, ClaimKey
from webhook.kubernetes.fields import FieldError, FieldPath, as_mapping, as_text, texts_at
from webhook.kubernetes.kinds import CORE, STORAGE_V1
from webhook.kubernetes.names import (
    BETA_STORAGE_CLASS,
    BIND_COMPLETED,
    DEFAULT_CLASS_ANNOTATIONS,
    MIGRATED_PLUGINS,
    SELECTED_NODE,
)
from webhook.kubernetes.reader import Reader
from webhook.spread.affinity import NodeTerm, read_volume_affinity
from webhook.spread.constraint import read_selector
from webhook.spread.selectors import IN, Requirement, as_selector

STORAGE_GROUP = STORAGE_V1.partition("/")[0]
# The resource of each kind that is read, by the group and the kind.
STORAGE_KINDS = {
    (CORE, "PersistentVolumeClaim"): CLAIMS,
    (CORE, "PersistentVolume"): PERSISTENT_VOLUMES,
    (STORAGE_GROUP, "StorageClass"): CLASSES,
    (STORAGE_GROUP, "CSINode"): CSI_NODES,
    (STORAGE_GROUP, "CSIDriver"): CSI_DRIVERS,
    (STORAGE_GROUP, "CSIStorageCapacity"): CAPACITIES,
    (STORAGE_GROUP, "VolumeAttachment"): ATTACHMENTS,
}
STORAGE_RESOURCES = frozenset(STORAGE_KINDS.values())
AVAILABLE, LOST_PHASE = "Available", "Lost"
ValueT = TypeVar("ValueT")


class StorageReader:
    """Collects the objects of a cluster that volumes depend on."""

    def __init__(self) -> None:
        self._claims: dict[ClaimKey, Claim] = {}
        self._volumes: dict[str, PersistentVolume] = {}
        self._classes: dict[str, StorageClass] = {}
        self._csi_nodes: dict[str, CSINode] = {}
        self._csi_drivers: dict[str, CSIDriver] = {}
        self._capacities: list[StorageCapacity] = []
        self._attachments: dict[str, set[tuple[str, str]]] = {}
        self._shared: dict[object, object] = {}  # Each value once, since many objects have equal ones.

    def add(self, raw: Mapping[str, object]) -> list[FieldError]:
        """Read one object, if it is of a kind that matters; return what has the wrong type."""
        reader = Reader()
        value = read_storage_object(reader, raw)
        (name,) = texts_at(raw, "metadata.name")
        if isinstance(value, Claim):
            self._claims[value.namespace, value.name] = value
        elif isinstance(value, PersistentVolume):
            self._volumes[name] = replace(value, terms=self._share(value.terms))
        elif isinstance(value, StorageClass):
            self._classes[name] = value
        elif isinstance(value, CSINode):
            self._csi_nodes[name] = self._share(value)
        elif isinstance(value, CSIDriver):
            self._csi_drivers[name] = value
        elif isinstance(value, StorageCapacity):
            self._capacities.append(value)
        elif isinstance(value, Attachment):
            self._attachments.setdefault(value.node, set()).add(value[1:])
        return reader.errors

    def _share(self, value: ValueT) -> ValueT:
        """Return the first value that is equal."""
        return cast(ValueT, self._shared.setdefault(value, value))

    def storage(self) -> Storage:
        return Storage(
            self._claims,
            PersistentVolumes(self._volumes),
            self._classes,
            self._csi_nodes,
            self._csi_drivers,
            tuple(sorted(self._capacities, key=lambda capacity: capacity.name)),
            {node: frozenset(attached) for node, attached in self._attachments.items()},
        )


def read_storage_object(reader: Reader, raw: Mapping[str, object]) -> StorageObject | None:
    """Read a raw object; None if its kind does not matter to volumes, or for an attachment without a volume."""
    resource = STORAGE_KINDS.get((as_text(raw.get("apiVersion")).partition("/")[0], as_text(raw.get("kind"))))
    if resource is None:
        return None
    metadata = reader.mapping(raw.get("metadata"), ("metadata",))
    name = reader.string(metadata.get("name"), ("metadata", "name")) or ""
    if resource == CLAIMS:
        return read_claim(reader, raw)
    if resource == PERSISTENT_VOLUMES:
        return _read_volume(reader, name, raw)
    if resource == CLASSES:
        return _read_class(reader, name, raw)
    if resource == CSI_NODES:
        return _read_csi_node(reader, raw)
    if resource == CAPACITIES:
        return _read_capacity(reader, name, raw)
    spec = as_mapping(raw.get("spec"))
    if resource == CSI_DRIVERS:
        return CSIDriver(spec.get("storageCapacity") is True, spec.get("preventPodSchedulingIfMissing") is True)
    return _read_attachment(reader, spec)


def _read_attachment(reader: Reader, spec: Mapping[str, object]) -> Attachment | None:
    node, attacher = (reader.string(spec.get(field), ("spec", field)) or "" for field in ("nodeName", "attacher"))
    volume = reader.string(as_mapping(spec.get("source")).get("persistentVolumeName"), ("spec", "source"))
    return Attachment(node, intern(attacher), volume) if attacher and volume else None


def read_claim(reader: Reader, raw: Mapping[str, object]) -> Claim:
    """Read a raw PersistentVolumeClaim, or a template of one."""
    metadata = reader.mapping(raw.get("metadata"), ("metadata",))
    annotations = reader.mapping(metadata.get("annotations"), ("metadata", "annotations"))
    spec, status = reader.mapping(raw.get("spec"), ("spec",)), reader.mapping(raw.get("status"), ("status",))
    owners = reader.mappings(metadata.get("ownerReferences"), ("metadata", "ownerReferences"))
    controllers = [owner.get("uid") for owner, _ in owners if owner.get("controller") is True]
    namespace, name, uid = (
        reader.string(metadata.get(field), ("metadata", field)) or "" for field in ("namespace", "name", "uid")
    )
    resources = reader.mapping(spec.get("resources"), ("spec", "resources"))
    requests_path: FieldPath = ("spec", "resources", "requests")
    size = reader.mapping(resources.get("requests"), requests_path).get("storage")
    selector = read_selector(reader, spec.get("selector"), ("spec", "selector"))
    volume = reader.string(spec.get("volumeName"), ("spec", "volumeName")) or ""
    selected = annotations.get(SELECTED_NODE)
    return Claim(
        namespace=intern(namespace),
        name=name,
        uid=uid,
        class_name=_class_name(reader, annotations, spec),
        volume_name=volume,
        bound=bool(volume) and BIND_COMPLETED in annotations,
        lost=status.get("phase") == LOST_PHASE,
        deleting=metadata.get("deletionTimestamp") is not None,
        selected_node=selected if isinstance(selected, str) else None,
        access_modes=_access_modes(reader, spec),
        requested=None if size is None else read_quantity(reader, size, requests_path, "storage"),
        mode=_mode(reader, spec),
        selector=None if selector is None else as_selector(selector),
        attributes_class=_attributes_class(reader, spec),
        controller=str(controllers[0] or "") if controllers else "",
    )


def names_class(raw: Mapping[str, object]) -> bool:
    """
    Whether a raw claim names a class, which may be "".

    upstream: helpers.go:PersistentVolumeClaimHasClass (v1.37)
    """
    annotations = as_mapping(as_mapping(raw.get("metadata")).get("annotations"))
    return BETA_STORAGE_CLASS in annotations or as_mapping(raw.get("spec")).get("storageClassName") is not None


def _class_name(reader: Reader, annotations: Mapping[str, object], spec: Mapping[str, object]) -> str:
    """
    Return the class of a claim or a PersistentVolume.

    upstream: helpers.go:GetPersistentVolumeClaimClass (v1.37)
    """
    if BETA_STORAGE_CLASS in annotations:
        path: FieldPath = ("metadata", "annotations")
        return intern(reader.string(annotations[BETA_STORAGE_CLASS], path, BETA_STORAGE_CLASS) or "")
    return intern(reader.string(spec.get("storageClassName"), ("spec", "storageClassName")) or "")


def _mode(reader: Reader, spec: Mapping[str, object]) -> str:
    return intern(reader.string(spec.get("volumeMode"), ("spec", "volumeMode")) or FILESYSTEM)


def _access_modes(reader: Reader, spec: Mapping[str, object]) -> tuple[str, ...]:
    return tuple([intern(mode) for mode in reader.strings(spec.get("accessModes"), ("spec", "accessModes"))])


def _attributes_class(reader: Reader, spec: Mapping[str, object]) -> str:
    return reader.string(spec.get("volumeAttributesClassName"), ("spec", "volumeAttributesClassName")) or ""


def _read_volume(reader: Reader, name: str, raw: Mapping[str, object]) -> PersistentVolume:
    metadata = as_mapping(raw.get("metadata"))
    annotations = reader.mapping(metadata.get("annotations"), ("metadata", "annotations"))
    spec, status = reader.mapping(raw.get("spec"), ("spec",)), as_mapping(raw.get("status"))
    capacity = reader.mapping(spec.get("capacity"), ("spec", "capacity"))
    affinity = reader.mapping(spec.get("nodeAffinity"), ("spec", "nodeAffinity"))
    required = affinity.get("required")
    csi = reader.mapping(spec.get("csi"), ("spec", "csi"))
    required_path: FieldPath = ("spec", "nodeAffinity", "required")
    return PersistentVolume(
        name=name,
        labels=reader.string_map(metadata.get("labels"), ("metadata", "labels")),
        class_name=_class_name(reader, annotations, spec),
        class_in_spec=_class_name(reader, {}, spec),
        capacity=read_quantity(reader, capacity.get("storage"), ("spec", "capacity"), "storage"),
        access_modes=_access_modes(reader, spec),
        mode=_mode(reader, spec),
        claim=_read_claim_ref(reader, spec.get("claimRef")),
        available=status.get("phase") == AVAILABLE,
        deleting=metadata.get("deletionTimestamp") is not None,
        attributes_class=_attributes_class(reader, spec),
        terms=None if required is None else read_volume_affinity(reader, required, required_path),
        driver=intern(reader.string(csi.get("driver"), ("spec", "csi", "driver")) or ""),
        handle=reader.string(csi.get("volumeHandle"), ("spec", "csi", "volumeHandle")) or "",
        in_tree=_read_in_tree(reader, spec),
    )


def _read_claim_ref(reader: Reader, raw: object) -> ClaimRef | None:
    if raw is None:
        return None
    path: FieldPath = ("spec", "claimRef")
    ref = reader.mapping(raw, path)
    return ClaimRef(*[reader.string(ref.get(name), path, name) or "" for name in ClaimRef._fields])


def _read_in_tree(reader: Reader, spec: Mapping[str, object]) -> InTreeSource | None:
    for kind in IN_TREE:
        if spec.get(kind) is not None:
            disk = reader.mapping(spec[kind], ("spec", kind))
            identity = reader.string(disk.get(DISK_IDS[kind]), ("spec", kind), DISK_IDS[kind]) or ""
            azure_kind = reader.string(disk.get("kind"), ("spec", kind), "kind") or "" if kind == AZURE_DISK else ""
            return InTreeSource(kind, identity, azure_kind)
    return None


def _read_class(reader: Reader, name: str, raw: Mapping[str, object]) -> StorageClass:
    metadata = as_mapping(raw.get("metadata"))
    annotations = as_mapping(metadata.get("annotations"))
    terms = list(reader.mappings(raw.get("allowedTopologies"), ("allowedTopologies",)))
    allowed = [
        NodeTerm(requirements, ())
        for term, term_path in terms
        if (requirements := _allowed(reader, term.get("matchLabelExpressions"), term_path))
    ]
    return StorageClass(
        name,
        reader.string(raw.get("provisioner"), ("provisioner",)) or "",
        reader.string(raw.get("volumeBindingMode"), ("volumeBindingMode",)) or "",
        tuple(allowed) if terms else None,
        any(annotations.get(annotation) == "true" for annotation in DEFAULT_CLASS_ANNOTATIONS),
        reader.string(metadata.get("creationTimestamp"), ("metadata", "creationTimestamp")) or "",
    )


def _allowed(reader: Reader, raw: object, path: FieldPath) -> tuple[Requirement, ...]:
    """
    Return the requirements of a term of allowedTopologies; none if it allows no node.

    upstream: helpers.go:MatchTopologySelectorTerms (v1.37)
    """
    requirements = [
        Requirement(
            reader.string(item.get("key"), item_path, "key") or "",
            IN,
            reader.strings(item.get("values"), item_path, "values"),
        )
        for item, item_path in reader.mappings(raw, (*path, "matchLabelExpressions"))
    ]
    return tuple(requirements) if all(requirement.values for requirement in requirements) else ()


def _read_csi_node(reader: Reader, raw: Mapping[str, object]) -> CSINode:
    annotations = as_mapping(as_mapping(raw.get("metadata")).get("annotations"))
    migrated = reader.string(annotations.get(MIGRATED_PLUGINS), ("metadata", "annotations"), MIGRATED_PLUGINS)
    drivers = [
        NodeDriver(
            intern(reader.string(driver.get("name"), path, "name") or ""),
            reader.integer(as_mapping(driver.get("allocatable")).get("count"), path, "allocatable", "count"),
            reader.strings(driver.get("topologyKeys"), path, "topologyKeys"),
        )
        for driver, path in reader.mappings(as_mapping(raw.get("spec")).get("drivers"), ("spec", "drivers"))
    ]
    return CSINode(tuple(drivers), frozenset(migrated.split(",")) if migrated else frozenset())


def _read_capacity(reader: Reader, name: str, raw: Mapping[str, object]) -> StorageCapacity:
    selector = read_selector(reader, raw.get("nodeTopology"), ("nodeTopology",))
    capacity, largest = (
        None if raw.get(field) is None else read_quantity(reader, raw[field], (field,))
        for field in ("capacity", "maximumVolumeSize")
    )
    return StorageCapacity(
        f"{as_mapping(raw.get('metadata')).get('namespace')}/{name}",
        reader.string(raw.get("storageClassName"), ("storageClassName",)) or "",
        None if selector is None else as_selector(selector),
        capacity,
        largest,
    )
