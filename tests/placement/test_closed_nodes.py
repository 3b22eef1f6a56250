"""What is known of taints and cordons that keep a Pod off nodes, and what is not advised because of it."""

from __future__ import annotations

import pytest

from evenkeel.placement.closed_nodes import ClosedNodes, closed_nodes
from evenkeel.placement.remedies import IN_TEMPLATE, NOW, remedies
from evenkeel.scheduler.framework import find_feasible
from tests.support.placing import HOSTNAME, INFRA, attempted, node, running, spread

OWNED = {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "controller": True}]}
OPEN = [node("a1", "a"), node("b1", "b"), running("a1", **OWNED), running("b1", **OWNED)]


def taint(key, value="", effect="NoSchedule"):
    return {"key": key, "value": value, "effect": effect}


CONTROLLERS = [
    taint("node.kubernetes.io/not-ready"),
    taint("node.kubernetes.io/disk-pressure"),
    taint("node.kubernetes.io/out-of-service", "nodeshutdown", "NoExecute"),
    taint("node.cloudprovider.kubernetes.io/uninitialized", "true"),
    taint("ToBeDeletedByClusterAutoscaler", "1790000000"),
    taint("karpenter.sh/disrupted"),
    taint("karpenter.sh/unregistered", effect="NoExecute"),
    taint("aws-node-termination-handler/scheduled-maintenance", "event-1"),
    taint("efs.csi.aws.com/agent-not-ready", effect="NoExecute"),
    taint("cni.istio.io/not-ready", "true"),
    taint("readiness.k8s.io/network", "pending"),
    taint("startup-taint.cluster-autoscaler.kubernetes.io/driver"),
    taint("virtual-kubelet.io/provider", "azure"),
    taint("eks.amazonaws.com/compute-type", "fargate"),
]


def changes(*objects, **fields):
    cycle = attempted(*objects, **fields)
    return [(found.where, found.change) for found in remedies(cycle, find_feasible(cycle))]


@pytest.mark.parametrize("set_by_controller", CONTROLLERS, ids=lambda taint: taint["key"])
def test_nobody_removes_or_tolerates_what_a_controller_sets(set_by_controller):
    found = changes(*OPEN, node("c1", "c", taints=[set_by_controller]), constraints=[spread()])

    assert not [change for _, change in found if "remove the taint" in change or "toleration" in change]
    assert (IN_TEMPLATE, "nodeTaintsPolicy: Honor on constraint 0") in found
    assert (NOW, "add a node (such as a1) to zone c") in found


@pytest.mark.parametrize("beside", [INFRA, taint("node.kubernetes.io/unschedulable"), taint("nvidia.com/gpu")])
def test_a_node_that_goes_is_not_opened_for_another_taint_or_a_cordon(beside):
    going = node("c1", "c", taints=[beside, taint("karpenter.sh/disrupted")], unschedulable=True)
    found = changes(*OPEN, going, constraints=[spread()])

    assert not [change for _, change in found if "c1" in change]


def test_of_two_nodes_that_are_closed_only_that_of_a_person_is_opened():
    closed = [node("c1", "c", taints=[taint("karpenter.sh/disrupted")]), node("c2", "c", taints=[INFRA])]
    found = [change for _, change in changes(*OPEN, *closed, constraints=[spread()]) if "remove the taint" in change]

    assert ["remove the taint dedicated=infra:NoSchedule from c2 (zone c)"] == found


@pytest.mark.parametrize(
    ("of_pool", "tolerated"),
    [
        (taint("node-role.kubernetes.io/control-plane"), True),
        (taint("CriticalAddonsOnly", "true"), True),
        (taint("cloud.google.com/gke-spot", "true"), True),
        (taint("nvidia.com/gpu", "present"), True),
        (taint("node.kubernetes.io/os", "windows"), True),
        (taint("kubernetes.io/arch", "arm64"), True),
        (INFRA, False),
    ],
    ids=lambda case: case["key"] if isinstance(case, dict) else "",
)
def test_a_pool_is_opened_to_all_pods_last(of_pool, tolerated):
    cycle = attempted(*OPEN, node("c1", "c", taints=[of_pool]), constraints=[spread()])
    found = remedies(cycle, find_feasible(cycle))
    (removal,) = (remedy for remedy in found if "remove the taint" in remedy.change)

    assert tolerated == removal.last_resort
    now = [remedy.change for remedy in found if remedy.where == NOW]
    assert (now[-1] if tolerated else now[0]) == removal.change


CONTROL_PLANE, GPU = taint("node-role.kubernetes.io/control-plane"), taint("nvidia.com/gpu", "present")


@pytest.mark.parametrize(("gpu", "in_control"), [("c1", "c2"), ("c2", "c1")])
@pytest.mark.parametrize("zone", ["c", "d"])  # in the zone of the other, or in a later one
def test_a_pool_is_opened_before_the_control_plane_whatever_nodes_are_called(gpu, in_control, zone):
    closed = [node(gpu, zone, taints=[GPU]), node(in_control, "c", taints=[CONTROL_PLANE])]
    found = [change for _, change in changes(*OPEN, *closed, constraints=[spread()]) if "remove the taint" in change]

    assert f"remove the taint nvidia.com/gpu=present:NoSchedule from {gpu} (zone {zone})" == found[0]


def test_a_gpu_node_of_the_control_plane_is_of_the_control_plane():
    closed = [node("c1", "c", taints=[CONTROL_PLANE, GPU]), node("c2", "c", taints=[CONTROL_PLANE])]
    found = [change for _, change in changes(*OPEN, *closed, constraints=[spread()]) if "remove the taint" in change]

    assert ["remove the taint node-role.kubernetes.io/control-plane:NoSchedule from c2 (zone c)"] == found


@pytest.mark.parametrize(("large", "small"), [("c1", "c2"), ("c2", "c1")])
def test_of_nodes_with_the_same_taint_the_size_decides_and_no_name(large, small):
    closed = [node(large, "c", taints=[INFRA], cpu="8"), node(small, "c", taints=[INFRA], cpu="4")]
    found = [change for _, change in changes(*OPEN, *closed, constraints=[spread()]) if "remove the taint" in change]

    assert [f"remove the taint dedicated=infra:NoSchedule from {small} (zone c)"] == found


def test_to_tolerate_the_control_plane_is_the_last_change_of_the_template():
    in_control = node("c1", "c", taints=[taint("node-role.kubernetes.io/control-plane")])
    spot = node("d1", "d", taints=[taint("cloud.google.com/gke-spot", "true")])
    found = [change for where, change in changes(in_control, spot) if where == IN_TEMPLATE]

    assert [
        "add a toleration of cloud.google.com/gke-spot=true:NoSchedule",
        "add a toleration of node-role.kubernetes.io/control-plane:NoSchedule",
    ] == found


@pytest.mark.parametrize("platform", [taint("node.kubernetes.io/os", "windows"), taint("kubernetes.io/arch", "arm64")])
def test_a_taint_of_machines_on_which_other_images_start_is_tolerated_at_last(platform):
    cycle = attempted(node("c1", taints=[platform]), node("d1", taints=[taint("nvidia.com/gpu")]))
    found = {remedy.change: remedy.last_resort for remedy in remedies(cycle, find_feasible(cycle))}
    written = f"{platform['key']}={platform['value']}:NoSchedule"

    assert not found["add a toleration of nvidia.com/gpu:NoSchedule"]
    assert found[f"add a toleration of {written}"] and found[f"remove the taint {written} from c1"]


@pytest.mark.parametrize("role", ["control-plane", "controlplane", "etcd", "master"])
def test_no_new_node_is_like_one_of_the_control_plane(role):
    in_control = node("a1", "a", labels={f"node-role.kubernetes.io/{role}": ""}, cpu="64")
    found = changes(in_control, node("b1", "b"), running("b1", "8"), cpu="2", constraints=[spread(maxSkew=9)])

    assert not [change for _, change in found if "such as a1" in change]


def test_where_only_the_control_plane_can_help_two_changes_are_tried_besides():
    """The only other node is cordoned, and too small."""
    in_control = node("c1", taints=[taint("node-role.kubernetes.io/control-plane")])
    cycle = attempted(in_control, node("a1", cpu="1", unschedulable=True), cpu="1200m")
    found = {remedy.change: remedy.last_resort for remedy in remedies(cycle, find_feasible(cycle))}

    assert {
        "uncordon a1, and lower the requests: cpu from 1200m to 1": False,
        "remove the taint node-role.kubernetes.io/control-plane:NoSchedule from c1": True,
        "add a toleration of node-role.kubernetes.io/control-plane:NoSchedule": True,
    } == {change: last for change, last in found.items() if "such as" not in change}


OF_DAEMON_SET = {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "controller": True}]}
STATIC = {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "c1", "controller": True}]}


def being_deleted(on, **fields):
    pod = running(on, **{**OWNED, **fields})
    return {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": "2026-01-02T00:00:00Z"}}


@pytest.mark.parametrize(
    ("pods", "drained"),
    [
        ([], False),
        ([running("c1", **OWNED)], False),
        ([being_deleted("c1", **OF_DAEMON_SET)], False),
        ([being_deleted("c1", **STATIC)], False),
        ([being_deleted("c1")], True),
        ([being_deleted("c1"), running("c1", **OWNED)], True),
    ],
)
def test_a_node_that_is_perhaps_drained_is_uncordoned_last(pods, drained):
    cycle = attempted(*OPEN, node("c1", "c", unschedulable=True), *pods, constraints=[spread()])
    now = [remedy for remedy in remedies(cycle, find_feasible(cycle)) if remedy.where == NOW]
    uncordon = next(remedy for remedy in now if remedy.change == "uncordon c1 (zone c)")

    assert drained == uncordon.last_resort == bool(known(*OPEN, node("c1", "c", unschedulable=True), *pods))
    assert uncordon == now[-1 if drained else 0]
    assert "add a node (such as a1) to zone c" in [remedy.change for remedy in now]


def test_a_node_that_is_perhaps_drained_but_has_a_taint_of_a_controller_stays_closed():
    closed = node("c1", "c", unschedulable=True, taints=[taint("node.kubernetes.io/not-ready")])

    assert not [change for _, change in changes(*OPEN, closed, being_deleted("c1")) if "c1" in change]


def known(*objects, **fields):
    cycle = attempted(*objects, **fields)
    return closed_nodes(cycle, find_feasible(cycle))


def test_what_is_known_of_closed_nodes():
    going = [node(name, "c", taints=[taint("ToBeDeletedByClusterAutoscaler", name)]) for name in ("c1", "c2")]
    both = node("d1", "d", taints=[taint("nvidia.com/gpu"), taint("example.com/agent-not-ready")])
    drained = [node("e1", "e", unschedulable=True), being_deleted("e1")]
    found = known(*OPEN, *going, both, *drained, node("f1", "f", taints=[INFRA]), constraints=[spread()])

    assert [
        ("ToBeDeletedByClusterAutoscaler", ("c1", "c2")),
        ("example.com/agent-not-ready", ("d1",)),
        ("nvidia.com/gpu", ("d1",)),
        ("", ("e1",)),
    ] == [nodes[:2] for nodes in found]


def test_what_does_not_refuse_the_pod_is_left_out():
    tolerating = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    gpu = node("c1", "c", taints=[taint("nvidia.com/gpu")], cpu="0")
    rarely = node("d1", "d", taints=[taint("DeletionCandidateOfClusterAutoscaler", "1", "PreferNoSchedule")])

    assert () == known(*OPEN, gpu, rarely, constraints=[spread()], tolerations=tolerating)
    assert () == known(node("a1", unschedulable=True))


@pytest.mark.parametrize(
    ("closed", "words"),
    [
        (ClosedNodes("a/b", ("n1",), "wait"), "n1 has the taint a/b: wait"),
        (ClosedNodes("a/b", ("n1", "n2"), "wait"), "n1, n2 have the taint a/b: wait"),
        (ClosedNodes("", ("n1",), "cordoned"), "n1 is cordoned"),
        (ClosedNodes("", ("n1", "n2"), "cordoned"), "n1, n2 are cordoned"),
    ],
)
def test_closed_nodes_in_words(closed, words):
    assert words == str(closed)


def test_a_node_of_hostnames_is_like_any_other():
    in_control = node("c1", taints=[taint("node-role.kubernetes.io/control-plane")])
    found = changes(*OPEN, in_control, constraints=[spread(HOSTNAME)])

    assert (NOW, "add a node (such as a1)") == found[0]
