"""
Why a Pod may run on a node or not: each constraint in force with its domains, and every node with what refuses it.

    Pod, constraints, cluster ──filter, score──> Explanation
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evenkeel.placement.claims import ClaimReach, VolumeGap, claims_of, volume_gaps
from evenkeel.placement.gaps import gaps
from evenkeel.placement.variants import first_key
from evenkeel.scheduler.framework import Feasibility, Framework, message, total
from evenkeel.scheduler.preemption import Preemption, messages, preempt
from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.spread_counts import DomainCounts
from evenkeel.scheduler.spread_filter import count_soft
from webhook.policy.scheduler_configuration import POD_TOPOLOGY_SPREAD
from webhook.spread.constraint import Constraint
from webhook.spread.nodes import Nodes, NodeSet, union


@dataclass(frozen=True, slots=True)
class Domain:
    """
    One value of a topology key: `match_num` Pods are counted there; `skew` is that if the incoming Pod is placed there.

    It is `eligible` if the constraint counts any of its nodes.  It `passes` if the constraint lets the Pod in; a soft
    one always does.  `open` are its nodes on which the Pod could run, `shut` those that another plugin refuses.
    """

    value: str
    match_num: int
    skew: int
    nodes: NodeSet
    eligible: bool
    passes: bool
    open: NodeSet
    shut: NodeSet


@dataclass(frozen=True, slots=True)
class ConstraintExplained:
    """A constraint in force with its domains, by their values; `unlabelled` are the nodes without its key."""

    constraint: Constraint
    min_match_num: int
    self_match_num: int
    domains: tuple[Domain, ...]
    unlabelled: NodeSet


@dataclass(frozen=True, slots=True)
class Explanation:
    """
    What the scheduler's arithmetic says of one Pod in one cluster.

    `messages` are what kube-scheduler may say of a Pod that fits nowhere, and `preemption` is what comes of that, None
    where it does not get as far.  `scores` are by plugin and by the name of the node, `total` is their weighted sum;
    both are empty where the scheduler scores nothing.  `gaps` are what
    is not computed, `volume_gaps` those of volumes.  `claims` are those of the Pod.
    """

    cycle: Cycle
    feasibility: Feasibility
    constraints: tuple[ConstraintExplained, ...]
    messages: tuple[str, ...]
    scores: Mapping[str, Mapping[str, int]]
    total: Mapping[str, int]
    gaps: tuple[str, ...] = ()
    claims: tuple[ClaimReach, ...] = ()
    volume_gaps: tuple[VolumeGap, ...] = ()
    preemption: Preemption | None = None

    @property
    def nodes(self) -> Nodes:
        return self.cycle.snapshot.nodes

    @property
    def message(self) -> str:
        """What kube-scheduler would say of a Pod that fits nowhere, as far as that is certain; else ""."""
        return self.messages[0] if len(self.messages) == 1 else self.of_filters

    @property
    def of_filters(self) -> str:
        """What kube-scheduler would say of the filters, without what it adds of preemption."""
        return message(self.cycle, self.feasibility)

    def agrees(self, said: str) -> bool:
        """Return whether kube-scheduler says what is computed here."""
        return agrees(said, self.messages, self.of_filters, self.gaps)


def explain(cycle: Cycle, unmodelled: Sequence[str] = ()) -> Explanation:
    """
    Explain everything that filter, score and preemption say of the Pod; the constraints are in the Pod's order.

    `unmodelled` is what the Pod uses that is not computed.
    """
    framework, nodes = Framework(cycle), cycle.snapshot.nodes
    feasibility = framework.feasibility()
    preemption = preempt(framework, feasibility, cycle.snapshot.pods_of, cycle.snapshot.budgets)
    refused_elsewhere = union(
        refusal.nodes for refusal in feasibility.refusals if refusal.plugin != POD_TOPOLOGY_SPREAD
    )
    explained = [
        _explained(counts, nodes, feasibility.feasible, refused_elsewhere)
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
    )


def _explained(counted: DomainCounts, nodes: Nodes, feasible: NodeSet, shut: NodeSet) -> ConstraintExplained:
    constraint, min_match_num = counted.constraint, counted.min_match_num
    refused = frozenset(counted.refused()) if constraint.hard else frozenset()
    domains = [
        Domain(
            value,
            counted.match_num(value),
            counted.skew(value, min_match_num),
            members,
            value in counted.eligible,
            value not in refused,
            members & feasible,
            members & shut,
        )
        for value, members in sorted(nodes.domains(constraint.topology_key).items())
    ]
    unlabelled = nodes.all & ~nodes.carrying(constraint.topology_key)
    return ConstraintExplained(constraint, min_match_num, counted.self_match_num, tuple(domains), unlabelled)


def agrees(said: str, computed: Sequence[str], of_filters: str, gaps: Sequence[str]) -> bool:
    """
    Return whether kube-scheduler says what we compute, which is one of several texts.

    Where not all is judged, only what it says `of_filters` is compared.
    """
    if gaps:
        return bool(of_filters) and f"{said} ".startswith(f"{of_filters} ")
    return said in computed
