"""pinned-pod: constraints on a DaemonSet, or on a Pod with nodeName."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Severity
from webhook.findings.repairs import Repairs
from webhook.findings.rule import Subject, rule
from webhook.findings.wording import number_of
from webhook.kubernetes.reader import brief


@rule(
    title="the Pods are pinned to their nodes, so the constraints cannot spread them",
    severity=Severity.WARNING,
    fix="remove the constraints",
    cel="""
    variables.constraints.size() == 0
      || request.kind.kind != 'DaemonSet' && variables.spec.?nodeName.orValue('') == ''
    """,
    bad="""
    apiVersion: apps/v1
    kind: DaemonSet
    metadata: {name: agent}
    spec:
      selector: {matchLabels: {app: agent}}
      template:
        metadata: {labels: {app: agent}}
        spec:
          topologySpreadConstraints:
          - maxSkew: 1
            topologyKey: topology.kubernetes.io/zone
            whenUnsatisfiable: DoNotSchedule
            labelSelector: {matchLabels: {app: agent}}
    """,
    good="""
    apiVersion: apps/v1
    kind: DaemonSet
    metadata: {name: agent}
    spec:
      selector: {matchLabels: {app: agent}}
      template:
        metadata: {labels: {app: agent}}
        spec: {}
    """,
)
def pinned_pod(subject: Subject) -> Iterator[Cause]:
    """
    A Pod with nodeName bypasses the scheduler. Each Pod of a DaemonSet is pinned to its node by node affinity. So a
    constraint cannot spread it. A hard constraint can only keep it off nodes without the key, or leave it Pending.

    On a DaemonSet, evenkeel reports no other rules, except what the API server rejects and what a policy enforces.
    """
    workload = subject.workload
    if not subject.constraints:
        return
    extents = tuple([int(constraint.hard) for constraint in subject.constraints])
    if workload.kind.kind == "DaemonSet":
        hard = any(constraint.hard for constraint in subject.constraints)
        pending = "a hard constraint spreads nothing, and can only leave Pods Pending"
        effect = pending if hard else "constraints have no effect"
        message = f"a DaemonSet pins each Pod to its node: {effect}"
        value = f"{number_of(len(subject.constraints), 'constraint')} on a DaemonSet"
        yield Cause(workload.path, message, value, "no constraint", extents=extents, alone=True)
    elif workload.node_name and not workload.scheduled:
        message = "have no effect: nodeName binds the Pod without scheduling"
        value, fix = f"nodeName {brief(workload.node_name)}", "remove the constraints, or nodeName"
        if not workload.is_pod and Repairs(subject).asks_for_any:
            fix = "remove nodeName"
        yield Cause(workload.path, message, value, "constraints or nodeName, not both", fix=fix, extents=extents)
