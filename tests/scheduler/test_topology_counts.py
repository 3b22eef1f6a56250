"""What Pods weigh in domains, while they come and go."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evenkeel.scheduler.topology_counts import TopologyCounts
from tests.support.placement import cluster

EVENTS = st.lists(
    st.tuples(
        st.sampled_from(("zone", "kubernetes.io/hostname", "absent")),
        st.sampled_from(("a1", "a2", "b1", "none", "gone")),
        st.integers(1, 3),
        st.sampled_from((-5, 1, 7)),
    )
)


def counted(events):
    counts = TopologyCounts(cluster({"a1": "a", "a2": "a", "b1": "b", "none": None}).nodes)
    for key, node, number, weight in events:
        counts.add(key, {node: number}, weight)
    return counts


def seen(counts):
    return {
        key: {weight: nodes for weight, nodes in counts.nodes_by_weight(key).items() if nodes} for key in counts.keys
    }


def test_nodes_of_a_domain_share_its_weight_and_a_node_without_the_key_has_none():
    counts = counted([("zone", "a1", 2, 5), ("zone", "b1", 1, -5), ("zone", "none", 1, 5)])

    assert {10: 0b0011, -5: 0b0100} == dict(counts.nodes_by_weight("zone"))
    assert (0b0111, 0) == (counts.reached("zone"), counts.reached("absent"))


def test_weights_that_cancel_out_are_not_the_same_as_no_pods():
    counts = counted([("zone", "a1", 1, 5), ("zone", "a2", 1, -5)])
    assert counts and {0: 0b0011} == dict(counts.nodes_by_weight("zone"))

    counts.add("zone", {"a1": -1}, 5)
    counts.add("zone", {"a2": -1}, -5)
    assert not counts and [] == list(counts.keys)


@given(EVENTS, EVENTS)
def test_what_comes_and_goes_is_as_if_it_had_never_come(stay, go):
    followed = counted(stay)
    seen(followed)  # From here on the nodes by weight are kept, too.
    for sign in (1, -1):
        for key, node, number, weight in go:
            followed.add(key, {node: sign * number}, weight)

    assert seen(counted(stay)) == seen(followed)


@given(EVENTS)
def test_a_copy_changes_by_itself(events):
    counts, copied = counted(events), counted(events).copy()
    before = seen(counts)
    copied.add("zone", {"a1": 1})

    assert before == seen(counts)
    assert copied.reached("zone") & 0b0011
