"""The volumes of a Pod."""

from __future__ import annotations

import pytest

from evenkeel.scheduler.volumes import NO_MOUNTS, Disk, Mounts, PodVolume, has_volumes, read_mounts
from tests.support.build import pod
from webhook.kubernetes.reader import Reader

CLAIM = {"name": "d", "persistentVolumeClaim": {"claimName": "data"}}
OWN = {"name": "d", "ephemeral": {"volumeClaimTemplate": {}}}


def read(*volumes):
    return read_mounts(Reader(), pod(uid="u1", spec={"volumes": list(volumes)}))


def test_claims_and_disks_are_volumes_that_matter():
    disk = {"name": "g", "gcePersistentDisk": {"pdName": "disk", "readOnly": True}}
    found = read(CLAIM, {"name": "x", "emptyDir": {}}, disk)

    assert Mounts("shop", (PodVolume("data"), PodVolume(disk=Disk("gcePersistentDisk", "disk", True)))) == found
    assert ([PodVolume("data")], [Disk("gcePersistentDisk", "disk", True)]) == (found.claims, found.disks)
    assert [("shop", "data")] == found.shared_claims


def test_the_claim_of_an_ephemeral_volume_has_the_name_of_the_pod_and_is_its_own():
    found = read(OWN)

    assert Mounts("shop", (PodVolume("web-1-d", ephemeral=True),), "web-1", "u1") == found
    assert [] == found.shared_claims


@pytest.mark.parametrize("volumes", [[], [{"name": "x", "emptyDir": {}}], [None], "x", None])
def test_a_pod_without_such_volumes_has_none(volumes):
    spec = {"volumes": volumes}

    assert NO_MOUNTS == read_mounts(Reader(), pod(spec=spec))
    assert not has_volumes(spec) and not NO_MOUNTS


def test_an_image_of_ceph_has_monitors_and_a_pool():
    (found,) = read({"name": "r", "rbd": {"monitors": ["m1", "m2"], "image": "i"}}).disks

    assert Disk("rbd", "i", False, ("m1", "m2"), "rbd") == found


def rbd(*monitors, pool="rbd", read_only=False):
    return Disk("rbd", "i", read_only, monitors, pool)


@pytest.mark.parametrize(
    ("disk", "other", "conflict"),
    [
        (Disk("gcePersistentDisk", "d"), Disk("gcePersistentDisk", "d", True), True),
        (Disk("gcePersistentDisk", "d", True), Disk("gcePersistentDisk", "d", True), False),
        (Disk("gcePersistentDisk", "d"), Disk("gcePersistentDisk", "e"), False),
        (Disk("gcePersistentDisk", "d"), Disk("awsElasticBlockStore", "d"), False),
        (Disk("awsElasticBlockStore", "d", True), Disk("awsElasticBlockStore", "d", True), True),
        (Disk("iscsi", "i"), Disk("iscsi", "i"), True),
        (rbd("m1", "m2"), rbd("m2"), True),
        (rbd("m1"), rbd("m2"), False),
        (rbd("m1"), rbd("m1", pool="other"), False),
        (rbd("m1", read_only=True), rbd("m1", read_only=True), False),
        (Disk("azureDisk", "d"), Disk("azureDisk", "d"), False),
    ],
)
def test_which_disks_two_pods_of_a_node_cannot_both_have(disk, other, conflict):
    assert conflict == disk.conflicts(other) == other.conflicts(disk)


def test_a_wrong_type_is_an_error_with_its_path():
    reader = Reader()
    read_mounts(reader, pod(spec={"volumes": [{"persistentVolumeClaim": {"claimName": 5}}]}))

    assert [("spec", "volumes", 0, "persistentVolumeClaim", "claimName")] == [error.path for error in reader.errors]
