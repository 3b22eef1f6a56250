"""A snapshot without one of its Pods."""

from __future__ import annotations

from tests.support.placing import node, running
from webhook.placement.pods import without_pod
from webhook.scheduler.counts import UNUSED
from webhook.scheduler.features import LATEST
from webhook.scheduler.snapshot import from_objects, read_object


def on(groups):
    return {name: number for group in groups.values() for name, number in group.nodes.items()}


def left_without(snapshot, raw):
    namespace, name, kept = read_object(raw, "v1", "Pod", LATEST, whole=True)
    return without_pod(snapshot, namespace, name, kept)


def test_a_pod_that_is_taken_away_leaves_the_others():
    first, second = running("n1"), running("n1", "1")
    snapshot = from_objects([node("n1"), first, second], LATEST)
    left = left_without(snapshot, second)

    assert from_objects([node("n1"), first], LATEST) == left
    assert {"n1": 2} == on(snapshot.pods["shop"])  # as it was


def test_the_last_pod_leaves_nothing():
    only = running("n1")
    snapshot = from_objects([node("n1"), only], LATEST)
    left = left_without(snapshot, only)

    assert ({}, UNUSED, ()) == (on(left.pods["shop"]), left.usage["n1"], left.pods_on["n1"])


def test_a_pod_that_is_being_deleted_only_gives_back_its_room():
    going = running("n1", deletionTimestamp="2026-01-01T00:00:00Z")
    snapshot = from_objects([running("n1"), going], LATEST)
    left = left_without(snapshot, going)

    assert ({"n1": 1}, 1) == (on(left.pods["shop"]), left.usage["n1"].pods)
