"""Nodes by what is said of their usage, while it changes."""

from __future__ import annotations

from tests.support.attempts import cycle, node
from tests.support.placement import bound
from webhook.scheduler.counts import Usage
from webhook.scheduler.plugins.nodes_by_usage import NodesByUsage


def counting():
    """Three nodes, by the number of their Pods; `asked` has what is allocatable of those that were looked at."""
    asked = []
    snapshot = cycle(node("n1"), node("n2"), node("n3"), bound("n2")).snapshot

    def pods_of(allocatable, usage):
        asked.append(allocatable)
        return usage.pods

    return NodesByUsage(snapshot, pods_of), snapshot.nodes, asked


def test_a_node_is_looked_at_once_and_only_if_it_is_asked_for():
    by_pods, _, asked = counting()
    by_pods.look_at(0b011)
    by_pods.look_at(0b010)

    assert ({0: 0b001, 1: 0b010}, 2) == (by_pods.by_answer, len(asked))


def test_a_node_moves_when_its_usage_changes():
    by_pods, nodes, _ = counting()
    by_pods.look_at(0b111)
    by_pods.set_usage(nodes.get("n1"), Usage(1))

    assert {0: 0b100, 1: 0b011} == by_pods.by_answer


def test_usage_that_was_set_before_a_look_is_kept():
    by_pods, nodes, _ = counting()
    by_pods.set_usage(nodes.get("n2"), Usage(5))
    by_pods.look_at(0b111)

    assert {0: 0b101, 5: 0b010} == by_pods.by_answer


def test_a_copy_changes_by_itself():
    by_pods, nodes, _ = counting()
    by_pods.look_at(0b111)
    copied = by_pods.copy()
    copied.set_usage(nodes.get("n1"), Usage(7))

    assert ({0: 0b101, 1: 0b010}, {0: 0b100, 1: 0b010, 7: 0b001}) == (by_pods.by_answer, copied.by_answer)
