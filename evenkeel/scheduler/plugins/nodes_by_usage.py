"""
The usage of each node while Pods come and go, and nodes grouped by what a function says of their usage.

    usage of a node changes ──> its answers are forgotten ──> computed again when next asked for
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Generic, TypeVar

from evenkeel.scheduler.pod_counts import UNUSED, Usage
from evenkeel.scheduler.scheduler_nodes import Allocatable, SchedulerNode, SchedulerNodes
from webhook.spread.nodes import NodeSet, union

AnswerT = TypeVar("AnswerT", bound=Hashable)
OfUsage = Callable[[Allocatable, Usage], AnswerT]


class ChangingUsage:
    """The usage of each node now, and the changes since it was made."""

    def __init__(self, nodes: SchedulerNodes, by_node: Mapping[str, Usage]) -> None:
        self.nodes = nodes
        self.by_node = by_node  # Whoever changes it calls `change`.
        self._changes: list[NodeSet] = []  # The changed node of each change, in their order.
        self._changed: NodeSet = 0  # All changed nodes.
        self._groups: dict[Hashable, NodesByUsage[Any]] = {}  # Shared by all Pods that ask the same.

    def copy(self, by_node: Mapping[str, Usage]) -> ChangingUsage:
        """Return a copy that follows another mapping, which must be equal now."""
        new = ChangingUsage(self.nodes, by_node)
        for key, group in self._groups.items():
            group.catch_up()
            new._groups[key] = group.copy(new)
        return new

    def set(self, name: str, usage: Usage) -> None:
        """Set the usage of a node; a name that no node has is ignored."""
        self.by_node = {**self.by_node, name: usage}
        self.change(name)

    def change(self, name: str) -> None:
        """Note that the usage of a node has changed; a name that no node has is ignored."""
        if self.nodes.get(name) is not None:
            bit = self.nodes.named_one(name)
            self._changes.append(bit)
            self._changed |= bit

    def changed_since(self, seen: int) -> tuple[NodeSet, int]:
        """Return the nodes of all changes but the first `seen`, and the number of changes so far."""
        return union(self._changes[seen:]) if seen else self._changed, len(self._changes)

    def grouped(self, key: Hashable, answer_of: OfUsage[AnswerT]) -> NodesByUsage[AnswerT]:
        """Return the nodes grouped by a function; equal keys are for functions that answer the same."""
        if key not in self._groups:
            self._groups[key] = NodesByUsage(self, answer_of)
        return self._groups[key]


class NodesByUsage(Generic[AnswerT]):
    """The nodes grouped by the answers of a function; an answer is computed when `look_at` first needs it."""

    __slots__ = ("_answer_of", "_answered", "_seen", "_usage", "by_answer")

    def __init__(self, usage: ChangingUsage, answer_of: OfUsage[AnswerT]) -> None:
        self._usage, self._answer_of = usage, answer_of
        self._seen = 0  # How many changes of the usage are heeded.
        self._answered: NodeSet = 0  # The nodes whose answers are up to date.
        self.by_answer: dict[AnswerT, NodeSet] = {}

    def copy(self, usage: ChangingUsage) -> NodesByUsage[AnswerT]:
        new = NodesByUsage(usage, self._answer_of)
        new._answered, new.by_answer = self._answered, dict(self.by_answer)
        return new

    def catch_up(self) -> None:
        """Forget the answers for nodes whose usage has changed."""
        changed, self._seen = self._usage.changed_since(self._seen)
        self._forget(changed & self._answered)

    def _forget(self, nodes: NodeSet) -> None:
        if nodes:
            others = ~nodes
            self._answered &= others
            for answer in self.by_answer:  # An empty group stays: usage often comes back to what it was.
                self.by_answer[answer] &= others

    def look_at(self, nodes: NodeSet) -> None:
        """Bring the answers of these nodes up to date."""
        self.catch_up()
        unanswered, by_node, answer_of = nodes & ~self._answered, self._usage.by_node, self._answer_of
        if unanswered:
            answers = self._usage.nodes.grouped(
                unanswered, lambda node: answer_of(node.allocatable, by_node.get(node.name, UNUSED))
            )
            for answer, answered in answers.items():
                self.by_answer[answer] = self.by_answer.get(answer, 0) | answered
            self._answered |= unanswered

    def try_usage(self, node: SchedulerNode, usage: Usage) -> None:
        """Give a node the answer for the usage of a DryRun, which ends by giving it the one from before."""
        self.catch_up()
        bit, answer = self._usage.nodes.named_one(node.name), self._answer_of(node.allocatable, usage)
        self._forget(bit & self._answered)
        self._answered |= bit
        self.by_answer[answer] = self.by_answer.get(answer, 0) | bit
