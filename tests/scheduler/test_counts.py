"""Pods are counted by label set and node, and what was counted once stays as it was."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from webhook.scheduler.counts import BoundPod, PodCounts, PodGroup, label_set

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
