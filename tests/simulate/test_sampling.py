"""The order in which nodes are looked at, and how many of them."""

from __future__ import annotations

import pytest

from evenkeel.simulate.sampling import BETA_ZONE, first, in_tree_order, number_to_find, sample, zone_of
from webhook.kubernetes.names import REGION, ZONE
from webhook.spread.nodes import Node


def nodes(*zones):
    return [Node(f"n{i}", {ZONE: zone} if zone else {}) for i, zone in enumerate(zones)]


def test_one_node_of_each_zone_in_turn():
    assert ["n0", "n2", "n3", "n1", "n4", "n5"] == [
        node.name for node in in_tree_order(nodes("a", "a", "b", "", "b", "b"))
    ]


def test_a_zone_is_one_of_a_region_and_the_deprecated_label_comes_first():
    assert zone_of(Node("n", {ZONE: "a", BETA_ZONE: "b", REGION: "r"})) == ("r", "b")
    assert zone_of(Node("n", {})) == ("", "")


@pytest.mark.parametrize(
    ("number", "wanted"),
    [(0, 0), (99, 99), (100, 100), (500, 230), (1_000, 420), (5_000, 500), (6_000, 300), (15_000, 750)],
)
def test_the_search_ends_after_so_many_feasible_nodes(number, wanted):
    assert wanted == number_to_find(number)


@pytest.mark.parametrize("number", [1, 2, 5, 9])
def test_the_first_of_a_set(number):
    those = 0b1011_0110_1101_1001
    positions = [i for i in range(16) if those >> i & 1][:number]

    assert sum(1 << i for i in positions) == first(those, number)


def test_where_fewer_pass_than_are_wanted_all_were_looked_at_and_the_start_stays():
    assert (0b101, 7) == sample(0b101, 500, 7, 500)


def test_candidates_are_the_first_from_the_start_on_and_the_next_search_begins_after_the_last():
    everywhere = (1 << 500) - 1
    found = sample(everywhere, 500, 100, 500)

    assert (((1 << 230) - 1) << 100, 330) == found


def test_the_search_goes_round():
    everywhere = (1 << 500) - 1
    candidates, start = sample(everywhere, 500, 400, 500)

    assert (230, 130) == (candidates.bit_count(), start)
    assert candidates == (((1 << 100) - 1) << 400) | ((1 << 130) - 1)


def test_nodes_that_do_not_pass_are_gone_over():
    odd = sum(1 << i for i in range(1, 1_000, 2))
    candidates, start = sample(odd, 1_000, 10, 1_000)

    assert (420, 11, 850) == (candidates.bit_count(), (candidates & -candidates).bit_length() - 1, start)
