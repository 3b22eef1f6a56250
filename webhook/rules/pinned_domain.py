"""pinned-domain: node affinity that leaves fewer domains than the constraint needs."""

from __future__ import annotations

from collections.abc import Iterator, Set

from webhook.findings.finding import Cause, Severity
from webhook.findings.repairs import Repairs
from webhook.findings.room import Tie
from webhook.findings.rule import LOOKS_AT_AFFINITY, Nature, Need, Subject, rule
from webhook.findings.wording import number_of, some
from webhook.kubernetes.kinds import BATCH
from webhook.kubernetes.names import DEFAULTED_BY_ANNOTATION
from webhook.spread.constraint import HONOR, Constraint
from webhook.spread.domains import OnlyDomain, affinity_field, leaves_one_domain


@rule(
    title="nodeSelector, node affinity or a claim allows fewer domains than the constraint needs",
    severity=Severity.WARNING,
    fix="remove the constraint, or allow more domains in nodeSelector and node affinity",
    where=(LOOKS_AT_AFFINITY, Need.LABELS, Need.POD_SPEC, Nature.ADVICE),
    yields_to=("unknown-topology-key",),
    bad="""
    apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: db}
    spec:
      replicas: 3
      selector: {matchLabels: {app: db}}
      template:
        metadata: {labels: {app: db}}
        spec:
          nodeSelector: {topology.kubernetes.io/zone: a}
          topologySpreadConstraints:
          - maxSkew: 1
            topologyKey: topology.kubernetes.io/zone
            whenUnsatisfiable: ScheduleAnyway
            labelSelector: {matchLabels: {app: db}}
    """,
    good="""
    apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: db}
    spec:
      replicas: 3
      selector: {matchLabels: {app: db}}
      template:
        metadata: {labels: {app: db}}
        spec:
          nodeSelector: {topology.kubernetes.io/zone: a}
          topologySpreadConstraints:
          - maxSkew: 1
            topologyKey: kubernetes.io/hostname
            whenUnsatisfiable: ScheduleAnyway
            labelSelector: {matchLabels: {app: db}}
    """,
)
def pinned_domain(subject: Subject) -> Iterator[Cause]:
    """
    If nodeSelector or required node affinity allows only one value of the topology key, the constraint spreads nothing.
    A hard constraint may also need more values than are allowed, so that replicas wait:

    - The values are fewer than minDomains. Then each domain takes only maxSkew Pods, whatever nodes you add.
    - nodeAffinityPolicy is Ignore, and a node is in a domain that is not allowed. That domain counts as empty, so each
      other domain takes only maxSkew Pods. This needs nodes.

    Where nodes are known, the rule also finds that all nodes with another label, such as `disktype: ssd`, are in one
    zone. As such nodes may join in other zones, this is only an `info`.

    A claim that all Pods share may also leave one domain: the zone of its volume, or the only one that its class
    allows. If nodes in others count, these stay empty, so the domain takes only maxSkew Pods. This needs a cluster.

    minDomains is no remedy: the remaining Pods would wait for ever. The rule does not report workloads of one replica,
    except Pods, constraints that evenkeel has added, and constraints that do not count their own Pods. It reports a Job
    only if the constraint spreads nothing.
    """
    workload = subject.workload
    waits = workload.kind.api_version != BATCH
    if workload.pinned or DEFAULTED_BY_ANNOTATION in workload.annotations:
        return
    for constraint in subject.constraints:
        if not subject.counts_own(constraint):
            continue
        if (only := subject.only_domain(constraint)) is not None:
            if only.by_affinity and (workload.is_pod or workload.replicas > 1):
                yield _spreads_nothing(subject, constraint, only)
        elif constraint.hard and waits and (tie := subject.tied(constraint)) is not None:
            if workload.replicas > constraint.max_skew:
                yield _tied(subject, constraint, tie)
        elif constraint.hard and waits:
            allowed = _allowed(subject, constraint)
            if workload.replicas > constraint.max_skew * len(allowed) > 0:
                yield from _too_few_allowed(subject, constraint, allowed)


def _allowed(subject: Subject, constraint: Constraint) -> Set[str]:
    """Return the domains that affinity allows, as far as known; empty if it may allow any."""
    key = constraint.topology_key
    allowed = subject.pod.affinity.values(key)
    if allowed is None and constraint.node_affinity_policy != HONOR:
        allowed = subject.nodes.placed(key, subject.labelled & subject.reach.affine).all
    return allowed or frozenset()


def _spreads_nothing(subject: Subject, constraint: Constraint, only: OnlyDomain) -> Cause:
    path, domain = subject.at(constraint, "topologyKey"), some([only.domain])
    fix = _remove_or(subject, constraint, "allow more domains in nodeSelector and node affinity")
    if leaves_one_domain(subject.pod, constraint):
        message, at_most = f"spreads nothing: {only.left_by} allows only {domain}", Severity.ERROR
    else:
        place = f"{constraint.topology_key.rpartition('/')[2]} {domain}"
        message, at_most = f"spreads nothing: all nodes that its {only.left_by} matches are in {place}", Severity.INFO
    return Cause(path, message, f"the domain {domain}", "several domains", fix, at_most=at_most)


def _tied(subject: Subject, constraint: Constraint, tie: Tie) -> Cause:
    """Return the cause if a claim leaves one of several domains that count."""
    replicas, place = subject.workload.replicas, f"{constraint.topology_key.rpartition('/')[2]} {some([tie.domain])}"
    waits = f"{replicas - constraint.max_skew} of {replicas} new Pods would wait"
    message = f"{waits}: claim {tie.claim} leaves only {place}, and other domains stay empty"
    fix = _remove_or(subject, constraint, "give each Pod a claim of its own")
    return Cause(subject.at(constraint, "topologyKey"), message, f"claim {tie.claim}", "several domains", fix)


def _remove_or(subject: Subject, constraint: Constraint, fix: str) -> str:
    """Return a fix, and removing the constraint as an alternative, unless the policy asks for the constraint."""
    return fix if Repairs(subject).is_needed(constraint) else f"remove the constraint, or {fix}"


def _too_few_allowed(subject: Subject, constraint: Constraint, allowed: Set[str]) -> Iterator[Cause]:
    """Yield the cause if there are more replicas than the `allowed` domains can take."""
    field, replicas = affinity_field(subject.reach, constraint, subject.labelled), subject.workload.replicas
    fit, domains = constraint.max_skew * len(allowed), number_of(len(allowed), "domain")
    if constraint.min_domains > len(allowed) and constraint.node_affinity_policy == HONOR:
        message = f"only {fit} of {replicas} Pods can ever run: {field} allows {domains}"
        path = subject.at(constraint, "minDomains")
        value = f"minDomains {constraint.min_domains}, and only {some(allowed)}"
        fix = f"allow more domains in the {field}"
        if len(allowed) > 1:
            fix = f"lower minDomains to {len(allowed)}, or {fix}"
        else:
            fix = _remove_or(subject, constraint, fix)
        yield Cause(path, message, value, f"minDomains of at most {len(allowed)}, or more domains", fix=fix)
        return
    eligible = subject.reach.eligible(constraint, subject.labelled)
    nodes_by_domain = subject.nodes.domains(constraint.topology_key)
    if excluded := {domain for domain, nodes in nodes_by_domain.items() if nodes & eligible} - allowed:
        count, pronoun = ("counts", "it") if len(excluded) == 1 else ("count", "them")
        message = f"{subject.waiting}: {some(excluded, 1)} {count}, but the {field} excludes {pronoun}"
        path = subject.at(constraint, "nodeAffinityPolicy")
        value = f"{constraint.node_affinity_policy}, and the {field} allows {some(allowed)}"
        more = f" and minDomains: {len(allowed)}" if constraint.min_domains > len(allowed) else ""
        fix = f"set nodeAffinityPolicy: {HONOR}{more}"
        if len(allowed) == 1:  # Honor would leave one domain, in which nothing spreads.
            fix = _remove_or(subject, constraint, f"allow more domains in the {field}")
        yield Cause(path, message, value, HONOR if len(allowed) > 1 else "several domains", fix=fix)
