"""Pods are counted by label set and node, and what was counted once stays as it was."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from webhook.scheduler.counts import UNUSED, BoundPod, NodeUsage, PodCounts, PodGroup, Requests, Usage, label_set

WEB, API = (("app", "web"),), (("app", "api"),)
PODS = st.builds(BoundPod, st.sampled_from((WEB, API)), st.sampled_from("ab"))


def counts(*pods):
    found = PodCounts()
    for pod in pods:
        found.add(pod)
    return found


def test_a_label_set_does_not_depend_on_the_order_of_the_labels():
    assert label_set({"a": "1", "b": "2"}) == label_set({"b": "2", "a": "1"}) == (("a", "1"), ("b", "2"))


def test_pods_with_the_same_labels_are_one_group():
    found = counts(BoundPod(WEB, "n1"), BoundPod(API, "n1"), BoundPod(WEB, "n2"), BoundPod(WEB, "n1")).groups()

    assert {WEB: PodGroup({"app": "web"}, {"n1": 2, "n2": 1}), API: PodGroup({"app": "api"}, {"n1": 1})} == found


def test_a_pod_that_is_added_shares_its_label_set():
    found = counts(BoundPod(WEB, "n1"))
    other = BoundPod(label_set({"app": "web"}), "n2")

    assert other.labels is not WEB
    assert other == found.add(other)
    assert found.add(other).labels is WEB


@given(st.lists(PODS), st.lists(PODS), st.data())
def test_groups_are_what_is_left_and_earlier_groups_stay(first, then, data):
    found = counts(*first)
    before, copied = found.groups(), {key: dict(group.nodes) for key, group in found.groups().items()}
    gone = data.draw(st.lists(st.sampled_from(range(len(first))), unique=True)) if first else []
    for pod in then:
        found.add(pod)
    for i in gone:
        found.remove(first[i])

    left = Counter([*then, *(pod for i, pod in enumerate(first) if i not in gone)])
    assert left == {BoundPod(key, n): m for key, group in found.groups().items() for n, m in group.nodes.items()}
    assert copied == {key: dict(group.nodes) for key, group in before.items()}


def test_nothing_is_left_of_pods_that_are_all_gone():
    found = counts(BoundPod(WEB, "n1"))
    found.groups()
    found.remove(BoundPod(WEB, "n1"))

    assert {} == found.groups()


def test_a_pod_that_constraints_do_not_count_is_in_no_group():
    leaving = BoundPod((), "n1", Requests(100), spreads=False)
    found = counts(BoundPod(WEB, "n1"))

    assert leaving is found.add(leaving)
    assert {"n1": 1} == found.groups()[WEB].nodes
    found.remove(leaving)
    assert {"n1": 1} == found.groups()[WEB].nodes


GPU = (("example.com/gpu", 2),)


def usage(*pods):
    found = NodeUsage()
    return found, [found.add(pod) for pod in pods]


def test_requests_add_up_by_node():
    one, other = Requests(100, 5, 7, GPU, 200, 9), Requests(1, scalars=(("a/b", 1),))
    found, _ = usage(BoundPod(WEB, "n1", one), BoundPod((), "n1", one, spreads=False), BoundPod(API, "n2", other))

    assert {
        "n1": Usage(2, 200, 10, 14, (("example.com/gpu", 4),), 400, 18),
        "n2": Usage(1, 1, scalars=(("a/b", 1),)),
    } == found.by_node()


def test_pods_with_the_same_requests_share_them():
    _, (first, second) = usage(BoundPod(WEB, "n1", Requests(70_000)), BoundPod(API, "n2", Requests(70_000)))

    assert first.requests is second.requests
    assert BoundPod(API, "n2", Requests(70_000)) == second


def test_pods_whose_requests_are_not_known_use_nothing():
    found, (pod,) = usage(BoundPod(WEB, "n1"))

    assert {} == found.by_node()
    found.remove(pod)
    assert {} == found.by_node()


REQUESTING = st.builds(
    BoundPod,
    st.just(()),
    st.sampled_from("ab"),
    st.builds(Requests, st.integers(0, 3), st.integers(0, 2**62), st.just(0), st.sampled_from(((), GPU))),
)


@given(st.lists(REQUESTING), st.lists(REQUESTING), st.randoms())
def test_sums_are_what_is_left_in_whatever_order_and_earlier_sums_stay(first, then, random):
    found, added = usage(*first)
    before = found.by_node()
    copied = dict(before)
    gone = random.sample(added, len(added) // 2)
    for change, pod in random.sample(
        [*((found.remove, pod) for pod in gone), *((found.add, pod) for pod in then)], len(gone) + len(then)
    ):
        change(pod)
    left = [*then, *first]
    for pod in gone:
        left.remove(pod)

    sums = {}
    for pod in left:
        sums[pod.node] = sums.get(pod.node, UNUSED).plus(pod.requests)
    assert sums == found.by_node()
    assert copied == before
    for pod in left:
        found.remove(pod)
    assert {} == found.by_node()
    assert [{}, {}] == [found._requests, found._numbers]
