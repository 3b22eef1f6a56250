"""NodeVolumeLimits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.scheduler.framework import Framework, find_feasible, message
from evenkeel.scheduler.plugins.node_volume_limits import TOO_MANY
from evenkeel.scheduler.pod_counts import PodInfo
from evenkeel.scheduler.profile import NODE_VOLUME_LIMITS
from evenkeel.scheduler.volumes import Mounts, PodVolume
from tests.support.claims import EBS, claim, csi_driver, csi_node, storage_class, using, volume
from tests.support.placing import attempted, node, running

NODES = [node("n1"), node("n2"), node("n3"), csi_node("n1", 1), csi_node("n2", 2)]
USED = [claim("used", "pv-1"), volume("pv-1", of="used", csi={"driver": EBS, "volumeHandle": "vol-1"})]
DISK = {"volumes": [{"name": "d", "awsElasticBlockStore": {"volumeID": "vol-9"}}]}


def having(on, spec):
    raw = running(on)
    return {**raw, "spec": {**raw["spec"], **spec}}


def reasons(cycle):
    nodes = cycle.snapshot.nodes
    return {name: each.reasons for each in find_feasible(cycle).refusals for name in nodes.names(each.nodes)}


def asking(*objects, names=("new",), **fields):
    return attempted(*NODES, *USED, storage_class(), claim("new"), claim("newer"), *objects, **using(*names), **fields)


def test_a_node_with_as_many_volumes_as_it_attaches():
    cycle = asking(having("n1", using("used")))
    of_others = list(Framework(cycle).plugin(NODE_VOLUME_LIMITS).refusals(0b110))

    assert {"n1": (TOO_MANY,)} == reasons(cycle)
    assert [0] == [refusal.nodes for refusal in of_others]


def test_all_volumes_of_the_pod_are_to_be_attached():
    assert {"n1": (TOO_MANY,)} == reasons(asking(names=("new", "newer")))


def test_one_that_is_there_already_is_not_attached_again():
    assert {} == reasons(asking(having("n1", using("used")), names=("used",)))


@pytest.mark.parametrize(("minor", "refused"), [(36, False), (37, True)])
def test_a_driver_that_must_be_there(minor, refused):
    needed = csi_driver(preventPodSchedulingIfMissing=True)
    cycle = asking(needed, minor=minor)

    said = [reason.text for reason in reasons(cycle).get("n3", ())]
    assert refused == ([f"{EBS} CSI driver is not installed on the node"] == said)
    assert "n3" not in reasons(asking(csi_driver(), minor=minor))


def test_a_node_lacks_the_first_of_the_drivers_that_must_be_there():
    drivers = [csi_driver(name, preventPodSchedulingIfMissing=True) for name in (EBS, "other.csi")]
    cycle = asking(
        *drivers, storage_class("other", "other.csi"), claim("more", of_class="other"), names=("new", "more")
    )
    missing = {name: found.text.partition(" ")[0] for name, (found,) in reasons(cycle).items()}

    assert {"n1": "other.csi", "n2": "other.csi", "n3": EBS} == missing


def test_the_disk_of_a_cloud_counts_where_there_is_a_csi_node():
    assert {"n1": (TOO_MANY,)} == reasons(attempted(node("n0"), *NODES, *USED, having("n1", using("used")), **DISK))


def test_a_claim_of_a_cloud_s_plugin_counts_too():
    old = storage_class("old", "kubernetes.io/aws-ebs")
    waiting = claim("data", of_class="old")

    assert {"n1": (TOO_MANY,)} == reasons(
        attempted(*NODES, *USED, old, waiting, having("n1", using("used")), **using("data"))
    )


def test_a_claim_there_that_is_another_pods_is_an_error():
    own = {"volumes": [{"name": "d", "ephemeral": {"volumeClaimTemplate": {}}}]}
    pod = having("n1", own)
    cycle = asking(pod, claim(f"{pod['metadata']['name']}-d"))
    said = message(cycle, find_feasible(cycle))

    assert said.startswith('running "NodeVolumeLimits" filter plugin: PVC shop/')
    assert 0 == Framework(cycle).feasible()
    assert {"n1", "n2", "n3"} == reasons(cycle).keys()
    unlimited = having("n3", own)
    assert {} == reasons(asking(unlimited, claim(f"{unlimited['metadata']['name']}-d")))


APART = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}
SPREAD = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **APART}


@pytest.mark.parametrize(
    "later",
    [
        {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [APART]}}},
        {"constraints": [SPREAD]},
        {"names": ("zonal",)},
        {"names": ("local",)},
    ],
    ids=["InterPodAffinity", "PodTopologySpread", "VolumeZone", "VolumeBinding"],
)
def test_it_is_an_error_also_where_a_later_filter_refuses_the_node(later):
    """But not where an earlier one does."""
    raw = having("n1", {"volumes": [{"name": "d", "ephemeral": {"volumeClaimTemplate": {}}}]})
    of_another = claim(f"{raw['metadata']['name']}-d")
    in_zone = [claim("zonal", "pv-2"), volume("pv-2", of="zonal", csi={"driver": EBS, "volumeHandle": "vol-2"})]
    in_zone[1]["metadata"]["labels"] = {"topology.kubernetes.io/zone": "elsewhere"}
    on_node = [claim("local", "pv-3"), volume("pv-3", "n2", key="kubernetes.io/hostname", of="local")]
    on_node[1]["spec"]["csi"] = {"driver": EBS, "volumeHandle": "vol-3"}
    raw_objects = [raw, of_another, *in_zone, *on_node]
    cycle = asking(*raw_objects, **later)

    assert find_feasible(cycle).error
    assert 0 == Framework(cycle).feasible()
    elsewhere = asking(*raw_objects, **later, nodeSelector={"kubernetes.io/hostname": "n2"})
    assert not find_feasible(elsewhere).error
    assert find_feasible(elsewhere).feasible == Framework(elsewhere).feasible()


def test_pods_come_and_go():
    framework = Framework(asking(having("n1", using("used"))))
    second = framework.copy()
    of_pod = PodInfo("shop", (), mounts=Mounts("shop", (PodVolume("used"),)))
    second.plugin(NODE_VOLUME_LIMITS).add_pods(of_pod, "n1", -1)
    third = second.copy()
    third.plugin(NODE_VOLUME_LIMITS).add_pods(of_pod, "n1", 1)

    assert [2, 3, 2] == [each.feasible().bit_count() for each in (framework, second, third)]


def test_pods_are_counted_by_what_there_is_now():
    """A claim that came later."""
    cycle = asking(having("n2", using("used")))
    framework = Framework(cycle)
    later = cycle.storage.with_claims([replace(cycle.storage.claims["shop", "new"], name="later")])
    framework.plugin(NODE_VOLUME_LIMITS)
    framework.set_storage(later)
    framework.add_pods(PodInfo("shop", (), mounts=Mounts("shop", (PodVolume("later"),))), "n2", 1)

    assert {"n1", "n3"} == set(cycle.snapshot.nodes.names(framework.feasible()))
