"""contradicting-constraints: hard constraints that together never let in all replicas."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Severity
from webhook.findings.rule import Nature, Need, Subject, rule
from webhook.findings.wording import constraint_names
from webhook.kubernetes.kinds import BATCH
from webhook.spread.constraint import HARD


@rule(
    title="hard constraints contradict each other on the nodes of the cluster",
    severity=Severity.WARNING,
    fix="soften one of them, or run evenkeel explain",
    where=(HARD, Need.LABELS, Need.POD_SPEC, Need.NODES, Nature.ADVICE),
    bad="""
    apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: web}
    spec:
      replicas: 7
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec:
          containers: [{name: web, image: web}]
          topologySpreadConstraints:
          - maxSkew: 1
            topologyKey: topology.kubernetes.io/zone
            whenUnsatisfiable: DoNotSchedule
            nodeTaintsPolicy: Honor
            labelSelector: {matchLabels: {app: web}}
          - maxSkew: 1
            topologyKey: kubernetes.io/hostname
            whenUnsatisfiable: DoNotSchedule
            nodeTaintsPolicy: Honor
            labelSelector: {matchLabels: {app: web}}
    """,
    good="""
    apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: web}
    spec:
      replicas: 7
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec:
          containers: [{name: web, image: web}]
          topologySpreadConstraints:
          - maxSkew: 1
            topologyKey: topology.kubernetes.io/zone
            whenUnsatisfiable: DoNotSchedule
            nodeTaintsPolicy: Honor
            labelSelector: {matchLabels: {app: web}}
          - maxSkew: 1
            topologyKey: kubernetes.io/hostname
            whenUnsatisfiable: ScheduleAnyway
            nodeTaintsPolicy: Honor
            labelSelector: {matchLabels: {app: web}}
    """,
    context="""
    apiVersion: v1
    kind: Node
    metadata: {name: n1, labels: {kubernetes.io/hostname: n1, topology.kubernetes.io/zone: a}}
    ---
    apiVersion: v1
    kind: Node
    metadata: {name: n2, labels: {kubernetes.io/hostname: n2, topology.kubernetes.io/zone: a}}
    ---
    apiVersion: v1
    kind: Node
    metadata: {name: n3, labels: {kubernetes.io/hostname: n3, topology.kubernetes.io/zone: b}}
    """,
)
def contradicting_constraints(subject: Subject) -> Iterator[Cause]:
    """
    The zone that one constraint leaves may have only nodes that another one refuses. With two nodes in zone a, one in
    zone b, and maxSkew 1 for zones and nodes, five Pods fit: the sixth must run in zone b, but not on its only node.

    The finding is certain: evenkeel tries all orders in which Pods may come, takes each node to have room without end,
    and leaves out Pods that fit once others go, or once nodes are uncordoned and without taints that a controller
    removes, such as not-ready. It names two constraints, or all if no two of them are enough. Required podAntiAffinity
    of the Pods against each other counts as such a constraint.

    The rule reports nothing in the webhook, which does not know Pods, for Jobs, whose Pods end and make room, where a
    constraint also counts Pods of others, which may go, or where it would take long to try all orders.
    """
    workload, room = subject.workload, subject.room
    if room is None or workload.pinned or workload.kind.api_version == BATCH:
        return
    constraints = [*subject.hard, *room.anti_affinity()]
    if any(subject.may_carry(constraint.topology_key) for constraint in constraints):
        return
    limit = room.joint_limit(constraints)
    if limit is not None:
        replicas, contradict = workload.replicas, f"{constraint_names(limit.together)} contradict each other"
        left_out = replicas - limit.number
        fit = "fits" if left_out == 1 else "fit"
        message = f"{left_out} of {replicas} replicas never {fit} on these nodes: {contradict}"
        path, found = subject.at(limit.named, "maxSkew"), f"at most {limit.number} fit"
        yield Cause(path, message, found, f"constraints that let in {replicas} Pods")
