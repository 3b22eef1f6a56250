"""How many Pods a ReplicaSet makes, and which of them go."""

from __future__ import annotations

import pytest

from evenkeel.simulate.pod import InitialPod, Pod
from evenkeel.simulate.replica_set import ReplicaSet, sync, to_delete
from tests.support.simulated import NOW, maker, nodes, state


def pods(*each):
    """Pods a, b, … in the order of their luck; fields by their differences."""
    found = []
    for i, fields in enumerate(each):
        given = {"ready_at": NOW - 3_600, **fields}
        node = given.pop("node", f"n{i}")
        found.append(Pod(InitialPod("shop", (), node, **given), i, i / 10, 0))
    return found


def gone(each, number, beside=()):
    return ["abcdef"[pod.serial] for pod in to_delete(each, [*each, *beside], number, NOW)]


@pytest.mark.parametrize(
    ("each", "first"),
    [
        ([{}, {"node": ""}], "b"),
        ([{}, {"ready": False}], "b"),
        ([{}, {"cost": -1}], "b"),
        ([{}, {"node": "n9"}, {"node": "n9"}], "b"),
        ([{}, {"ready_at": NOW - 1}], "b"),
        ([{"ready_at": NOW - 3_600}, {"ready_at": NOW - 3_601}], "a"),
        ([{}, {"restarts": 1}], "b"),
        ([{"cost": 5}, {"cost": 5, "node": "n0", "ready": False}], "b"),
        ([{"cost": -5}, {"node": "n9"}, {"node": "n9"}], "a"),
        ([{"cost": -5}, {"ready": False}], "b"),
        ([{"node": "n9", "ready_at": NOW - 9_999_999}, {"node": "n9"}, {"ready_at": NOW - 1}], "b"),
    ],
)
def test_the_pod_that_goes_first(each, first):
    assert [first] == gone(pods(*each), 1)


def test_times_within_one_power_of_two_are_alike_and_the_uid_decides():
    assert ["a"] == gone(pods({"ready_at": NOW - 3_000}, {"ready_at": NOW - 2_500}), 1)


def test_where_a_time_is_not_known_the_uid_decides():
    assert ["a"] == gone(pods({"ready_at": None}, {"ready_at": NOW - 1}), 1)
    assert ["a"] == gone(pods({}, {"ready_at": None}), 1)


def test_pods_of_all_sets_of_the_deployment_crowd_a_node():
    each = pods({}, {})

    assert ["b"] == gone(each, 1, [Pod(InitialPod("shop", (), "n1"), 9, 0.9, 1)])


def test_sync_makes_what_is_missing_and_deletes_what_is_too_much():
    run = state(*nodes("a=1 b=1 c=1"))
    of = ReplicaSet(maker(), 0, 3)

    assert sync(of, [of], run)
    assert (3, 3, 0) == (len(of.pods), len(run.waiting), of.available)
    assert not sync(of, [of], run)
    while run.schedule_next():
        pass
    assert 3 == of.available
    of.desired = 1
    assert sync(of, [of], run)
    assert (1, 3, 2) == (len(of.active), len(of.pods), len(run.terminating))


def test_pods_that_are_being_deleted_crowd_no_node_and_are_not_deleted_again():
    run = state(*nodes("a=1 b=1"))
    places = [("a1", True), ("b1", True), ("b1", False)]
    first, second, going = (run.pod(InitialPod("shop", (), node, spreads=spreads)) for node, spreads in places)
    first.luck, second.luck = 0.1, 0.9
    of, old = ReplicaSet(maker(), 1, 1, [first, second]), ReplicaSet(maker(), 0, 0, [going])
    run.terminating[going] = None

    assert [False, True] == [sync(one, [old, of], run) for one in (old, of)]
    assert [second] == of.active


def test_a_pod_that_waits_goes_first_and_is_gone_at_once():
    run = state(*nodes("a=1", pods="1"))
    of = ReplicaSet(maker(), 0, 2)
    sync(of, [of], run)
    run.schedule_next()
    of.desired = 1
    sync(of, [of], run)

    assert ["a1"] == [pod.node for pod in of.pods]
    assert [] == [*run.waiting]
