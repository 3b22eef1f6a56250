"""VolumeZone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.scheduler.framework import Framework, find_feasible
from evenkeel.scheduler.profile import VOLUME_ZONE, Profile
from tests.support.claims import claim, storage_class, using, volume
from tests.support.placing import ZONE, attempted, node

BETA = "failure-domain.beta.kubernetes.io/zone"
NODES = [node("a1", "a"), node("b1", "b"), node("none"), node("old", labels={BETA: "a"})]


def feasible(*objects):
    cycle = attempted(*NODES, storage_class(), *objects, **using("data"))
    return set(cycle.snapshot.nodes.names(find_feasible(cycle).feasible))


@pytest.mark.parametrize(
    ("labels", "nodes"),
    [
        ({ZONE: "a"}, {"a1", "none"}),
        ({ZONE: "a__b"}, {"a1", "b1", "none"}),
        ({BETA: "a"}, {"a1", "none", "old"}),
        ({ZONE: "c"}, {"none"}),
        ({ZONE: "a__ b"}, {"a1", "b1", "none"}),
        ({ZONE: "a__"}, {"a1", "b1", "none", "old"}),
        ({}, {"a1", "b1", "none", "old"}),
    ],
)
def test_a_node_is_in_a_zone_of_the_volume_or_in_none(labels, nodes):
    assert nodes == feasible(claim("data", "pv-1"), volume("pv-1", of="data", labels=labels))


def test_a_node_is_in_the_zones_of_all_volumes_and_its_label_of_old_counts_only_by_itself():
    nodes = [*NODES, node("moved", "a", labels={BETA: "b"})]
    claims = [claim("data", "pv-1"), claim("log", "pv-2")]
    volumes = [volume("pv-1", of="data", labels={BETA: "a"}), volume("pv-2", of="log", labels={ZONE: "b"})]
    for names, wanted in ((["data"], {"a1", "none", "old"}), (["data", "log"], {"none"})):
        cycle = attempted(*nodes, storage_class(), *claims, *volumes, **using(*names))

        assert wanted == set(cycle.snapshot.nodes.names(find_feasible(cycle).feasible))


@pytest.mark.parametrize(
    ("objects", "why"),
    [
        ([], 'persistentvolumeclaim "data" not found'),
        ([claim("data", "pv-1")], 'persistentvolume "pv-1" not found'),
        ([claim("data", of_class=None)], "PersistentVolumeClaim had no pv name and storageClass name"),
        ([claim("data", of_class="gone")], 'storageclass.storage.k8s.io "gone" not found'),
        ([claim("data", of_class="now")], "PersistentVolume had no name"),
        ([claim("data", of_class="odd")], 'VolumeBindingMode not set for StorageClass "odd"'),
        ([claim("data")], ""),
    ],
)
def test_claims_that_reject_a_pod(objects, why):
    classes = [storage_class(), storage_class("now", mode="Immediate"), storage_class("odd", mode=None)]
    alone = Profile(filters=(VOLUME_ZONE,), pre_filters=frozenset({VOLUME_ZONE}))  # Others say first what is wrong.
    bound = [claim("first", "pv-0"), volume("pv-0", of="first")]  # which is well
    for first in ((), ("first",)):
        cycle = replace(attempted(*NODES, *classes, *bound, *objects, **using(*first, "data")), profile=alone)

        assert why == find_feasible(cycle).rejected


def test_a_claim_of_the_pods_own_is_not_looked_at():
    volumes = [{"name": "d", "ephemeral": {"volumeClaimTemplate": {}}}]

    assert "" == Framework(attempted(*NODES, volumes=volumes)).plugin(VOLUME_ZONE).pre_filter().rejected
