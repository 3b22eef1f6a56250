"""What would let in a Pod that its volumes keep off."""

from __future__ import annotations

from dataclasses import replace

from evenkeel.placement.remedies import NOW, remedies
from evenkeel.placement.volume_changes import in_cluster
from evenkeel.scheduler.framework import find_feasible
from tests.support.build import constraint, owned_by
from tests.support.claims import capacity, claim, csi_driver, csi_node, storage_class, using, volume
from tests.support.placing import attempted, node, running

NODES = [node("a1", "a"), node("b1", "b")]


def changes(*objects, **spec):
    cycle = attempted(*objects, **spec)
    return {
        remedy.change: set(remedy.nodes)
        for remedy in remedies(cycle, find_feasible(cycle))
        if remedy.where == NOW and "a node" not in remedy.change
    }


def mounting(on, *names, **fields):
    raw = running(on, **fields)
    return {**raw, "spec": {**raw["spec"], **using(*names)}}


def name_of(raw):
    return raw["metadata"]["name"]


def owned(raw):
    """The Pod as one that a controller makes again."""
    return {**raw, "metadata": {**raw["metadata"], **owned_by("StatefulSet/db")}}


def test_a_volume_in_each_place():
    local = storage_class("local", "kubernetes.io/no-provisioner")
    wanted = claim("data", of_class="local", size="10Gi")

    assert {
        "add a free PersistentVolume of 10Gi and class local in zone a": {"a1"},
        "add a free PersistentVolume of 10Gi and class local in zone b": {"b1"},
    } == changes(*NODES, local, wanted, volume("small", "a", of_class="local", size="1Gi"), **using("data"))


def test_as_many_volumes_as_there_are_claims():
    local = storage_class("local", "kubernetes.io/no-provisioner")
    wanted = (claim("data", of_class="local", size="2Gi"), claim("logs", of_class="local", size="1Gi"))
    both = "add a free PersistentVolume of 2Gi and class local and a free PersistentVolume of 1Gi and class local"

    assert {f"{both} in zone a": {"a1"}} == changes(node("a1", "a"), local, *wanted, **using("data", "logs"))


def test_free_storage_in_each_place():
    tracked = (csi_driver(storageCapacity=True), capacity("c", "1Gi", "a"))

    assert {
        "5Gi of free storage of class fast in zone a": {"a1"},
        "5Gi of free storage of class fast in zone b": {"b1"},
    } == changes(*NODES, storage_class(), *tracked, claim("data", size="5Gi"), **using("data"))


def test_a_claim_that_is_to_be_bound_before():
    waiting = claim("data", of_class="now")

    assert {
        "bind claim data to a volume in zone a": {"a1"},
        "bind claim data to a volume in zone b": {"b1"},
    } == changes(*NODES, storage_class("now", mode="Immediate"), waiting, **using("data"))


def test_a_claim_that_is_not_there():
    assert {"create claim data of class fast": {"a1", "b1"}} == changes(
        *NODES, storage_class(default=True), **using("data")
    )
    assert {} == changes(*NODES, storage_class(), **using("data"))  # No class is the default.


def test_a_claim_of_one_pod():
    single = {"accessModes": ["ReadWriteOncePod"]}
    bound = (claim("data", "pv-1", **single), volume("pv-1", of="data", **single))

    there = mounting("a1", "data")
    assert {f"delete Pod {name_of(there)}, which no controller creates again (on a1)": {"a1", "b1"}} == changes(
        *NODES, *bound, there, **using("data")
    )
    assert {} == changes(*NODES, *bound, owned(there), **using("data"))


def test_a_node_with_as_many_volumes_as_it_attaches():
    csi = {"csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"}}
    there = mounting("a1", "used")
    used = [claim("used", "pv-1"), volume("pv-1", of="used", **csi)]
    full = [node("a1", "a"), csi_node("a1", 1), storage_class(), *used, claim("data")]

    assert {f"delete Pod {name_of(there)}, which no controller creates again (on a1)": {"a1"}} == changes(
        *full, there, **using("data")
    )
    assert {} == changes(*full, owned(there), **using("data"))


def test_a_node_where_the_volume_is():
    bound = claim("data", "pv-1"), volume("pv-1", "d", of="data")
    cycle = attempted(*NODES, *bound, **using("data"))
    (only,) = remedies(cycle, find_feasible(cycle))

    assert ("add a node in zone d", ("a new node",)) == (only.change, only.nodes)


def test_a_node_with_the_label_of_a_driver():
    bound = claim("data", "pv-1"), volume("pv-1", "a", key="topology.ebs.csi.aws.com/zone", of="data")
    cycle = attempted(*NODES, *bound, **using("data"))

    assert ["add a node with topology.ebs.csi.aws.com/zone=a"] == [
        remedy.change for remedy in remedies(cycle, find_feasible(cycle))
    ]


def test_a_node_more_is_one_in_the_zone_of_the_volume():
    cordoned = [node("a1", "a", unschedulable=True), NODES[1]]
    cycle = attempted(*cordoned, claim("data", "pv-1"), volume("pv-1", "a", of="data"), **using("data"))

    assert ["uncordon a1", "add a node (such as b1) to zone a"] == [
        remedy.change for remedy in remedies(cycle, find_feasible(cycle))
    ]


def test_a_volume_is_described_as_far_as_it_is_unusual():
    local = storage_class("local", "kubernetes.io/no-provisioner")
    unusual = {"accessModes": ["ReadWriteMany"], "volumeMode": "Block", "selector": {"matchLabels": {"disk": "ssd"}}}
    wanted = claim("data", of_class="local", **unusual)
    asked = "1Gi and class local, ReadWriteMany, volumeMode Block and label disk=ssd"
    said = f"add a free PersistentVolume of {asked} in zone a"

    assert {said: {"a1"}} == changes(node("a1", "a"), local, wanted, **using("data"))


def test_places_are_not_named_by_a_key_that_no_node_has():
    local, wanted = storage_class("local", "kubernetes.io/no-provisioner"), claim("data", of_class="local")
    rack = constraint(topologyKey="rack", maxSkew=1)

    cycle = attempted(*NODES, local, wanted, constraints=[rack], **using("data"))
    made = [
        finder.keywords["place"] for finder in in_cluster(cycle, find_feasible(replace(cycle, constraints=())), "rack")
    ]

    assert ["zone a", "zone b"] == made


def test_a_driver_whose_volumes_are_too_small():
    tracked = csi_driver(storageCapacity=True), capacity("c", "50Gi", "a", maximumVolumeSize="8Gi")
    said = "volumes of 10Gi (class fast creates volumes of at most 8Gi) in zone a"

    assert {said: {"a1"}} == changes(
        node("a1", "a"), storage_class(), *tracked, claim("data", size="10Gi"), **using("data")
    )


def test_a_volume_that_is_being_made_for_a_node_that_is_gone():
    chosen = claim("data", annotations={"volume.kubernetes.io/selected-node": "gone"})
    said = "remove the annotation volume.kubernetes.io/selected-node from claim data"

    assert {"a1", "b1"} == changes(*NODES, storage_class(), chosen, **using("data"))[said]


def test_a_new_node_has_the_drivers_of_those_that_are_there():
    """A Pod waits where a driver is missing whose CSIDriver asks for that."""
    needed = csi_driver(preventPodSchedulingIfMissing=True)
    there = [node("a1", "a"), csi_node("a1"), storage_class(), needed, claim("data"), running("a1", "8")]
    cycle = attempted(*there, **using("data"))

    assert "add a node (such as a1) to zone a" in [remedy.change for remedy in remedies(cycle, find_feasible(cycle))]


def test_pods_with_disks_and_with_claims_on_a_node_without_room():
    """They are tried in the order of their names, whatever volumes they have."""
    disk = {"volumes": [{"name": "d", "awsElasticBlockStore": {"volumeID": "vol-1"}}]}
    there = [mounting("a1", ""), running("a1")]
    there[1]["spec"].update(disk)
    full = [node("a1", "a"), csi_node("a1", 0), storage_class(), *there, claim("data")]

    assert {} == changes(*full, **using("data"))
