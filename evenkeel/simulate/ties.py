"""
Which of several best nodes kube-scheduler takes.

Up to 1.34 all are equally likely.  Since 1.35 it is the root of a heap of the candidates: the first of the best in the
tree of the heap, in the order root, left, right.  The heap is made of the candidates in the order in which they passed.
That is the order of the node tree, except that several workers race, each of which takes some nodes in a row.
"""

from __future__ import annotations

from math import isqrt
from random import Random

from evenkeel.simulate.sampling import first
from webhook.spread.nodes import NodeSet

# How late a worker begins on average, as a share of the time that it needs for its row of nodes; less on two CPUs.
LATENESS = 0.5
WORKERS = 16


def uniform(best: NodeSet, random: Random) -> int:
    """Return the position of one of the nodes, all equally likely."""
    number = best.bit_count()
    return first(best, 1 + int(random.random() * number)).bit_length() - 1 if number > 1 else best.bit_length() - 1


def nodes_in_a_row(nodes: int) -> int:
    """
    Return how many nodes one worker of kube-scheduler filters in a row.

    upstream: parallelism.go:chunkSizeFor (v1.37)
    """
    return max(1, min(isqrt(nodes), nodes // WORKERS + 1))


def by_heap(best: NodeSet, candidates: NodeSet, start: int, nodes: int, random: Random) -> int:
    """
    Return the position of the best node that is the root of a heap of the candidates.

    `start`: the position at which the search started.
    `nodes`: how many nodes there are.

    upstream: schedule_one.go:prioritizeNodes, sorted_nodes.go:NewSortedScoredNodes (v1.37)
    """
    if best & (best - 1) == 0:
        return best.bit_length() - 1
    row = nodes_in_a_row(nodes)
    mask = (1 << row) - 1
    best, candidates = (_from(start, members, nodes) for members in (best, candidates))
    # When each worker begins its row, and the first node of the row.
    rows = [(i + random.expovariate(1 / LATENESS), i * row) for i in range(-(-nodes // row))]
    # The path to a place in the heap is that of its index in binary, without the first 1: 0 is left, 1 is right.  As
    # text, paths sort as root, left, right; "2" comes after all.
    winner, first_path, passed_before, next_level = -1, "2", 0, 1
    for _, first_of_row in sorted(rows):
        in_row = candidates >> first_of_row & mask
        number = in_row.bit_count()
        best_in_row = best >> first_of_row & mask if passed_before + number >= next_level else 0
        while best_in_row:
            bit = best_in_row & -best_in_row  # the lowest
            best_in_row ^= bit
            index = passed_before + (in_row & (bit - 1)).bit_count() + 1
            if index >= next_level:  # Of each level of the tree the first of the best comes before the others.
                path, next_level = bin(index)[3:], 1 << index.bit_length()
                if path < first_path:
                    winner, first_path = first_of_row + bit.bit_length() - 1, path
        passed_before += number
    return (winner + start) % nodes


def _from(start: int, members: NodeSet, nodes: int) -> NodeSet:
    """Return the nodes rotated, so that the one at `start` is at 0."""
    return members >> start | (members & ((1 << start) - 1)) << nodes - start
