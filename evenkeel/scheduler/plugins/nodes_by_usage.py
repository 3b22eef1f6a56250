"""What is used of each node while Pods come and go, and the nodes by functions of that."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Generic, TypeVar

from evenkeel.scheduler.pod_counts import UNUSED, Usage
from evenkeel.scheduler.scheduler_nodes import Allocatable, SchedulerNode, SchedulerNodes
from webhook.spread.nodes import NodeSet, union

AnswerT = TypeVar("AnswerT", bound=Hashable)
OfUsage = Callable[[Allocatable, Usage], AnswerT]


class ChangingUsage:
    """
    What is used of each node now, and which nodes have changed since the first look.

    Who changes `by_node` says so by `change`.  Pods that ask the same of nodes share what is known of them.
    """

    def __init__(self, nodes: SchedulerNodes, by_node: Mapping[str, Usage]) -> None:
        self.nodes, self.by_node = nodes, by_node
        self._changes: list[NodeSet] = []
        self._changed: NodeSet = 0
        self._groups: dict[Hashable, NodesByUsage[Any]] = {}

    def copy(self, by_node: Mapping[str, Usage]) -> ChangingUsage:
        """Return a copy that continues with a usage which is the same now."""
        new = ChangingUsage(self.nodes, by_node)
        for asked, group in self._groups.items():
            group.catch_up()
            new._groups[asked] = group.copy(new)
        return new

    def set(self, name: str, usage: Usage) -> None:
        """Set what is used of a node; a name that no node has is passed over."""
        self.by_node = {**self.by_node, name: usage}
        self.change(name)

    def change(self, name: str) -> None:
        """Note that the usage of a node has changed; a name that no node has is passed over."""
        if self.nodes.get(name) is not None:
            bit = self.nodes.named_one(name)
            self._changes.append(bit)
            self._changed |= bit

    def changed_since(self, seen: int) -> tuple[NodeSet, int]:
        """Return the nodes that have changed after so many changes, and how many changes there are."""
        return union(self._changes[seen:]) if seen else self._changed, len(self._changes)

    def grouped(self, asked: Hashable, answer_of: OfUsage[AnswerT]) -> NodesByUsage[AnswerT]:
        """Return the nodes by a function, which is the same wherever `asked` is."""
        if asked not in self._groups:
            self._groups[asked] = NodesByUsage(self, answer_of)
        return self._groups[asked]


class NodesByUsage(Generic[AnswerT]):
    """
    The nodes by the answer of a function of what is allocatable and used there.

    The answer for a node is computed when it is first needed, and again once its usage has changed.
    """

    __slots__ = ("_answer_of", "_known", "_seen", "_usage", "by_answer")

    def __init__(self, usage: ChangingUsage, answer_of: OfUsage[AnswerT]) -> None:
        self._usage, self._answer_of, self._seen = usage, answer_of, 0
        self._known: NodeSet = 0
        self.by_answer: dict[AnswerT, NodeSet] = {}

    def copy(self, usage: ChangingUsage) -> NodesByUsage[AnswerT]:
        """Return a copy for a usage that is the same now."""
        new = NodesByUsage(usage, self._answer_of)
        new._known, new.by_answer = self._known, dict(self.by_answer)
        return new

    def catch_up(self) -> None:
        """Forget the answers for nodes whose usage has changed."""
        changed, self._seen = self._usage.changed_since(self._seen)
        self._forget(changed & self._known)

    def _forget(self, nodes: NodeSet) -> None:
        if nodes:
            others = ~nodes
            self._known &= others
            for answer in self.by_answer:  # An empty group stays: usage often comes back to what it was.
                self.by_answer[answer] &= others

    def look_at(self, nodes: NodeSet) -> None:
        """Ask for the answers of these nodes, where they are not known."""
        self.catch_up()
        unknown, by_node, answer_of = nodes & ~self._known, self._usage.by_node, self._answer_of
        if unknown:
            answers = self._usage.nodes.grouped(
                unknown, lambda node: answer_of(node.allocatable, by_node.get(node.name, UNUSED))
            )
            for answer, answered in answers.items():
                self.by_answer[answer] = self.by_answer.get(answer, 0) | answered
            self._known |= unknown

    def try_usage(self, node: SchedulerNode, usage: Usage) -> None:
        """Let a node have the answer for a usage that is only tried, until another is or the node has changed."""
        self.catch_up()
        bit, now = self._usage.nodes.named_one(node.name), self._answer_of(node.allocatable, usage)
        self._forget(bit & self._known)
        self._known |= bit
        self.by_answer[now] = self.by_answer.get(now, 0) | bit
