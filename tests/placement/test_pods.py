"""A snapshot with fewer Pods."""

from __future__ import annotations

from tests.support.placing import node, running
from webhook.placement.pods import with_fewer, without_pod, without_pods_on
from webhook.scheduler.counts import UNUSED
from webhook.scheduler.features import LATEST
from webhook.scheduler.selectors import selecting
from webhook.scheduler.snapshot import from_objects, read_object


def on(groups):
    return {name: number for group in groups.values() for name, number in group.nodes.items()}


def test_a_pod_that_is_taken_away_leaves_the_others():
    first, second = running("n1"), running("n1", "1")
    snapshot = from_objects([node("n1"), first, second], LATEST)
    left = without_pod(snapshot, "shop", read_object(second, "v1", "Pod", LATEST)[2])

    assert from_objects([node("n1"), first], LATEST) == left
    assert {"n1": 2} == on(snapshot.pods["shop"])  # as it was


def test_the_last_pod_leaves_nothing():
    only = running("n1")
    snapshot = from_objects([node("n1"), only], LATEST)
    left = without_pod(snapshot, "shop", read_object(only, "v1", "Pod", LATEST)[2])

    assert ({}, UNUSED) == (on(left.pods["shop"]), left.usage["n1"])


def test_a_pod_that_is_being_deleted_only_gives_back_its_room():
    going = running("n1", deletionTimestamp="2026-01-01T00:00:00Z")
    snapshot = from_objects([running("n1"), going], LATEST)
    left = without_pod(snapshot, "shop", read_object(going, "v1", "Pod", LATEST)[2])

    assert ({"n1": 1}, 1) == (on(left.pods["shop"]), left.usage["n1"].pods)


def test_a_node_without_its_pods_is_as_if_they_had_never_been():
    apart = {"topologyKey": "zone", "labelSelector": {}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    demanding = running("n1")
    demanding["spec"] |= {"affinity": affinity, "containers": [{"name": "c", "ports": [{"hostPort": 80}]}]}
    going = running("n1", deletionTimestamp="2026-01-01T00:00:00Z")
    left = without_pods_on(from_objects([running("n1"), running("n2"), demanding, going], LATEST), "n1")
    never = from_objects([running("n2")], LATEST)

    assert (on(never.pods["shop"]), never.usage, never.ports) == (on(left.pods["shop"]), left.usage, left.ports)
    assert [{}] == list(left.affine.values())
    assert {} == on(left.terminating["shop"])


def test_fewer_pods_where_the_most_are():
    groups = from_objects([running("n1"), running("n2"), running("n2"), running("n3")]).pods["shop"]

    assert {"n1": 1, "n3": 1} == on(with_fewer(groups, selecting({"app": "web"}), {"n1", "n2"}, 2))
    assert {"n3": 1} == on(with_fewer(groups, selecting({"app": "web"}), {"n1", "n2"}, 9))
    assert on(groups) == on(with_fewer(groups, selecting({"app": "db"}), {"n1"}, 1))
