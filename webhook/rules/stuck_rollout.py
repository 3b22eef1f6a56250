"""stuck-rollout: a rolling update that needs one Pod more than the cluster can take."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Severity
from webhook.findings.room import Bound
from webhook.findings.rule import SURGES, Also, Nature, Need, Subject, rule
from webhook.findings.wording import constraint_names
from webhook.kubernetes.fields import as_mapping
from webhook.kubernetes.update_strategies import read_deployment_strategy
from webhook.spread.constraint import Constraint


@rule(
    title="a rollout cannot finish now: it needs one Pod more than the cluster takes",
    severity=Severity.WARNING,
    fix="set maxSurge: 0 and maxUnavailable: 1",
    where=(Also.WITHOUT_CONSTRAINTS, SURGES, Need.LABELS, Need.POD_SPEC, Need.NODES, Need.PODS, Nature.ADVICE),
    bad="""
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: 2
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec:
          containers: [{name: web, image: web}]
          affinity:
            podAntiAffinity:
              requiredDuringSchedulingIgnoredDuringExecution:
              - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}
    """,
    good="""
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: 2
      selector: {matchLabels: {app: web}}
      strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}
      template:
        metadata: {labels: {app: web}}
        spec:
          containers: [{name: web, image: web}]
          affinity:
            podAntiAffinity:
              requiredDuringSchedulingIgnoredDuringExecution:
              - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}
    """,
    context="""
    apiVersion: v1
    kind: Node
    metadata: {name: n1, labels: {kubernetes.io/hostname: n1, topology.kubernetes.io/zone: a}}
    status: {allocatable: {cpu: "8", memory: 8Gi, pods: "110"}}
    ---
    apiVersion: v1
    kind: Node
    metadata: {name: n2, labels: {kubernetes.io/hostname: n2, topology.kubernetes.io/zone: b}}
    status: {allocatable: {cpu: "8", memory: 8Gi, pods: "110"}}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: agent, namespace: default, labels: {app: agent}}
    spec:
      nodeName: n2
      containers: [{name: agent, image: agent}]
    """,
)
def stuck_rollout(subject: Subject) -> Iterator[Cause]:
    """
    With up to three replicas, the default maxUnavailable of 25% rounds down to 0, and maxSurge rounds up to 1. A
    rolling update then deletes an old Pod only after a new one is ready. If the cluster takes no Pod more, because each
    node or zone may have one Pod, or has no room, the rollout waits for ever.

    The finding is certain: all replicas have room, and the scheduler can place no other Pod in any order while they
    run. As in unschedulable, the rule reports nothing if preemption may make room. It leaves out constraints and
    anti-affinity with matchLabelKeys, by which new Pods may not count old ones.
    """
    workload, room = subject.workload, subject.room
    strategy = read_deployment_strategy(as_mapping(workload.spec.get("strategy")))
    surge, unavailable = strategy.fenceposts(workload.replicas)
    if not surge or unavailable or room is None or not subject.reach.usable:
        return
    wanted = workload.replicas - room.running_pods + 1
    is_placeholder = isinstance(workload.spec.get("replicas"), str)
    if wanted < 1 or is_placeholder or room.may_preempt:
        return
    constraints = [*_constraints(subject), *room.anti_affinity()]
    if any(subject.may_carry(constraint.topology_key) for constraint in constraints):
        return
    # The constraints have the anti-affinity of its own Pods; looking at that of all other Pods takes too long.
    bound = room.most_replicas(constraints, wanted, others_affinity=False)
    if bound.number == wanted - 1:
        message = f"a rollout cannot finish: maxUnavailable rounds to 0, and {_why(bound)}"
        found = f"maxSurge {strategy.max_surge}, maxUnavailable {strategy.max_unavailable}"
        yield Cause(("spec", "strategy"), message, found, "maxSurge 0, maxUnavailable 1, or room for one Pod more")


def _constraints(subject: Subject) -> Iterator[Constraint]:
    """Yield the hard constraints that surely count old and new Pods together."""
    for constraint in subject.hard:
        if not constraint.match_label_keys and constraint.selector.keys.isdisjoint(subject.addable):
            yield constraint


def _why(bound: Bound) -> str:
    if bound.together:
        return f"{constraint_names(bound.together)} together allow no Pod more"
    if bound.constraint is None:
        return "host ports of Pods or lack of room exclude every node" if bound.kept_off else "no node has room"
    key = bound.constraint.topology_key.rpartition("/")[2]
    if bound.constraint.index < 0:  # It stands for required anti-affinity.
        return f"podAntiAffinity allows one Pod per {key}"
    return f"constraint {bound.constraint.index} allows no Pod more per {key}"
