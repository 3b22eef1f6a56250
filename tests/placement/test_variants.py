"""Places in words, and by how many nodes they have."""

from __future__ import annotations

import pytest

from evenkeel.placement.variants import largest_first, place_name, refused
from evenkeel.scheduler.framework import find_feasible
from tests.support.placing import INFRA, ZONE, attempted, node


@pytest.mark.parametrize(("key", "words"), [(ZONE, "zone a"), ("rack", "rack a"), ("", "")])
def test_a_place_is_named_by_the_end_of_its_key(key, words):
    assert words == place_name(key, "a")


def test_domains_with_the_most_of_some_nodes_come_first_and_those_without_are_left_out():
    assert [("b", 0b1100), ("a", 0b0011)] == largest_first({"a": 0b0011, "b": 0b1100, "c": 0b10000}, 0b01101)


def test_nodes_that_a_plugin_refuses():
    feasibility = find_feasible(attempted(node("a1", taints=[INFRA]), node("b1", unschedulable=True), node("c1")))

    assert (0b01, 0b11) == (
        refused(feasibility, "TaintToleration"),
        refused(feasibility, "TaintToleration", "NodeUnschedulable"),
    )
