"""NodeResourcesFit: a node has room for what the Pod requests; how full it is makes its score."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.scheduler.counts import UNUSED, Usage
from webhook.scheduler.fit import allocation, shortages
from webhook.scheduler.nodes import Node, NodeSet
from webhook.scheduler.plugins.plugin import Plugin, Refusal
from webhook.scheduler.profile import NODE_RESOURCES_FIT, Cycle


class NodeResourcesFit(Plugin):
    """
    Keeps the nodes by the reasons why they have no room, () for those that have room.

    A node is looked at when it is first asked for.
    """

    name = NODE_RESOURCES_FIT
    counts_pods = True
    scores_usage = True

    def __init__(self, cycle: Cycle) -> None:
        super().__init__(cycle)
        self._known: NodeSet = 0
        self._by_reasons: dict[tuple[str, ...], NodeSet] = {}

    def refusals(self, remaining: NodeSet) -> Iterator[Refusal]:
        """upstream: fit.go:Fit.Filter (v1.37)"""
        self._look_at(remaining)
        for reasons, nodes in self._by_reasons.items():
            if reasons:
                yield Refusal(self.name, reasons, remaining & nodes)

    def passing(self, remaining: NodeSet) -> NodeSet:
        self._look_at(remaining)
        return remaining & self._by_reasons.get((), 0)

    def score_usage(self, node: Node, usage: Usage) -> int:
        """upstream: fit.go:Fit.Score (v1.37)"""
        return allocation(self.cycle.profile.strategy, self.cycle.pod.requests, node.allocatable, usage)

    def set_usage(self, node: Node, usage: Usage) -> None:
        bit, profile = self.nodes.named_one(node.name), self.cycle.profile
        now = shortages(self.cycle.pod.requests, node.allocatable, usage, profile.ignored, profile.ignored_groups)
        for reasons, nodes in self._by_reasons.items():
            if nodes & bit and reasons != now:
                self._by_reasons[reasons] = nodes ^ bit
        self._by_reasons[now] = self._by_reasons.get(now, 0) | bit
        self._known |= bit

    def copy(self) -> NodeResourcesFit:
        new = NodeResourcesFit(self.cycle)
        new._known, new._by_reasons = self._known, dict(self._by_reasons)
        return new

    def _look_at(self, remaining: NodeSet) -> None:
        unknown = remaining & ~self._known
        if not unknown:
            return
        usage = self.cycle.snapshot.usage
        requests, ignored = self.cycle.pod.requests, (self.cycle.profile.ignored, self.cycle.profile.ignored_groups)

        def reasons_of(node: Node) -> tuple[str, ...]:
            return shortages(requests, node.allocatable, usage.get(node.name, UNUSED), *ignored)

        for reasons, nodes in self.nodes.grouped(unknown, reasons_of).items():
            self._by_reasons[reasons] = self._by_reasons.get(reasons, 0) | nodes
        self._known |= unknown
