"""too-few-domains: fewer domains than minDomains, and more replicas than those may take."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Severity
from webhook.findings.repairs import Repairs
from webhook.findings.rule import MIN_DOMAINS, Nature, Need, Subject, rule
from webhook.findings.wording import number_of, some
from webhook.kubernetes.kinds import BATCH
from webhook.rules.tainted_domain import closed_domains, to_open
from webhook.spread.constraint import HARD, Constraint
from webhook.spread.nodes import NodeSet


@rule(
    title="there are fewer domains than minDomains, so some replicas wait until nodes join",
    severity=Severity.INFO,
    fix="lower minDomains, or add nodes in other domains",
    where=(HARD, MIN_DOMAINS, Need.LABELS, Need.POD_SPEC, Need.NODES, Nature.ADVICE),
    yields_to=("pinned-domain",),
    bad="minDomains: 3",
    good="minDomains: 2",
    context="""
    apiVersion: v1
    kind: Node
    metadata: {name: n1, labels: {kubernetes.io/hostname: n1, topology.kubernetes.io/zone: a}}
    ---
    apiVersion: v1
    kind: Node
    metadata: {name: n2, labels: {kubernetes.io/hostname: n2, topology.kubernetes.io/zone: b}}
    """,
)
def too_few_domains(subject: Subject) -> Iterator[Cause]:
    """
    While there are fewer eligible domains than minDomains, the scheduler takes 0 as the minimum of Pods in a domain, so
    each domain takes only maxSkew Pods. This is what minDomains is for if an autoscaler adds nodes in more domains.
    Otherwise the remaining replicas wait for ever.

    The rule does not report Jobs or a workload without an eligible domain.
    """
    workload = subject.workload
    if workload.pinned or workload.kind.api_version == BATCH:
        return
    for constraint in subject.hard:
        if constraint.min_domains <= 1 or workload.replicas <= constraint.max_skew or constraint.max_skew < 1:
            continue
        eligible = subject.reach.eligible(constraint, subject.labelled)
        domains = subject.nodes.number_of_domains(constraint.topology_key, eligible)
        taking = subject.nodes.number_of_domains(constraint.topology_key, eligible & subject.reach.usable)
        waits = workload.replicas > constraint.max_skew * taking > 0
        if domains < constraint.min_domains and waits and subject.counts_own(constraint):
            yield _cause(subject, constraint, eligible, domains, taking)


def _cause(subject: Subject, constraint: Constraint, eligible: NodeSet, domains: int, taking: int) -> Cause:
    """Return the cause; the `eligible` nodes, which count, are in `domains` domains, of which `taking` take Pods."""
    nodes_by_domain = subject.nodes.domains(constraint.topology_key)
    names = some(domain for domain, nodes in nodes_by_domain.items() if nodes & eligible)
    counted = number_of(domains, "domain") + (f", and {taking} of them can take Pods" if taking < domains else "")
    limit, remedy = "can ever run: node affinity allows no other domain", "allow more domains in node affinity"
    if taking < domains or subject.may_get_domains(constraint):
        limit, remedy = "can run; the others wait for nodes in other domains", "add nodes in other domains"
    fix = f"lower minDomains to {domains}, or {remedy}"
    if domains == 1 and Repairs(subject).asks_for_min_domains(constraint.topology_key):
        fix = remedy
    if closed := closed_domains(subject, constraint, eligible):
        limit, fix = "can run", to_open(subject, constraint, closed, taking)
    placed, most = subject.placed, "only" if subject.placed.exact else "at most"
    message = f"{counted}: {most} {placed.number} of {subject.workload.replicas} Pods {limit}"
    path, value = subject.at(constraint, "minDomains"), f"minDomains {constraint.min_domains}, and only {names}"
    return Cause(path, message, value, f"minDomains of at most {domains}, or more domains", fix=fix)
