"""The volumes of a Pod that decide on which nodes it can run: claims, and the disks that it names itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from webhook.kubernetes.fields import as_list, as_mapping
from webhook.kubernetes.reader import Reader

AWS_DISK, GCE_DISK, AZURE_DISK = "awsElasticBlockStore", "gcePersistentDisk", "azureDisk"
CINDER_DISK, PORTWORX_DISK, ISCSI_DISK, RBD_DISK = "cinder", "portworxVolume", "iscsi", "rbd"
CLAIM, EPHEMERAL, CSI = "persistentVolumeClaim", "ephemeral", "csi"
# The field that says which disk it is, by the kind of disk.
DISK_IDS = {
    AWS_DISK: "volumeID",
    GCE_DISK: "pdName",
    AZURE_DISK: "diskURI",
    CINDER_DISK: "volumeID",
    PORTWORX_DISK: "volumeID",
    ISCSI_DISK: "iqn",
    RBD_DISK: "image",
}
ClaimKey = tuple[str, str]  # namespace and name
DEFAULT_POOL = "rbd"
# The volumes that bind a Pod to nodes, or of which a node takes only so many.
VOLUME_KINDS = frozenset({*DISK_IDS, CLAIM, EPHEMERAL})
EXCLUSIVE_DISKS = (AWS_DISK, GCE_DISK, ISCSI_DISK, RBD_DISK)  # Two Pods of a node may conflict about such a disk.


class Disk(NamedTuple):
    """A disk that a Pod names without a claim."""

    kind: str
    identity: str
    read_only: bool = False
    monitors: tuple[str, ...] = ()  # These two are those of an RBD image of Ceph.
    pool: str = ""

    def conflicts(self, other: Disk) -> bool:
        """
        Whether two Pods of one node cannot have both.

        upstream: volume_restrictions.go:isVolumeConflict (v1.37)
        """
        if self.kind not in EXCLUSIVE_DISKS or self[:2] != other[:2] or self.pool != other.pool:
            return False
        if self.kind == RBD_DISK and not set(self.monitors) & set(other.monitors):
            return False
        return self.kind == AWS_DISK or not (self.read_only and other.read_only)


class PodVolume(NamedTuple):
    """A volume of a Pod: a claim or a disk."""

    claim: str = ""  # The name of the claim; "" for a disk.
    ephemeral: bool = False  # The claim is made for this Pod.
    disk: Disk | None = None


class Mounts(NamedTuple):
    """The volumes of a Pod."""

    namespace: str
    volumes: tuple[PodVolume, ...]
    pod: str = ""  # Name and uid of the Pod, only if a volume is ephemeral: so most Mounts of a workload are equal.
    uid: str = ""

    def __bool__(self) -> bool:
        return bool(self.volumes)

    @property
    def claims(self) -> list[PodVolume]:
        return [volume for volume in self.volumes if volume.disk is None]

    @property
    def shared_claims(self) -> list[ClaimKey]:
        """The claims that are not ephemeral: other Pods may use them, too."""
        return [(self.namespace, volume.claim) for volume in self.volumes if volume.claim and not volume.ephemeral]

    def shares(self, other: Mounts) -> bool:
        """Whether another Pod uses a claim or a disk that this one uses."""
        claims, disks = set(self.shared_claims), set(self.disks)
        return not claims.isdisjoint(other.shared_claims) or not disks.isdisjoint(other.disks)

    @property
    def disks(self) -> list[Disk]:
        return [volume.disk for volume in self.volumes if volume.disk is not None]


NO_MOUNTS = Mounts("", ())


def has_volumes(spec: Mapping[str, object]) -> bool:
    """Whether a raw Pod has any volume that matters here: most have only such as any node gives, like a ConfigMap."""
    return any(not VOLUME_KINDS.isdisjoint(as_mapping(volume)) for volume in as_list(spec.get("volumes")))


def read_mounts(reader: Reader, raw: Mapping[str, object]) -> Mounts:
    """
    Return the volumes of a raw Pod.

    upstream: ephemeral.go:VolumeClaimName (v1.37)
    """
    spec, metadata = as_mapping(raw.get("spec")), as_mapping(raw.get("metadata"))
    if not has_volumes(spec):
        return NO_MOUNTS
    namespace, name, uid = (
        reader.string(metadata.get(field), ("metadata", field)) or "" for field in ("namespace", "name", "uid")
    )
    volumes = tuple(_volumes(reader, spec, name))
    if any(volume.ephemeral for volume in volumes):
        return Mounts(namespace, volumes, name, uid)
    return Mounts(namespace, volumes)


def _volumes(reader: Reader, spec: Mapping[str, object], pod: str) -> Iterator[PodVolume]:
    for volume, path in reader.mappings(spec.get("volumes"), ("spec", "volumes")):
        if volume.get(CLAIM) is not None:
            claim = reader.mapping(volume[CLAIM], (*path, CLAIM))
            yield PodVolume(reader.string(claim.get("claimName"), path, CLAIM, "claimName") or "")
        elif volume.get(EPHEMERAL) is not None:
            yield PodVolume(f"{pod}-{reader.string(volume.get('name'), path, 'name') or ''}", ephemeral=True)
        else:
            for kind, id_field in DISK_IDS.items():
                if volume.get(kind) is not None:
                    disk = reader.mapping(volume[kind], (*path, kind))
                    identity = reader.string(disk.get(id_field), path, kind, id_field) or ""
                    pool = reader.string(disk.get("pool"), path, kind, "pool") or DEFAULT_POOL
                    yield PodVolume(
                        disk=Disk(
                            kind,
                            identity,
                            disk.get("readOnly") is True,
                            reader.strings(disk.get("monitors"), path, kind, "monitors"),
                            pool if kind == RBD_DISK else "",
                        )
                    )
