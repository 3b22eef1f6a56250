"""VolumeRestrictions."""

from __future__ import annotations

import pytest

from tests.support.claims import claim, storage_class, using, volume
from tests.support.placing import attempted, node, running
from webhook.scheduler.counts import PodInfo
from webhook.scheduler.framework import Framework, find_feasible, message
from webhook.scheduler.plugins.volume_restrictions import CLAIM_IN_USE, CLAIM_IN_USE_TO_33, DISK_CONFLICT
from webhook.scheduler.profile import VOLUME_RESTRICTIONS

NODES = [node("n1"), node("n2")]
DISK = {"volumes": [{"name": "d", "gcePersistentDisk": {"pdName": "disk"}}]}
ONE_POD = {"accessModes": ["ReadWriteOncePod"]}
BOUND = [claim("data", "pv-1", **ONE_POD), volume("pv-1", of="data", **ONE_POD), storage_class()]


def having(on, spec, **fields):
    raw = running(on, **fields)
    return {**raw, "spec": {**raw["spec"], **spec}}


def reasons(cycle):
    nodes = cycle.snapshot.nodes
    return {name: each.reasons for each in find_feasible(cycle).refusals for name in nodes.names(each.nodes)}


def test_a_node_has_a_pod_with_the_disk():
    assert {"n1": (DISK_CONFLICT,)} == reasons(attempted(*NODES, having("n1", DISK), **DISK))


@pytest.mark.parametrize(("minor", "reason"), [(37, CLAIM_IN_USE), (34, CLAIM_IN_USE), (33, CLAIM_IN_USE_TO_33)])
def test_another_pod_uses_a_claim_of_one_pod(minor, reason):
    used = attempted(*NODES, *BOUND, having("n1", using("data")), minor=minor, **using("data"))

    assert {"n1": (reason,), "n2": (reason,)} == reasons(used)


@pytest.mark.parametrize(
    "pod", [having("n1", using("data"), namespace="bank"), having("gone", using("data")), having("n1", using("logs"))]
)
def test_one_of_another_namespace_or_on_no_node_or_with_another_claim_does_not(pod):
    assert {} == reasons(attempted(*NODES, *BOUND, pod, **using("data")))


def test_a_claim_that_is_not_there():
    cycle = attempted(*NODES, **using("data"))

    assert '0/2 nodes are available: persistentvolumeclaim "data" not found.' == message(cycle, find_feasible(cycle))


def test_pods_come_and_go():
    user, with_disk = having("n1", using("data")), having("n2", DISK)
    there = attempted(*NODES, *BOUND, user, with_disk, **using("data"))
    framework = Framework(attempted(*NODES, *BOUND, volumes=[*using("data")["volumes"], *DISK["volumes"]]))
    second = framework.copy()
    (of_claim,) = [mounts for mounts in there.snapshot.mounts if mounts.claims]
    (of_disk,) = [mounts for mounts in there.snapshot.mounts if mounts.disks]
    assert 2 == framework.feasible().bit_count()

    plugin = second.plugin(VOLUME_RESTRICTIONS)
    plugin.add_pods(_info(of_disk), "n2", 1)
    assert second.cycle.snapshot.nodes.named_one("n1") == second.feasible()
    plugin.add_pods(_info(of_claim), "n1", 1)
    assert 0 == second.feasible()
    plugin.add_pods(_info(of_claim), "n1", -1)
    plugin.add_pods(_info(of_disk), "n2", -1)
    assert 2 == second.feasible().bit_count() == framework.feasible().bit_count()


def _info(mounts):
    return PodInfo("shop", (), mounts=mounts)
