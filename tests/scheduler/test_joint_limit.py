"""How many more Pods several hard constraints let in together, in whatever order they come."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.scheduler import joint_limit as module
from evenkeel.scheduler.framework import feasible_nodes
from evenkeel.scheduler.joint_limit import joint_limit, never_all
from evenkeel.scheduler.spread_filter import HardConstraints
from tests.support.placing import HOSTNAME, INFRA, ZONE, attempted, node, running, spread
from webhook.spread.selectors import selecting

BOTH = [spread(), spread(HOSTNAME)]


def zones(**numbers):
    """So many nodes in each zone."""
    return [node(f"{zone}{i}", zone) for zone, number in numbers.items() for i in range(number)]


def limit_of(cycle, wanted=99):
    hard = HardConstraints.of(cycle)
    return joint_limit(hard.counts, hard.nodes, cycle.reach.usable & hard.labelled, wanted)


def limited(*objects, constraints, wanted=99, **spec):
    found = limit_of(attempted(*objects, constraints=constraints, **spec), wanted)
    return found and (found.number, [constraint.index for constraint in found.constraints])


@pytest.mark.parametrize(
    ("nodes", "constraints", "limit"),
    [
        (zones(a=2, b=1), BOTH, (5, [0, 1])),
        (zones(a=1, b=1, c=1), BOTH, None),
        (zones(a=2, b=2), BOTH, None),
        (zones(a=5, b=2, c=2), BOTH, (7, [0, 1])),
        (zones(a=2, b=1), [spread(maxSkew=2), spread(HOSTNAME)], (8, [0, 1])),
        (zones(a=2, b=1), [spread(), spread(HOSTNAME, maxSkew=2)], (9, [0, 1])),
        (zones(a=2, b=1), [spread(HOSTNAME), spread()], (5, [0, 1])),
        (zones(a=2, b=1), [spread(), spread(HOSTNAME, whenUnsatisfiable="ScheduleAnyway")], None),
        (zones(a=2, b=1), [spread(), spread(HOSTNAME, labelSelector={"matchLabels": {"app": "x"}})], None),
        (zones(a=2, b=1), [spread(), spread(HOSTNAME, labelSelector={})], None),
        ([*zones(a=2, b=1), node("c0", "c", taints=[INFRA])], [spread(nodeTaintsPolicy="Honor"), BOTH[1]], None),
    ],
    ids=[
        "the only node of a zone has one Pod more than another",
        "as many nodes in each zone",
        "two in each",
        "three zones",
        "a larger maxSkew of zones",
        "a larger maxSkew of nodes",
        "in another order",
        "a soft one",
        "one that does not count the Pod",
        "one that counts nothing",
        "a node that is closed holds nodes at one Pod each by itself",
    ],
)
def test_zones_and_nodes(nodes, constraints, limit):
    assert limit == limited(*nodes, constraints=constraints)


def test_no_more_are_looked_for_than_wanted():
    assert limited(*zones(a=2, b=1), constraints=BOTH, wanted=5) is None
    assert (5, [0, 1]) == limited(*zones(a=2, b=1), constraints=BOTH, wanted=6)


def test_pods_that_run_count():
    there = [running("a0"), running("b0"), running("a1")]

    assert (2, [0, 1]) == limited(*zones(a=2, b=1), *there, constraints=BOTH)


def test_any_keys_and_the_two_of_three_that_contradict_each_other():
    racks = [node(f"n{i}", "a", labels={"rack": rack}) for i, rack in enumerate(["r1", "r1", "r2"])]

    assert (5, [1, 2]) == limited(*racks, constraints=[spread(), spread("rack"), spread(HOSTNAME)])


def test_all_three_are_named_where_no_two_are_enough():
    """Each pair lets in more than the three together."""
    placed = [("z1", "r1", "s1"), ("z1", "r2", "s2"), ("z2", "r1", "s2"), ("z2", "r2", "s1"), ("z2", "r2", "s2")]
    nodes = [node(f"n{i}", z, labels={"rack": r, "side": s}) for i, (z, r, s) in enumerate(placed[:3])]
    constraints = [spread(), spread("rack"), spread("side")]
    found = limited(*nodes, constraints=constraints)

    pairs = [limited(*nodes, constraints=[constraints[i], constraints[j]]) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert [None] * 3 == pairs
    assert [0, 1, 2] == found[1]


def test_affinity_leaves_nodes_out():
    disks = [node("a0", "a", labels={"disk": "x"}), node("a1", "a", labels={"disk": "x"}), node("a2", "a")]
    more = [node("b0", "b", labels={"disk": "x"}), node("b1", "b")]

    assert (5, [0, 1]) == limited(*disks, *more, constraints=BOTH, nodeSelector={"disk": "x"})


def test_never_is_said_wherever_own_pods_run_and_not_where_others_count():
    cycle = attempted(*zones(a=2, b=1), running("b0"), running("b0"), constraints=BOTH)

    assert 5 == never_all(cycle, selecting({"app": "web"}), 7).number
    assert 3 == limit_of(cycle).number, "besides the two"
    assert never_all(cycle, selecting({"app": "x"}), 7) is None, "others may go"


def closed_for_now(key, **spec):
    return {"taints": [{"key": key, "effect": "NoSchedule"}], **spec}


@pytest.mark.parametrize(
    ("closed", "number"),
    [
        (closed_for_now("node.kubernetes.io/not-ready"), None),
        (closed_for_now("node.cilium.io/agent-not-ready"), None),
        (closed_for_now("ToBeDeletedByClusterAutoscaler"), None),
        (closed_for_now("node.kubernetes.io/unschedulable", unschedulable=True), None),
        ({"unschedulable": True}, None),
        ({"taints": [INFRA]}, 5),
    ],
    ids=["not ready", "an agent starts", "it goes", "cordoned", "cordoned in a file", "of a pool"],
)
@pytest.mark.parametrize("pods", [[], ["a0", "b0"]], ids=["no Pod", "two Pods"])
def test_a_node_that_is_out_of_service_may_come_back(pods, closed, number):
    """With it the zones have as many nodes, and all Pods fit."""
    constraints = [spread(nodeTaintsPolicy="Honor"), spread(HOSTNAME, nodeTaintsPolicy="Honor")]
    cluster = [*zones(a=2, b=1), *[running(name) for name in pods]]
    limits = [
        never_all(attempted(*cluster, *more, constraints=constraints), selecting({"app": "web"}), 7)
        for more in ([], [node("b1", "b", **closed)])
    ]

    assert [5, number] == [limit and limit.number for limit in limits]


def test_a_node_that_comes_back_may_let_in_some_more():
    constraints = [spread(nodeTaintsPolicy="Honor"), spread(HOSTNAME, nodeTaintsPolicy="Honor")]
    back = node("b1", "b", **closed_for_now("node.kubernetes.io/not-ready"))
    limits = [
        never_all(attempted(*zones(a=3, b=1), *more, constraints=constraints), selecting({"app": "web"}), 12)
        for more in ([], [back])
    ]

    assert [3, 9] == [limit and limit.number for limit in limits]


def test_nodes_that_contradict_only_once_another_is_back():
    """Until then one zone counts, which takes all Pods."""
    back = node("b0", "b", **closed_for_now("node.kubernetes.io/not-ready"))
    constraints = [spread(nodeTaintsPolicy="Honor"), spread(HOSTNAME, nodeTaintsPolicy="Honor")]

    assert never_all(attempted(*zones(a=2), back, constraints=constraints), selecting({"app": "web"}), 7) is None


def test_what_takes_too_long_to_prove_is_not_said(monkeypatch):
    monkeypatch.setattr(module, "MOST_WORK", 10)

    assert limited(*zones(a=2, b=1), constraints=BOTH) is None


SITUATIONS = st.tuples(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["r1", "r2"]), st.booleans()), min_size=1, max_size=4),
    st.lists(st.integers(0, 3), max_size=3),
    st.lists(
        st.builds(
            lambda key, skew, least: spread(key, maxSkew=skew, minDomains=least),
            st.sampled_from([ZONE, HOSTNAME, "rack"]),
            st.integers(1, 2),
            st.integers(1, 3),
        ),
        min_size=2,
        max_size=3,
        unique_by=lambda one: one["topologyKey"],
    ),
    st.integers(1, 7),
)


def attempt_of(situation, *more):
    nodes, placed, constraints, _ = situation
    made = [
        node(f"n{i}", zone, labels={"rack": rack}, taints=[INFRA] if shut else [])
        for i, (zone, rack, shut) in enumerate(nodes)
    ]
    there = [running(f"n{i % len(nodes)}") for i in placed]
    return attempted(*made, *there, *[running(name) for name in more], constraints=constraints)


def most(situation, *placed):
    """The most Pods that kube-scheduler's filters let in, by trying every order."""
    cycle, wanted = attempt_of(situation, *placed), situation[3]
    if len(placed) == wanted:
        return wanted
    following = (most(situation, *placed, name) for name in cycle.snapshot.nodes.names(feasible_nodes(cycle)))
    best = len(placed)
    for number in following:
        best = max(best, number)
        if best == wanted:
            break
    return best


@given(SITUATIONS)
def test_it_is_the_most_that_any_order_places(situation):
    cycle, wanted = attempt_of(situation), situation[3]
    limit = limit_of(cycle, wanted)
    if limit is None:
        return

    pair = [*limit.constraints]
    of_pair = replace(cycle, constraints=pair)
    assert limit.number == most((*situation[:2], [situation[2][one.index] for one in pair], wanted))
    assert limit_of(of_pair, wanted).number == limit.number
    assert most(situation) <= limit.number
