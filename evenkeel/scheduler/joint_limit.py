"""
How many more Pods several hard constraints let in together, in whatever order the Pods come.

Each constraint by itself may leave room, and still the domain that one asks for may have only nodes that another one
refuses.  So all orders are tried, on nodes with room without end:

    Pods per domain ──one Pod more on any node that each constraint lets in──> ... ──> no node left, or all are placed
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.spread_counts import DomainCounts
from evenkeel.scheduler.spread_filter import HardConstraints
from webhook.spread.constraint import Constraint
from webhook.spread.nodes import Nodes, NodeSet
from webhook.spread.selectors import Selector

MOST_WORK = 50_000  # States and groups that are looked at, some 0.7 s.  What is not proven by then is not said.
MOST_COMPARED = 4  # So many constraints of a Pod are compared; two are usual.


class JointLimit(NamedTuple):
    """Constraints that together let in fewer Pods than each by itself."""

    number: int
    constraints: tuple[Constraint, ...]


def joint_limit(counted: Iterable[DomainCounts], nodes: Nodes, usable: NodeSet, wanted: int) -> JointLimit | None:
    """
    Return the two constraints that let in the fewest Pods together, or all if two are not enough.

    None if each pair, and all together, let in `wanted` Pods, or as many as one of them by itself does, or if that is
    not known.
    """
    limiting = [counts for counts in counted if counts.countable and counts.self_match_num][:MOST_COMPARED]
    if len(limiting) < 2 or wanted <= 0 or _fit_one_on_each(limiting, nodes, usable, wanted):
        return None
    each = {counts.constraint.index: _most_in_any_order([counts], nodes, usable, wanted) for counts in limiting}
    limits = list[JointLimit]()
    for number_of_constraints in sorted({2, len(limiting)}):
        for together in combinations(limiting, number_of_constraints):
            alone = min(each[counts.constraint.index] for counts in together)
            number = _most_in_any_order(together, nodes, usable, alone)
            if number < alone:
                limits.append(JointLimit(number, tuple(counts.constraint for counts in together)))
        if limits:
            return min(limits, key=lambda limit: limit.number)
    return None


def _fit_one_on_each(limiting: Sequence[DomainCounts], nodes: Nodes, usable: NodeSet, wanted: int) -> bool:
    """
    Return whether the Pods plainly fit, one after the other in each domain of the first key, each on a node of its own.

    That is so quick to say that most workloads of a large cluster need no more.
    """
    coarse, *others = sorted(limiting, key=lambda counts: len(counts.eligible))
    alone_on_nodes = all(
        nodes.number_of_domains(counts.constraint.topology_key, usable) == usable.bit_count() for counts in others
    )
    if not alone_on_nodes or any(counts.counts for counts in limiting):
        return False
    free = [
        (members & usable).bit_count()
        for domain, members in nodes.domains(coarse.constraint.topology_key).items()
        if domain in coarse.eligible
    ]
    return bool(free) and min(free) >= -(-wanted // len(free))


def never_all(cycle: Cycle, own: Selector, replicas: int) -> JointLimit | None:
    """
    Return the constraints that together never let in all replicas, on the nodes that there are.

    That holds if the Pods of the workload, which `own` selects, are placed anew, and if those that run stay; and both
    on the nodes as they are and once all of them are in service.
    """
    if sum(constraint.hard for constraint in cycle.constraints) < 2:
        return None
    limit = _limit_of_replicas(cycle, own, replicas)
    if limit is None or cycle.with_nodes_in_service is cycle:
        return limit
    lasting = _limit_of_replicas(cycle.with_nodes_in_service, own, replicas)
    return lasting and lasting._replace(number=max(limit.number, lasting.number))


def _limit_of_replicas(cycle: Cycle, own: Selector, replicas: int) -> JointLimit | None:
    """Return the constraints that never let in all replicas on these nodes, whether those that run stay or not."""
    namespace, pods = cycle.pod.namespace, cycle.snapshot.pods
    groups = pods.get(namespace, {}).values()
    hard = [constraint for constraint in cycle.constraints if constraint.hard]
    counted = [group for group in groups if any(constraint.selector.matches(group.labels) for constraint in hard)]
    if not all(own.matches(group.labels) for group in counted):
        return None  # The constraints may let in more once these other Pods go.
    limit = _limit(replace(cycle, snapshot=replace(cycle.snapshot, pods={**pods, namespace: {}})), replicas)
    running = sum(sum(group.nodes.values()) for group in groups if own.matches(group.labels))
    if limit is None or not running:
        return limit
    with_running = _limit(cycle, replicas - running)
    return with_running and limit._replace(number=max(limit.number, running + with_running.number))


def _limit(cycle: Cycle, wanted: int) -> JointLimit | None:
    hard = HardConstraints.of(cycle)
    return joint_limit(hard.counts, hard.nodes, cycle.reach.usable & hard.labelled, wanted)


class _Group(NamedTuple):
    """Places that are alike: the same Pods and the same domains, save for domains that are of one place each."""

    domains: tuple[str | None, ...]  # By constraint; None where each place is a domain of its own.
    counts: tuple[int, ...]  # Pods that count there now, by constraint, where each place is a domain of its own.


# How many Pods are added to how many places of a group, the fewest first; by group.
_State = tuple[tuple[tuple[int, int], ...], ...]


class _Orders:
    """The orders in which Pods may come, where several constraints count them."""

    def __init__(self, counted: Sequence[DomainCounts], nodes: Nodes, usable: NodeSet) -> None:
        self._counted = counted
        keys = [counts.constraint.topology_key for counts in counted]
        # A place is all nodes that are in the same domain of each constraint.
        places = nodes.grouped(usable, lambda node: tuple([node.labels[key] for key in keys]))
        domains = [[place[i] for place in places] for i in range(len(keys))]
        self._shared = [len(set(of_key)) < len(places) for of_key in domains]
        alike: dict[_Group, int] = {}
        for place in places:
            group = _Group(
                tuple(domain if shared else None for domain, shared in zip(place, self._shared, strict=True)),
                tuple(
                    0 if shared else counts.match_num(domain)
                    for domain, shared, counts in zip(place, self._shared, counted, strict=True)
                ),
            )
            alike[group] = alike.get(group, 0) + 1
        self._groups = tuple(alike)
        # The Pods in the eligible domains that take none, by constraint.
        self._elsewhere = [
            {counts.match_num(domain) for domain in counts.eligible.difference(of_key)}
            for counts, of_key in zip(counted, domains, strict=True)
        ]
        self.start: _State = tuple(((0, number),) for number in alike.values())
        self.size = len(self._groups)

    def next_states(self, state: _State) -> Iterator[tuple[int, _State]]:
        """Yield each state with one Pod more, and how uneven that place is before."""
        shared, minima = self._pods_by_domain(state), list[int]()
        for i, counts in enumerate(self._counted):
            if len(counts.eligible) < counts.constraint.min_domains:
                minima.append(0)
                continue
            numbers = shared[i].values() if self._shared[i] else self._fewest(state, i)
            minima.append(min([*self._elsewhere[i], *numbers], default=0))
        for position, (group, added) in enumerate(zip(self._groups, state, strict=True)):
            for pods, _ in added:
                uneven = [
                    (shared[i][domain] if domain is not None else group.counts[i] + pods) - minima[i]
                    for i, domain in enumerate(group.domains)
                ]
                fits = zip(uneven, self._counted, strict=True)
                if all(skew + 1 <= counts.constraint.max_skew for skew, counts in fits):
                    yield sum(uneven), (*state[:position], _one_more(added, pods), *state[position + 1 :])

    def _pods_by_domain(self, state: _State) -> list[dict[str, int]]:
        """Return the Pods in each domain that has several places, by constraint."""
        by_domain = [dict[str, int]() for _ in self._counted]
        for group, added in zip(self._groups, state, strict=True):
            more = sum(pods * places for pods, places in added)
            for i, domain in enumerate(group.domains):
                if domain is not None:
                    before = by_domain[i].get(domain)
                    by_domain[i][domain] = more + (self._counted[i].match_num(domain) if before is None else before)
        return by_domain

    def _fewest(self, state: _State, i: int) -> Iterator[int]:
        """Yield the fewest Pods in the places of each group, for a constraint with a domain for each place."""
        return (group.counts[i] + added[0][0] for group, added in zip(self._groups, state, strict=True))


def _one_more(added: tuple[tuple[int, int], ...], pods: int) -> tuple[tuple[int, int], ...]:
    """Return how many Pods are added to the places of a group, with one more where so many are."""
    places = dict(added)
    places[pods] -= 1
    places[pods + 1] = places.get(pods + 1, 0) + 1
    return tuple(sorted((number, places_with) for number, places_with in places.items() if places_with))


def _most_in_any_order(counted: Sequence[DomainCounts], nodes: Nodes, usable: NodeSet, wanted: int) -> int:
    """Return how many Pods the constraints let in at most, up to `wanted`; `wanted` if that takes too long to say."""
    orders = _Orders(counted, nodes, usable)
    most, work, seen, to_try = 0, 0, {orders.start}, [(0, orders.start)]
    while to_try:
        placed, state = to_try.pop()
        most = max(most, placed)
        # The place that is least uneven is tried first: where all Pods fit, the first order mostly places them.
        choices = sorted(orders.next_states(state), key=lambda choice: -choice[0])
        work += orders.size + len(choices)
        if most >= wanted or work > MOST_WORK:
            return wanted
        for _, following in choices:
            if following not in seen:
                seen.add(following)
                to_try.append((placed + 1, following))
    return most
