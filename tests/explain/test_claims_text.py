"""The claims of a Pod in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.explain.claims_text import as_json, claim_remarks, claim_rows, gap_remarks, places, state
from evenkeel.placement.claims import VolumeGap, claims_of
from tests.support.claims import EBS, capacity, claim, csi_driver, storage_class, using, volume
from tests.support.placing import HOSTNAME, attempted, node

NODES = [node("a1", "a"), node("a2", "a"), node("b1", "b")]


def reach(*objects, **spec):
    return claims_of(attempted(*NODES, *objects, **(spec or using("data"))))


BOUND = (claim("data", "pv-1"), volume("pv-1", "a", of="data"))
LOCAL = storage_class("local", "kubernetes.io/no-provisioner")


@pytest.mark.parametrize(
    ("objects", "words", "nodes"),
    [
        (BOUND, "bound to pv-1", "2 of 3 nodes (zone a)"),
        ((claim("data", "pv-1"),), "bound to pv-1, which does not exist", "0 of 3 nodes"),
        ((claim("data", "pv-1", bound=False), storage_class()), "not bound yet to pv-1", "0 of 3 nodes"),
        ((), "does not exist", "0 of 3 nodes"),
        ((claim("data", "pv-1", phase="Lost"),), "has lost its volume pv-1", "0 of 3 nodes"),
        ((claim("data", of_class=None),), "not bound, without a class", "0 of 3 nodes"),
        ((claim("data"),), "not bound, of class fast, which does not exist", "0 of 3 nodes"),
        (
            (claim("data"), storage_class(mode="Immediate")),
            "not bound yet: class fast does not wait for the Pod; see the events of the claim",
            "0 of 3 nodes",
        ),
        ((claim("data"), storage_class()), "waits for its Pod; class fast creates its volume there", "any node"),
        (
            (claim("data", of_class="local"), LOCAL, volume("pv-1", "a", of_class="local")),
            "waits for its Pod, to be bound to pv-1",
            "2 of 3 nodes (zone a)",
        ),
        ((claim("data", of_class="local"), LOCAL), "waits for its Pod; no node has a volume for it", "0 of 3 nodes"),
    ],
)
def test_a_claim_in_words(objects, words, nodes):
    assert [("claim data", words, nodes)] == list(claim_rows(reach(*objects), len(NODES)))


@pytest.mark.parametrize(
    ("objects", "unread", "words"),
    [
        ((), "persistentvolumeclaims", "is not known"),
        ((claim("data", "pv-1"),), "persistentvolumes", "bound to pv-1"),
        ((claim("data"),), "storageclasses", "not bound, of class fast"),
        ((claim("data", of_class=None),), "storageclasses", "not bound"),
    ],
)
def test_a_claim_that_is_not_judged(objects, unread, words):
    cycle = attempted(*NODES, *objects, **using("data"))
    storage = replace(cycle.storage, unread=frozenset({unread}))
    claims = claims_of(replace(cycle, snapshot=replace(cycle.snapshot, storage=storage)))

    assert [("claim data", words, "not judged")] == list(claim_rows(claims, len(NODES)))


def test_for_lack_of_what_volumes_are_not_judged():
    gaps = [VolumeGap("volumes", frozenset({"b", "a"})), VolumeGap("volumes")]

    assert [
        "volumes: a and b cannot be listed, or are not in the file; "
        "use evenkeel dump, which also says if the cluster has none"
    ] == list(gap_remarks(gaps))


def test_a_claim_that_is_being_deleted():
    going = claim("data")
    (found,) = reach({**going, "metadata": {**going["metadata"], "deletionTimestamp": "t"}})

    assert "is being deleted" == state(found)


def test_a_place_is_a_zone_or_a_node():
    (of_zone,), (of_node,) = reach(*BOUND), reach(claim("data", "p"), volume("p", "a2", key=HOSTNAME, of="data"))

    assert ("zone a", "node a2") == (places(of_zone), places(of_node))


def test_what_the_api_does_not_show_is_said_once():
    free = [volume(f"pv-{number}", "a", of_class="local") for number in range(2)]
    wanted = (claim("data", of_class="local"), claim("logs", of_class="local"), LOCAL, *free)
    reported = (claim("data"), storage_class(), csi_driver(EBS, storageCapacity=True), capacity("c", "5Gi", "a"))

    assert ["these volumes" in line for line in claim_remarks(reach(*wanted, **using("data", "logs")))] == [True]
    assert ["this storage" in line for line in claim_remarks(reach(*reported))] == [True]
    assert [] == list(claim_remarks(reach(*BOUND)))


def test_a_claim_for_programs():
    (found,) = reach(*BOUND)

    assert {
        "name": "data",
        "class": "fast",
        "volume": "pv-1",
        "bound": True,
        "state": "bound to pv-1",
        "judged": True,
        "topologyKey": "topology.kubernetes.io/zone",
        "domains": ("a",),
        "nodes": ["a1", "a2"],
    } == as_json(found, ["a1", "a2"])
