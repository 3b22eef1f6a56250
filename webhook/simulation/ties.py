"""
Which of several best nodes kube-scheduler takes.

Up to 1.34 each is as likely.  Since 1.35 it is the root of a heap of the candidates: the first of the best in the order
in which the heap's tree is gone through, root, left, right.  Candidates are in the order in which they passed, which is
that of the node tree but for a race.
"""

from __future__ import annotations

from random import Random

from webhook.scheduler.features import Features
from webhook.scheduler.nodes import NodeSet
from webhook.simulation.sampling import first

UNIFORM, FIRST = "uniform", "first"
TIES = (UNIFORM, FIRST)
LATENESS = 1.0  # Places by which a node is late in the race, on average.


def usual(features: Features) -> str:
    """How a version breaks ties."""
    return FIRST if features.breaks_ties_by_heap else UNIFORM


def uniform(best: NodeSet, random: Random) -> int:
    """The position of one of the nodes, each as likely."""
    number = best.bit_count()
    return first(best, 1 + int(random.random() * number)).bit_length() - 1 if number > 1 else best.bit_length() - 1


def by_heap(best: NodeSet, candidates: NodeSet, start: int, random: Random) -> int:
    """
    upstream: schedule_one.go:prioritizeNodes, sorted_nodes.go:NewSortedScoredNodes (v1.37)

    The position of the one of the best nodes that is the root of a heap of the candidates, which passed from the node
    at `start` on.
    """
    if best & (best - 1) == 0:
        return best.bit_length() - 1
    below = (candidates & ((1 << start) - 1)).bit_count()
    number = candidates.bit_count()
    found, least = -1, ("2", 0)
    left = best
    while left:
        bit = left & -left
        left ^= bit
        place = ((candidates & (bit - 1)).bit_count() - below) % number
        late = place + int(random.expovariate(1 / LATENESS))
        key = (bin(late + 1)[3:], place)
        if key < least:
            found, least = bit.bit_length() - 1, key
    return found
