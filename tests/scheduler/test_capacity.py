"""How many Pods more a cluster can take at most."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.scheduler.capacity import bound
from evenkeel.scheduler.framework import feasible_nodes
from evenkeel.scheduler.snapshot import from_objects
from tests.support.placement import filter_nodes
from tests.support.placing import HOSTNAME, INFRA, ZONE, attempted, node, running, spread


def bounded(cycle, wanted=9):
    return bound(cycle, wanted)


ZONES = [node("a1", "a"), node("b1", "b"), node("c1", "c")]


def test_a_cluster_with_room_takes_all():
    assert (9, None) == bounded(attempted(*ZONES, constraints=[spread()]))[:2]


def test_a_zone_with_room_for_one_holds_the_others_back():
    """One there makes the minimum 1: two each in the others."""
    found = bounded(attempted(node("a1", "a"), node("b1", "b"), node("c1", "c", pods="1"), constraints=[spread()]))

    assert (5, ZONE, "c", 1) == (found.number, found.constraint.topology_key, found.scarce, found.takes)


def test_a_zone_that_is_shut_and_counts():
    found = bounded(
        attempted(node("a1", "a"), node("b1", "b"), node("c1", "c", taints=[INFRA]), constraints=[spread()])
    )

    assert (2, "c", 0) == (found.number, found.scarce, found.takes)


def test_pods_that_are_there_count():
    found = bounded(attempted(*ZONES[:2], node("c1", "c", taints=[INFRA]), running("a1"), constraints=[spread()]))

    assert 1 == found.number


def test_too_few_domains_hold_the_minimum_at_0():
    found = bounded(attempted(*ZONES, constraints=[spread(minDomains=4)]))

    assert (3, "") == (found.number, found.scarce)


def test_an_empty_selector_counts_nothing_and_so_holds_nothing_back():
    zones = [node("a1", "a"), node("b1", "b", pods="1")]

    assert 9 == bounded(attempted(*zones, constraints=[spread(labelSelector={})])).number


def test_room_without_a_constraint_that_matters():
    assert (2, None) == bounded(attempted(node("a1", "a", cpu="2"), constraints=[], cpu="1"))[:2]


def test_constraints_that_together_allow_less_than_each():
    """The next Pod must run in zone b, but not on its only node."""
    nodes = [node("a1", "a"), node("a2", "a"), node("b1", "b")]
    found = bounded(attempted(*nodes, constraints=[spread(), spread(HOSTNAME)]))

    assert (5, [0, 1]) == (found.number, [constraint.index for constraint in found.together])
    full = bounded(attempted(*nodes[:2], node("b1", "b", pods="1"), constraints=[spread(), spread(HOSTNAME)]))
    assert (3, ()) == (full.number, full.together), "less by room"


def test_nodes_without_the_key_take_none():
    assert 0 == bounded(attempted(node("n1"), constraints=[spread("rack")])).number


def test_a_constraint_that_misses_the_pod_itself_bounds_nothing():
    misses = spread(labelSelector={"matchLabels": {"app": "db"}})

    assert 9 == bounded(attempted(*ZONES[:2], node("c1", "c", taints=[INFRA]), constraints=[misses])).number


SITUATIONS = st.tuples(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", "c", None]), st.booleans(), st.sampled_from(["1", "2", "9"])),
        min_size=1,
        max_size=5,
    ),
    st.lists(st.integers(0, 4), max_size=4),
    st.lists(
        st.builds(
            lambda key, skew, least: spread(key, maxSkew=skew, minDomains=least),
            st.sampled_from([ZONE, HOSTNAME]),
            st.integers(1, 3),
            st.integers(1, 4),
        ),
        max_size=2,
        unique_by=lambda one: one["topologyKey"],
    ),
    st.integers(1, 8),
)


@given(SITUATIONS, st.randoms(use_true_random=False))
def test_no_order_places_more(situation, random):
    cycle, objects, wanted = attempt_of(situation)

    assert filled(cycle, objects, wanted, lambda names, _: random.choice(names)) <= bounded(cycle, wanted).number


@given(SITUATIONS)
def test_with_one_constraint_it_is_reached(situation):
    """By the domain that has the fewest Pods first."""
    nodes, placed, constraints, wanted = situation
    cycle, objects, _ = attempt_of((nodes, placed, constraints[:1], wanted))

    assert bounded(cycle, wanted).number == filled(cycle, objects, wanted, emptiest)


def attempt_of(situation):
    nodes, placed, constraints, wanted = situation
    made = [
        node(f"n{i}", zone, taints=[INFRA] if shut else [], pods=pods) for i, (zone, shut, pods) in enumerate(nodes)
    ]
    objects = [*made, *(running(f"n{i % len(nodes)}") for i in placed)]
    return attempted(*objects, constraints=constraints), objects, wanted


def emptiest(names, cycle):
    if not cycle.constraints:
        return names[0]
    (counts,) = filter_nodes(cycle.pod, cycle.constraints, cycle.snapshot, cycle.features).domains
    key = counts.constraint.topology_key
    return min(names, key=lambda name: counts.match_num(cycle.snapshot.nodes.get(name).labels[key]))


def filled(cycle, objects, wanted, choose):
    """How many Pods are placed, one after another, each on a node of those that take it."""
    there = list(objects)
    for number in range(wanted):
        names = list(cycle.snapshot.nodes.names(feasible_nodes(cycle)))
        if not names:
            return number
        there.append(running(choose(names, cycle)))
        cycle = replace(cycle, snapshot=from_objects(there, cycle.features))
    return wanted


@pytest.mark.parametrize("wanted", [1, 200])
def test_the_bound_is_no_larger_than_what_is_wanted(wanted):
    assert bounded(attempted(*ZONES, constraints=[spread(HOSTNAME, maxSkew=300)]), wanted).number <= wanted


def test_nodes_that_anti_affinity_of_pods_closes_take_none():
    off = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": ZONE, **SELECTING}]}}
    there = running("a1")
    there["spec"]["affinity"] = off
    found = bounded(attempted(node("a1", "a", pods="9"), node("b1", "b", pods="3"), there))

    assert (3, 0b01) == (found.number, found.kept_off)


SELECTING = {"labelSelector": {"matchLabels": {"app": "web"}}}


def test_a_node_takes_one_pod_with_a_host_port():
    containers = [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}]}]
    there = running("a1")
    there["spec"]["containers"] = containers

    assert 1 == bounded(attempted(*ZONES[:2], there, containers=containers)).number


@pytest.mark.parametrize(("minor", "number"), [(35, 0), (36, 9)])
def test_a_device_that_a_device_class_may_give_out_lacks_nowhere(minor, number):
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"example.com/gpu": "1"}}}]

    assert number == bounded(attempted(*ZONES, minor=minor, containers=containers)).number
