"""Pods that wait are placed one after the other, by priority, each where the ones before it leave room."""

from __future__ import annotations

from dataclasses import replace

from evenkeel.simulate.waiting import placed
from tests.support.build import pod
from tests.support.claims import claim, storage_class, using, volume
from tests.support.placing import HOSTNAME, INFRA, attempted, node, running, spread

MANY = 100


def run(cycles, most_placements=MANY):
    return placed(cycles, cycles[0].snapshot, most_placements)


def named(cycle, name, **fields):
    return replace(cycle, pod=replace(cycle.pod, name=name, **fields))


def test_nothing_waits():
    assert [] == placed([], attempted(node("n1")).snapshot, MANY)


def test_each_takes_room_from_the_next():
    cycle = attempted(node("n1", cpu="2"), node("n2", cpu="1"), cpu="1")

    assert [True, True, True, False] == run([cycle] * 4)


def test_those_of_a_higher_priority_come_first():
    cycle = attempted(node("n1", cpu="1"), cpu="1")

    assert [False, True] == run([named(cycle, "low"), named(cycle, "high", priority=5)])


def test_those_that_another_lets_in_come_by_their_priority_too():
    """Node n1 has room for two of the three that want the database nearby, which has the lowest priority."""
    selecting = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "db"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [selecting]}}
    cycle = attempted(node("n1", cpu="3"), cpu="1", affinity=affinity)
    high, low = named(cycle, "high", priority=9), named(cycle, "low", priority=5)
    db = attempted(node("n1", cpu="3"), cpu="1")

    assert [True, True, False, True] == run([high, high, low, named(db, "db", labels={"app": "db"})])


def test_each_counts_for_the_constraints_of_the_next():
    """One Pod is in zone a: of three, one goes to zone b, and one to each zone then needs the third that is tainted."""
    nodes = [node("a1", "a"), node("b1", "b"), node("c1", "c", taints=[INFRA])]
    cycle = attempted(*nodes, running("a1"), constraints=[spread()])

    assert [True, False, False] == run([cycle] * 3)


def test_a_volume_is_bound_once():
    there = [
        node("a1", "a"),
        storage_class("local", "kubernetes.io/no-provisioner"),
        volume("pv", "a", of_class="local"),
    ]
    claims = [claim(name, of_class="local") for name in ("one", "two")]
    one, two = (attempted(*there, *claims, **using(name)) for name in ("one", "two"))

    assert [True, False] == placed([one, two], one.snapshot, MANY)


def test_room_is_kept_for_a_pod_that_is_nominated_and_not_attempted():
    other = running("", "1")
    del other["spec"]["nodeName"]
    other = {**other, "status": {"nominatedNodeName": "n1"}}
    cycle = attempted(node("n1", cpu="1"), other, cpu="1")

    assert [False] == run([cycle])
    assert [True] == run([named(cycle, other["metadata"]["name"], nominated_node="n1")])


def test_a_host_port_is_kept_for_a_pod_that_is_nominated():
    serving = [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}]}]
    other = pod(name="other", spec={"containers": serving}) | {"status": {"nominatedNodeName": "n1"}}

    assert [False] == run([attempted(node("n1"), other, containers=serving)])
    assert [True] == run([attempted(node("n1"), other)])


def test_the_anti_affinity_of_those_that_are_placed_holds_for_the_next():
    selecting = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "db"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [selecting]}}
    web, db = attempted(node("n1"), affinity=affinity), named(attempted(node("n1")), "db", labels={"app": "db"})

    assert [True, False] == run([web, db])
    assert [True, True] == run([attempted(node("n1")), db])


def test_the_work_is_bounded():
    cycle = attempted(node("n1"))

    assert [True, True, False] == run([cycle] * 3, most_placements=2)
