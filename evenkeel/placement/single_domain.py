"""
Why a constraint spreads nothing: the Pods can run in one of its domains only.

    nodes, affinity, taints ──leave one domain──> why, and what a person can do, in words
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from evenkeel.scheduler.claim_ties import tie
from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.spread_filter import labelled_for
from evenkeel.scheduler.volumes import NO_MOUNTS
from webhook.findings.room import Tie
from webhook.findings.wording import domain_word, place_in_words, why_single
from webhook.kubernetes.names import HOSTNAME
from webhook.spread.constraint import Constraint
from webhook.spread.domains import NODES, OTHER_KEYS, OnlyDomain, only_domain


class SingleDomain(NamedTuple):
    """Why a constraint spreads nothing, and what a person can do about it, in sentences without their ends."""

    why: str
    advice: tuple[str, ...] = ()


def single_domain(cycle: Cycle, constraint: Constraint) -> SingleDomain | None:
    """Return why the Pods can run in one domain of the constraint only; None if they may run in several."""
    only = only_domain(cycle.reach, constraint, labelled_for(cycle, constraint))
    if only is None:
        return None
    why = why_single(constraint.topology_key, only)
    if constraint.soft or not constraint.selector.matches(cycle.pod.labels):
        return SingleDomain(why)
    if only.left_by != NODES:
        return SingleDomain(why, tuple(_advice(cycle, constraint, only)))
    return SingleDomain(why, tuple(_on_min_domains(cycle, constraint)))


def tied(cycle: Cycle, constraint: Constraint) -> Tie | None:
    """Return a claim that leaves the Pod one domain of the constraint, whatever nodes join."""
    return tie(cycle.snapshot, cycle.pod.mounts or NO_MOUNTS, constraint.topology_key)


def _advice(cycle: Cycle, constraint: Constraint, only: OnlyDomain) -> Iterator[str]:
    """Yield what to do about a domain that something else than the nodes leaves; never minDomains: Pods would wait."""
    if only.left_by == OTHER_KEYS:
        yield "label the other nodes with the topologyKey of each constraint"
    elif only.by_affinity and cycle.pod.affinity.names is None:  # A DaemonSet ties each of its Pods to its node.
        yield f"allow more domains in the {only.left_by}, or remove the constraint"
        if len(cycle.snapshot.nodes.domains(constraint.topology_key)) > 1:
            counts = "with nodeAffinityPolicy: Ignore the other domains count, too"
            yield f"{counts}, so the constraint refuses Pods in this one, but sends none there"


def _on_min_domains(cycle: Cycle, constraint: Constraint) -> Iterator[str]:
    """Yield that minDomains makes a constraint bind although nodes are in one domain only, and its limits."""
    key, to_claim = constraint.topology_key, tied(cycle, constraint)
    domain, allowed = domain_word(key), cycle.pod.affinity.values(key)
    # With more than node affinity allows, Pods would wait whatever nodes join.
    number = f"3, or how many {domain}s you want" if allowed is None else f"{len(allowed)}, as node affinity allows"
    if to_claim is not None:
        place = place_in_words(key, to_claim.domain)
        yield f"do not set minDomains: claim {to_claim.claim} leaves only {place}, so Pods would wait"
        return
    if key == HOSTNAME:
        yield (f"if more nodes can start, set minDomains: {number}: Pods beyond maxSkew then wait for these nodes")
        fewer = "fewer nodes exist"
    else:
        yield (
            f"if nodes can start in other {domain}s, set minDomains: {number}: "
            "Pods beyond maxSkew then wait for nodes there"
        )
        yield (
            f"Karpenter starts nodes in each {domain} that its NodePools offer, "
            f"cluster-autoscaler only where a {domain} has a node group of its own"
        )
        fewer = f"fewer {domain}s have nodes"
    yield (
        f"while {fewer} than minDomains, also after the loss of one, "
        "each takes only maxSkew Pods: the others wait, and rollouts stop"
    )
