"""Nodes by what is said of their usage, while it changes."""

from __future__ import annotations

from evenkeel.scheduler.plugins.nodes_by_usage import ChangingUsage
from evenkeel.scheduler.pod_counts import Usage
from tests.support.attempts import cycle, node
from tests.support.placement import bound


def counting():
    """Three nodes with what is used of them, by the number of their Pods; `asked` are those that were looked at."""
    asked = []
    snapshot = cycle(node("n1"), node("n2"), node("n3"), bound("n2")).snapshot
    usage = ChangingUsage(snapshot.nodes, snapshot.usage)

    def pods_of(allocatable, used):
        asked.append(allocatable)
        return used.pods

    return usage, usage.grouped("pods", pods_of), asked


def answers(group):
    """What it says of any node; a group may be empty."""
    return {answer: nodes for answer, nodes in group.by_answer.items() if nodes}


def test_a_node_is_looked_at_once_and_only_if_it_is_asked_for():
    _, by_pods, asked = counting()
    by_pods.look_at(0b011)
    by_pods.look_at(0b010)

    assert ({0: 0b001, 1: 0b010}, 2) == (answers(by_pods), len(asked))
    by_pods.look_at(0b100)
    assert ({0: 0b101, 1: 0b010}, 3) == (answers(by_pods), len(asked))


def test_a_node_moves_when_its_usage_has_changed_and_it_is_asked_for_again():
    usage, by_pods, asked = counting()
    by_pods.look_at(0b111)
    usage.set("n1", Usage(1))
    usage.set("gone", Usage(1))
    by_pods.look_at(0b110)
    assert ({0: 0b100, 1: 0b010}, 3) == (answers(by_pods), len(asked))

    usage.set("n2", Usage(2))
    by_pods.look_at(0b111)
    assert ({0: 0b100, 1: 0b001, 2: 0b010}, 5) == (answers(by_pods), len(asked))


def test_usage_that_was_set_before_a_look_is_kept():
    usage, by_pods, _ = counting()
    usage.set("n2", Usage(5))
    by_pods.look_at(0b111)

    assert {0: 0b101, 5: 0b010} == answers(by_pods)


def test_usage_that_is_tried_holds_until_another_is():
    usage, by_pods, _ = counting()
    n2 = usage.nodes.get("n2")
    usage.set("n2", Usage(3))
    by_pods.try_usage(n2, Usage(5))
    by_pods.look_at(0b111)
    assert {0: 0b101, 5: 0b010} == answers(by_pods)

    by_pods.try_usage(n2, Usage(3))
    assert {0: 0b101, 3: 0b010} == answers(by_pods)
    by_pods.try_usage(n2, Usage(0))
    assert {0: 0b111} == answers(by_pods)


def test_a_copy_changes_by_itself_and_looks_at_no_node_again():
    usage, by_pods, asked = counting()
    by_pods.look_at(0b111)
    usage.set("n3", Usage(2))
    by_node = dict(usage.by_node)
    copied = usage.copy(by_node)
    by_node["n1"] = Usage(7)
    copied.change("n1")
    of_copy = copied.grouped("pods", None)
    for group in (by_pods, of_copy):
        group.look_at(0b111)

    assert ({0: 0b001, 1: 0b010, 2: 0b100}, {1: 0b010, 2: 0b100, 7: 0b001}) == (answers(by_pods), answers(of_copy))
    assert 3 + 1 + 2 == len(asked)


def test_what_is_asked_alike_is_asked_once():
    usage, by_pods, _ = counting()

    assert by_pods is usage.grouped("pods", None)
    assert by_pods is not usage.grouped("others", None)
