"""single-domain: nodes that count in one domain only, so that a hard constraint refuses nothing."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Severity
from webhook.findings.rule import Nature, Need, Subject, rule
from webhook.findings.wording import domain_word, place_in_words, why_single
from webhook.kubernetes.names import DEFAULTED_BY_ANNOTATION, HOSTNAME
from webhook.spread.constraint import HARD, Constraint
from webhook.spread.domains import NODES, TAINTS, OnlyDomain


@rule(
    title="all nodes that count are in one domain, so a hard constraint refuses nothing",
    severity=Severity.INFO,
    fix="set minDomains if nodes can start in other domains: if not, Pods wait, and rollouts stop",
    where=(HARD, Need.LABELS, Need.POD_SPEC, Need.NODES, Nature.ADVICE),
    yields_to=("unknown-topology-key", "unlabelled-nodes"),
    bad="whenUnsatisfiable: DoNotSchedule",
    good="topologyKey: kubernetes.io/hostname",
    context="""
    apiVersion: v1
    kind: Node
    metadata: {name: n1, labels: {kubernetes.io/hostname: n1, topology.kubernetes.io/zone: a}}
    ---
    apiVersion: v1
    kind: Node
    metadata: {name: n2, labels: {kubernetes.io/hostname: n2, topology.kubernetes.io/zone: a}}
    """,
)
def single_domain(subject: Subject) -> Iterator[Cause]:
    """
    Only domains that have a node count. If all nodes that count are in one zone, no zone has fewer Pods than another,
    so the constraint refuses nothing, and all Pods run in this zone. They stay there when nodes join in other zones.

    With minDomains, Pods beyond maxSkew wait until so many zones have nodes. Set it only if nodes can start there:

    - Karpenter starts them in the zones that its NodePools offer.
    - cluster-autoscaler starts them only if each zone has a node group of its own.
    - After the loss of a zone, each other takes only maxSkew Pods. Then Pods wait, and rollouts stop.

    With nodeTaintsPolicy: Honor, nodes with taints that the Pods do not tolerate do not count. If these are all nodes
    of the other zones, the remedy is nodes there that the Pods tolerate. Taints that a controller removes, such as
    not-ready, leave no zone out.

    The rule does not report a workload that has no more replicas than maxSkew, or one whose node affinity or claim
    leaves one domain: see pinned-domain.
    """
    workload = subject.workload
    if workload.pinned or DEFAULTED_BY_ANNOTATION in workload.annotations:
        return
    for constraint in subject.hard:
        if not (workload.is_pod or workload.replicas > constraint.max_skew) or not subject.counts_own(constraint):
            continue
        only = subject.only_domain(constraint, in_service=True)  # A taint that goes leaves no domain out for long.
        if only is not None and only.left_by in (NODES, TAINTS):
            place = place_in_words(constraint.topology_key, only.domain)
            message = f"spreads nothing: {why_single(constraint.topology_key, only)}"
            wanted = "several nodes" if constraint.topology_key == HOSTNAME else "nodes in several domains"
            fix = _fix(subject, constraint, only)
            yield Cause(subject.at(constraint, "topologyKey"), message, place, wanted, fix)


def _fix(subject: Subject, constraint: Constraint, only: OnlyDomain) -> str | None:
    """Return what to do about the only domain, in words; None for what the rule says."""
    tie = subject.tied(constraint)
    if tie is not None:
        return f"remove the constraint: claim {tie.claim} leaves only {tie.domain}, so minDomains is no remedy"
    is_of_nodes = constraint.topology_key == HOSTNAME
    if only.left_by == TAINTS:
        where = "" if is_of_nodes else f" in other {domain_word(constraint.topology_key)}s"
        return f"add nodes{where} without taints, or with taints that the Pods tolerate"
    return "set minDomains if more nodes can start: if not, Pods wait, and rollouts stop" if is_of_nodes else None
