"""tainted-domain: a domain that takes none of the Pods, and bars the others."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Severity
from webhook.findings.rule import CLOSED_NODES, InCel, Nature, Need, Subject, rule
from webhook.findings.wording import some
from webhook.objects.kinds import BATCH
from webhook.scheduler.constraint import HARD, HONOR, Constraint
from webhook.scheduler.nodes import NodeSet
from webhook.scheduler.taints import CORDONED, Taint


@rule(
    title="all nodes of a domain have taints that the Pod does not tolerate, and so the other domains refuse Pods",
    severity=Severity.WARNING,
    fix="set nodeTaintsPolicy: Honor",
    where=(HARD, CLOSED_NODES, Need.LABELS, Need.POD_SPEC, Need.NODES, Nature.ADVICE),
    cel=InCel(why_not="CEL does not know the nodes of the cluster"),
    bad="""
    apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: db}
    spec:
      replicas: 6
      selector: {matchLabels: {app: db}}
      template:
        metadata: {labels: {app: db}}
        spec:
          topologySpreadConstraints:
          - maxSkew: 1
            topologyKey: topology.kubernetes.io/zone
            whenUnsatisfiable: DoNotSchedule
            labelSelector: {matchLabels: {app: db}}
    """,
    good="""
    apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: db}
    spec:
      replicas: 6
      selector: {matchLabels: {app: db}}
      template:
        metadata: {labels: {app: db}}
        spec:
          topologySpreadConstraints:
          - maxSkew: 1
            topologyKey: topology.kubernetes.io/zone
            whenUnsatisfiable: DoNotSchedule
            nodeTaintsPolicy: Honor
            labelSelector: {matchLabels: {app: db}}
    """,
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
    By default, nodeTaintsPolicy is Ignore. Then a domain counts even if all of its nodes are cordoned, or have a
    taint that the Pod does not tolerate. The domain stays at 0 Pods, so each other domain takes only maxSkew Pods.
    The remaining replicas wait.

    The rule does not report Jobs, because their Pods end and make room, or a workload that no node takes. In
    evenkeel lint, an autoscaler among the manifests counts by its minimum.
    """
    workload = subject.workload
    if workload.pinned or workload.kind.api_version == BATCH:
        return
    nodes, reach = subject.nodes, subject.reach
    for constraint in subject.hard:
        if constraint.node_taints_policy == HONOR or not 1 <= constraint.max_skew < workload.replicas:
            continue
        eligible = reach.eligible(constraint, subject.labelled)
        not_closed = eligible & reach.open
        if not_closed == eligible or not subject.counts_own(constraint):
            continue
        domains, unclosed, usable = (
            nodes.number_of_domains(constraint.topology_key, members)
            for members in (eligible, not_closed, eligible & reach.usable)
        )
        if unclosed < domains >= constraint.min_domains and 0 < constraint.max_skew * usable < workload.replicas:
            yield _cause(subject, constraint, eligible, not_closed, usable)


def _cause(subject: Subject, constraint: Constraint, eligible: NodeSet, not_closed: NodeSet, usable: int) -> Cause:
    """
    Return what to report; `eligible` are the nodes that count, `not_closed` those of them without such a taint,
    `usable` is of domains.
    """
    key, domains = constraint.topology_key, subject.nodes.domains(constraint.topology_key)
    barred = {node.labels[key] for node in subject.nodes.members(eligible & ~not_closed)}
    closed = [domain for domain in barred if not domains[domain] & not_closed]
    first, replicas = min(closed), subject.workload.replicas
    taint = _taint(subject, eligible & domains[first])
    honored = usable >= constraint.min_domains and subject.features.node_inclusion_policies
    why = "cordoned" if _cordons(taint) else "tainted"
    are = f"is {why}, but still counts" if len(closed) == 1 else f"are {why}, but still count"
    wait = replicas - constraint.max_skew * usable
    message = f"{wait} of {replicas} new Pods would wait: {some(closed, 1)} {are}"
    return Cause(
        subject.at(constraint, "nodeTaintsPolicy"),
        message,
        found=f"{constraint.node_taints_policy}, and no node of {some(closed)} takes the Pod: {taint}",
        wanted=f"{HONOR}, or a node in each domain that takes the Pod",
        fix=("set nodeTaintsPolicy: Honor, or " if honored else "") + _remedy(taint),
    )


def _taint(subject: Subject, nodes: NodeSet) -> Taint:
    """Return a taint that keeps the Pod off one of these nodes."""
    untolerated = subject.reach.untolerated.items()
    return next((taint for taint, members in untolerated if members & nodes), CORDONED)


def _cordons(taint: Taint) -> bool:
    return taint.key == CORDONED.key


def _remedy(taint: Taint) -> str:
    return "uncordon the nodes" if _cordons(taint) else f"tolerate {taint}, or remove the taint"
