"""
The nodes that a hard constraint counts, and those that would take the Pod; the Pods that are there do not matter here.

    nodes ──carry every key, inclusion policies──> eligible ──taints, cordoned, node affinity──> usable
"""

from __future__ import annotations

from collections.abc import Sequence

from webhook.scheduler.constraint import Constraint
from webhook.scheduler.inclusion import carrying_every_key, included
from webhook.scheduler.incoming import IncomingPod
from webhook.scheduler.nodes import NO_SCHEDULE, Nodes, NodeSet, Taint

UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "", NO_SCHEDULE)


def eligible_nodes(constraint: Constraint, hard: Sequence[Constraint], pod: IncomingPod, nodes: Nodes) -> NodeSet:
    """The nodes that `constraint` counts, which is one of the Pod's `hard` ones."""
    return carrying_every_key(nodes, hard) & included(constraint, pod, nodes)


def open_nodes(pod: IncomingPod, nodes: Nodes) -> NodeSet:
    """The nodes that no taint keeps the Pod off, and that are not cordoned."""
    found = nodes.tolerated(pod.tolerations)
    if nodes.unschedulable and not any(one.tolerates(UNSCHEDULABLE) for one in pod.tolerations):
        found &= ~nodes.unschedulable
    return found


def usable_nodes(pod: IncomingPod, nodes: Nodes) -> NodeSet:
    """The nodes that the Pod may run on, as far as taints and its node affinity go."""
    return open_nodes(pod, nodes) & pod.affinity.matching(nodes)
