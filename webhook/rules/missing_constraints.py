"""missing-constraints: a workload without the constraints that a platform team asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from webhook.findings.evaluation import find_all
from webhook.findings.finding import Cause, Severity
from webhook.findings.repairs import Repairs
from webhook.findings.rule import LARGEST_NUMBER, TOPOLOGY_KEY, Also, Need, Subject, in_yaml, rule
from webhook.findings.wording import number_of
from webhook.kubernetes.fields import as_list
from webhook.kubernetes.names import ZONE

MISSING = "missing-constraints"


@rule(
    title="the workload has no constraint for a topology that the policy asks for",
    severity=Severity.IGNORE,
    fix="add a constraint for the topology",
    where=(Also.WITHOUT_CONSTRAINTS, Need.REPLICAS),
    parameters={
        "properties": {
            "minReplicas": {
                "type": "integer",
                "minimum": 1,
                "maximum": LARGEST_NUMBER,
                "default": 2,
                "description": "workloads with fewer replicas are not reported",
            },
            "topologyKeys": {
                "type": "array",
                "items": TOPOLOGY_KEY,
                "default": [],
                "description": "the keys that must each have a constraint; empty: any one constraint is enough",
            },
        },
        "examples": [{"minReplicas": 3, "topologyKeys": ["topology.kubernetes.io/zone"]}],
    },
    cel="""
    request.kind.kind == 'DaemonSet'
      || parameters.minReplicas > 1 && variables.replicas < parameters.minReplicas
      || (parameters.topologyKeys.size() == 0
        ? variables.constraints.size() > 0
        : parameters.topologyKeys.all(k, variables.constraints.exists(c, c.topologyKey == k)))
      || request.kind.kind == 'Pod' && variables.runs_on_one_node
    """,
    bad="""
    apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: web}
    spec:
      replicas: 6
      selector: {matchLabels: {app: web}}
      template:
        metadata:
          labels: {app: web}
        spec:
          containers: [{name: web, image: web}]
    """,
    good="whenUnsatisfiable: ScheduleAnyway",
)
def missing_constraints(subject: Subject) -> Iterator[Cause]:
    """
    The rule counts the replicas in the object when it is applied. 0 replicas count as 1. Scaling later is not judged.

    `minReplicas: 1` also reports each Pod from `kubectl run` and each Job. In return, nobody can create a workload
    with one replica, and scale it later without a constraint. The rule does not report DaemonSets, or Pods that can
    run on one node only.
    """
    workload = subject.workload
    alone = workload.kind.kind == "DaemonSet" or (workload.is_pod and workload.pinned)
    if alone or max(1, workload.replicas) < subject.number("minReplicas"):
        return
    present, asked = {constraint.topology_key for constraint in subject.constraints}, subject.keys("topologyKeys")
    replicas, repairs = number_of(workload.replicas, "replica"), Repairs(subject)
    missing = asked - present
    if not asked and not present:  # Any constraint is enough, so name the most usual one.
        missing = frozenset({ZONE})
    for key in sorted(missing):
        message = f"{replicas}, but none" + (f" for {key}" if present else "")
        value, wanted = ", ".join(sorted(present)) or "no constraint", f"a constraint for {key}"
        fix = repairs.of_missing_key(key) or f"add {_offer(subject, key) or wanted}"
        yield Cause(workload.path, message, value, wanted, fix=fix)


def _offer(subject: Subject, key: str) -> str:
    """Return a constraint to add, as YAML in one line; "" if another rule would find fault with it."""
    constraint, workload = subject.soft_constraint(key), subject.workload
    if constraint is None:
        return ""
    written = as_list(workload.raw_constraints)
    offered = replace(workload, raw_constraints=[*written, constraint])
    others = {rule: setting for rule, setting in subject.settings.items() if rule != MISSING}
    findings = find_all(offered, others, subject.snapshot, subject.features, subject.others, subject.room_for).findings
    own = (*workload.path, len(written))
    faults = [finding for finding in findings if finding.severity.rank <= Severity.WARNING.rank]
    return "" if any(finding.path[: len(own)] in (own, workload.path) for finding in faults) else in_yaml(constraint)
