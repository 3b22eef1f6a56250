"""Nodes grouped by a function of what is allocatable and used on each."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from webhook.scheduler.counts import UNUSED, Usage
from webhook.scheduler.nodes import Allocatable, Node, NodeSet
from webhook.scheduler.snapshot import Snapshot

AnswerT = TypeVar("AnswerT", bound=Hashable)


class NodesByUsage(Generic[AnswerT]):
    """
    The nodes by the answer of a function of what is allocatable and used there.

    The answer for a node is computed when it is first needed.  Placing a Pod changes the answer of one node, so that
    the others need not be computed again.
    """

    __slots__ = ("_answer_of", "_known", "_snapshot", "by_answer")

    def __init__(self, snapshot: Snapshot, answer_of: Callable[[Allocatable, Usage], AnswerT]) -> None:
        self._snapshot, self._answer_of = snapshot, answer_of
        self._known: NodeSet = 0
        self.by_answer: dict[AnswerT, NodeSet] = {}

    def copy(self) -> NodesByUsage[AnswerT]:
        """Return an independent copy."""
        new = NodesByUsage(self._snapshot, self._answer_of)
        new._known, new.by_answer = self._known, dict(self.by_answer)
        return new

    def look_at(self, nodes: NodeSet) -> None:
        """Ask for the answers of these nodes, where they are not known, by the usage of the snapshot."""
        unknown, usage, answer_of = nodes & ~self._known, self._snapshot.usage, self._answer_of
        if unknown:
            answers = self._snapshot.nodes.grouped(
                unknown, lambda node: answer_of(node.allocatable, usage.get(node.name, UNUSED))
            )
            for answer, answered in answers.items():
                self.by_answer[answer] = self.by_answer.get(answer, 0) | answered
            self._known |= unknown

    def set_usage(self, node: Node, usage: Usage) -> None:
        """Compute the answer for a node with its new usage, and move the node to the group of that answer."""
        bit, now = self._snapshot.nodes.named_one(node.name), self._answer_of(node.allocatable, usage)
        if self._known & bit:
            before = next(answer for answer, nodes in self.by_answer.items() if nodes & bit)
            self.by_answer[before] ^= bit  # An empty group may stay: usage often comes back to what it was.
        self._known |= bit
        self.by_answer[now] = self.by_answer.get(now, 0) | bit
