"""
The score of the scheduler's plugin PodTopologySpread: which of several nodes the soft constraints prefer.

    constraint, candidates, nodes, Pods ──> Pods per domain ──> match_num * ln(domains + 2) + max_skew - 1 ──> 0 to 100
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from webhook.scheduler.constraint import Constraint
from webhook.scheduler.features import Features
from webhook.scheduler.inclusion import carries_every_key, count_by_node, is_included
from webhook.scheduler.nodes import HOSTNAME, IncomingPod, Node
from webhook.scheduler.snapshot import Snapshot

MOST = 100  # fwk.MaxNodeScore


@dataclass(frozen=True, slots=True)
class Scores:
    """
    The scores by the name of each candidate: `raw`, of which less is better, and `normalized`, of which more is.

    Candidates that are `ignored` lack a topology key; both of their scores are 0.
    """

    raw: Mapping[str, int]
    normalized: Mapping[str, int]
    ignored: frozenset[str]


def score_nodes(
    pod: IncomingPod,
    constraints: Sequence[Constraint],
    snapshot: Snapshot,
    candidates: Sequence[Node],
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
    taking_part = [node for node in candidates if system_defaults or carries_every_key(node, soft)]
    counted = [node for node in snapshot.nodes if system_defaults or carries_every_key(node, soft)]
    groups = snapshot.pods.get(pod.namespace, {})
    sums = dict.fromkeys([node.name for node in taking_part], 0.0)
    for constraint in soft:
        key, counts = constraint.topology_key, count_by_node(groups, constraint.selector, features)
        if key == HOSTNAME:  # Each node is a domain, whatever its label says, and no policy leaves one out.
            size = len(taking_part)
            match_nums = {node.name: counts.get(node.name, 0) for node in taking_part if key in node.labels}
        else:
            domains = _count_domains(constraint, pod, taking_part, counted, counts)
            size = len(domains)
            match_nums = {node.name: domains[node.labels[key]] for node in taking_part if key in node.labels}
        weight = math.log(size + 2)
        for name, match_num in match_nums.items():
            sums[name] += match_num * weight + (constraint.max_skew - 1)
    scored = {name: _rounded(score) for name, score in sums.items()}
    ignored = frozenset(node.name for node in candidates) - scored.keys()
    raw = {node.name: scored.get(node.name, 0) for node in candidates}
    return Scores(raw, {**dict.fromkeys(ignored, 0), **normalized(scored)}, ignored)


def _count_domains(
    constraint: Constraint,
    pod: IncomingPod,
    taking_part: Sequence[Node],
    counted: Sequence[Node],
    counts: Mapping[str, int],
) -> dict[str, int]:
    """
    upstream: scoring.go:PodTopologySpread.PreScore (v1.37)

    The number of Pods in each domain that has a candidate; "" is that of nodes without the key.
    """
    key = constraint.topology_key
    domains: dict[str, int] = dict.fromkeys([node.labels.get(key, "") for node in taking_part], 0)
    for node in counted:
        domain = node.labels.get(key, "")
        if domain in domains and is_included(constraint, pod, node):
            domains[domain] += counts.get(node.name, 0)
    return domains


def normalized(raw: Mapping[str, int]) -> dict[str, int]:
    """
    upstream: scoring.go:PodTopologySpread.NormalizeScore (v1.37)

    Raw scores as 0 to 100, the smallest highest; all 100 where the largest is 0.
    """
    largest, smallest = max(raw.values(), default=0), min(raw.values(), default=0)
    if largest == 0:
        return dict.fromkeys(raw, MOST)
    return {name: MOST * (largest + smallest - score) // largest for name, score in raw.items()}


def _rounded(score: float) -> int:
    """The nearest integer, halves away from zero, as Go's math.Round; a score is never negative."""
    whole = math.floor(score)
    return whole + (score - whole >= 0.5)
