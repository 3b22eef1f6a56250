"""From which lost nodes Pods are evicted."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from evenkeel.scheduler.snapshot import from_objects
from evenkeel.simulate.node_changes import after, first_ground
from evenkeel.simulate.step import parse_step
from evenkeel.simulate.zone_loss import evicted_from
from tests.support.simulated import nodes
from webhook.kubernetes.features import LATEST


def evicted(text, *lost):
    before = found = first_ground(from_objects(nodes(text), LATEST).nodes)
    for name in lost:
        before, found = found, after(found, parse_step(f"lose={name}"))
    return sorted(name for at_once in evicted_from(before, found, Random(1)) for name in at_once)


ZONE = "topology.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("text", "lost", "names"),
    [
        ("a=2 b=2", [f"{ZONE}=a"], ["a1", "a2"]),
        ("a=2 b=2", [f"{ZONE}=a", f"{ZONE}=b"], []),
        ("a=3 b=2", ["a1", "a2"], ["a2"]),
        ("a=5 b=2", ["a1", "a2", "a3"], []),
        ("a=6 b=2", ["a1", "a2", "a3"], ["a3"]),
        ("a=1", ["a1"], []),
    ],
)
def test_pods_are_evicted_unless_too_much_is_lost(text, lost, names):
    """All zones lost: nothing; more than half of a small zone, and not all of it: nothing there."""
    assert names == evicted(text, *lost)


def test_of_a_large_zone_nodes_are_evicted_however_many_are_lost():
    text = "a=60 b=1"
    lost = [f"a{i}" for i in range(1, 41)]

    assert ["a40"] == evicted(text, *lost)


@pytest.mark.parametrize(("number", "names"), [(50, []), (51, ["a30"])])
def test_a_zone_of_up_to_50_nodes_is_small(number, names):
    assert names == evicted(f"a={number} b=1", *(f"a{i}" for i in range(1, 31)))


def test_one_node_of_each_zone_is_tainted_at_a_time():
    before = first_ground(from_objects(nodes("a=3 b=1 c=1"), LATEST).nodes)
    lost = after(after(before, parse_step(f"lose={ZONE}=a")), parse_step(f"lose={ZONE}=b"))
    times = evicted_from(before, replace(lost, touched=("a1", "a2", "a3", "b1")), Random(1))

    assert [2, 1, 1] == [len(at_once) for at_once in times]
    assert [1, 1, 1] == [sum(name.startswith("a") for name in at_once) for at_once in times]
