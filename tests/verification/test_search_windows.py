"""Among many nodes kube-scheduler looks at some: a node may be the best of those, and not of all."""

from __future__ import annotations

import pytest

from tests.support.logs import computed, waiting
from tests.support.placing import node, running
from webhook.scheduler.snapshot import from_objects
from webhook.verification.search_windows import is_sampled, tree_order, wins_in_a_window

NUMBER = 202  # of nodes, of which kube-scheduler looks at the first 100 that pass
NAMES = [f"n{number:03}" for number in range(NUMBER)]


def cluster(busy, number=NUMBER):
    """Nodes on which nothing runs but so many CPUs on some, by their names."""
    return [*[node(name) for name in NAMES[:number]], *[running(name, cpu) for name, cpu in busy.items()]]


def sampled_in(cluster):
    decided = computed(cluster, waiting(), "n000")
    return is_sampled(decided.framework, decided.feasible)


@pytest.mark.parametrize(("number", "sampled"), [(99, False), (100, False), (101, True), (202, True)])
def test_from_101_nodes_that_pass_on_only_some_are_looked_at(number, sampled):
    assert sampled is sampled_in(cluster({}, number))


def test_where_fewer_pass_all_are_looked_at():
    busy = dict.fromkeys(NAMES[100:], "8")

    assert not sampled_in(cluster(busy))


def in_order(nodes, created):
    return tree_order(from_objects(nodes).nodes, created)


def test_nodes_are_in_the_order_of_their_creation_and_one_of_each_zone_in_turn():
    nodes = [node("n1", "a"), node("n2", "a"), node("n3", "b"), node("n4", "a"), node("n5", "b")]
    created = {"n4": ("1", 0), "n5": ("2", 0), "n3": ("2", 7), "n2": ("3", 0), "n1": ("3", 0)}

    assert ["n4", "n5", "n1", "n3", "n2"] == in_order(nodes, created)
    assert ["n3", "n1", "n5", "n4", "n2"] == in_order(nodes, {**created, "n3": ("0", 0), "n1": ("0", 9)})


def test_a_node_of_which_nothing_is_known_comes_first():
    assert ["n2", "n1"] == in_order([node("n1"), node("n2")], {"n1": ("1", 0)})


def wins(busy, name, order=NAMES):
    return wins_in_a_window(computed(cluster(busy), waiting(), name), name, order)


def test_a_node_wins_that_is_the_best_of_those_around_it_only():
    """All in the first half are free; of the other half the nodes are busy, and the last is less so."""
    busy = {**dict.fromkeys(NAMES[101:], "4"), NAMES[-1]: "2"}

    assert wins(busy, NAMES[-1])
    assert not wins({**busy, NAMES[-1]: "5"}, NAMES[-1])


@pytest.mark.parametrize(("busy_at_the_start", "is_best"), [(60, True), (40, False)])
def test_windows_go_on_from_the_last_node_with_the_first(busy_at_the_start, is_best):
    """So many nodes around the end of the order are busier than the last one, and all others are free."""
    busy = dict.fromkeys([*NAMES[:busy_at_the_start], *NAMES[150:]], "4")

    assert wins({**busy, NAMES[-1]: "3"}, NAMES[-1]) is is_best


@pytest.mark.parametrize(("free", "is_best"), [(1, True), (2, False)])
def test_nodes_that_do_not_pass_are_not_counted_in_a_window(free, is_best):
    """Every other node is full: of the 101 others a window leaves out only one."""
    passing = NAMES[1::2]
    busy = {**dict.fromkeys(NAMES[::2], "8"), **dict.fromkeys(passing[free:], "4")}

    assert wins({**busy, passing[67]: "3"}, passing[67]) is is_best
