"""single-domain: nodes in one domain only, so that a hard constraint refuses nothing."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Severity
from webhook.findings.rule import Nature, Need, Subject, rule
from webhook.findings.wording import some
from webhook.kubernetes.names import DEFAULTED_BY_ANNOTATION
from webhook.spread.constraint import HARD
from webhook.spread.domains import NODES


@rule(
    title="all nodes are in one domain, so a hard constraint refuses nothing",
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
    so the constraint refuses nothing, and all Pods run in this zone. They stay there when nodes join in others.

    With minDomains, Pods beyond maxSkew wait until so many zones have nodes. Set it only if nodes can start there:

    - Karpenter starts them in the zones that its NodePools offer. With fewer zones than minDomains, Pods wait for
      good.
    - cluster-autoscaler starts them only if each zone has a node group of its own. It takes all nodes of a group to be
      alike, so a group for several zones counts as one zone.
    - Whenever fewer zones than minDomains have nodes, such as after the loss of one, each of the others takes only
      maxSkew Pods. Then Pods wait, and rollouts stop.

    The rule does not report a workload that has no more replicas than maxSkew. Where nodeSelector or node affinity
    leaves one domain, pinned-domain reports it. If a claim leaves one, minDomains would keep Pods waiting.
    """
    workload = subject.workload
    if workload.pinned or DEFAULTED_BY_ANNOTATION in workload.annotations:
        return
    for constraint in subject.hard:
        if not (workload.is_pod or workload.replicas > constraint.max_skew) or not subject.counts_own(constraint):
            continue
        only = subject.only_domain(constraint)
        if only is not None and only.left_by == NODES:
            place = f"{constraint.topology_key.rpartition('/')[2]} {some([only.domain])}"
            message = f"spreads nothing: all nodes that count are in {place}"
            tie, fix = subject.tied(constraint), None
            if tie is not None:
                fix = f"remove the constraint: claim {tie.claim} leaves only {tie.domain}, so minDomains is no remedy"
            yield Cause(subject.at(constraint, "topologyKey"), message, place, "nodes in several domains", fix)
