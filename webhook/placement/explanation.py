"""
Why a Pod may run on a node or not: each constraint in force with its domains, and every node with what refuses it.

    Pod, constraints, cluster ──filter, score──> Explanation
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from webhook.placement.claims import ClaimReach, VolumeGap, claims_of, volume_gaps
from webhook.placement.gaps import gaps
from webhook.placement.variants import first_key
from webhook.scheduler.constraint import Constraint
from webhook.scheduler.domain_counts import DomainCounts
from webhook.scheduler.filtering import count_soft
from webhook.scheduler.framework import Feasibility, Framework, message, total
from webhook.scheduler.nodes import Nodes, NodeSet, union
from webhook.scheduler.profile import POD_TOPOLOGY_SPREAD, Cycle


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

    `message` is what kube-scheduler would say of a Pod that fits nowhere, else "".  `scores` are by plugin and by the
    name of the node, `total` is their weighted sum; both are empty where the scheduler scores nothing.  `gaps` are what
    is not computed, `volume_gaps` those of volumes.  `claims` are those of the Pod.
    """

    cycle: Cycle
    feasibility: Feasibility
    constraints: tuple[ConstraintExplained, ...]
    message: str
    scores: Mapping[str, Mapping[str, int]]
    total: Mapping[str, int]
    gaps: tuple[str, ...] = ()
    claims: tuple[ClaimReach, ...] = ()
    volume_gaps: tuple[VolumeGap, ...] = ()

    @property
    def nodes(self) -> Nodes:
        return self.cycle.snapshot.nodes


def explain(cycle: Cycle, unmodelled: Sequence[str] = (), name: str = "") -> Explanation:
    """
    Explain everything that filter and score say of the Pod; the constraints are in the Pod's order.

    `unmodelled` is what the Pod uses that is not computed, `name` its own name, "" if it has none yet.
    """
    framework, nodes = Framework(cycle), cycle.snapshot.nodes
    feasibility = framework.feasibility()
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
        message(cycle, feasibility),
        scores,
        total(scores, cycle.profile.weights),
        gaps(cycle, feasibility, unmodelled, name),
        claims_of(cycle, first_key(cycle.constraints)),
        tuple(volume_gaps(cycle)),
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


def agrees(said: str, computed: str) -> bool:
    """
    Return whether kube-scheduler says what we compute, and then only what its PostFilter plugins add.

    They speak of claims and of preemption; since 1.34 they add "not found" where PreFilter rejects a Pod before it has
    looked for claims.
    """
    return bool(computed) and f"{said} ".startswith(f"{computed} ")
