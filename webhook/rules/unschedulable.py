"""unschedulable: a replica that no node of the cluster would take now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from webhook.findings.finding import Cause, Severity
from webhook.findings.rule import Need, Subject, rule
from webhook.findings.wording import some
from webhook.objects.kinds import BATCH
from webhook.objects.reading import Reader
from webhook.scheduler.capacity import Bound, bound
from webhook.scheduler.constraint import HARD, HONOR
from webhook.scheduler.incoming import IncomingPod
from webhook.scheduler.nodes import NodeSet

MOST_REPLICAS = 200


@rule(
    title="the cluster has no place for all replicas now",
    severity=Severity.WARNING,
    fix="ask evenkeel explain what would let the next Pod in",
    advice=True,
    needs=(Need.POD_SPEC, Need.NODES, Need.PODS),
    looks_for=(HARD,),
    beside="""
    apiVersion: v1
    kind: Node
    metadata: {name: n1, labels: {kubernetes.io/hostname: n1, topology.kubernetes.io/zone: a}}
    status: {allocatable: {cpu: "8", memory: 8Gi, pods: "110"}}
    ---
    apiVersion: v1
    kind: Node
    metadata: {name: n2, labels: {kubernetes.io/hostname: n2, topology.kubernetes.io/zone: b}}
    status: {allocatable: {cpu: "2", memory: 8Gi, pods: "110"}}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: agent, namespace: default, labels: {app: agent}}
    spec:
      nodeName: n2
      containers: [{name: agent, image: agent, resources: {requests: {cpu: 500m}}}]
    """,
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
          containers: [{name: db, image: db, resources: {requests: {cpu: "1"}}}]
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
      replicas: 3
      selector: {matchLabels: {app: db}}
      template:
        metadata: {labels: {app: db}}
        spec:
          containers: [{name: db, image: db, resources: {requests: {cpu: "1"}}}]
          topologySpreadConstraints:
          - maxSkew: 1
            topologyKey: topology.kubernetes.io/zone
            whenUnsatisfiable: DoNotSchedule
            labelSelector: {matchLabels: {app: db}}
    """,
)
def unschedulable(subject: Subject) -> Iterator[Cause]:
    """
    A hard constraint lets no domain have more than maxSkew Pods above the one with the fewest.  Where that has room for
    few, all others are held back, and the remaining replicas wait, whatever room the cluster has elsewhere.

    The finding is certain: in no order can the scheduler place more of the replicas.  Those that run are counted where
    they are; nothing is said where the strategy Recreate may take them away first.  For evenkeel
    lint an autoscaler of the workload among the manifests counts by its minimum.  What an autoscaler of nodes would
    add, or preemption take away, is not known.
    More than 200 replicas are not judged, and neither is what tainted-domain,
    too-few-domains or unknown-topology-key finds.
    """
    workload = subject.workload
    if workload.pinned or workload.kind.api_version == BATCH or workload.replicas > MOST_REPLICAS or workload.stored:
        return
    running, there = _running(subject), subject.snapshot
    wanted = workload.replicas - running
    if there is None or wanted <= 0 or (running and (_new_revision(subject) or workload.strategy == "Recreate")):
        return
    found = bound(_with_labels(subject), subject.hard, subject.reach.usable, there, subject.features, wanted)
    if found.number < wanted and not _found_by_others(subject, found):
        yield _cause(subject, found, running)


def _running(subject: Subject) -> int:
    """The Pods of the workload that are there."""
    own, there = subject.workload_selector, subject.snapshot
    if there is None or own.matches_nothing or own.empty:
        return 0
    groups = there.pods.get(subject.workload.namespace, {}).values()
    return sum(sum(group.nodes.values()) for group in groups if own.matches(group.labels))


def _new_revision(subject: Subject) -> bool:
    """Whether a label that only the controller knows decides which of the Pods that run are counted."""
    return any(not subject.workload.labels.keys() >= set(one.match_label_keys) for one in subject.hard)


def _with_labels(subject: Subject) -> IncomingPod:
    """The next replica, with what it requests."""
    from webhook.scheduler.resources import read_requests, with_default_requests  # Only needed where Pods are known.

    spec = with_default_requests(subject.workload.pod_spec or {})
    requests = read_requests(Reader(), {"spec": spec}, subject.features, bound=False)
    return replace(subject.pod, requests=requests, labels=subject.workload.pods_labels())


def _found_by_others(subject: Subject, found: Bound) -> bool:
    """Whether another rule says it: a key that no node has, too few domains, a domain that is shut by taints."""
    if found.constraint is None:
        return any(one.topology_key not in subject.nodes.label_keys for one in subject.hard)
    if not found.scarce:
        return True
    shut = not subject.reach.usable & _scarce(subject, found)
    return shut and found.constraint.node_taints_policy != HONOR and not _left_out(subject, found)


def _scarce(subject: Subject, found: Bound) -> NodeSet:
    """The nodes of the domain that keeps the minimum down."""
    return subject.nodes.domains(found.constraint.topology_key)[found.scarce] if found.constraint else 0


def _left_out(subject: Subject, found: Bound) -> bool:
    """Whether node affinity or nodeSelector, and no taint, keeps the Pod out of the domain, though it counts."""
    nodes = _scarce(subject, found)
    return bool(nodes & subject.reach.open) and not nodes & subject.reach.affine


def _cause(subject: Subject, found: Bound, running: int) -> Cause:
    replicas, constraint = subject.workload.replicas, found.constraint
    which = f"replica {running + found.number + 1} of {replicas} fits no node now"
    if constraint is None:
        path = subject.at(subject.hard[0])
        room = f"room for {running + found.number} replicas"
        return Cause(
            path, f"{which}: no room", room, f"room for {replicas}", fix="free room, add nodes, or request less"
        )
    place = f"{constraint.topology_key.rpartition('/')[2]} {some([found.scarce])}"
    if _left_out(subject, found):
        message = f"{which}: {place} counts, and affinity or nodeSelector bars it"
        path, policy = subject.at(constraint, "nodeAffinityPolicy"), constraint.node_affinity_policy
        return Cause(path, message, policy, HONOR, fix=f"set nodeAffinityPolicy: {HONOR}")
    message = f"{which}: {place} takes only {found.takes} more"
    wanted = f"room in {place}, or maxSkew of more than {constraint.max_skew}"
    return Cause(
        subject.at(constraint, "maxSkew"), message, f"{constraint.max_skew}", wanted, fix=f"make room in {place}"
    )
