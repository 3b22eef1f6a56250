"""
The domains that a constraint counts, and the nodes that would take the Pod; the Pods that are there do not matter here.

    nodes ──carry every key, inclusion policies──> eligible ──taints, cordoned, node affinity──> usable
"""

from __future__ import annotations

from typing import NamedTuple

from webhook.scheduler.constraint import HONOR, Constraint
from webhook.scheduler.incoming import IncomingPod
from webhook.scheduler.nodes import CORDONED, Nodes, NodeSet


class Reach(NamedTuple):
    """
    The nodes that a Pod may run on: as its node affinity goes, as taints go, and `open` ones that are not cordoned.

    It is found once for a Pod, since hostile affinity takes long to hold against all nodes.
    """

    affine: NodeSet
    tolerated: NodeSet
    open: NodeSet

    @property
    def usable(self) -> NodeSet:
        """The nodes that neither node affinity nor a taint nor a cordon keeps the Pod off."""
        return self.affine & self.open

    def eligible(self, constraint: Constraint, carrying_every_key: NodeSet) -> NodeSet:
        """The nodes that the constraint counts, of those that carry the key of each hard constraint."""
        found = carrying_every_key
        if constraint.node_affinity_policy == HONOR:
            found &= self.affine
        return found & self.tolerated if constraint.node_taints_policy == HONOR else found


def is_confined(pod: IncomingPod, constraint: Constraint) -> bool:
    """Return whether node affinity leaves one domain, so that the constraint refuses no node and prefers none."""
    if not leaves_one_domain(pod, constraint):
        return False
    return constraint.soft or (constraint.node_affinity_policy == HONOR and constraint.min_domains <= 1)


def leaves_one_domain(pod: IncomingPod, constraint: Constraint) -> bool:
    """Return whether node affinity leaves the Pod one domain of the constraint, whatever nodes join."""
    values = pod.affinity.values(constraint.topology_key)
    return values is not None and len(values) == 1


def reach(pod: IncomingPod, nodes: Nodes) -> Reach:
    """The nodes that the Pod may run on; requests and other Pods do not matter."""
    tolerated = nodes.tolerated(pod.tolerations)
    cordoned = nodes.unschedulable
    if cordoned and any(one.tolerates(CORDONED) for one in pod.tolerations):
        cordoned = 0
    return Reach(pod.affinity.matching(nodes), tolerated, tolerated & ~cordoned)
