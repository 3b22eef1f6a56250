"""
Why a constraint spreads nothing: the Pods can run in one of its domains only.

    nodes, affinity, taints ──leave one domain──> why, and what a person can do, in words
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from evenkeel.placement.claims import ClaimReach, claims_of
from evenkeel.placement.variants import place_name
from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.spread_filter import labelled_for
from webhook.kubernetes.names import HOSTNAME
from webhook.spread.affinity import ANY_NODE
from webhook.spread.constraint import Constraint
from webhook.spread.domains import NODES, OTHER_KEYS, TAINTS, OnlyDomain, only_domain

_LEFT_BY = {
    NODES: "all nodes that count are in {}",
    OTHER_KEYS: "all nodes that have the topologyKey of each constraint are in {}",
    TAINTS: "nodeTaintsPolicy leaves only {}",
}


class SingleDomain(NamedTuple):
    """Why a constraint spreads nothing, and what a person can do about it, in sentences without their ends."""

    why: str
    advice: tuple[str, ...] = ()


class Tie(NamedTuple):
    """A claim that leaves a Pod one domain, whatever nodes join."""

    claim: str
    domain: str


def single_domain(
    cycle: Cycle, constraint: Constraint, claims: Sequence[ClaimReach] | None = None
) -> SingleDomain | None:
    """
    Return why the Pods can run in one domain of the constraint only; None if they may run in several.

    `claims` are those of the Pod, if they are known already.
    """
    only = only_domain(cycle.reach, constraint, labelled_for(cycle, constraint))
    if only is None:
        return None
    why = why_single(constraint.topology_key, only)
    if constraint.soft or not constraint.selector.matches(cycle.pod.labels):
        return SingleDomain(why)
    if only.left_by != NODES:
        return SingleDomain(why, tuple(_advice(cycle, constraint, only)))
    tie = tied(cycle, constraint.topology_key, claims_of(cycle) if claims is None else claims)
    return SingleDomain(why, tuple(_on_min_domains(constraint.topology_key, tie)))


def why_single(key: str, only: OnlyDomain) -> str:
    """Return what leaves one domain of a topology key."""
    place = place_name(key, only.domain)
    return f"its {only.left_by} leaves only {place}" if only.by_affinity else _LEFT_BY[only.left_by].format(place)


def tied(cycle: Cycle, key: str, claims: Iterable[ClaimReach]) -> Tie | None:
    """Return the first claim that leaves the Pod one domain of a topology key, whatever nodes join."""
    for reach in claims:
        volume, of_class = reach.volume, reach.of_class
        terms = volume.terms if volume is not None else of_class.allowed if of_class is not None else None
        domains = ANY_NODE._replace(terms=terms).values(key)
        if domains is None and (terms or reach.domains):
            domains = cycle.snapshot.nodes.placed(key, reach.nodes).all
        if domains is not None and len(domains) == 1:
            return Tie(reach.name, *domains)
    return None


def _advice(cycle: Cycle, constraint: Constraint, only: OnlyDomain) -> Iterator[str]:
    """Yield what to do about a domain that something else than the nodes leaves; never minDomains: Pods would wait."""
    if only.left_by == OTHER_KEYS:
        yield "label the other nodes with the topologyKey of each constraint"
    elif only.by_affinity:
        yield f"allow more domains in the {only.left_by}, or remove the constraint"
        if len(cycle.snapshot.nodes.domains(constraint.topology_key)) > 1:
            counts = "with nodeAffinityPolicy: Ignore the other domains count, too"
            yield f"{counts}, so the constraint refuses Pods in this one, but sends none there"


def _on_min_domains(key: str, tie: Tie | None) -> Iterator[str]:
    """Yield that minDomains makes a constraint bind although nodes are in one domain only, and its limits."""
    if tie is not None:
        yield f"do not set minDomains: claim {tie.claim} leaves only {place_name(key, tie.domain)}, so Pods would wait"
        return
    domain = "node" if key == HOSTNAME else key.rpartition("/")[2]
    yield (
        f"if nodes can start in other {domain}s, set minDomains: 3, or how many {domain}s you want: "
        "Pods beyond maxSkew then wait for nodes there"
    )
    if key != HOSTNAME:
        yield (
            f"Karpenter starts nodes in each {domain} that its NodePools offer, "
            f"cluster-autoscaler only where a {domain} has a node group of its own"
        )
    yield (
        f"while fewer {domain}s have nodes than minDomains, also after the loss of one, "
        "each takes only maxSkew Pods: the others wait, and rollouts stop"
    )
