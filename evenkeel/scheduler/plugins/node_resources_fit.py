"""NodeResourcesFit: a node has room for what the Pod requests; how full it is makes its score."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import cached_property, lru_cache, partial

from evenkeel.scheduler.plugins.nodes_by_usage import ChangingUsage, NodesByUsage, OfUsage
from evenkeel.scheduler.plugins.plugin import Plugin, Reason, Refusal
from evenkeel.scheduler.pod_counts import UNUSED, Usage
from evenkeel.scheduler.profile import NODE_RESOURCES_FIT, Cycle
from evenkeel.scheduler.resource_fit import PODS, USUAL_SCORING, allocation, asked_of_node, least_allocated, shortages
from evenkeel.scheduler.scheduler_nodes import Allocatable, SchedulerNode
from webhook.spread.nodes import NodeSet, union

TOO_MANY_PODS = Reason("Too many pods", "no room for another Pod")


@lru_cache
def insufficient(resources: tuple[str, ...]) -> tuple[Reason, ...]:
    return tuple(
        [
            TOO_MANY_PODS if name == PODS else Reason(f"Insufficient {name}", f"too little {name} free")
            for name in resources
        ]
    )


class NodeResourcesFit(Plugin):
    """Groups the nodes by the resources of which they have too little: () for those that have room."""

    name = NODE_RESOURCES_FIT
    counts_pods = True
    scores_usage = True

    def __init__(self, cycle: Cycle) -> None:
        super().__init__(cycle)
        self.follow_usage(ChangingUsage(cycle.snapshot.nodes, cycle.snapshot.usage))

    def follow_usage(self, usage: ChangingUsage) -> None:
        # The key by which frameworks share the groups.  `of_devices` need not be in it: the requests decide it.
        key = "shortages", self.cycle.requests
        self._by_shortages: NodesByUsage[tuple[str, ...]] = usage.grouped(key, self._shortages())

    def _shortages(self) -> OfUsage[tuple[str, ...]]:
        """Return the function that says of which resources a node has too little; it is called for each node."""
        requests, of_devices = self.cycle.requests, self.cycle.of_devices
        if not of_devices:
            return partial(shortages, requests)
        return lambda allocatable, usage: shortages(
            asked_of_node(requests, of_devices, allocatable), allocatable, usage
        )

    def refusals(self, remaining: NodeSet) -> Iterator[Refusal]:
        """
        Yield the nodes that have too little room, by what is too little.

        upstream: fit.go:Fit.Filter (v1.37)
        """
        self._by_shortages.look_at(remaining)
        for resources, nodes in self._by_shortages.by_answer.items():
            refused = remaining & nodes if resources else 0
            if not refused:
                continue
            reasons = insufficient(resources)
            beyond = refused & self._too_small if self.cycle.features.requests_beyond_preemption else 0
            if beyond:
                yield Refusal(self.name, reasons, beyond)
            if refused != beyond:
                yield Refusal(self.name, reasons, refused & ~beyond, True)

    @cached_property
    def _too_small(self) -> NodeSet:
        """The nodes that have less than the Pod requests, even without other Pods."""
        requests, of_devices = self.cycle.requests, self.cycle.of_devices

        def is_too_small(allocatable: Allocatable) -> bool:
            asked = asked_of_node(requests, of_devices, allocatable)
            return bool(shortages(asked, allocatable._replace(pods=1), UNUSED))

        return union(nodes for allocatable, nodes in self.nodes.by_allocatable.items() if is_too_small(allocatable))

    def passing(self, remaining: NodeSet) -> NodeSet:
        self._by_shortages.look_at(remaining)
        return remaining & self._by_shortages.by_answer.get((), 0)

    def usage_score(self) -> OfUsage[int]:
        """
        Score the room that the Pod leaves on the node.

        upstream: fit.go:Fit.Score (v1.37)
        """
        strategy, requests = self.cycle.profile.strategy, self.cycle.pod.requests
        # least_allocated is allocation with USUAL_SCORING, but faster.
        return (
            partial(least_allocated, requests) if strategy == USUAL_SCORING else partial(allocation, strategy, requests)
        )

    def try_usage(self, node: SchedulerNode, usage: Usage) -> None:
        self._by_shortages.try_usage(node, usage)

    def copy(self) -> NodeResourcesFit:
        return copy(self)
