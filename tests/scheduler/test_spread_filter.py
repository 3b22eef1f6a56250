"""The filter of PodTopologySpread; the recordings of tests/conformance hold it against the real plugin."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.scheduler.plugins.pod_topology_spread import UNEVEN, UNLABELLED
from tests.support.placement import HARD, SOFT, bound, by_node, cluster, filter_nodes, incoming, match_nums, parsed
from webhook.kubernetes.features import LATEST

KEYS = ("zone", "rack")


def refused(constraints, snapshot, pod=None):
    return by_node(snapshot, filter_nodes(pod or incoming(), parsed(*constraints), snapshot, LATEST))


def test_the_skew_decides_in_each_domain():
    snapshot = cluster({"n1": "a", "n2": "b", "n3": "b"}, bound("n1"), bound("n1"), bound("n2"))
    (domains,) = filter_nodes(incoming(), parsed(HARD), snapshot, LATEST).domains

    assert ({"a": 2, "b": 1}, 1, 1) == (match_nums(domains), domains.self_match_num, domains.min_match_num)
    assert [2, 1] == [domains.skew(domain, domains.min_match_num) for domain in "ab"]
    assert {"n1": UNEVEN} == refused([HARD], snapshot)


def test_a_node_without_the_key_is_refused_and_counts_nowhere():
    snapshot = cluster({"n1": "a", "n2": None}, bound("n2"), bound("n2"))

    assert {"n2": UNLABELLED} == refused([HARD], snapshot)


@pytest.mark.parametrize(("least", "refusing"), [(1, {}), (2, {}), (3, {"n1": UNEVEN, "n2": UNEVEN})])
def test_with_fewer_domains_than_min_domains_the_minimum_is_0(least, refusing):
    snapshot = cluster({"n1": "a", "n2": "b"}, bound("n1"), bound("n2"))

    assert refusing == refused([{**HARD, "minDomains": least}], snapshot)


def test_the_reason_is_that_of_the_first_constraint_that_refuses():
    snapshot = cluster({"n1": "a", "n2": "b"}, bound("n1"))
    second = {**HARD, "topologyKey": "absent"}

    assert {"n1": UNLABELLED, "n2": UNLABELLED} == refused([HARD, second], snapshot)  # No domain counts at all.
    assert {"n1": UNLABELLED, "n2": UNLABELLED} == refused([second, HARD], snapshot)


def test_a_pod_that_its_own_selector_misses_adds_nothing():
    snapshot = cluster({"n1": "a", "n2": "b"}, bound("n1"))

    assert {} == refused([HARD], snapshot, incoming(labels={"app": "db"}))


def test_a_node_that_passes_is_in_no_other_set():
    snapshot = cluster({"n1": "a", "n2": "b", "n3": None}, bound("n1"))
    found = filter_nodes(incoming(), parsed(HARD), snapshot, LATEST)

    assert [["n2"], ["n1"], ["n3"]] == [
        list(snapshot.nodes.names(those)) for those in (found.passing, found.uneven, found.unlabelled)
    ]


def test_domains_that_are_refused():
    (domains,) = filter_nodes(incoming(), parsed(HARD), cluster({"n1": "a", "n2": "b"}, bound("n1")), LATEST).domains

    assert ("a",) == domains.refused()


def test_no_node_and_no_constraint_are_no_reason():
    assert {} == refused([HARD], cluster({})) == refused([], cluster({"n1": None}))


PLACED = st.lists(st.sampled_from(["n1", "n2", "n3", "n4"]), max_size=8)
NODES = st.fixed_dictionaries({name: st.sampled_from(["a", "b", "c", None]) for name in ("n1", "n2", "n3", "n4")})
CONSTRAINTS = st.lists(
    st.builds(
        lambda key, most, least: {**HARD, "topologyKey": key, "maxSkew": most, "minDomains": least},
        st.sampled_from(["zone", "kubernetes.io/hostname"]),
        st.integers(1, 3),
        st.integers(1, 4),
    ),
    max_size=2,
)


@given(NODES, PLACED, CONSTRAINTS)
def test_a_larger_max_skew_never_refuses_more(nodes, placed, constraints):
    snapshot = cluster(nodes, *map(bound, placed))
    wider = [{**one, "maxSkew": one["maxSkew"] + 1} for one in constraints]

    assert refused(wider, snapshot).keys() <= refused(constraints, snapshot).keys()


@given(NODES, PLACED, CONSTRAINTS)
def test_the_formula_holds_for_every_node(nodes, placed, constraints):
    """A node passes if it carries every key and `match_num + self_match_num - min_match_num <= max_skew` for each."""
    snapshot = cluster(nodes, *map(bound, placed))
    found = filter_nodes(incoming(), parsed(*constraints), snapshot, LATEST)
    passing = [
        node.name
        for node in snapshot.nodes
        if all(
            (domain := node.labels.get(one.constraint.topology_key)) is not None
            and one.match_num(domain) + one.self_match_num - one.min_match_num <= one.constraint.max_skew
            for one in found.domains
        )
    ]

    assert passing == list(snapshot.nodes.names(found.passing))


@given(NODES, PLACED, CONSTRAINTS, st.sampled_from(["n1", "n2", "n3", "n4"]))
def test_placing_a_pod_and_counting_anew_gives_one_more_where_it_is_counted(nodes, placed, constraints, name):
    before, after = (cluster(nodes, *map(bound, names)) for names in (placed, [*placed, name]))
    labels = before.nodes.get(name).labels
    for one, then in zip(
        *(filter_nodes(incoming(), parsed(*constraints), snapshot, LATEST).domains for snapshot in (before, after)),
        strict=True,
    ):
        domain = labels.get(one.constraint.topology_key)
        counted = all(
            key.constraint.topology_key in labels
            for key in filter_nodes(incoming(), parsed(*constraints), before, LATEST).domains
        )
        more = {domain: one.match_num(domain) + 1} if counted else {}

        assert {**match_nums(one), **more} == match_nums(then)


@given(NODES, PLACED, CONSTRAINTS)
def test_a_soft_constraint_never_refuses(nodes, placed, constraints):
    snapshot = cluster(nodes, *map(bound, placed))
    soft = [SOFT, {**SOFT, "topologyKey": "kubernetes.io/hostname"}]

    assert refused(constraints, snapshot) == refused([*soft, *constraints], snapshot)


@given(NODES, PLACED, CONSTRAINTS, st.randoms(use_true_random=False))
def test_the_order_of_nodes_and_pods_does_not_matter(nodes, placed, constraints, random):
    turned, moved = list(nodes.items()), list(placed)
    random.shuffle(turned)
    random.shuffle(moved)

    assert refused(constraints, cluster(nodes, *map(bound, placed))) == refused(
        constraints, cluster(dict(turned), *map(bound, moved))
    )
