"""Whether a cluster has room for the replicas of a workload, as far as its Pods are known: in commands only."""

from __future__ import annotations

from collections.abc import Iterable

from webhook.findings.rule import Subject
from webhook.objects.reading import Reader
from webhook.scheduler.capacity import Bound, bound
from webhook.scheduler.constraint import Constraint
from webhook.scheduler.incoming import IncomingPod, read_incoming_pod
from webhook.scheduler.profile import Cycle
from webhook.scheduler.resources import with_default_requests
from webhook.scheduler.snapshot import Snapshot


def read_pods(subject: Subject) -> Snapshot | None:
    """Return the cluster with its Pods; None where they are not read, as in the webhook."""
    return subject.snapshot if isinstance(subject.snapshot, Snapshot) else None


def may_preempt(subject: Subject, snapshot: Snapshot) -> bool:
    """Return whether Pods of lower priority may be taken away for it, as far as priorities are known."""
    spec = subject.workload.pod_spec or {}
    if spec.get("preemptionPolicy") == "Never":
        return False
    default = snapshot.default_priority
    lower = default is None or any(priority < default for priority in snapshot.priorities.values())
    return lower or bool(spec.get("priorityClassName") or spec.get("priority"))


def running_pods(subject: Subject, snapshot: Snapshot) -> int:
    """Return the Pods of the workload that are there."""
    own = subject.workload_selector
    if own.matches_nothing or own.empty:
        return 0
    groups = snapshot.pods.get(subject.workload.namespace, {}).values()
    return sum(sum(group.nodes.values()) for group in groups if own.matches(group.labels))


def most_replicas(subject: Subject, snapshot: Snapshot, constraints: Iterable[Constraint], wanted: int) -> Bound:
    """Return how many more replicas may be placed, up to `wanted`."""
    return bound(Cycle(_next_replica(subject), tuple(constraints), snapshot, subject.features), wanted)


def _next_replica(subject: Subject) -> IncomingPod:
    """
    Return the next replica, with what it requests and its host ports.

    Its own affinity to other Pods refuses it more nodes; to look at all Pods for that takes too long here.
    """
    spec, namespace = with_default_requests(subject.workload.pod_spec or {}), subject.workload.namespace
    raw = {"metadata": {"namespace": namespace}, "spec": spec}
    pod, new = read_incoming_pod(Reader(), raw, subject.features), subject.pod
    return IncomingPod(
        namespace,
        subject.workload.pods_labels(),
        new.affinity,
        new.tolerations,
        requests=pod.requests,
        ports=pod.ports,
    )
