"""counts-tainted-nodes: nodes that no Pod may use count as domains without Pods."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Severity
from webhook.findings.rule import Need, Subject, rule
from webhook.scheduler.constraint import HARD, HONOR
from webhook.scheduler.nodes import HOSTNAME, TOLERATION_EXISTS


@rule(
    title="a hard constraint on hostname counts nodes whose taints keep the Pod off",
    severity=Severity.INFO,
    fix="set nodeTaintsPolicy: Honor",
    yields_to="tainted-domain",
    advice=True,
    needs=(Need.POD_SPEC,),
    looks_for=(HARD, HOSTNAME),
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
          topologySpreadConstraints:
          - maxSkew: 1
            topologyKey: kubernetes.io/hostname
            whenUnsatisfiable: DoNotSchedule
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
          topologySpreadConstraints:
          - maxSkew: 1
            topologyKey: kubernetes.io/hostname
            whenUnsatisfiable: DoNotSchedule
            nodeTaintsPolicy: Honor
            labelSelector: {matchLabels: {app: db}}
    """,
)
def counts_tainted_nodes(subject: Subject) -> Iterator[Cause]:
    """
    With nodeTaintsPolicy Ignore, which is the default, a control-plane node or a cordoned one is a domain with 0 Pods,
    which none can join.  The other nodes then take maxSkew Pods each and no more.  It is the commonest cause of a
    rollout that does not finish.

    Pods that tolerate every taint are not reported, and neither are those of a constraint whose skew never refuses.
    """
    if subject.workload.pinned or not subject.features.node_inclusion_policies or _tolerates_all(subject):
        return
    for constraint in subject.hard:
        if constraint.topology_key != HOSTNAME or constraint.node_taints_policy == HONOR:
            continue
        if subject.counts_own(constraint) and not subject.never_binds(constraint):
            path = subject.at(constraint, "nodeTaintsPolicy")
            message = "must be Honor, or tainted nodes count as empty"
            yield Cause(path, message, constraint.node_taints_policy, HONOR)


def _tolerates_all(subject: Subject) -> bool:
    return any(
        toleration.operator == TOLERATION_EXISTS and not toleration.key and not toleration.effect
        for toleration in subject.pod.tolerations
    )
