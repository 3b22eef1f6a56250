"""
Where Pods of one class may go and how good each node is for them, kept up to date while Pods come and go.

It is what `scheduler.profile` computes from a snapshot, but a placement costs what has changed: only the node just used
gets new fit and new scores of resources, and nodes with the same score are handled as one set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from webhook.scheduler.constraint import Constraint
from webhook.scheduler.counts import UNUSED, LabelSet, PodGroup, Usage
from webhook.scheduler.domains import reach
from webhook.scheduler.features import Features
from webhook.scheduler.fit import allocation, balanced_allocation, is_best_effort, shortages
from webhook.scheduler.inclusion import carrying_every_key, included
from webhook.scheduler.incoming import IncomingPod
from webhook.scheduler.nodes import CORDONED, HOSTNAME, Allocatable, Nodes, NodeSet, untolerated_taint
from webhook.scheduler.profile import (
    BALANCED_ALLOCATION,
    NODE_AFFINITY,
    NODE_RESOURCES_FIT,
    NODE_UNSCHEDULABLE,
    POD_TOPOLOGY_SPREAD,
    PREFER_NO_SCHEDULE,
    TAINT_TOLERATION,
    USUAL_PROFILE,
    Profile,
)
from webhook.scheduler.scoring import MAX_NODE_SCORE, added, domain_of, normalized, number_of_domains, rounded
from webhook.simulation.tally import Tally
from webhook.simulation.tolerated import Tolerations


@dataclass(frozen=True, eq=False)
class PodClass:
    """
    Pods that are placed alike: what one asks of a node, and the constraints in force.

    `waits` says why kube-scheduler does not look at them, "" if it does.  `tolerations` are those of the Pod with the
    time for which they hold.
    """

    pod: IncomingPod
    constraints: tuple[Constraint, ...]
    system_defaults: bool = False
    profile: Profile = USUAL_PROFILE
    priority: int = 0
    waits: str = ""
    tolerations: Tolerations = ()
    not_judged: tuple[str, ...] = ()


class View:
    """
    The nodes for one class of Pods; `event` is the number of changes that it has seen.

    `room` are the nodes that have room; `by_resources` has those of each score of resources, by their weights.
    """

    __slots__ = (
        "_features",
        "_hard",
        "_likes",
        "_nodes",
        "_of_class",
        "_resources",
        "_soft",
        "_taints",
        "_taking_part",
        "by_resources",
        "event",
        "room",
        "searched",
        "usable",
    )

    def __init__(
        self,
        of_class: PodClass,
        nodes: Nodes,
        groups: Mapping[LabelSet, PodGroup],
        usage: Mapping[str, Usage],
        features: Features,
        event: int = 0,
    ) -> None:
        pod = of_class.pod
        self._of_class, self._nodes, self._features, self.event = of_class, nodes, features, event
        profile = of_class.profile
        names = pod.affinity.names if NODE_AFFINITY in profile.pre_filters else None
        self.searched = nodes.all if names is None else nodes.named(names)
        hard = [one for one in of_class.constraints if one.hard]
        soft = [one for one in of_class.constraints if one.soft]
        self.usable = _open(pod, nodes, profile) & self.searched & carrying_every_key(nodes, hard)
        self._hard = [_hard_tally(one, hard, pod, nodes, groups, features) for one in hard]
        self._taking_part = nodes.all if of_class.system_defaults else carrying_every_key(nodes, soft)
        self._soft = [_soft_tally(one, pod, nodes, self._taking_part, groups, features) for one in soft]
        self._taints, self._likes = _by_taints(pod, nodes), _by_affinity(of_class, nodes)
        self.room = 0
        self._resources = [0] * len(nodes)
        resources = profile.weights.get(NODE_RESOURCES_FIT, 0) + profile.weights.get(BALANCED_ALLOCATION, 0)
        self.by_resources = [0] * (MAX_NODE_SCORE * resources + 1)
        known: dict[tuple[Allocatable, Usage], tuple[bool, int]] = {}
        room, scored = bytearray(b"0" * len(nodes)), dict[int, bytearray]()
        for position, node in enumerate(nodes):
            key = node.allocatable, usage.get(node.name, UNUSED)
            found = known.get(key)
            if found is None:
                found = known[key] = _judged(of_class, *key, features)
            fits, score = found
            place = len(nodes) - 1 - position
            room[place] = 48 + fits
            self._resources[position] = score
            if score not in scored:
                scored[score] = bytearray(b"0" * len(nodes))
            scored[score][place] = 49
        self.room = int(room or b"0", 2)
        for score, places in scored.items():
            self.by_resources[score] = int(places, 2)

    def copy(self) -> View:
        """One that changes by itself."""
        new = View.__new__(View)
        new._of_class, new._nodes, new._features, new.event = self._of_class, self._nodes, self._features, self.event
        new.searched, new.usable, new._taking_part = self.searched, self.usable, self._taking_part
        new._taints, new._likes, new.room = self._taints, self._likes, self.room
        new._hard, new._soft = [one.copy() for one in self._hard], [one.copy() for one in self._soft]
        new._resources, new.by_resources = self._resources[:], self.by_resources[:]
        return new

    def count(self, labels: LabelSet, node: str, number: int) -> None:
        """So many Pods of the namespace more, or fewer, that constraints count."""
        for tally in self._hard:
            tally.add(labels, node, number)
        for tally in self._soft:
            tally.add(labels, node, number)

    def use(self, position: int, allocatable: Allocatable, usage: Usage) -> None:
        """The node at a position is now used so much."""
        fits, score = _judged(self._of_class, allocatable, usage, self._features)
        bit = 1 << position
        self.room = self.room | bit if fits else self.room & ~bit
        before = self._resources[position]
        if score != before:
            self.by_resources[before] ^= bit
            self.by_resources[score] |= bit
            self._resources[position] = score

    def feasible(self) -> NodeSet:
        """The nodes on which a Pod could run now."""
        found = self.usable & self.room
        for tally in self._hard:
            if not found:
                break
            found &= ~tally.refused()
        return found

    def best(self, candidates: NodeSet) -> NodeSet:
        """The candidates with the highest score."""
        if candidates & (candidates - 1) == 0:
            return candidates
        most, best = -1, 0
        for those, base in sorted(self.scored(candidates), key=lambda one: -one[1]):
            if base + len(self.by_resources) - 1 < most:
                break
            for score in range(len(self.by_resources) - 1, -1, -1):
                if base + score < most:
                    break
                found = those & self.by_resources[score]
                if found:
                    most, best = (base + score, found) if base + score > most else (most, best | found)
                    break
        return best

    def scored(self, candidates: NodeSet) -> list[tuple[NodeSet, int]]:
        """The candidates by what all plugins but those of resources make of them."""
        found = [(candidates, 0)]
        for parts in (self._by_spread(candidates), *self._by_preference(candidates)):
            found = [(both, one + other) for those, one in found for part, other in parts if (both := those & part)]
        return found

    def by_node(self, candidates: NodeSet) -> dict[str, int]:
        """The score of each candidate, as `profile.total` has it."""
        found: dict[str, int] = {}
        for those, base in self.scored(candidates):
            for score, nodes in enumerate(self.by_resources):
                found.update(dict.fromkeys(self._nodes.names(those & nodes), base + score))
        return found

    def _weight(self, plugin: str) -> int:
        return self._of_class.profile.weights.get(plugin, 0)

    def _by_preference(self, candidates: NodeSet) -> Iterator[list[tuple[NodeSet, int]]]:
        """upstream: normalize_score.go:DefaultNormalizeScore (v1.37)"""
        for weight, reverse, parts in (
            (self._weight(TAINT_TOLERATION), True, self._taints),
            (self._weight(NODE_AFFINITY), False, self._likes),
        ):
            there = [(those, raw) for those, raw in parts if those & candidates]
            largest = max([raw for _, raw in there], default=0)
            shares = [(those, MAX_NODE_SCORE * raw // largest if largest else 0) for those, raw in there]
            yield [(those, weight * (MAX_NODE_SCORE - share if reverse else share)) for those, share in shares]

    def _by_spread(self, candidates: NodeSet) -> list[tuple[NodeSet, int]]:
        if not self._soft:
            score = 0 if self._features.skips_unconstrained else MAX_NODE_SCORE * self._weight(POD_TOPOLOGY_SPREAD)
            return [(candidates, score)]
        taking_part = candidates & self._taking_part
        sums: dict[NodeSet, float] = {taking_part: 0.0} if taking_part else {}
        for tally in self._soft:
            key = tally.constraint.topology_key
            at_hosts = key == HOSTNAME
            size = taking_part.bit_count() if at_hosts else number_of_domains(self._nodes, key, taking_part)
            carrying, max_skew = self._nodes.carrying(key), tally.constraint.max_skew
            sums = dict(added(sums, tally.nodes_by, carrying, logarithm(size), max_skew))
        scores = normalized({those: rounded(score) for those, score in sums.items()})
        found = [(those, self._weight(POD_TOPOLOGY_SPREAD) * score) for those, score in scores.items()]
        ignored = candidates & ~self._taking_part
        return [*found, (ignored, 0)] if ignored else found


@lru_cache(maxsize=1024)
def logarithm(size: int) -> float:
    """upstream: scoring.go:topologyNormalizingWeight (v1.37)"""
    return math.log(size + 2)


def _judged(of_class: PodClass, allocatable: Allocatable, usage: Usage, features: Features) -> tuple[bool, int]:
    """Whether a node has room, and what both plugins of resources make of it, by their weights."""
    requests, profile = of_class.pod.requests, of_class.profile
    score, weights = 0, profile.weights
    if weight := weights.get(NODE_RESOURCES_FIT, 0):
        score = weight * allocation(profile.strategy, requests, allocatable, usage)
    weight = weights.get(BALANCED_ALLOCATION, 0)
    if weight and not (features.skips_best_effort and is_best_effort(requests, profile.balanced)):
        score += weight * balanced_allocation(requests, allocatable, usage, features, profile.balanced)
    most = MAX_NODE_SCORE * (weights.get(NODE_RESOURCES_FIT, 0) + weights.get(BALANCED_ALLOCATION, 0))
    score = max(0, min(score, most))  # It is no other, unless an amount is negative, which the API server refuses.
    if NODE_RESOURCES_FIT not in profile.filters:
        return True, score
    return not shortages(requests, allocatable, usage, profile.ignored, profile.ignored_groups), score


def _open(pod: IncomingPod, nodes: Nodes, profile: Profile) -> NodeSet:
    """The nodes that no filter refuses whatever the Pods on them are."""
    within, found = reach(pod, nodes), nodes.all
    if NODE_UNSCHEDULABLE in profile.filters and not any(one.tolerates(CORDONED) for one in pod.tolerations):
        found &= ~nodes.unschedulable
    if TAINT_TOLERATION in profile.filters:
        found &= within.tolerated
    if NODE_AFFINITY in profile.filters:
        found &= within.affine & profile.added.matching(nodes)
    return found


def _hard_tally(
    constraint: Constraint,
    hard: list[Constraint],
    pod: IncomingPod,
    nodes: Nodes,
    groups: Mapping[LabelSet, PodGroup],
    features: Features,
) -> Tally:
    counted = carrying_every_key(nodes, hard) & included(constraint, pod, nodes)
    eligible = nodes.placed(constraint.topology_key, counted)
    matches = int(constraint.selector.matches(pod.labels))
    of_domain = nodes.domains(constraint.topology_key).__getitem__
    return Tally(constraint, eligible.of.get, of_domain, eligible.all, matches, groups, features)


def _soft_tally(
    constraint: Constraint,
    pod: IncomingPod,
    nodes: Nodes,
    counted: NodeSet,
    groups: Mapping[LabelSet, PodGroup],
    features: Features,
) -> Tally:
    key = constraint.topology_key
    of_domain: Callable[[str], NodeSet]
    if key == HOSTNAME:
        positions = {name: 1 << position for position, name in enumerate(nodes.names(nodes.all))}
        found_in, of_domain = positions_of(positions), positions.__getitem__
    else:
        found_in = domain_of(nodes, key, counted & included(constraint, pod, nodes))
        of_domain = nodes.domains(key).__getitem__
    matches = int(constraint.selector.matches(pod.labels))
    return Tally(constraint, found_in, of_domain, (), matches, groups, features)


def positions_of(positions: Mapping[str, NodeSet]) -> Callable[[str], str | None]:
    """Each node is a domain of its own."""
    return lambda name: name if name in positions else None


def _by_taints(pod: IncomingPod, nodes: Nodes) -> list[tuple[NodeSet, int]]:
    """
    upstream: taint_toleration.go:TaintToleration.Score (v1.37)

    The nodes by the number of their taints with PreferNoSchedule that the Pod does not tolerate.
    """
    tolerations = [one for one in pod.tolerations if one.effect in ("", PREFER_NO_SCHEDULE)]
    found: dict[int, NodeSet] = {}
    for taints, those in nodes.by_taints.items():
        preferring = [taint for taint in taints if taint.effect == PREFER_NO_SCHEDULE]
        number = sum(untolerated_taint([one], tolerations, [one.effect]) is not None for one in preferring)
        if number:
            found[number] = found.get(number, 0) | those
    rest = nodes.all
    for those in found.values():
        rest &= ~those
    return [*((those, number) for number, those in found.items()), (rest, 0)]


def _by_affinity(of_class: PodClass, nodes: Nodes) -> list[tuple[NodeSet, int]]:
    """
    upstream: node_affinity.go:NodeAffinity.Score (v1.37)

    The nodes by the sum of the weights of the preferred terms that they meet.
    """
    found: dict[NodeSet, int] = {nodes.all: 0}
    for weight, term in (*of_class.profile.added_preferred, *(of_class.pod.preferred or ())):
        matching, divided = term.matching(nodes), dict[NodeSet, int]()
        for those, number in found.items():
            if inside := those & matching:
                divided[inside] = number + weight
            if outside := those & ~matching:
                divided[outside] = number
        found = divided
    by_number: dict[int, NodeSet] = {}
    for those, number in found.items():
        by_number[number] = by_number.get(number, 0) | those
    return [(those, number) for number, those in by_number.items()]
