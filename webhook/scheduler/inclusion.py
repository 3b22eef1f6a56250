"""Which nodes a constraint counts, and how many Pods on each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from webhook.scheduler.constraint import HONOR, Constraint
from webhook.scheduler.counts import LabelSet, PodGroup
from webhook.scheduler.features import Features
from webhook.scheduler.nodes import DO_NOT_SCHEDULE, IncomingPod, Node, untolerated_taint
from webhook.scheduler.selectors import Selector


def is_included(constraint: Constraint, pod: IncomingPod, node: Node) -> bool:
    """
    upstream: common.go:topologySpreadConstraint.matchNodeInclusionPolicies (v1.37)

    Whether the constraint's nodeAffinityPolicy and nodeTaintsPolicy let `node` count.
    """
    if constraint.node_affinity_policy == HONOR and not pod.affinity.matches(node):
        return False
    honors_taints = constraint.node_taints_policy == HONOR
    return not honors_taints or untolerated_taint(node.taints, pod.tolerations, DO_NOT_SCHEDULE) is None


def carries_every_key(node: Node, constraints: Iterable[Constraint]) -> bool:
    """
    upstream: common.go:nodeLabelsMatchSpreadConstraints (v1.37)

    Whether `node` carries the topology key of each constraint; a node that does not is counted by none of them.
    """
    return all(constraint.topology_key in node.labels for constraint in constraints)


def count_by_node(groups: Mapping[LabelSet, PodGroup], selector: Selector, features: Features) -> dict[str, int]:
    """
    upstream: common.go:countPodsMatchSelector (v1.37)

    The number of Pods of one namespace that the selector matches, by the name of their node.
    """
    if selector.empty and not features.empty_selector_counts:
        return {}
    counts: dict[str, int] = {}
    for group in groups.values():
        if selector.matches(group.labels):
            for node, number in group.nodes.items():
                counts[node] = counts.get(node, 0) + number
    return counts
