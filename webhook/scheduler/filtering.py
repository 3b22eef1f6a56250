"""
The filter of the scheduler's plugin PodTopologySpread: on which nodes the hard constraints let a Pod run.

    constraint, nodes, Pods ──> Pods per eligible domain ──> match_num + self_match_num - min_match_num <= max_skew
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from webhook.scheduler.constraint import Constraint
from webhook.scheduler.features import Features
from webhook.scheduler.inclusion import carrying_every_key, count, included
from webhook.scheduler.incoming import IncomingPod
from webhook.scheduler.nodes import Nodes, NodeSet, union
from webhook.scheduler.snapshot import Snapshot

UNEVEN = "node(s) didn't match pod topology spread constraints"
UNLABELLED = f"{UNEVEN} (missing required label)"


@dataclass(frozen=True, slots=True)
class DomainCounts:
    """
    What a constraint counts: `eligible` are its domains, `counts` the Pods in each that has any.

    `self_match_num` is 1 if its selector matches the incoming Pod, else 0.
    """

    constraint: Constraint
    eligible: frozenset[str]
    counts: Mapping[str, int]
    self_match_num: int

    def match_num(self, domain: str) -> int:
        """The number of Pods that the constraint counts in `domain`; 0 where it counts no node."""
        return self.counts.get(domain, 0)

    @property
    def min_match_num(self) -> int:
        """
        upstream: filtering.go:preFilterState.minMatchNum (v1.37)

        The fewest Pods in any eligible domain; 0 if there are fewer domains than minDomains.
        """
        if len(self.eligible) < self.constraint.min_domains or len(self.counts) < len(self.eligible):
            return 0
        return min(self.counts.values(), default=0)

    def skew(self, domain: str, min_match_num: int) -> int:
        """The skew if the incoming Pod were placed in `domain`."""
        return self.match_num(domain) + self.self_match_num - min_match_num

    def refused(self) -> tuple[str, ...]:
        """The domains where the incoming Pod would make the skew larger than maxSkew."""
        # A domain without Pods is none of them: its skew is 1 at most.
        min_match_num, max_skew = self.min_match_num, self.constraint.max_skew
        return tuple([domain for domain in self.counts if self.skew(domain, min_match_num) > max_skew])


@dataclass(frozen=True, slots=True)
class Verdicts:
    """
    What the hard constraints say of each node: those that pass, and those that are refused for each reason.

    `domains` is what each constraint counts, in the order of the constraints.  `uneven` and `unlabelled` are the nodes
    refused for that reason by the first constraint that refuses them.
    """

    domains: tuple[DomainCounts, ...]
    passing: NodeSet
    uneven: NodeSet
    unlabelled: NodeSet

    def reasons(self) -> tuple[tuple[str, NodeSet], ...]:
        """The reasons, and the nodes refused for each."""
        return tuple([(why, those) for why, those in ((UNEVEN, self.uneven), (UNLABELLED, self.unlabelled)) if those])


def filter_nodes(
    pod: IncomingPod, constraints: Sequence[Constraint], snapshot: Snapshot, features: Features
) -> Verdicts:
    """
    upstream: filtering.go:PodTopologySpread.Filter (v1.37)

    What the constraints that are hard say of each node of the snapshot; the others are left out.
    """
    hard = [constraint for constraint in constraints if constraint.hard]
    nodes = snapshot.nodes
    found = count_domains(pod, hard, snapshot, features)
    passing, uneven, unlabelled = nodes.all, 0, 0
    for one in found:
        key = one.constraint.topology_key
        unlabelled |= passing & ~nodes.carrying(key)
        uneven |= passing & _in_domains(nodes, key, one.refused())
        passing &= ~(uneven | unlabelled)
    return Verdicts(found, passing, uneven, unlabelled)


def _in_domains(nodes: Nodes, key: str, domains: Sequence[str]) -> NodeSet:
    by_domain = nodes.domains(key)
    return union([by_domain[domain] for domain in domains])


def count_domains(
    pod: IncomingPod, constraints: Sequence[Constraint], snapshot: Snapshot, features: Features
) -> tuple[DomainCounts, ...]:
    """
    upstream: filtering.go:PodTopologySpread.calPreFilterState (v1.37)

    What each of the constraints counts; a node that lacks the key of any of them is counted by none.
    """
    groups, nodes = snapshot.pods.get(pod.namespace, {}), snapshot.nodes
    labelled = carrying_every_key(nodes, constraints)
    found: list[DomainCounts] = []
    for constraint in constraints:
        eligible = nodes.placed(constraint.topology_key, labelled & included(constraint, pod, nodes))
        counts = count(groups, constraint.selector, eligible.of.get, features)
        found.append(DomainCounts(constraint, eligible.all, counts, int(constraint.selector.matches(pod.labels))))
    return tuple(found)
