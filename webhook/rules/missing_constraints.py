"""missing-constraints: a workload without the constraints that a platform team asks for."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Severity
from webhook.findings.rule import Subject, rule


@rule(
    title="the workload has no constraint for a topology that the policy asks for",
    severity=Severity.IGNORE,
    needs_constraints=False,
    fix="add a constraint for the topology",
    parameters={
        "minReplicas": {
            "type": "integer",
            "minimum": 1,
            "default": 2,
            "description": "workloads with fewer replicas are not reported",
        },
        "topologyKeys": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "default": [],
            "description": "the keys that must each have a constraint; empty: any one constraint is enough",
        },
    },
    example={"minReplicas": 3, "topologyKeys": ["topology.kubernetes.io/zone"]},
    bad="""
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: 3
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec: {}
    """,
    good="""
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: 3
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec:
          topologySpreadConstraints:
          - maxSkew: 1
            topologyKey: topology.kubernetes.io/zone
            whenUnsatisfiable: ScheduleAnyway
            labelSelector: {matchLabels: {app: web}}
            matchLabelKeys: [pod-template-hash]
    """,
)
def missing_constraints(subject: Subject) -> Iterator[Cause]:
    """
    A platform team's own policy: a workload with several replicas must be spread.  Replicas are those of the object
    when it is applied; 0 counts as 1, and scaling later is not judged.  For evenkeel lint an autoscaler among the
    manifests counts by its minimum, which the workload always has; the webhook knows of none, and judges by the
    replicas that are written.  A Pod is one replica: `minReplicas: 1` closes the way around by scaling, and its price
    is that each Pod that is made by hand, of `kubectl run` or a Job of one, is reported, too.  DaemonSets are not
    reported, and neither are Pods that can run on one node only.
    """
    workload = subject.workload
    alone = workload.kind.kind == "DaemonSet" or (workload.is_pod and workload.pinned)
    if alone or max(1, workload.replicas) < subject.number("minReplicas"):
        return
    have, asked = {constraint.topology_key for constraint in subject.constraints}, subject.keys("topologyKeys")
    found = f"{', '.join(sorted(have)) or 'no constraint'}, {workload.replicas} replica{'s'[: workload.replicas != 1]}"
    for key in sorted(asked - have):
        yield Cause(workload.path, f"must have a constraint for {key}", found, key, fix=f"add a constraint for {key}")
    if not asked and not have:
        fix = "add a constraint, such as one on topology.kubernetes.io/zone"
        yield Cause(workload.path, "must have a constraint", found, "a constraint", fix=fix)
