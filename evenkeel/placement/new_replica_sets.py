"""The ReplicaSets that Deployments are yet to get: kube-scheduler's default constraints select what these select."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from evenkeel.objects.pod_templates import MADE_UP_LABEL, find_new_replica_set, new_replica_set, replica_sets
from evenkeel.objects.workload_object import WorkloadObject, read_workload_object
from evenkeel.scheduler.snapshot import Snapshot
from webhook.kubernetes.fields import Raw
from webhook.kubernetes.kinds import APPS
from webhook.kubernetes.reader import Reader
from webhook.kubernetes.references import ObjectKey, ObjectRef
from webhook.spread.cluster_view import Controller
from webhook.spread.constraint import read_selector
from webhook.spread.selectors import as_selector


def replica_sets_to_come(raws: Iterable[Raw], others: Mapping[ObjectKey, Raw]) -> Iterator[WorkloadObject]:
    """Yield the ReplicaSet of each Deployment that has none with its template."""
    for raw in raws:
        if ObjectRef.of(raw)[:2] == (APPS, "Deployment"):
            deployment = read_workload_object(raw)
            if find_new_replica_set(deployment, deployment.template, replica_sets(deployment.ref, others)) is None:
                yield read_workload_object(new_replica_set(deployment, MADE_UP_LABEL))


def with_replica_set(snapshot: Snapshot, replica_set: WorkloadObject) -> Snapshot:
    """Return a cluster that holds the ReplicaSet, too."""
    ref = replica_set.ref
    selector = as_selector(read_selector(Reader(), replica_set.selector, ("spec", "selector")))
    return snapshot.with_controller(ref.namespace, Controller(ref.api_version, ref.kind, ref.name, "", selector))
