"""
The score of the scheduler's plugin PodTopologySpread: which of several nodes the soft constraints prefer.

    constraint, candidates, nodes, Pods ──> Pods per domain ──> match_num * ln(domains + 2) + max_skew - 1 ──> 0 to 100
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from webhook.scheduler.constraint import Constraint
from webhook.scheduler.features import Features
from webhook.scheduler.inclusion import carrying_every_key, count, included
from webhook.scheduler.incoming import IncomingPod
from webhook.scheduler.nodes import HOSTNAME, Nodes, NodeSet
from webhook.scheduler.snapshot import Snapshot

MAX_NODE_SCORE = 100  # fwk.MaxNodeScore


class Scored(NamedTuple):
    """Candidates with the same scores: `raw`, of which less is better, and `normalized`, of which more is."""

    nodes: NodeSet
    raw: int
    normalized: int


@dataclass(frozen=True, slots=True)
class Scores:
    """
    The scores of the candidates; each is in one of the sets.

    Candidates that are `ignored` lack a topology key; both of their scores are 0.
    """

    scored: tuple[Scored, ...]
    ignored: NodeSet


NO_SCORES = Scores((), 0)


def score_nodes(
    pod: IncomingPod,
    constraints: Sequence[Constraint],
    snapshot: Snapshot,
    candidates: NodeSet,
    features: Features,
    *,
    system_defaults: bool = False,
) -> Scores:
    """
    upstream: scoring.go:PodTopologySpread.Score (v1.37)

    What the constraints that are soft make of each candidate; the others are left out.  With `system_defaults`, the
    constraints are the scheduler's own, and a node without a topology key takes part.
    """
    soft = [constraint for constraint in constraints if constraint.soft]
    nodes, groups = snapshot.nodes, snapshot.pods.get(pod.namespace, {})
    counted = nodes.all if system_defaults else carrying_every_key(nodes, soft)
    taking_part = candidates & counted
    sums: dict[NodeSet, float] = {taking_part: 0.0} if taking_part else {}
    for constraint in soft:
        key = constraint.topology_key
        if key == HOSTNAME:  # Each node is a domain, whatever its label says, and no policy leaves one out.
            counts = count(groups, constraint.selector, str, features)
            by_number = _by_number(counts, lambda name: nodes.named((name,)))
            size = taking_part.bit_count()
        else:
            found_in = domain_of(nodes, key, counted & included(constraint, pod, nodes))
            counts = count(groups, constraint.selector, found_in, features)
            by_number = _by_number(counts, nodes.domains(key).__getitem__)
            size = number_of_domains(nodes, key, taking_part)
        sums = dict(added(sums, by_number, nodes.carrying(key), math.log(size + 2), constraint.max_skew))
    raw = {those: rounded(score) for those, score in sums.items()}
    scored = [Scored(those, raw[those], score) for those, score in normalized(raw).items()]
    return Scores(tuple(scored), candidates & ~counted)


def domain_of(nodes: Nodes, key: str, chosen: NodeSet) -> Callable[[str], str | None]:
    """The domain of each of these nodes; those that lack the key are of the domain "", as Go reads an absent label."""
    found = nodes.placed(key, chosen).of
    if "" in nodes.domains(key):  # else no node's score is that of the domain ""
        found = {**found, **dict.fromkeys(nodes.names(chosen & ~nodes.carrying(key)), "")}
    return found.get


def number_of_domains(nodes: Nodes, key: str, chosen: NodeSet) -> int:
    """The domains of these nodes; all that lack the key are of the domain ""."""
    found = {domain for domain, those in nodes.domains(key).items() if those & chosen}
    return len(found | {""} if chosen & ~nodes.carrying(key) else found)


def _by_number(counts: Mapping[str, int], domain: Callable[[str], NodeSet]) -> dict[int, NodeSet]:
    """The nodes of the domains by the number of Pods that their domain has."""
    found: dict[int, NodeSet] = {}
    for name, number in counts.items():
        found[number] = found.get(number, 0) | domain(name)
    return found


def added(
    sums: Mapping[NodeSet, float], by_number: Mapping[int, NodeSet], carrying: NodeSet, weight: float, max_skew: int
) -> Iterator[tuple[NodeSet, float]]:
    """
    upstream: scoring.go:scoreForCount (v1.37)

    The sums with what one constraint adds: each set is divided by the number of Pods in its nodes' domains.
    """
    for those, score in sums.items():
        rest = those & carrying
        for match_num, nodes in by_number.items():
            if part := rest & nodes:
                yield part, score + (match_num * weight + (max_skew - 1))
                rest &= ~part
        if rest:
            yield rest, score + (max_skew - 1)
        if without := those & ~carrying:
            yield without, score


def normalized(raw: Mapping[NodeSet, int]) -> dict[NodeSet, int]:
    """
    upstream: scoring.go:PodTopologySpread.NormalizeScore (v1.37)

    Raw scores as 0 to 100, the smallest highest; all 100 where the largest is 0.
    """
    largest, smallest = max(raw.values(), default=0), min(raw.values(), default=0)
    if largest == 0:
        return dict.fromkeys(raw, MAX_NODE_SCORE)
    return {those: MAX_NODE_SCORE * (largest + smallest - score) // largest for those, score in raw.items()}


def rounded(score: float) -> int:
    """The nearest integer, halves away from zero, as Go's math.Round; a score is never negative."""
    whole = math.floor(score)
    return whole + (score - whole >= 0.5)
