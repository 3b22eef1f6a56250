"""What a cluster has for the volumes of Pods."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.scheduler.snapshot import from_objects
from evenkeel.scheduler.storage import Claim, ClaimRef, CSINode, NodeDriver, PersistentVolume
from evenkeel.scheduler.volumes import Mounts, PodVolume
from tests.support.claims import claim, csi_node, storage_class, volume
from webhook.kubernetes.features import LATEST
from webhook.spread.selectors import IN, Requirement, Selector


def storage(*objects):
    return from_objects(objects, LATEST).storage


@pytest.mark.parametrize(
    ("ref", "is_it"),
    [
        (ClaimRef("shop", "data"), True),
        (ClaimRef("shop", "data", "u1"), True),
        (ClaimRef("shop", "data", "u2"), False),
        (ClaimRef("shop", "logs"), False),
        (ClaimRef("bank", "data"), False),
    ],
)
def test_a_volume_is_kept_for_a_claim_of_this_name_and_uid(ref, is_it):
    assert is_it == ref.names(Claim("shop", "data", "u1"))


def test_the_default_class_is_the_newest_that_is_marked():
    def of(name, created, *, default=True):
        made = storage_class(name, default=default)
        return {**made, "metadata": {**made["metadata"], "creationTimestamp": created}}

    there = [of("old", "2025"), of("b", "2026"), of("a", "2026"), of("not", "2027", default=False)]

    assert ("a", "") == (storage(*there).default_class, storage(of("not", "2027", default=False)).default_class)


@pytest.mark.parametrize(
    ("there", "waits"),
    [
        (claim("data"), True),
        (claim("data", of_class="now"), False),
        (claim("data", of_class="gone"), False),
        (claim("data", of_class=None), False),
        (claim("data", "pv-1"), False),
        (claim("data", "pv-1", bound=False), False),
    ],
)
def test_which_claim_waits_for_its_pod(there, waits):
    has = storage(storage_class(), storage_class("now", mode="Immediate"), there)

    assert waits == has.waits(has.claims["shop", "data"])


@pytest.mark.parametrize(
    ("unread", "known"),
    [
        ((), ["bound", "free", "gone"]),
        (("persistentvolumeclaims",), []),
        (("persistentvolumes",), ["gone"]),
        (("storageclasses",), ["bound", "gone"]),
        (("csinodes",), ["bound", "free", "gone"]),
    ],
)
def test_claims_of_which_something_is_unread_are_not_judged(unread, known):
    has = storage(storage_class(), claim("bound", "pv-1"), claim("free"))
    mounts = Mounts("shop", tuple(PodVolume(name) for name in ("bound", "free", "gone")))

    assert known == [each.claim for each in replace(has, unread=frozenset(unread)).judged(mounts).claims]


@pytest.mark.parametrize(
    ("there", "unread"),
    [
        (claim("data", "pv-1", phase="Lost"), "persistentvolumes"),
        ({**claim("data"), "metadata": {**claim("data")["metadata"], "deletionTimestamp": "t"}}, "persistentvolumes"),
        (claim("data", of_class="now"), "persistentvolumes"),
        (claim("data", of_class="gone"), "persistentvolumes"),
        (claim("data", "pv-1", bound=False), "storageclasses"),
    ],
)
def test_a_claim_for_which_no_pod_is_placed_is_judged_all_the_same(there, unread):
    has = storage(storage_class(), storage_class("now", mode="Immediate"), there)
    mounts = Mounts("shop", (PodVolume("data"),))

    assert mounts == replace(has, unread=frozenset({unread})).judged(mounts)


def test_a_claim_to_come_that_is_bound_at_once_is_not_judged():
    has = storage(storage_class("now", mode="Immediate")).with_claims(
        [Claim("shop", "data", class_name="now", expected=True)]
    )

    assert not has.judged(Mounts("shop", (PodVolume("data"),)))


def test_one_whose_class_is_not_there_is_never_bound():
    has = storage(storage_class()).with_claims([Claim("shop", "data", class_name="gone", expected=True)])
    mounts = Mounts("shop", (PodVolume("data"),))

    assert mounts == has.judged(mounts)


def test_copies_with_more():
    has = storage(claim("data"), csi_node("n1", 5))
    more = has.with_claims([Claim("shop", "logs")]).with_volumes([PersistentVolume("pv-1", {})])

    assert ({("shop", "data"), ("shop", "logs")}, {"pv-1"}) == (more.claims.keys(), more.volumes.keys())
    assert has is has.with_claims([]) is has.with_csi_nodes({"new": "other"}) is has.with_volumes([])
    assert has.csi_nodes["n1"] == has.with_csi_nodes({"new": "n1"}).csi_nodes["new"]


def test_the_volumes_of_a_class_that_a_claim_may_get_in_the_order_of_their_names():
    there = [volume("pv-2"), volume("pv-1", of="data"), volume("pv-3", of_class="slow"), volume("pv-4", of="logs")]
    has = storage(*there, claim("data"), claim("new"))

    assert ["pv-1", "pv-2"] == [each.name for each in has.volumes.candidates(has.claims["shop", "data"])]
    assert ["pv-2"] == [each.name for each in has.volumes.candidates(has.claims["shop", "new"])]


def test_a_volume_that_takes_the_place_of_another_is_found_by_its_new_use_alone():
    has = storage(volume("pv-1"), volume("pv-2", size="2Gi")).volumes
    data, new = Claim("shop", "data", class_name="fast"), Claim("shop", "new", class_name="fast")
    taken = replace(has["pv-1"], claim=ClaimRef("shop", "data"))
    more = has.plus([taken]).plus([replace(has["pv-2"], name="pv-0", capacity=0)])

    assert (["pv-1", "pv-0", "pv-2"], ["pv-0", "pv-2"]) == tuple(
        [each.name for each in more.candidates(of)] for of in (data, new)
    )
    assert ({"pv-0", "pv-1", "pv-2"}, {"pv-1", "pv-2"}) == (set(more), set(has))
    assert ["pv-1", "pv-2"] == [each.name for each in has.candidates(new)]


def test_the_drivers_of_a_node():
    there = CSINode((NodeDriver("a", 5, ("zone",)), NodeDriver("b")))

    assert (5, None, None) == tuple(there.limit(name) for name in "abc")
    assert (("zone",), (), None) == tuple(there.topology_keys(name) for name in "abc")
    assert there.is_limited and not CSINode((NodeDriver("b"),)).is_limited


def test_the_labels_that_a_selector_asks_for():
    asked = Selector((Requirement("a", IN, ("x", "y")), Requirement("b", "Exists")))

    assert ({"a": "x"}, {}) == (Claim("", "", selector=asked).selector_labels, Claim("", "").selector_labels)
