"""Who makes nodes besides people, in words: in a cluster, and whether it makes the node that a change adds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from evenkeel.placement.remedies import Remedy
from evenkeel.placement.variants import NEW_NODE
from evenkeel.scheduler.scheduler_nodes import SchedulerNode
from evenkeel.scheduler.snapshot import Snapshot
from webhook.findings.wording import first_of
from webhook.kubernetes.names import AKS_NODE_POOL, ZONE
from webhook.spread.cluster_view import CLUSTER_AUTOSCALER, KARPENTER, NODE_POOL_LABEL
from webhook.spread.known_taints import is_set_by_controller, known_taint
from webhook.spread.taints import DO_NOT_SCHEDULE, Taint, untolerated_taint

# Labels by which clouds name the group of a node; such a group may have a size that nobody changes.
GROUPS: Mapping[str, str] = {
    "eks.amazonaws.com/nodegroup": "EKS node group",
    "cloud.google.com/gke-nodepool": "GKE node pool",
    AKS_NODE_POOL: "AKS node pool",
}
MOST_POOLS = 2  # named in a line
POOLS: Mapping[str, str] = {NODE_POOL_LABEL: "NodePool", **GROUPS}
MADE_HERE = {
    KARPENTER: "makes nodes here",
    CLUSTER_AUTOSCALER: "makes nodes here, but none for a soft constraint",
}


def makers_note(snapshot: Snapshot) -> Iterator[str]:
    """Yield a line for each who makes nodes for Pods that wait, or one if somebody may; nothing where no node tells."""
    nodes = snapshot.nodes
    makers = sorted(snapshot.node_makers(nodes.all))
    groups = [f"{group}s" for label, group in GROUPS.items() if nodes.carrying(label)]
    for maker in makers:
        yield (
            f"{maker} {MADE_HERE[maker]}; evenkeel does not simulate it. The events of a Pod say what it does for the "
            "Pod."
        )
    if groups and not makers:
        yield (
            f"Nodes here are in {' and '.join(groups)}. An autoscaler may add some, but no node says so; evenkeel does "
            "not simulate it."
        )


def by_itself(remedy: Remedy) -> str:
    """
    Return that an autoscaler may add the node of a change, and of which pool it does not; "" where a change adds none,
    or nobody is known to make nodes.
    """
    snapshot = remedy.cycle.snapshot
    node = next((snapshot.nodes.get(name) for name in remedy.nodes if name.startswith(NEW_NODE)), None)
    if node is None or not (makers := sorted(snapshot.node_makers(snapshot.nodes.all))):
        return ""
    names = " or ".join(makers)
    if refusal := _refusal(remedy, _pools(node)):
        return f"{names} adds {refusal}"
    in_zone = snapshot.nodes.members(snapshot.nodes.domains(ZONE).get(node.labels.get(ZONE, ""), 0))
    pools = {_pools(other) for other in in_zone if not other.name.startswith(NEW_NODE)}
    refusals = sorted(_refusal(remedy, pools_of_node) for pools_of_node in pools)
    excluded = f", but {first_of(refusals, MOST_POOLS)}" if refusals and all(refusals) else ""
    return f"{names} may add it by itself{excluded}"


def _pools(node: SchedulerNode) -> tuple[tuple[str, str], ...]:
    """Return the pools of a node, each as (label, value)."""
    return tuple((label, node.labels[label]) for label in POOLS if label in node.labels)


def _refusal(remedy: Remedy, pools: Iterable[tuple[str, str]]) -> str:
    """Return why no autoscaler adds a node of these pools, by a fixed size or a taint; "" where one may."""
    snapshot, tolerations = remedy.cycle.snapshot, remedy.cycle.pod.tolerations
    for label, pool in pools:
        of_pool = f"no node of {POOLS[label]} {pool}"
        if label == NODE_POOL_LABEL and pool in snapshot.static_pools:
            return f"{of_pool}, whose replicas are fixed"
        if taint := untolerated_taint(_common_taints(snapshot, label, pool), tolerations, DO_NOT_SCHEDULE):
            perhaps = "" if known_taint(taint) is not None else "perhaps "
            return f"{perhaps}{of_pool}: its nodes have the taint {taint}"
    return ""


def _common_taints(snapshot: Snapshot, label: str, pool: str) -> list[Taint]:
    """
    Return the taints that a pool gives its nodes: all of them have each, and it does not come and go.

    What is known as a taint of pools comes first.  Any other may be set by hand: it counts where two nodes have it.
    """
    members = snapshot.nodes.members(snapshot.nodes.domains(label)[pool])
    taints = [frozenset(member.taints) for member in members if not member.name.startswith(NEW_NODE)]
    common = frozenset.intersection(*taints) if taints else frozenset()
    certain = {taint for taint in common if known_taint(taint) is not None and not is_set_by_controller(taint)}
    likely = {taint for taint in common if known_taint(taint) is None and len(taints) > 1}
    return [*sorted(certain), *sorted(likely)]
