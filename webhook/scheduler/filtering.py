"""
The filter of the scheduler's plugin PodTopologySpread: on which nodes the hard constraints let a Pod run.

    constraint, nodes, Pods ──> Pods per eligible domain ──> match_num + self_match_num - min_match_num <= max_skew
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from webhook.scheduler.constraint import Constraint
from webhook.scheduler.features import Features
from webhook.scheduler.inclusion import carries_every_key, count_by_node, is_included
from webhook.scheduler.nodes import IncomingPod, Node
from webhook.scheduler.snapshot import Snapshot

UNEVEN = "node(s) didn't match pod topology spread constraints"
UNLABELLED = f"{UNEVEN} (missing required label)"


@dataclass(frozen=True, slots=True)
class Domains:
    """
    The eligible domains of a hard constraint: `match_nums` is the number of Pods that it counts, by domain.

    `self_match_num` is 1 if its selector matches the incoming Pod, else 0.
    """

    constraint: Constraint
    match_nums: Mapping[str, int]
    self_match_num: int

    @property
    def min_match_num(self) -> int:
        """
        upstream: filtering.go:preFilterState.minMatchNum (v1.37)

        The fewest Pods in any eligible domain; 0 if there are fewer domains than minDomains.
        """
        enough = len(self.match_nums) >= self.constraint.min_domains
        return min(self.match_nums.values(), default=0) if enough else 0

    def skew(self, domain: str, min_match_num: int) -> int:
        """The skew if the incoming Pod were placed in `domain`."""
        match_num = self.match_nums.get(domain, 0)
        return match_num + self.self_match_num - min_match_num


@dataclass(frozen=True, slots=True)
class Verdicts:
    """For each hard constraint its domains, and the reason by the name of each node that is refused."""

    domains: tuple[Domains, ...]
    reasons: Mapping[str, str]


def filter_nodes(
    pod: IncomingPod, constraints: Sequence[Constraint], snapshot: Snapshot, features: Features
) -> Verdicts:
    """
    upstream: filtering.go:PodTopologySpread.Filter (v1.37)

    What the constraints that are hard say of each node of the snapshot; the others are left out.
    """
    hard = [constraint for constraint in constraints if constraint.hard]
    found = _count_domains(pod, hard, snapshot, features)
    minima = [domains.min_match_num for domains in found]
    reasons: dict[str, str] = {}
    for node in snapshot.nodes if hard else ():
        if reason := _reason(node, found, minima):
            reasons[node.name] = reason
    return Verdicts(found, reasons)


def _count_domains(
    pod: IncomingPod, hard: Sequence[Constraint], snapshot: Snapshot, features: Features
) -> tuple[Domains, ...]:
    """upstream: filtering.go:PodTopologySpread.calPreFilterState (v1.37)"""
    groups = snapshot.pods.get(pod.namespace, {})
    found: list[Domains] = []
    nodes = [node for node in snapshot.nodes if carries_every_key(node, hard)]
    for constraint in hard:
        counts = count_by_node(groups, constraint.selector, features)
        match_nums: dict[str, int] = {}
        for node in nodes:
            if is_included(constraint, pod, node):
                domain = node.labels[constraint.topology_key]
                match_nums[domain] = match_nums.get(domain, 0) + counts.get(node.name, 0)
        found.append(Domains(constraint, match_nums, int(constraint.selector.matches(pod.labels))))
    return tuple(found)


def _reason(node: Node, found: Sequence[Domains], minima: Sequence[int]) -> str:
    """Why the first constraint that refuses `node` does so; "" if none does."""
    for domains, min_match_num in zip(found, minima, strict=True):
        domain = node.labels.get(domains.constraint.topology_key)
        if domain is None:
            return UNLABELLED
        if domains.skew(domain, min_match_num) > domains.constraint.max_skew:
            return UNEVEN
    return ""
