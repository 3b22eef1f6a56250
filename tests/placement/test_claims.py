"""The claims of a Pod: which nodes they leave, and what of them is not known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.placement.claims import Pins, VolumeGap, claims_of, volume_gaps
from evenkeel.placement.subject import attempt, of_new_pod
from evenkeel.scheduler.snapshot import from_objects
from tests.support.build import pod
from tests.support.claims import capacity, claim, csi_driver, csi_node, storage_class, two_zones, using, volume
from tests.support.placing import HOSTNAME, ZONE, attempted, node
from webhook.kubernetes.features import features

NODES = [node("a1", "a"), node("a2", "a"), node("b1", "b")]


def of_zone(name):
    return {"matchLabelExpressions": [{"key": ZONE, "values": [name]}]}


def reach(*objects, **spec):
    cycle = attempted(*NODES, storage_class(), *objects, **spec)
    (only,) = claims_of(cycle)
    return only, set(cycle.snapshot.nodes.names(only.nodes))


def test_a_bound_claim_pins_its_pod_to_the_zone_of_its_volume():
    found, nodes = reach(claim("data", "pv-1"), volume("pv-1", "a", of="data"), **using("data"))

    assert ({"a1", "a2"}, ZONE, ("a",), True) == (nodes, found.key, found.domains, found.pins)


def test_one_whose_volume_some_nodes_of_a_zone_reach_is_on_a_node():
    bound = volume("pv-1", "a2", key=HOSTNAME, of="data")

    found, nodes = reach(claim("data", "pv-1"), bound, **using("data"))

    assert ({"a2"}, HOSTNAME, ("a2",)) == (nodes, found.key, found.domains)


def test_one_whose_volume_every_node_reaches_pins_nothing():
    found, nodes = reach(claim("data", "pv-1"), volume("pv-1", of="data"), **using("data"))

    assert (3, (), False) == (len(nodes), found.domains, found.pins)


def test_one_that_waits_may_be_bound_to_free_volumes():
    found, nodes = reach(claim("data"), volume("pv-1", "a"), volume("pv-2", "b"), **using("data"))

    assert ({"a1", "a2", "b1"}, ("pv-1", "pv-2"), False) == (nodes, found.free, found.takes_capacity)


def test_one_that_waits_may_need_storage_that_a_driver_reports():
    tracked = csi_driver(storageCapacity=True)

    found, nodes = reach(claim("data"), tracked, capacity("c", "5Gi", "b"), **using("data"))

    assert ({"b1"}, ("b",), True) == (nodes, found.domains, found.takes_capacity)


@pytest.mark.parametrize(
    ("objects", "wanted"),
    [
        ((claim("data", "pv-1"), volume("pv-1", "d", of="data")), {ZONE: "d"}),
        ((claim("data", "pv-1"), volume("pv-1", "a", of="data")), {}),
        ((claim("data", "pv-1"), volume("pv-1", of="data")), {}),
        ((claim("data", of_class="far"), storage_class("far", allowedTopologies=[of_zone("d")])), {ZONE: "d"}),
        ((claim("data", of_class="far"), storage_class("far", allowedTopologies=[of_zone("d"), of_zone("a")])), {}),
    ],
)
def test_the_labels_that_a_claim_wants_and_no_node_has(objects, wanted):
    found, nodes = reach(*objects, **using("data"))

    assert wanted == found.wanted
    assert not (wanted and nodes)


def test_the_claim_of_another_pods_ephemeral_volume():
    ephemeral = {"volumes": [{"name": "data", "ephemeral": {"volumeClaimTemplate": {}}}]}
    found, nodes = reach(claim("web-1-data"), **ephemeral)

    assert (True, set()) == (found.foreign, nodes)


def test_one_that_is_not_there_leaves_no_node():
    found, nodes = reach(**using("data"))

    assert (set(), None, ()) == (nodes, found.claim, found.domains)


def gaps_of(*objects, unread=(), minor=37, **spec):
    cycle = attempted(*two_zones(), storage_class(), *objects, minor=minor, **spec)
    storage = replace(cycle.storage, unread=frozenset(unread))
    gaps = list(volume_gaps(replace(cycle, snapshot=replace(cycle.snapshot, storage=storage))))
    assert all(gap.unread <= set(unread) for gap in gaps)
    return [gap.what for gap in gaps]


@pytest.mark.parametrize(
    ("unread", "named"),
    [
        ((), []),
        (("persistentvolumeclaims",), ["volumes"]),
        (("persistentvolumes",), ["volumes"]),
        (("storageclasses",), ["volumes"]),
        (("csidrivers",), ["free storage"]),
        (("csistoragecapacities",), []),  # No driver reports its storage.
        (("csinodes",), ["limits of volumes"]),
        (("volumeattachments",), ["limits of volumes"]),
    ],
)
def test_what_may_not_be_read_is_named_where_a_claim_that_waits_depends_on_it(unread, named):
    assert named == gaps_of(claim("data"), unread=unread, **using("data"))


@pytest.mark.parametrize(
    ("unread", "named"),
    [
        (("storageclasses", "csidrivers", "csistoragecapacities"), []),
        (("persistentvolumes",), []),
        (("csinodes",), []),  # Its volume is not one of a CSI driver.
    ],
)
def test_a_bound_claim_whose_volume_is_there_depends_on_less(unread, named):
    bound = (claim("data", "pv-1"), volume("pv-1", "a", of="data"))

    assert named == gaps_of(*bound, unread=unread, **using("data"))


def test_a_bound_claim_whose_volume_may_not_be_read_is_not_judged():
    cycle = attempted(*NODES, claim("data", "pv-1"), **using("data"))
    storage = replace(cycle.storage, unread=frozenset({"persistentvolumes", "csidrivers"}))
    cycle = replace(cycle, snapshot=replace(cycle.snapshot, storage=storage))
    (found,) = claims_of(cycle)

    assert [VolumeGap("volumes", frozenset({"persistentvolumes"}))] == list(volume_gaps(cycle))
    assert (False, False, 3) == (found.judged, found.pins, found.nodes.bit_count())


def test_free_storage_is_named_where_a_driver_reports_it_and_that_may_not_be_read():
    reported = gaps_of(
        claim("data"), csi_driver(storageCapacity=True), unread=["csistoragecapacities"], **using("data")
    )

    assert ["free storage"] == reported


def test_attachments_matter_where_a_node_has_a_limit():
    wanted = (claim("data"), csi_node("a1"), csi_node("b1"))

    assert [] == gaps_of(*wanted, unread=["volumeattachments"], **using("data"))


def test_a_pod_without_volumes_depends_on_none_of_it():
    assert [] == gaps_of(unread=["persistentvolumeclaims", "csinodes"])


def test_up_to_1_30_disks_of_clouds_have_limits_that_are_not_computed():
    disk = {"volumes": [{"name": "d", "gcePersistentDisk": {"pdName": "disk"}}]}

    assert (["limits of volumes"], []) == (gaps_of(minor=30, **disk), gaps_of(minor=31, **disk))


def test_a_claim_that_is_made_and_bound_before_its_pod_is_placed_may_be_anywhere():
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "now"}}
    raw = pod(spec={"volumes": [{"name": "d", "ephemeral": {"volumeClaimTemplate": template}}]})
    known = features(37)
    snapshot = from_objects([*two_zones(), storage_class("now", mode="Immediate")], known)

    assert [VolumeGap("volumes")] == list(volume_gaps(attempt(of_new_pod(raw, {}), snapshot, known).cycle))


def test_claims_that_pin_pods_are_found_without_a_pod():
    known = features(37)
    there = [
        *(claim("data-1", "pv-1"), volume("pv-1", "a", of="data-1")),
        *(claim("data-2", "pv-2"), volume("pv-2", "a", of="data-2")),
        *(claim("all", "pv-3"), volume("pv-3", of="all"), claim("free"), csi_node("a1")),
    ]
    pins = Pins(from_objects([*NODES, storage_class(), *there], known), known)

    pinned = pins.of("shop", ["all", "data-1", "data-2", "free", "gone"])

    assert {"data-1": ("a",), "data-2": ("a",)} == {name: found.domains for name, found in pinned.items()}
    assert {} == Pins(from_objects(there, known), known).of("shop", ["data-1"])


@pytest.mark.parametrize("names", [["data-1", "data-2"], ["data-2", "data-1"]])
def test_claims_pin_pods_in_whatever_order_they_come(names):
    """Also one that is being deleted, for as long as it is there."""
    known = features(37)
    going, there = claim("data-1", "pv-1"), claim("data-2", "pv-2")
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    volumes = volume("pv-1", "a", of="data-1"), volume("pv-2", "a", of="data-2")
    pins = Pins(from_objects([*NODES, storage_class(), going, there, *volumes], known), known)

    assert {"data-1", "data-2"} == set(pins.of("shop", names))
