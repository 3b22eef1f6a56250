"""Taints that Kubernetes, clouds and operators set: who sets and removes each, and what a person does about it."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from webhook.spread.taints import Taint

# upstream: taints.go:ToBeDeletedTaint, DeletionCandidateTaint (cluster-autoscaler 1.34)
AUTOSCALER_TAINTS = ("ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler")
# Keys of taints, and of labels.
CONTROL_PLANE = tuple(f"node-role.kubernetes.io/{role}" for role in ("control-plane", "controlplane", "etcd", "master"))
FARGATE = ("eks.amazonaws.com/compute-type", "fargate")
VIRTUAL_LABELS = (FARGATE, ("type", "virtual-kubelet"), ("liqo.io/type", "virtual-node"))


class Owner(Enum):
    """Whose taint it is, which decides what may be advised about it."""

    CONTROLLER = "controller"  # something sets and removes it: nobody removes or tolerates it by hand
    VIRTUAL = "virtual"  # it stays on a node that is no machine for this Pod
    POOL = "pool"  # it stays on all nodes of a pool, such as spot machines: a Pod may tolerate it
    PLATFORM = "platform"  # it stays on nodes on which only images that are built for them start
    SYSTEM = "system"  # it stays on nodes that are for the cluster's own Pods


class KnownTaint(NamedTuple):
    """Taints of which it is known who sets them."""

    owner: Owner
    advice: str  # who sets it, and until when; and what a person does
    keys: tuple[str, ...]  # "*" at an end is for any text; `key=value` only where the value counts
    going: bool = False  # the node is soon gone


@lru_cache(maxsize=1024)  # A command asks again and again about the few taints that its nodes have.
def known_taint(taint: Taint) -> KnownTaint | None:
    """Return what is known of a taint; None if people set it as they like."""
    return next((known for known in _KNOWN if any(_matches(pattern, taint) for pattern in known.keys)), None)


def is_set_by_controller(taint: Taint) -> bool:
    """Return whether something sets and removes a taint, and nobody by hand."""
    known = known_taint(taint)
    return known is not None and known.owner == Owner.CONTROLLER


def _matches(pattern: str, taint: Taint) -> bool:
    if pattern.startswith("*"):
        return taint.key.endswith(pattern[1:])
    if pattern.endswith("*"):
        return taint.key.startswith(pattern[:-1])
    return pattern == (f"{taint.key}={taint.value}" if "=" in pattern else taint.key)


def _until(advice: str, *keys: str) -> KnownTaint:
    return KnownTaint(Owner.CONTROLLER, advice, keys)


def _going(setter: str, *keys: str) -> KnownTaint:
    return KnownTaint(Owner.CONTROLLER, f"{setter}; wait, or add a node", keys, going=True)


def _virtual(advice: str, *keys: str) -> KnownTaint:
    return KnownTaint(Owner.VIRTUAL, advice, keys)


def _pool(advice: str, *keys: str) -> KnownTaint:
    return KnownTaint(Owner.POOL, advice, keys)


def _platform(advice: str, *keys: str) -> KnownTaint:
    return KnownTaint(Owner.PLATFORM, advice, keys)


def _system(advice: str, *keys: str) -> KnownTaint:
    return KnownTaint(Owner.SYSTEM, f"{advice}; keep it", keys)


# Each was read in the source of what sets it, or in its documentation.  Of several that match, the first counts.
_KNOWN = (
    _until(
        "set by hand, or by an operator, after a shutdown; remove it only when the node is up again",
        "node.kubernetes.io/out-of-service",
    ),
    _platform("set on Windows nodes; tolerate it if the images are for Windows", "node.kubernetes.io/os"),
    _until(
        "set by Kubernetes while the node is in this condition; wait, or run kubectl describe node",
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/unschedulable",
        "node.kubernetes.io/network-unavailable",
        "node.kubernetes.io/memory-pressure",
        "node.kubernetes.io/memory-contention-pressure",
        "node.kubernetes.io/kubepods-memory-contention-pressure",
        "node.kubernetes.io/disk-pressure",
        "node.kubernetes.io/disk-contention-pressure",
        "node.kubernetes.io/kubepods-disk-contention-pressure",
        "node.kubernetes.io/pid-pressure",
    ),
    _until(
        "set by the kubelet until the cloud controller manager has initialized the node; wait, or look at its Pod",
        "node.cloudprovider.kubernetes.io/uninitialized",
    ),
    _until(
        "set by the cloud controller manager while the machine is off; wait, or start the machine",
        "node.cloudprovider.kubernetes.io/shutdown",
    ),
    _until(
        "set until Cluster API has labelled the node; wait, or look at the Machine of the node",
        "node.cluster.x-k8s.io/uninitialized",
    ),
    _going("set by cluster-autoscaler before it deletes a node", *AUTOSCALER_TAINTS),
    _going(
        "set by Karpenter before it deletes or replaces a node", "karpenter.sh/disrupted", "karpenter.sh/disruption"
    ),
    _going("set by Karpenter before it reboots a node", "karpenter.sh/rebooting"),
    _going("set before Google Cloud stops a machine", "cloud.google.com/impending-node-termination"),
    _going(
        "set by AWS Node Termination Handler before a machine stops or reboots",
        "aws-node-termination-handler/*",
    ),
    _going(
        "set by AKS while it repairs or drains a node",
        "remediator.kubernetes.azure.com/unschedulable",
        "remediator.aks.microsoft.com/unschedulable",
    ),
    _going("set by CAST AI while it drains a node", "autoscaling.cast.ai/draining"),
    _going("set by Medik8s while it restarts a node that is not well", "medik8s.io/remediation"),
    _until(
        "set by AWS's cloud provider when a volume hangs while it is attached, and never removed; replace the node",
        "NodeWithImpairedVolumes",
    ),
    _until(
        "set until Karpenter has registered the node; wait, or look at the NodeClaim of the node",
        "karpenter.sh/unregistered",
    ),
    _until(
        "set until the node is prepared; wait, or look at the Pods of DaemonSets there",
        "startup-taint.cluster-autoscaler.kubernetes.io/*",
        "ignore-taint.cluster-autoscaler.kubernetes.io/*",
    ),
    _until(
        "set while the node is not to be used for Pods, although it is ready; wait, or ask who sets it",
        "status-taint.cluster-autoscaler.kubernetes.io/*",
    ),
    _until(
        "set until Gardener's own Pods on the node are ready; wait, or look at these Pods",
        "node.gardener.cloud/critical-components-not-ready",
    ),
    _until(
        "set until OVN-Kubernetes has a network on the node; wait, or look at its Pod there",
        "k8s.ovn.org/network-unavailable",
    ),
    _until("set until istio-cni is ready on the node; wait, or look at its Pod there", "cni.istio.io/not-ready"),
    _until(
        "set by the node readiness controller; wait, or look at the NodeReadinessRule with this taint",
        "readiness.k8s.io/*",
    ),
    _until("set until the agent is ready on the node; wait, or look at the agent's Pod there", "*/agent-not-ready"),
    _virtual(
        "set on nodes of Fargate, each for one Pod; no such node takes another",
        "=".join(FARGATE),
    ),
    _virtual(
        "set on virtual nodes, whose Pods run outside of the cluster; no node for this Pod",
        "virtual-kubelet.io/provider",
        "azure.com/aci",
        "virtual-node.liqo.io/not-allowed",
    ),
    _pool(
        "set on machines that the cloud may stop at any time; tolerate it if the Pod may end like that",
        "cloud.google.com/gke-spot",
        "cloud.google.com/gke-preemptible",
        "kubernetes.azure.com/scalesetpriority=spot",
        "node.kubernetes.io/lifecycle=spot",
    ),
    _pool(
        "set on nodes with devices, to keep these free; tolerate it if the Pod needs them",
        "nvidia.com/gpu",
        "amd.com/gpu",
        "google.com/tpu",
        "aws.amazon.com/neuron",
        "habana.ai/gaudi",
    ),
    _platform("set on nodes of another architecture; tolerate it if the images are for that", "kubernetes.io/arch"),
    _pool("set on nodes for Pods of the RuntimeClass gvisor, which tolerates it", "sandbox.gke.io/runtime"),
    _system(
        "set on nodes that GKE keeps for its own Pods",
        "components.gke.io/*",
        "cloud.google.com/gke-quick-remove",
    ),
    _system("set on nodes for the cluster's own Pods", "CriticalAddonsOnly"),
    _system("set on nodes of the control plane", *CONTROL_PLANE),
    _system("set on nodes that have a role in the cluster, such as infra", "node-role.kubernetes.io/*"),
)
