"""Clusters with volumes are made as they were when they were first recorded, and leave nothing to chance."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.oracle.clusters.storage import CLASSES, LVM
from tests.oracle.clusters.volumes import ALONE, NUMBER, VOLUMES, volumes
from tests.oracle.recording import file_of, inputs, read
from tests.support import DATA

KEYS = (
    "persistentVolumes",
    "persistentVolumeClaims",
    "storageClasses",
    "csiNodes",
    "csiDrivers",
    "csiStorageCapacities",
    "volumeAttachments",
)
PRE_FILTER = (
    'persistentvolumeclaim "absent" not found',
    'persistentvolume "pv-gone" not found',
    "is being deleted",
    "bound to non-existent persistentvolume",
    "waiting for ephemeral volume controller",
    "(pod is not owner)",
    "pod has unbound immediate PersistentVolumeClaims",
)
FILTER = (
    "node(s) had no available disk",
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
    "node(s) exceed max volume count",
    "ebs.csi.aws.com CSI driver is not installed on the node",
    "node(s) didn't match PersistentVolume's node affinity",
    "node(s) didn't find available persistent volumes to bind",
    "node(s) did not have enough free storage",
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
    "node(s) had no available volume zone",
)


@pytest.fixture(scope="module")
def clusters():
    return volumes()


@pytest.fixture(scope="module")
def decisions():
    return [case["expected"] for case in read(file_of(DATA, "1.37", "volume_profile"))]


def test_all_of_them_are_recorded_as_they_are_made(clusters):
    assert NUMBER == len(clusters)
    assert clusters == inputs(DATA, "volume_profile")


def test_each_has_the_objects_that_the_oracle_reads(clusters):
    for key in KEYS:
        assert any(case[key] for case in clusters)


def test_each_feature_is_alone_in_some(clusters):
    assert {feature for feature, _, _ in VOLUMES} == set(ALONE)
    assert len(ALONE) <= NUMBER // 5


def test_no_two_objects_of_a_kind_have_one_name(clusters):
    for case in clusters:
        for key in (*KEYS, "pods"):
            names = [(one["metadata"].get("namespace"), one["metadata"]["name"]) for one in case[key]]
            assert len(names) == len(set(names))


def test_a_room_is_reached_by_one_node_or_zone_and_says_how_large_it_is(clusters):
    """Chance would choose between two, and a maximumVolumeSize alone has kube-scheduler 1.37 crash."""
    for case in clusters:
        rooms = [one for one in case["csiStorageCapacities"] if one["storageClassName"] in CLASSES]
        selectors = [str(one["nodeTopology"]) for one in rooms if "nodeTopology" in one]
        assert len(selectors) == len(set(selectors))
        assert all("capacity" in one or "maximumVolumeSize" not in one for one in rooms)


def test_a_driver_that_tells_its_room_has_claims_that_name_their_class_where_it_is_read(clusters):
    """Without spec.storageClassName kube-scheduler 1.37 crashes where it scores the room for a claim."""
    for case in clusters:
        of_driver = {one["metadata"]["name"] for one in case["storageClasses"] if one["provisioner"] == LVM}
        for claim in case["persistentVolumeClaims"]:
            assert not of_driver & {*claim["metadata"].get("annotations", {}).values()}


@pytest.mark.parametrize("text", PRE_FILTER)
def test_each_rejection_of_all_nodes_is_recorded_ten_times(text, decisions):
    assert 10 <= sum(text in one.get("preFilter", "") for one in decisions)


def test_each_reason_is_recorded_ten_times(decisions):
    said = [{reason for one in each.get("reasons", {}).values() for reason in one["reasons"]} for each in decisions]
    times = Counter(reason for each in said for reason in each)

    assert all(10 <= times[reason] for reason in FILTER), times


def test_many_have_nodes_that_are_refused_and_others_that_are_not(decisions):
    assert NUMBER // 2 <= sum(bool(one.get("feasible") and one["reasons"]) for one in decisions)


def test_where_a_plugin_fails_nothing_but_its_error_is_recorded(decisions):
    failed = [one for one in decisions if "error" in one]

    assert 10 <= len(failed)
    assert all(["error"] == [*one] for one in failed)
