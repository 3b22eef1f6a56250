"""
Why a Pod may run on a node or not: each constraint in force with its domains, and every node with what refuses it.

    Pod, constraints, cluster ──filter, score──> Explanation
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evenkeel.placement.claims import ClaimReach, VolumeGap, claims_of, volume_gaps
from evenkeel.placement.closed_nodes import ClosedNodes, closed_nodes
from evenkeel.placement.gaps import gaps
from evenkeel.placement.single_domain import SingleDomain, single_domain
from evenkeel.placement.variants import first_key
from evenkeel.scheduler.framework import Feasibility, Framework, message, total
from evenkeel.scheduler.preemption import NO_CLAIM_DEALLOCATED, Preemption, messages, preempt
from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.snapshot import Snapshot
from evenkeel.scheduler.spread_counts import DomainCounts
from evenkeel.scheduler.spread_filter import count_soft
from webhook.spread.constraint import Constraint
from webhook.spread.nodes import Nodes, NodeSet, union


@dataclass(frozen=True, slots=True)
class Domain:
    """One value of a topology key, as a constraint sees it."""

    value: str
    match_num: int  # The number of Pods that are counted there.
    skew: int  # If the incoming Pod is placed there.
    nodes: NodeSet
    eligible: bool  # The constraint counts any of its nodes.
    passes: bool  # The constraint lets the Pod in; a soft one always does.
    open: NodeSet  # Its nodes on which the Pod could run.


@dataclass(frozen=True, slots=True)
class ConstraintExplained:
    """A constraint in force with what it counts."""

    constraint: Constraint
    min_match_num: int
    self_match_num: int
    domains: tuple[Domain, ...]  # In the order of their values.
    unlabelled: NodeSet  # The nodes without its key.
    refused: NodeSet  # The nodes that it refuses, also those without its key; none if it is soft.
    single: SingleDomain | None = None  # The Pods can run in one of its domains only.


@dataclass(frozen=True, slots=True)
class Explanation:
    """What the scheduler's arithmetic says of one Pod in one cluster."""

    cycle: Cycle
    feasibility: Feasibility
    constraints: tuple[ConstraintExplained, ...]
    messages: tuple[str, ...]  # What kube-scheduler may say of a Pod that fits nowhere: one of these.
    scores: Mapping[str, Mapping[str, int]]  # By plugin and by name of the node; empty where nothing is scored.
    total: Mapping[str, int]  # The weighted sum of the scores by name of the node.
    gaps: tuple[str, ...] = ()  # What is not computed, in a few words each.
    claims: tuple[ClaimReach, ...] = ()  # Those of the Pod.
    volume_gaps: tuple[VolumeGap, ...] = ()  # What is not computed of its volumes.
    preemption: Preemption | None = None  # None where kube-scheduler does not get as far.
    closed: tuple[ClosedNodes, ...] = ()  # What is known of taints and cordons that refuse the Pod.

    @property
    def nodes(self) -> Nodes:
        return self.cycle.snapshot.nodes

    @property
    def message(self) -> str:
        """What kube-scheduler would say of a Pod that fits nowhere, as far as that is certain; "" if the Pod fits."""
        return self.messages[0] if len(self.messages) == 1 else self.of_filters

    @property
    def of_filters(self) -> str:
        """What kube-scheduler would say of the filters, without what it adds about preemption."""
        return message(self.cycle, self.feasibility)

    def agrees(self, said: str) -> bool:
        """Whether kube-scheduler has said what is computed here."""
        return agrees(said, self.messages, self.of_filters, self.gaps)


def explain(cycle: Cycle, unmodelled: Sequence[str] = ()) -> Explanation:
    """
    Explain what filters, scores and preemption say of the Pod.

    `unmodelled` are features that the Pod uses and that are not computed.
    """
    framework, nodes = Framework(cycle), cycle.snapshot.nodes
    feasibility = framework.feasibility()
    preemption = preempt(framework, feasibility, cycle.snapshot.pods_of, cycle.snapshot.budgets)
    explained = [
        replace(
            _explained(counts, nodes, feasibility.feasible),
            single=single_domain(cycle, counts.constraint),
        )
        for counts in (*feasibility.spread.domains, *count_soft(cycle))
    ]
    scores = framework.prioritize(feasibility.feasible)
    return Explanation(
        cycle,
        feasibility,
        tuple(sorted(explained, key=lambda explanation: explanation.constraint.index)),
        messages(cycle, feasibility, preemption),
        scores,
        total(scores, cycle.profile.weights),
        gaps(cycle, feasibility, preemption, unmodelled),
        claims_of(cycle, first_key(cycle.constraints)),
        tuple(volume_gaps(cycle)),
        preemption,
        closed_nodes(cycle, feasibility),
    )


def unjudged(cycle: Cycle, gap: str) -> Explanation:
    """Return an explanation in which nothing is computed, and so without nodes and constraints, because of a gap."""
    cycle = replace(cycle, constraints=(), snapshot=Snapshot())
    return Explanation(cycle, Framework(cycle).feasibility(), (), ("",), {}, {}, (gap,))


def _explained(counted: DomainCounts, nodes: Nodes, feasible: NodeSet) -> ConstraintExplained:
    constraint, min_match_num = counted.constraint, counted.min_match_num
    refused = frozenset(counted.refused()) if constraint.hard else frozenset()
    of_key = nodes.domains(constraint.topology_key)
    domains = [
        Domain(
            value,
            counted.match_num(value),
            counted.skew(value, min_match_num),
            members,
            value in counted.eligible,
            value not in refused,
            members & feasible,
        )
        for value, members in sorted(of_key.items())
    ]
    unlabelled = nodes.all & ~nodes.carrying(constraint.topology_key)
    refused_nodes = union(of_key.get(value, 0) for value in refused) | unlabelled if constraint.hard else 0
    return ConstraintExplained(
        constraint, min_match_num, counted.self_match_num, tuple(domains), unlabelled, refused_nodes
    )


def agrees(said: str, computed: Sequence[str], of_filters: str, gaps: Sequence[str]) -> bool:
    """
    Whether kube-scheduler has said one of the texts that we compute.

    Where there are gaps, only the beginning is compared: what it says of the filters.  Words that only some versions
    add say nothing of the Pod, and the version may be assumed.
    """
    if gaps:
        return bool(of_filters) and f"{said} ".startswith(f"{of_filters} ")
    return _of_any_version(said) in map(_of_any_version, computed)


def _of_any_version(message: str) -> str:
    return message.replace(f"{NO_CLAIM_DEALLOCATED}, ", "")
