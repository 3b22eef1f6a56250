"""Who sets which taint."""

from __future__ import annotations

import pytest

from webhook.spread.known_taints import Owner, known_taint
from webhook.spread.taints import Taint


def taint(text):
    key, _, value = text.partition("=")
    return Taint(key, value, "NoSchedule")


@pytest.mark.parametrize(
    ("owner", "keys"),
    [
        (
            Owner.CONTROLLER,
            "node.kubernetes.io/not-ready node.kubernetes.io/unreachable node.kubernetes.io/unschedulable "
            "node.kubernetes.io/disk-pressure node.kubernetes.io/pid-pressure node.kubernetes.io/memory-pressure "
            "node.kubernetes.io/network-unavailable node.kubernetes.io/out-of-service "
            "node.cloudprovider.kubernetes.io/uninitialized node.cloudprovider.kubernetes.io/shutdown "
            "ToBeDeletedByClusterAutoscaler karpenter.sh/disrupted karpenter.sh/disruption karpenter.sh/unregistered "
            "cloud.google.com/impending-node-termination aws-node-termination-handler/spot-itn NodeWithImpairedVolumes "
            "remediator.kubernetes.azure.com/unschedulable startup-taint.cluster-autoscaler.kubernetes.io/gpu "
            "ignore-taint.cluster-autoscaler.kubernetes.io/a status-taint.cluster-autoscaler.kubernetes.io/b "
            "node.cilium.io/agent-not-ready ebs.csi.aws.com/agent-not-ready example.com/agent-not-ready "
            "cni.istio.io/not-ready readiness.k8s.io/storage node.cluster.x-k8s.io/uninitialized "
            "node.gardener.cloud/critical-components-not-ready k8s.ovn.org/network-unavailable "
            "medik8s.io/remediation autoscaling.cast.ai/draining",
        ),
        (
            Owner.VIRTUAL,
            "eks.amazonaws.com/compute-type=fargate virtual-kubelet.io/provider=azure virtual-kubelet.io/provider "
            "virtual-node.liqo.io/not-allowed azure.com/aci=true",
        ),
        (
            Owner.POOL,
            "cloud.google.com/gke-spot=true kubernetes.azure.com/scalesetpriority=spot nvidia.com/gpu=present "
            "cloud.google.com/gke-preemptible=true node.kubernetes.io/lifecycle=spot "
            "sandbox.gke.io/runtime google.com/tpu",
        ),
        (Owner.PLATFORM, "node.kubernetes.io/os=windows kubernetes.io/arch=arm64 kubernetes.io/arch"),
        (
            Owner.SYSTEM,
            "components.gke.io/gke-managed-components CriticalAddonsOnly node-role.kubernetes.io/control-plane "
            "node-role.kubernetes.io/master node-role.kubernetes.io/etcd node-role.kubernetes.io/infra=reserved "
            "node-role.kubernetes.io/ingress cloud.google.com/gke-quick-remove",
        ),
    ],
)
def test_whose_taint_it_is(owner, keys):
    for key in keys.split():
        known = known_taint(taint(key))
        assert known is not None and owner == known.owner, key


@pytest.mark.parametrize(
    "key",
    [
        "dedicated=",
        "=x",
        "example.com/not-ready",
        "karpenter.sh/nodepool",
        "gpu",
        "node",
        "node.kubernetes.io/dedicated=gpu",
        "node.kubernetes.io/lifecycle=on-demand",
        "node.kubernetes.io/pool",
        "node.kubernetes.io/not-ready-yet",
        "eks.amazonaws.com/compute-type=hybrid",
        "eks.amazonaws.com/compute-type",
        "kubernetes.azure.com/scalesetpriority=a",
        "node-role.kubernetes.io",
        "cloud.google.com/gke-nodepool",
    ],
)
def test_a_taint_that_people_set_as_they_like(key):
    assert known_taint(taint(key)) is None


@pytest.mark.parametrize(
    ("key", "going"),
    [
        ("ToBeDeletedByClusterAutoscaler", True),
        ("DeletionCandidateOfClusterAutoscaler", True),
        ("karpenter.sh/disrupted", True),
        ("aws-node-termination-handler/rebalance-recommendation", True),
        ("karpenter.sh/unregistered", False),
        ("node.kubernetes.io/not-ready", False),
    ],
)
def test_whether_the_node_is_soon_gone(key, going):
    known = known_taint(taint(key))

    assert known is not None and going == known.going


def test_what_is_said_of_a_taint():
    known = known_taint(taint("ToBeDeletedByClusterAutoscaler"))

    assert (
        known is not None and "set by cluster-autoscaler before it deletes a node; wait, or add a node" == known.advice
    )


def test_a_node_that_is_not_to_be_used_for_a_while_is_not_being_prepared():
    kinds = ("status", "startup")
    status, startup = (known_taint(taint(f"{kind}-taint.cluster-autoscaler.kubernetes.io/x")) for kind in kinds)

    assert status is not None and startup is not None and status.advice != startup.advice
    assert status.owner == Owner.CONTROLLER and not status.going
