"""The volumes that CSI drivers attach to each node."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.scheduler.attached_volumes import AttachedVolume, AttachedVolumes, Attacher, SchedulerError
from evenkeel.scheduler.storage import NO_STORAGE, Claim, CSINode
from evenkeel.scheduler.volumes import Disk, Mounts, PodVolume
from tests.support.claims import EBS, claim, csi_node, storage_class, using, volume
from tests.support.placing import attempted, node, running

PORTWORX = Disk("portworxVolume", "v")


def csi(name, number):
    return volume(name, of=f"data-{number}", csi={"driver": EBS, "volumeHandle": f"vol-{number}"})


def cluster(*objects, minor=37, limit=2):
    """A node that attaches two volumes, with claims on volumes of its driver and one that waits."""
    bound = [
        each for number in range(3) for each in (claim(f"data-{number}", f"pv-{number}"), csi(f"pv-{number}", number))
    ]
    there = [node("n1"), csi_node("n1", limit), storage_class(), *bound, claim("new")]
    return attempted(*there, *objects, minor=minor)


def mounting(*names):
    raw = running("n1")
    return {**raw, "spec": {**raw["spec"], **using(*names)}}


def mounts(*names):
    return Mounts("shop", tuple(PodVolume(name) for name in names))


def left(cycle):
    return {
        number: nodes for number, nodes in cycle.snapshot.attached_volumes(cycle.features).room(EBS).items() if nodes
    }


def attachment(volume, node="n1", attacher=EBS):
    spec = {"attacher": attacher, "nodeName": node, "source": {"persistentVolumeName": volume}}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": volume}, "spec": spec}


def test_a_volume_counts_once_however_many_pods_use_it():
    assert {1: 1} == left(cluster(mounting("data-0"), mounting("data-0")))
    assert {0: 1} == left(cluster(mounting("data-0"), mounting("data-1", "new"), limit=3))
    assert {-1: 1} == left(cluster(mounting("data-0", "data-1", "data-2")))


def test_attachments_of_no_pod_count_since_1_32():
    there = [mounting("data-0"), attachment("pv-0"), attachment("pv-1"), attachment("pv-9"), attachment("pv-2", "n2")]

    assert ({0: 1}, {1: 1}) == (left(cluster(*there)), left(cluster(*there, minor=31)))


def test_a_node_without_a_limit_is_in_no_room():
    assert {} == left(cluster(limit=None))


def test_which_nodes_do_not_take_volumes():
    attached = cluster(mounting("data-0", "data-1")).snapshot.attached_volumes(cluster().features)
    wanted = {name: tuple(attached.attacher.attached(mounts(name), None)) for name in ("data-0", "data-2", "new")}

    assert (0, 1, 1) == tuple(attached.refused(each) for each in wanted.values())  # The first is there already.
    assert 1 == attached.refused((*wanted["data-0"], *wanted["data-2"]))
    assert 0 == attached.refused((AttachedVolume("other", "x"),))


def test_pods_come_and_go_in_a_copy():
    cycle = cluster(mounting("data-0"))
    first = cycle.snapshot.attached_volumes(cycle.features)
    assert {1: 1} == left(cycle)
    second = first.copy()
    second.add(mounts("data-1"), "n1", 1)
    second.add(mounts("data-1"), "n1", 1)
    second.add(mounts("data-0"), "n1", -1)
    second.add(mounts("data-2"), "gone", 1)

    assert ({1: 1}, {1: 1}) == tuple(
        {key: each for key, each in of.room(EBS).items() if each} for of in (first, second)
    )
    second.add(mounts("data-1"), "n1", -2)
    assert 1 == second.room(EBS)[2]
    assert {1: 1} == left(cycle)


def test_a_pod_goes_with_the_volumes_with_which_it_came():
    """Its claim may have been bound in the meantime, or deleted."""
    cycle = cluster()
    attached = cycle.snapshot.attached_volumes(cycle.features).copy()
    attached.add(mounts("new"), "n1", 1)
    bound = replace(cycle.storage.claims["shop", "new"], bound=True, volume_name="pv-0")
    attached.attacher = attached.attacher._replace(storage=cycle.storage.with_claims([bound]))
    attached.add(mounts("new"), "n1", -1)

    assert {2: 1} == {key: nodes for key, nodes in attached.room(EBS).items() if nodes}


def test_a_claim_that_is_another_pods_is_an_error():
    own = Mounts("shop", (PodVolume("new", ephemeral=True),), "web", "u1")
    cycle = cluster()
    attached = AttachedVolumes(cycle.snapshot.nodes, {own: {"n1": 1}}, Attacher(cycle.storage, cycle.features))

    other = own._replace(pod="web-2", uid="u2")
    attached.add(other, "n1", 1)

    said = "PVC shop/new was not created for pod shop/{} (pod is not owner)"
    assert {"n1": {own: said.format("web"), other: said.format("web-2")}} == attached.errors
    attached.add(own, "n1", -1)
    assert {"n1": {other: said.format("web-2")}} == attached.errors
    attached.add(other, "n1", -1)
    assert {} == attached.errors
    with pytest.raises(SchedulerError):
        list(attached.attacher.attached(own, None))


def test_a_claim_that_is_expected_for_an_ephemeral_volume_is_its_pods():
    """It is not there yet, and the controller makes it for the Pod."""
    own = Mounts("shop", (PodVolume("made", ephemeral=True),), "web")
    cycle = cluster()
    storage = cycle.storage.with_claims([Claim("shop", "made", class_name="fast", expected=True)])

    found = list(Attacher(storage, cycle.features).attached(own, None))

    assert [AttachedVolume(EBS, "shop/made")] == found


@pytest.mark.parametrize(
    ("minor", "csi_node", "counts"),
    [
        (35, None, False),
        (35, CSINode(), False),
        (35, CSINode(migrated=frozenset(["kubernetes.io/portworx-volume"])), True),
        (36, CSINode(), True),
        (36, None, False),
    ],
)
def test_where_the_disks_of_portworx_count(minor, csi_node, counts):
    attacher = cluster(minor=minor).snapshot.attached_volumes(cluster(minor=minor).features).attacher
    of_disk = Mounts("shop", (PodVolume(disk=PORTWORX),))

    assert counts == bool(list(attacher.attached(of_disk, csi_node)))


def test_what_has_no_driver_counts_for_none():
    attacher = Attacher(NO_STORAGE, cluster().features)
    no_class = Attacher(NO_STORAGE.with_claims([Claim("shop", "data")]), cluster().features)
    odd = Mounts(
        "shop", (PodVolume(disk=Disk("awsElasticBlockStore", "aws://z/odd")), PodVolume(disk=Disk("rbd", "i")))
    )

    assert [] == list(attacher.attached(mounts("gone"), None)) == list(no_class.attached(mounts("data"), None))
    assert [] == list(attacher.attached(odd, CSINode()))
