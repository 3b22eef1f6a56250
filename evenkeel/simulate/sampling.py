"""
Which feasible nodes kube-scheduler looks at in a large cluster, and in which order.

    nodes ──round robin over zones──> node tree ──from a rotating start, the first K that pass──> candidates
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from webhook.kubernetes.names import BETA_REGION, BETA_ZONE, REGION, ZONE
from webhook.spread.nodes import Node, NodeSet, NodeT

LEAST_FEASIBLE, LEAST_PERCENTAGE, MOST_PERCENTAGE, NODES_PER_PERCENT = 100, 5, 50, 125


class NodeSample(NamedTuple):
    """What a search for feasible nodes ends with."""

    candidates: NodeSet
    start: int  # the position at which the search for the next Pod starts


def zone_of(node: Node) -> tuple[str, str]:
    """
    Return the region and the zone of a node; a label that is deprecated comes before the one that replaced it.

    upstream: helpers.go:GetZoneKey (v1.37)
    """
    labels = node.labels
    return labels.get(BETA_REGION, labels.get(REGION, "")), labels.get(BETA_ZONE, labels.get(ZONE, ""))


def in_tree_order(nodes: Iterable[NodeT]) -> list[NodeT]:
    """
    Return the nodes in the order in which they are looked at: one of each zone in turn.

    upstream: node_tree.go:nodeTree.list (v1.37)
    """
    zones: dict[tuple[str, str], list[NodeT]] = {}
    for node in nodes:
        zones.setdefault(zone_of(node), []).append(node)
    longest = max(map(len, zones.values()), default=0)
    return [zone[i] for i in range(longest) for zone in zones.values() if i < len(zone)]


def number_to_find(nodes: int) -> int:
    """
    Return after how many feasible nodes the search among so many nodes ends.

    upstream: schedule_one.go:Scheduler.numFeasibleNodesToFind (v1.37)
    """
    if nodes < LEAST_FEASIBLE:
        return nodes
    percentage = max(LEAST_PERCENTAGE, MOST_PERCENTAGE - nodes // NODES_PER_PERCENT)
    return max(LEAST_FEASIBLE, nodes * percentage // 100)


def sample(feasible: NodeSet, number: int, start: int, searched: int) -> NodeSample:
    """
    Return the candidates among the feasible nodes.

    `number`: of all nodes, which are in tree order.
    `start`: the position at which the search starts.
    `searched`: how many nodes are left after PreFilter.

    upstream: schedule_one.go:Scheduler.findNodesThatPassFilters (v1.37)
    """
    wanted = number_to_find(searched)
    if feasible.bit_count() <= wanted:  # Then every node was looked at.
        return NodeSample(feasible, start)
    after = feasible >> start << start  # the feasible nodes from `start` on
    if after.bit_count() >= wanted:
        sampled = first(after, wanted)
        end = sampled.bit_length()
        return NodeSample(sampled, end % number)
    before = first(feasible ^ after, wanted - after.bit_count())
    return NodeSample(after | before, before.bit_length() % number)


def first(nodes: NodeSet, number: int) -> NodeSet:
    """Return the first `number` nodes of a set that has as many, or more."""
    low, high = number, nodes.bit_length()
    while low < high:
        middle = (low + high) // 2
        if (nodes & ((1 << middle) - 1)).bit_count() < number:
            low = middle + 1
        else:
            high = middle
    return nodes & ((1 << low) - 1)
