"""
How many more Pods a cluster can take at most, in whatever order they come: what each hard constraint by itself allows,
and what several allow together.

    Pods per eligible domain, room per domain ──> the largest minimum there can be ──> Pods per domain ──> their sum
"""

from __future__ import annotations

from dataclasses import replace

from evenkeel.scheduler.framework import Framework
from evenkeel.scheduler.joint_limit import joint_limit
from evenkeel.scheduler.pod_counts import UNUSED, Requests, Usage
from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.resource_fit import asked_of_node
from evenkeel.scheduler.scheduler_nodes import Allocatable
from evenkeel.scheduler.spread_counts import DomainCounts
from webhook.findings.room import Bound
from webhook.spread.nodes import NodeSet


def bound(cycle: Cycle, wanted: int) -> Bound:
    """
    Return how many Pods like that of the attempt can be placed at most, counted no further than `wanted`.

    All other Pods stay where they are.
    """
    framework = Framework(cycle)
    hard = framework.spread.hard
    usable, room = framework.usable & hard.labelled, _Room(cycle, wanted)
    kept_off = usable & framework.kept_off()
    usable &= ~kept_off
    bounds = [Bound(room.of_all(usable))]
    bounds += [_of_constraint(counts, usable, room) for counts in hard.counts if counts.countable]
    lowest = min(bounds, key=lambda bound_of_constraint: bound_of_constraint.number)
    if limit := joint_limit(hard.counts, hard.nodes, usable, lowest.number):
        lowest = Bound(limit.number, limit.constraints[0], together=limit.constraints)
    return lowest._replace(kept_off=kept_off)


def _of_constraint(counts: DomainCounts, usable: NodeSet, room: _Room) -> Bound:
    """
    Return the bound of one constraint: no domain gets more Pods than minimum + maxSkew allow, or than it has room for.

    The minimum cannot become larger than what the smallest eligible domain can hold.
    """
    constraint, wanted = counts.constraint, room.wanted
    if not counts.self_match_num:
        return Bound(wanted)
    takes = dict.fromkeys(counts.eligible, 0)  # How many Pods have room, by domain.
    sure = 0  # So many are placed even if the minimum stays 0.
    for name, domain in room.snapshot.nodes.placed(constraint.topology_key, usable).of.items():
        before = takes.get(domain, wanted)
        if before < wanted:
            takes[domain] = after = min(wanted, before + room.on(name))
            free = max(0, constraint.max_skew - counts.match_num(domain))
            sure += min(free, after) - min(free, before)
            if sure >= wanted:
                return Bound(wanted)
    largest_minimum, scarce = 0, ""
    if len(counts.eligible) >= constraint.min_domains:
        largest_minimum, scarce = min(
            ((counts.match_num(domain) + more, domain) for domain, more in takes.items()), default=(0, "")
        )
    allowed = constraint.max_skew + largest_minimum
    number = sum(min(more, max(0, allowed - counts.match_num(domain))) for domain, more in takes.items())
    return Bound(min(wanted, number), constraint, scarce, takes.get(scarce, 0))


class _Room:
    """How many more Pods nodes have room for, counted no further than `wanted`; each node is computed once."""

    def __init__(self, cycle: Cycle, wanted: int) -> None:
        self.snapshot, self.wanted = cycle.snapshot, wanted
        self._most = 1 if cycle.pod.ports else wanted  # A second Pod would want the same ports.
        # DeviceClasses may not have been read: what they may give out counts as theirs.
        unread = replace(cycle, snapshot=replace(cycle.snapshot, device_resources=None))
        self._requests, self._of_devices = cycle.requests, unread.of_devices
        self._by_node: dict[str, int] = {}
        # Where no node says what it has, resources were not read: each node has room for all.
        self._nodes_have_sizes = any(node.allocatable.pods for node in self.snapshot.nodes)

    def of_all(self, nodes: NodeSet) -> int:
        number = 0
        for name in self.snapshot.nodes.names(nodes):
            number += self.on(name)
            if number >= self.wanted:
                return self.wanted
        return number

    def on(self, name: str) -> int:
        if not self._nodes_have_sizes:
            return self._most
        room = self._by_node.get(name)
        if room is None:
            node, used = self.snapshot.nodes.get(name), self.snapshot.usage.get(name, UNUSED)
            most = 0
            if node is not None:
                requests = asked_of_node(self._requests, self._of_devices, node.allocatable)
                most = fitting(requests, node.allocatable, used)
            room = self._by_node[name] = max(0, min(most, self._most))
        return room


def fitting(requests: Requests, allocatable: Allocatable, usage: Usage) -> int:
    """Return how many such Pods fit on a node; a request of 0 always fits."""
    number = allocatable.pods - usage.pods
    if requests.milli_cpu:
        number = min(number, (allocatable.milli_cpu - usage.milli_cpu) // requests.milli_cpu)
    if requests.memory:
        number = min(number, (allocatable.memory - usage.memory) // requests.memory)
    if requests.ephemeral_storage:
        number = min(number, (allocatable.ephemeral_storage - usage.ephemeral_storage) // requests.ephemeral_storage)
    if requests.scalars:
        has, used = dict(allocatable.scalars), dict(usage.scalars)
        for name, amount in requests.scalars:
            number = min(number, (has.get(name, 0) - used.get(name, 0)) // amount) if amount else number
    return number
