"""
The domains that a constraint counts, and the nodes that would take the Pod, whatever Pods there are.

    nodes ──carry every key, inclusion policies──> eligible ──taints, cordoned, node affinity──> usable
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from webhook.spread.affinity import RequiredNodeAffinity
from webhook.spread.constraint import HONOR, Constraint
from webhook.spread.new_pod import NewPod
from webhook.spread.nodes import Nodes, NodeSet, union
from webhook.spread.taints import CORDONED, Taint

# What leaves a constraint one domain.
NODES, OTHER_KEYS, TAINTS = "nodes", "topology keys of other constraints", "taints"
NODE_SELECTOR, NODE_AFFINITY = "nodeSelector", "node affinity"


@dataclass(frozen=True)
class Reach:
    """
    The nodes that a Pod may run on, whatever it requests and whatever other Pods there are.

    Each set is computed once, since hostile affinity takes long to check against all nodes.
    """

    pod: NewPod
    nodes: Nodes

    @cached_property
    def affine(self) -> NodeSet:
        """The nodes that nodeSelector and required node affinity match."""
        return self.pod.affinity.matching(self.nodes)

    @cached_property
    def untolerated(self) -> Mapping[Taint, NodeSet]:
        """The nodes that a taint keeps the Pod off, by the first such taint."""
        return self.nodes.untolerated(self.pod.tolerations)

    @cached_property
    def tolerated(self) -> NodeSet:
        """The nodes that no taint keeps the Pod off."""
        return self.nodes.all & ~union(self.untolerated.values())

    @cached_property
    def cordoned(self) -> NodeSet:
        """The nodes that a cordon keeps the Pod off: none if the Pod tolerates it."""
        cordoned = self.nodes.unschedulable
        if cordoned and any(toleration.tolerates(CORDONED) for toleration in self.pod.tolerations):
            return 0
        return cordoned

    @cached_property
    def open(self) -> NodeSet:
        """The nodes that no taint and no cordon keeps the Pod off."""
        return self.tolerated & ~self.cordoned

    @property
    def usable(self) -> NodeSet:
        """The nodes that neither node affinity nor a taint nor a cordon keeps the Pod off."""
        return self.affine & self.open

    def eligible(self, constraint: Constraint, carrying_every_key: NodeSet) -> NodeSet:
        """
        Return the nodes that the constraint counts, of those that carry the key of each constraint.

        Its nodeAffinityPolicy and nodeTaintsPolicy may leave some out.

        upstream: common.go:topologySpreadConstraint.matchNodeInclusionPolicies (v1.37)
        """
        eligible = carrying_every_key
        if constraint.node_affinity_policy == HONOR:
            eligible &= self.affine
        return eligible & self.tolerated if constraint.node_taints_policy == HONOR else eligible


def most_new_pods(reach: Reach, constraint: Constraint, carrying_every_key: NodeSet) -> int | None:
    """
    Return how many Pods a hard constraint lets in, if it counts them and none is there yet; None if any number.

    The global minimum stays 0 if there are fewer domains than minDomains, or if a domain that counts takes no Pod.
    Then each domain takes maxSkew Pods at most.
    """
    eligible, nodes = reach.eligible(constraint, carrying_every_key), reach.nodes
    counted = nodes.number_of_domains(constraint.topology_key, eligible)
    taking = nodes.number_of_domains(constraint.topology_key, eligible & reach.usable)
    if taking == counted and counted >= constraint.min_domains:
        return None
    return constraint.max_skew * taking


def carrying_every_key(nodes: Nodes, constraints: Iterable[Constraint]) -> NodeSet:
    """
    Return the nodes that carry the topology key of each constraint; the others are counted by none of them.

    upstream: common.go:nodeLabelsMatchSpreadConstraints (v1.37)
    """
    carrying = nodes.all
    for constraint in constraints:
        carrying &= nodes.carrying(constraint.topology_key)
    return carrying


def is_confined(pod: NewPod, constraint: Constraint) -> bool:
    """Return whether node affinity leaves one domain, so that the constraint refuses no node and prefers none."""
    if not leaves_one_domain(pod, constraint):
        return False
    return constraint.soft or (constraint.node_affinity_policy == HONOR and constraint.min_domains <= 1)


def leaves_one_domain(pod: NewPod, constraint: Constraint) -> bool:
    """Return whether node affinity leaves the Pod one domain of the constraint, whatever nodes join."""
    values = pod.affinity.values(constraint.topology_key)
    return values is not None and len(values) == 1


class OnlyDomain(NamedTuple):
    """The only domain that a constraint counts, so that it refuses no node and prefers none."""

    domain: str
    left_by: str  # NODES, OTHER_KEYS, NODE_SELECTOR, NODE_AFFINITY or TAINTS

    @property
    def by_affinity(self) -> bool:
        """Whether the Pod itself excludes the other domains."""
        return self.left_by in (NODE_SELECTOR, NODE_AFFINITY)


def only_domain(reach: Reach, constraint: Constraint, carrying_every_key: NodeSet) -> OnlyDomain | None:
    """Return the only domain that the constraint counts; None if it counts several or none, or minDomains more."""
    key, nodes = constraint.topology_key, reach.nodes
    if is_confined(reach.pod, constraint):
        (domain,) = reach.pod.affinity.values(key) or ("",)
        return OnlyDomain(domain, affinity_field(reach, constraint, carrying_every_key))
    eligible = reach.eligible(constraint, carrying_every_key)
    if constraint.min_domains > 1 or nodes.number_of_domains(key, eligible) != 1:
        return None
    domain = next(domain for domain, members in nodes.domains(key).items() if members & eligible)
    if len(nodes.domains(key)) == 1:
        return OnlyDomain(domain, NODES)
    if nodes.number_of_domains(key, carrying_every_key) == 1:
        return OnlyDomain(domain, OTHER_KEYS)
    honors = constraint.node_affinity_policy == HONOR
    if honors and nodes.number_of_domains(key, carrying_every_key & reach.affine) == 1:
        return OnlyDomain(domain, affinity_field(reach, constraint, carrying_every_key))
    return OnlyDomain(domain, TAINTS)


def affinity_field(reach: Reach, constraint: Constraint, carrying_every_key: NodeSet) -> str:
    """Return which field of the Pod leaves so few domains, NODE_SELECTOR or NODE_AFFINITY."""
    key, nodes, selector = constraint.topology_key, reach.nodes, reach.pod.affinity.selector
    if leaves_one_domain(reach.pod, constraint):
        return NODE_SELECTOR if key in selector.keys else NODE_AFFINITY
    selected, left = (
        nodes.number_of_domains(key, carrying_every_key & matching)
        for matching in (RequiredNodeAffinity(selector).matching(nodes), reach.affine)
    )
    return NODE_SELECTOR if selector.requirements and selected == left else NODE_AFFINITY
