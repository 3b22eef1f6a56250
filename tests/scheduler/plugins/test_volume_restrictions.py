"""VolumeRestrictions."""

from __future__ import annotations

import pytest

from evenkeel.scheduler.framework import Framework, find_feasible, message
from evenkeel.scheduler.plugins.volume_restrictions import CLAIM_IN_USE, CLAIM_IN_USE_TO_33, DISK_CONFLICT
from evenkeel.scheduler.pod_counts import PodInfo
from evenkeel.scheduler.profile import VOLUME_RESTRICTIONS
from tests.support.claims import claim, storage_class, using, volume
from tests.support.placing import attempted, node, running

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
    two = {"volumes": [{"name": "c", "gcePersistentDisk": {"pdName": "other"}}, *DISK["volumes"]]}
    for disks in (DISK, two):
        assert {"n1": (DISK_CONFLICT,)} == reasons(attempted(*NODES, having("n1", DISK), **disks))


@pytest.mark.parametrize(("minor", "reason"), [(37, CLAIM_IN_USE), (34, CLAIM_IN_USE), (33, CLAIM_IN_USE_TO_33)])
def test_another_pod_uses_a_claim_of_one_pod(minor, reason):
    used = attempted(*NODES, *BOUND, having("n1", using("data")), minor=minor, **using("data"))

    assert {"n1": (reason,), "n2": (reason,)} == reasons(used)


@pytest.mark.parametrize(
    "pod", [having("n1", using("data"), namespace="bank"), having("gone", using("data")), having("n1", using("logs"))]
)
def test_one_of_another_namespace_or_on_no_node_or_with_another_claim_does_not(pod):
    assert {} == reasons(attempted(*NODES, *BOUND, pod, **using("data")))


PLAIN = [claim("plain", "pv-2"), volume("pv-2", of="plain")]
BOTH = {"volumes": [*using("plain", "data")["volumes"], *DISK["volumes"]]}


def test_only_a_claim_of_one_pod_is_in_use_and_it_need_not_be_the_first():
    objects = [*NODES, *BOUND, *PLAIN, having("n1", BOTH)]

    assert {} == reasons(attempted(*objects, **using("plain")))
    assert {"n1": (CLAIM_IN_USE,), "n2": (CLAIM_IN_USE,)} == reasons(attempted(*objects, **using("plain", "data")))
    assert {"n1": (DISK_CONFLICT,), "n2": (CLAIM_IN_USE,)} == reasons(attempted(*objects, **BOTH))


def test_pods_that_are_tried_count_by_the_names_of_their_claims_and_their_disks():
    plugin = Framework(attempted(*NODES, *BOUND, *PLAIN, **BOTH)).plugin(VOLUME_RESTRICTIONS)
    n1, n2 = map(plugin.nodes.named_one, ("n1", "n2"))
    of_claim, of_plain, of_disk = (
        _info(next(iter(attempted(*NODES, having("n1", spec, namespace="bank")).snapshot.mounts)))
        for spec in (using("data"), using("plain"), DISK)
    )
    found = []
    for info, number in ((of_plain, 1), (of_disk, 1), (of_claim, 1), (of_claim, 1), (of_claim, -1)):
        plugin = plugin.copy()
        plugin.try_pods(info, "n1", number)
        found.append(plugin.passing(n1 | n2))

    assert [n1 | n2, n2, 0, 0, 0] == found


def test_pods_with_disks_are_heeded_and_claims_of_the_pods_own_are_not_looked_for():
    own = {"name": "own", "ephemeral": {"volumeClaimTemplate": {}}}
    cycle = attempted(*NODES, having("n1", DISK), volumes=[own, *DISK["volumes"]])
    alone = Framework(attempted(*NODES, **DISK)).plugin(VOLUME_RESTRICTIONS)

    assert "" == Framework(cycle).plugin(VOLUME_RESTRICTIONS).pre_filter().rejected
    assert alone.heeds(_info(next(iter(cycle.snapshot.mounts))))


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
    for number in (1, 1, -1):
        plugin.add_pods(_info(of_disk), "n2", number)
    assert second.cycle.snapshot.nodes.named_one("n1") == second.feasible()
    for number in (1, 1, -1):
        plugin.add_pods(_info(of_claim), "n1", number)
    copied = plugin.copy()
    for info, on in ((of_claim, "n1"), (of_disk, "n2")):
        copied.add_pods(_info(info), on, -1)
    assert (0, False) == (second.feasible(), plugin.skipped)
    plugin.add_pods(_info(of_claim), "n1", -1)
    assert second.cycle.snapshot.nodes.named_one("n1") == second.feasible()
    plugin.add_pods(_info(of_disk), "n2", -1)
    assert 2 == second.feasible().bit_count() == framework.feasible().bit_count()


def _info(mounts):
    return PodInfo("shop", (), mounts=mounts)
