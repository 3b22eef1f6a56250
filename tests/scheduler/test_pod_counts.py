"""Pods are counted by label set and node, and what was counted once stays as it was."""

from __future__ import annotations

from hypothesis import strategies as st

from evenkeel.scheduler.pod_counts import BoundPod, NodeUsage, PodCounts, PodGroup, Requests, Usage, label_set

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


def test_a_pod_that_constraints_do_not_count_is_in_no_group():
    leaving = BoundPod((), "n1", Requests(100), spreads=False)
    found = counts(BoundPod(WEB, "n1"))

    assert leaving is found.add(leaving)
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
    } == found.by_node


def test_pods_with_the_same_requests_share_them():
    _, (first, second) = usage(BoundPod(WEB, "n1", Requests(70_000)), BoundPod(API, "n2", Requests(70_000)))

    assert first.requests is second.requests
    assert BoundPod(API, "n2", Requests(70_000)) == second
