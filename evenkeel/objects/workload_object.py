"""
An object of a kind that makes Pods, as its controller reads it.

    JSON ──> WorkloadObject; for what rules look at in each of its Pod templates, see webhook/kubernetes/workload.py
"""

from __future__ import annotations

from dataclasses import dataclass, field

from webhook.kubernetes.fields import Raw, as_list, as_mapping, integer, texts_at, value_at
from webhook.kubernetes.names import REVISION_ANNOTATION
from webhook.kubernetes.references import ObjectRef, Owner, owner_of
from webhook.kubernetes.update_strategies import (
    DaemonSetUpdate,
    DeploymentStrategy,
    StatefulSetUpdate,
    read_daemon_set_update,
    read_deployment_strategy,
    read_stateful_set_update,
)

# Which Pods a change of the template reaches.
ROLLS_OUT = "all"
IN_PART = "in part"  # Those above a partition.
IF_DELETED = "if deleted"  # Those that are made in place of deleted ones.
IF_RESUMED = "if resumed"  # None before the workload is resumed.
OF_NEXT_JOB = "of the next Job"
UNCHANGEABLE = "none"
_OF_JOBS = {("batch", "CronJob"): OF_NEXT_JOB, ("batch", "Job"): UNCHANGEABLE}
_WITHOUT_ROLLOUT = frozenset({("apps", "ReplicaSet"), ("", "ReplicationController")})
_WITH_ON_DELETE = frozenset({("apps", "StatefulSet"), ("apps", "DaemonSet")})


@dataclass(frozen=True, slots=True)
class WorkloadObject:
    """An object of a kind that makes Pods; what few callers need is a property, and read from `raw` when asked for."""

    raw: Raw = field(repr=False)
    ref: ObjectRef
    owner: Owner | None
    replicas: int | None  # None: not written.
    revision: int  # The number that the Deployment controller gives; 0 if there is none.

    @property
    def spec(self) -> Raw:
        return as_mapping(self.raw.get("spec"))

    @property
    def template(self) -> Raw:
        """Its Pod template, where the built-in kinds have it."""
        return as_mapping(self.spec.get("template"))

    @property
    def selector(self) -> Raw:
        return as_mapping(self.spec.get("selector"))

    @property
    def min_ready_seconds(self) -> int:
        """How many seconds a Pod must be ready before it is available."""
        return max(0, integer(self.spec.get("minReadySeconds")) or 0)

    @property
    def terminating(self) -> bool:
        """Whether it is being deleted."""
        return value_at(self.raw, ("metadata", "deletionTimestamp")) is not None

    @property
    def paused(self) -> bool:
        return self.spec.get("paused") is True

    @property
    def deployment_strategy(self) -> DeploymentStrategy:
        return read_deployment_strategy(as_mapping(self.spec.get("strategy")))

    @property
    def stateful_set_update(self) -> StatefulSetUpdate:
        return read_stateful_set_update(self.spec)

    @property
    def daemon_set_update(self) -> DaemonSetUpdate:
        return read_daemon_set_update(self.spec)

    @property
    def volume_claim_templates(self) -> list[Raw]:
        """The templates of the claims that a StatefulSet makes for each of its Pods."""
        return [as_mapping(template) for template in as_list(self.spec.get("volumeClaimTemplates"))]

    @property
    def deletes_claims_when_scaled(self) -> bool:
        """Whether a StatefulSet that is scaled down deletes the claims of the Pods that go."""
        return texts_at(self.raw, "spec.persistentVolumeClaimRetentionPolicy.whenScaled")[0] == "Delete"

    @property
    def next_ordinal(self) -> int:
        """The ordinal of the next Pod of a StatefulSet, as if it is scaled up by one."""
        return self.stateful_set_update.first + (1 if self.replicas is None else self.replicas)

    @property
    def update_revision(self) -> str:
        """The revision to which a StatefulSet's Pods are updated; "" for a DaemonSet that the cluster has."""
        return texts_at(self.raw, "status.updateRevision")[0]

    @property
    def current_revision(self) -> str:
        """The revision that a StatefulSet's Pods had before."""
        return texts_at(self.raw, "status.currentRevision")[0]


def read_workload_object(raw: Raw) -> WorkloadObject:
    """Read an object; a value of the wrong type counts as absent."""
    replicas = integer(value_at(raw, ("spec", "replicas")))
    return WorkloadObject(
        raw,
        ObjectRef.of(raw),
        owner_of(raw),
        replicas if replicas is not None and replicas >= 0 else None,
        _revision(value_at(raw, ("metadata", "annotations", REVISION_ANNOTATION))),
    )


def reach_of_template(raw: Raw) -> str:
    """Return which Pods of a workload a change of its template reaches, as far as its spec says (ROLLS_OUT, …)."""
    ref, workload_object = ObjectRef.of(raw), read_workload_object(raw)
    kind, update = (ref.group, ref.kind), workload_object.stateful_set_update
    if kind in _OF_JOBS:
        return _OF_JOBS[kind]
    if workload_object.paused:
        return IF_RESUMED
    if kind in _WITHOUT_ROLLOUT or (kind in _WITH_ON_DELETE and update.on_delete):
        return IF_DELETED
    return IN_PART if kind == ("apps", "StatefulSet") and update.partition else ROLLS_OUT


def _revision(written: object) -> int:
    return int(written) if isinstance(written, str) and written.isdecimal() and len(written) < 20 else 0
