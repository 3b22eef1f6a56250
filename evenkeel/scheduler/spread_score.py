"""
The score of the scheduler's plugin PodTopologySpread: which of several nodes the soft constraints prefer.

    constraint, candidates, nodes, Pods ──> Pods per domain ──> match_num * ln(domains + 2) + max_skew - 1 ──> 0 to 100
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.resource_fit import MAX_NODE_SCORE
from evenkeel.scheduler.spread_counts import DomainCounts, DomainOf, NodesOf, counted_by
from webhook.kubernetes.names import HOSTNAME
from webhook.spread.domains import carrying_every_key
from webhook.spread.nodes import Nodes, NodeSet


class Scored(NamedTuple):
    """Candidates with the same scores."""

    nodes: NodeSet
    raw: int  # Less is better.
    normalized: int  # 0 to 100; more is better.


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of the candidates, each of which is in one of the sets."""

    scored: tuple[Scored, ...]
    ignored: NodeSet  # Candidates that lack a topology key: both of their scores are 0.


@dataclass(frozen=True, slots=True)
class SoftConstraints:
    """The soft constraints of a Pod with what each counts."""

    nodes: Nodes
    counts: tuple[DomainCounts, ...]
    taking_part: NodeSet  # Only these are scored; others have 0.

    @classmethod
    def of(cls, cycle: Cycle) -> SoftConstraints:
        """
        Count what the soft constraints of a Pod count.

        Nodes without a topology key take part only where the constraints are the scheduler's own defaults.

        upstream: scoring.go:PodTopologySpread.initPreScoreState (v1.37)
        """
        soft = [constraint for constraint in cycle.constraints if constraint.soft]
        nodes = cycle.snapshot.nodes
        taking_part = nodes.all if cycle.system_defaults else carrying_every_key(nodes, soft)
        counted = []
        for constraint in soft:
            domain_of: DomainOf
            nodes_of: NodesOf
            if constraint.topology_key == HOSTNAME:
                # Each node is a domain, whatever its label says, and no policy leaves one out.
                domain_of, nodes_of = _itself(nodes), nodes.named_one
            else:
                eligible = cycle.reach.eligible(constraint, taking_part)
                domain_of = domain_counting_unlabelled(nodes, constraint.topology_key, eligible)
                nodes_of = nodes.domains(constraint.topology_key).__getitem__
            counted.append(counted_by(cycle.reach, constraint, cycle.snapshot, cycle.features, domain_of, nodes_of))
        return cls(nodes, tuple(counted), taking_part)

    def scores(self, candidates: NodeSet) -> Scores:
        """
        Score each candidate.

        upstream: scoring.go:PodTopologySpread.Score (v1.37)
        """
        taking_part = candidates & self.taking_part
        sums: dict[NodeSet, float] = {taking_part: 0.0} if taking_part else {}
        for counts in self.counts:
            key, max_skew = counts.constraint.topology_key, counts.constraint.max_skew
            size = (
                taking_part.bit_count()
                if key == HOSTNAME
                else number_of_domains_counting_unlabelled(self.nodes, key, taking_part)
            )
            weight = topology_normalizing_weight(size)
            sums = dict(added(sums, counts.nodes_by_number, self.nodes.carrying(key), weight, max_skew))
        raw = {nodes: rounded(score) for nodes, score in sums.items()}
        scored = [Scored(nodes, raw[nodes], score) for nodes, score in normalized(raw).items()]
        return Scores(tuple(scored), candidates & ~self.taking_part)

    def copy(self) -> SoftConstraints:
        return SoftConstraints(self.nodes, tuple([counts.copy() for counts in self.counts]), self.taking_part)


def _itself(nodes: Nodes) -> DomainOf:
    return lambda name: name if nodes.get(name) is not None else None


@lru_cache(maxsize=1024)
def topology_normalizing_weight(size: int) -> float:
    """
    Return the weight of a constraint by the number of its domains.

    upstream: scoring.go:topologyNormalizingWeight (v1.37)
    """
    return math.log(size + 2)


def domain_counting_unlabelled(nodes: Nodes, key: str, chosen: NodeSet) -> DomainOf:
    """Return the domain of each of these nodes; one that lacks the key has "", which Go reads of an absent label."""
    placed = nodes.placed(key, chosen).of
    if "" in nodes.domains(key):  # else no node's score is that of the domain ""
        unlabelled = nodes.names(chosen & ~nodes.carrying(key))
        placed = {**placed, **dict.fromkeys(unlabelled, "")}
    return placed.get


def number_of_domains_counting_unlabelled(nodes: Nodes, key: str, chosen: NodeSet) -> int:
    """Return the number of domains of these nodes; all that lack the key are of the domain ""."""
    domains = {domain for domain, members in nodes.domains(key).items() if members & chosen}
    if chosen & ~nodes.carrying(key):
        domains.add("")
    return len(domains)


def added(
    sums: Mapping[NodeSet, float], by_number: Mapping[int, NodeSet], carrying: NodeSet, weight: float, max_skew: int
) -> Iterator[tuple[NodeSet, float]]:
    """
    Add the score of one constraint: each set of nodes is divided by the number of Pods in the nodes' domains.

    upstream: scoring.go:scoreForCount (v1.37)
    """
    for members, score in sums.items():
        rest = members & carrying
        for match_num, nodes in by_number.items():
            if part := rest & nodes:
                yield part, score + (match_num * weight + (max_skew - 1))
                rest &= ~part
        if rest:
            yield rest, score + (max_skew - 1)
        if without := members & ~carrying:
            yield without, score


def normalized(raw: Mapping[NodeSet, int]) -> dict[NodeSet, int]:
    """
    Return raw scores as 0 to 100, the smallest highest; all 100 where the largest is 0.

    upstream: scoring.go:PodTopologySpread.NormalizeScore (v1.37)
    """
    largest, smallest = max(raw.values(), default=0), min(raw.values(), default=0)
    if largest == 0:
        return dict.fromkeys(raw, MAX_NODE_SCORE)
    return {members: MAX_NODE_SCORE * (largest + smallest - score) // largest for members, score in raw.items()}


def rounded(score: float) -> int:
    """Return the nearest integer, halves away from zero, as Go's math.Round; a score is never negative."""
    whole = math.floor(score)
    return whole + 1 if score - whole >= 0.5 else whole
