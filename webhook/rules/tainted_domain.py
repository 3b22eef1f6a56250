"""tainted-domain: a domain that takes none of the Pods, and bars the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.findings.finding import Cause, Severity
from webhook.findings.rule import CLOSED_NODES, Nature, Need, Subject, rule
from webhook.findings.wording import some
from webhook.kubernetes.kinds import BATCH
from webhook.spread.constraint import HARD, HONOR, Constraint
from webhook.spread.domains import Reach
from webhook.spread.known_taints import Owner, known_taint
from webhook.spread.nodes import NodeSet
from webhook.spread.taints import CORDONED, Taint


@rule(
    title="all nodes of a domain have taints that the Pod does not tolerate, and so the other domains refuse Pods",
    severity=Severity.WARNING,
    fix="set nodeTaintsPolicy: Honor",
    where=(HARD, CLOSED_NODES, Need.LABELS, Need.POD_SPEC, Need.NODES, Nature.ADVICE),
    bad="nodeTaintsPolicy: Ignore",
    good="nodeTaintsPolicy: Honor",
    context="""
    apiVersion: v1
    kind: Node
    metadata: {name: n1, labels: {kubernetes.io/hostname: n1, topology.kubernetes.io/zone: a}}
    ---
    apiVersion: v1
    kind: Node
    metadata: {name: n2, labels: {kubernetes.io/hostname: n2, topology.kubernetes.io/zone: b}}
    ---
    apiVersion: v1
    kind: Node
    metadata: {name: n3, labels: {kubernetes.io/hostname: n3, topology.kubernetes.io/zone: c}}
    spec: {taints: [{key: dedicated, value: infra, effect: NoSchedule}]}
    """,
)
def tainted_domain(subject: Subject) -> Iterator[Cause]:
    """
    By default, nodeTaintsPolicy is Ignore, and a domain whose nodes are all cordoned or tainted counts with 0 Pods. So
    each other domain takes only maxSkew Pods, and the remaining replicas wait. The rule does not report Jobs or a
    workload that no node takes.
    """
    workload = subject.workload
    if workload.pinned or workload.kind.api_version == BATCH:
        return
    nodes = subject.nodes
    for constraint in subject.hard:
        if constraint.node_taints_policy == HONOR or not 1 <= constraint.max_skew < workload.replicas:
            continue
        eligible = subject.reach.eligible(constraint, subject.labelled)
        if eligible & subject.reach.open == eligible or not subject.counts_own(constraint):
            continue
        domains = nodes.number_of_domains(constraint.topology_key, eligible)
        taking = nodes.number_of_domains(constraint.topology_key, eligible & subject.reach.usable)
        if not (domains >= constraint.min_domains and 0 < constraint.max_skew * taking < workload.replicas):
            continue
        if closed := closed_domains(subject, constraint, eligible):
            taints = some({str(taint) for taint in closed.values()})
            yield Cause(
                subject.at(constraint, "nodeTaintsPolicy"),
                f"{subject.waiting}: {_closed(closed)}",
                found=f"{constraint.node_taints_policy}, and no node of {some(closed)} takes the Pod: {taints}",
                wanted=f"{HONOR}, or a node in each domain that takes the Pod",
                fix=to_open(subject, constraint, closed, taking),
            )


def closed_domains(subject: Subject, constraint: Constraint, eligible: NodeSet) -> Mapping[str, Taint]:
    """Return the domains that count although each of their nodes is cordoned or tainted, each with such a taint."""
    key, domains, reach = constraint.topology_key, subject.nodes.domains(constraint.topology_key), subject.reach
    with_closed_nodes = {node.labels[key] for node in subject.nodes.members(eligible & ~reach.open)}
    return {
        domain: _taint(reach, eligible & domains[domain])
        for domain in sorted(with_closed_nodes)
        if not domains[domain] & eligible & reach.open
    }


def _taint(reach: Reach, nodes: NodeSet) -> Taint:
    """Return a taint that keeps the Pod off one of these nodes."""
    return next((taint for taint, members in reach.untolerated.items() if members & nodes), CORDONED)


def _closed(closed: Mapping[str, Taint]) -> str:
    """Return in words why domains are closed; it names one that is cordoned and one that is tainted."""
    cordoned = [domain for domain, taint in closed.items() if _cordons(taint)]
    tainted = [domain for domain in closed if domain not in cordoned]
    whys = [
        f"{some(domains, 1)} {'is' if len(domains) == 1 else 'are'} {why}"
        for domains, why in ((cordoned, "cordoned"), (tainted, "tainted"))
        if domains
    ]
    return f"{' and '.join(whys)}, but count{'s' if len(closed) == 1 else ''}"


def _cordons(taint: Taint) -> bool:
    return taint.key == CORDONED.key


def to_open(subject: Subject, constraint: Constraint, closed: Mapping[str, Taint], taking: int) -> str:
    """Return the fix of closed domains, if `taking` domains take Pods."""
    taints = {taint for taint in closed.values() if not _cordons(taint)}
    known_taints = {taint: known_taint(taint) for taint in taints}
    of_people = [str(taint) for taint, known in known_taints.items() if known is None]
    of_pools = [str(taint) for taint, known in known_taints.items() if known is not None and known.owner == Owner.POOL]
    steps: list[str] = []
    if any(_cordons(taint) for taint in closed.values()):
        steps.append("uncordon the nodes")
    if of_people:
        steps.append(f"tolerate {some(of_people)}, or remove the taint{'s' if len(of_people) > 1 else ''}")
    if of_pools:
        steps.append(f"tolerate {some(of_pools)}")
    if len(of_people) + len(of_pools) < len(taints):
        steps.append("add nodes without these taints")
    # Honor leaves only the open domains.  In a single one nothing spreads.
    may_honor = taking >= max(2, constraint.min_domains) and subject.features.node_inclusion_policies
    return (f"set nodeTaintsPolicy: {HONOR}, or " if may_honor else "") + ", and ".join(steps)
