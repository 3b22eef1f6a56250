"""
The nodes at which kube-scheduler looks in a large cluster: so many that pass, from a place on that it does not tell.

    nodes in the order of the node tree ──from each place on, the first that pass──> windows ──score──> the best of each
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from webhook.scheduler.framework import Framework
from webhook.scheduler.nodes import Node, NodeSet
from webhook.simulation.sampling import in_tree_order, number_to_find
from webhook.verification.computation import ComputedDecision

MOST_WINDOWS = 32


def is_sampled(framework: Framework, passing: NodeSet) -> bool:
    """Return whether kube-scheduler looks at only some of the nodes, where these pass."""
    number = passing.bit_count()
    return number > 0 and number > number_to_find(framework.searched.bit_count())


def tree_order(nodes: Iterable[Node], created: dict[str, tuple[str, int]]) -> list[str]:
    """
    Return the names of nodes in the order in which kube-scheduler goes through them, if it knows each since its
    creation: the creationTimestamp by name, and the resourceVersion.
    """
    in_order = sorted(nodes, key=lambda node: (created.get(node.name, ("", 0)), node.name))
    return [node.name for node in in_tree_order(in_order)]


def wins_in_a_window(computed: ComputedDecision, node: str, order: Sequence[str]) -> bool:
    """
    Return whether a node has the best score among the nodes of a window: of all windows that it is in, so many are
    tried that are as far apart as possible.
    """
    nodes = computed.cycle.snapshot.nodes
    feasible = frozenset(computed.names(computed.feasible))
    passing = [name for name in order if name in feasible]
    size = number_to_find(computed.framework.searched.bit_count())
    place, number = passing.index(node), len(passing)
    step = max(1, size // MOST_WINDOWS)
    for offset in range(0, size, step):
        begin = place - offset
        window = nodes.named(passing[(begin + i) % number] for i in range(size))
        if node in computed.names(computed.framework.best(window)):
            return True
    return False
