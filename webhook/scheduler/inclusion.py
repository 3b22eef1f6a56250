"""Which nodes a constraint counts, and how many Pods in each domain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from webhook.scheduler.constraint import HONOR, Constraint
from webhook.scheduler.counts import LabelSet, PodGroup
from webhook.scheduler.features import Features
from webhook.scheduler.incoming import IncomingPod
from webhook.scheduler.nodes import Nodes, NodeSet
from webhook.scheduler.selectors import Selector


def included(constraint: Constraint, pod: IncomingPod, nodes: Nodes) -> NodeSet:
    """
    upstream: common.go:topologySpreadConstraint.matchNodeInclusionPolicies (v1.37)

    The nodes that the constraint's nodeAffinityPolicy and nodeTaintsPolicy let count.
    """
    found = pod.affinity.matching(nodes) if constraint.node_affinity_policy == HONOR else nodes.all
    return found & nodes.tolerated(pod.tolerations) if constraint.node_taints_policy == HONOR else found


def carrying_every_key(nodes: Nodes, constraints: Iterable[Constraint]) -> NodeSet:
    """
    upstream: common.go:nodeLabelsMatchSpreadConstraints (v1.37)

    The nodes that carry the topology key of each constraint; the others are counted by none of them.
    """
    found = nodes.all
    for constraint in constraints:
        found &= nodes.carrying(constraint.topology_key)
    return found


def count(
    groups: Mapping[LabelSet, PodGroup], selector: Selector, domain_of: Callable[[str], str | None], features: Features
) -> dict[str, int]:
    """
    upstream: common.go:countPodsMatchSelector (v1.37)

    The number of Pods of one namespace that the selector matches, by the domain of their node; domains without such
    Pods are left out, and so are Pods on nodes that have no domain.
    """
    if selector.empty and not features.empty_selector_counts:
        return {}
    counts: dict[str, int] = {}
    for group in groups.values():
        if selector.matches(group.labels):
            for node, number in group.nodes.items():
                domain = domain_of(node)
                if domain is not None:
                    counts[domain] = counts.get(domain, 0) + number
    return counts
