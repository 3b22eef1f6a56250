"""
The filter of the scheduler's plugin PodTopologySpread: on which nodes the hard constraints let a Pod run.

    constraint, nodes, Pods ──> Pods per eligible domain ──> match_num + self_match_num - min_match_num <= max_skew
"""

from __future__ import annotations

from dataclasses import dataclass

from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.spread_counts import DomainCounts, count_domains
from webhook.spread.constraint import Constraint
from webhook.spread.domains import carrying_every_key
from webhook.spread.nodes import Nodes, NodeSet


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What the hard constraints say of each node: it is in one of the three sets."""

    domains: tuple[DomainCounts, ...]  # What each constraint counts, in the order of the constraints.
    passing: NodeSet
    uneven: NodeSet  # The first constraint that refuses the node finds its domain too full.
    unlabelled: NodeSet  # The node lacks the key of the first constraint that refuses it.


@dataclass(frozen=True, slots=True)
class HardConstraints:
    """The hard constraints of a Pod with what each counts."""

    nodes: Nodes
    counts: tuple[DomainCounts, ...]
    labelled: NodeSet  # The nodes that carry the keys of all of them.

    @classmethod
    def of(cls, cycle: Cycle) -> HardConstraints:
        hard = [constraint for constraint in cycle.constraints if constraint.hard]
        nodes = cycle.snapshot.nodes
        return cls(
            nodes, count_domains(cycle.reach, hard, cycle.snapshot, cycle.features), carrying_every_key(nodes, hard)
        )

    def passing(self, remaining: NodeSet) -> NodeSet:
        passing = remaining & self.labelled
        for counts in self.counts:
            if passing:
                passing &= ~counts.refused_nodes()
        return passing

    def verdicts(self) -> Verdicts:
        """
        Return the verdict on each node: the first constraint that refuses it gives the reason.

        upstream: filtering.go:PodTopologySpread.Filter (v1.37)
        """
        passing, uneven, unlabelled = self.nodes.all, 0, 0
        for counts in self.counts:
            unlabelled |= passing & ~self.nodes.carrying(counts.constraint.topology_key)
            uneven |= passing & counts.refused_nodes()
            passing &= ~(uneven | unlabelled)
        return Verdicts(self.counts, passing, uneven, unlabelled)

    def copy(self) -> HardConstraints:
        return HardConstraints(self.nodes, tuple([counts.copy() for counts in self.counts]), self.labelled)


def count_each(cycle: Cycle) -> tuple[DomainCounts, ...]:
    """Count the Pods of each constraint in force, in the Pod's order."""
    counted = (*HardConstraints.of(cycle).counts, *count_soft(cycle))
    return tuple(sorted(counted, key=lambda counts: counts.constraint.index))


def labelled_for(cycle: Cycle, constraint: Constraint) -> NodeSet:
    """
    Return the nodes that carry all the keys that a constraint in force asks for.

    These are those of all hard constraints, or of all soft ones, but by the scheduler's own defaults only its own.
    """
    alike = [other for other in cycle.constraints if other.hard == constraint.hard]
    return carrying_every_key(cycle.snapshot.nodes, [constraint] if cycle.system_defaults else alike)


def count_soft(cycle: Cycle) -> tuple[DomainCounts, ...]:
    """
    Count the Pods of each soft constraint.

    A node must carry the keys of all of them to be counted, but not where they are the scheduler's own defaults: each
    of these counts by itself.
    """
    soft = [constraint for constraint in cycle.constraints if constraint.soft]
    groups = [[constraint] for constraint in soft] if cycle.system_defaults else [soft]
    return tuple(
        [
            counts
            for constraints in groups
            for counts in count_domains(cycle.reach, constraints, cycle.snapshot, cycle.features)
        ]
    )
