"""
A Pod of the API: whose it is, where it runs, and what has become of it.

    JSON ──> PodObject
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from webhook.kubernetes.fields import Raw, as_list, as_mapping, as_text, integer, texts_at, value_at
from webhook.kubernetes.kinds import CONSTRAINTS_PATH
from webhook.kubernetes.labels import Labels, labels_of
from webhook.kubernetes.names import (
    DEFAULT_SCHEDULER,
    DEFAULTED_BY_ANNOTATION,
    DELETION_COST_ANNOTATION,
    MIRROR_ANNOTATION,
    REVISION_HASH,
)
from webhook.kubernetes.references import ObjectKey, Owner, controller_of
from webhook.kubernetes.times import seconds_at


class ScheduledCondition(NamedTuple):
    """The condition PodScheduled: what kube-scheduler last said of a Pod."""

    reason: str = ""
    message: str = ""
    time: str = ""  # lastTransitionTime

    @property
    def states_cause(self) -> bool:
        """Whether the message says why nodes are refused, and not just how many there are."""
        return bool(self.message) and _WITHOUT_CAUSE.fullmatch(self.message) is None


_WITHOUT_CAUSE = re.compile(r"0/\d+ nodes are available[.:\s]*")


class ReadyCondition(NamedTuple):
    """Whether a Pod is ready."""

    ready: bool  # Or about to be.
    since: float | None  # In seconds since 1970; None: unknown.


@dataclass(frozen=True, slots=True)
class PodObject:
    """A Pod of the API; what few callers need is a property, and read from `raw` when it is asked for."""

    raw: Raw = field(repr=False)
    namespace: str
    name: str
    labels: Labels
    annotations: Raw
    owner: Owner | None
    created: str  # creationTimestamp
    terminating: bool  # It has a deletionTimestamp.
    node: str
    phase: str

    @property
    def key(self) -> ObjectKey:
        return ObjectKey("", "Pod", self.namespace, self.name)

    @property
    def age(self) -> tuple[str, str]:
        """A key that sorts Pods by age, the youngest last."""
        return self.created, self.name

    @property
    def spec(self) -> Raw:
        return as_mapping(self.raw.get("spec"))

    @property
    def static(self) -> bool:
        """Whether a kubelet runs it from a file."""
        return MIRROR_ANNOTATION in self.annotations

    @property
    def defaulted(self) -> bool:
        """Whether evenkeel has given it its constraints."""
        return DEFAULTED_BY_ANNOTATION in self.annotations

    @property
    def stored(self) -> bool:
        """Whether an API server has accepted it."""
        return bool(value_at(self.raw, ("metadata", "uid")))

    @property
    def waits(self) -> bool:
        """Whether it has no node and is to have one."""
        return not self.node and self.phase in ("", "Pending") and not self.terminating

    @property
    def constraints(self) -> object:
        """Its topologySpreadConstraints as they are written."""
        return value_at(self.raw, CONSTRAINTS_PATH)

    @property
    def scheduler_name(self) -> str:
        return texts_at(self.raw, "spec.schedulerName")[0] or DEFAULT_SCHEDULER

    @property
    def scheduling_gates(self) -> tuple[str, ...]:
        gates = as_list(self.spec.get("schedulingGates"))
        return tuple([texts_at(as_mapping(gate), "name")[0] for gate in gates])

    @property
    def gone_at_once(self) -> bool:
        """
        Whether its object is gone as soon as it is deleted, since it has no grace period.

        upstream: registry/core/pod/strategy.go:podStrategy.CheckGracefulDelete (v1.37)
        """
        return integer(self.spec.get("terminationGracePeriodSeconds")) == 0

    @property
    def priority(self) -> int:
        return priority_of(self.raw)

    @property
    def preempts(self) -> bool:
        """Whether its preemptionPolicy lets it preempt Pods of lower priority."""
        return texts_at(self.raw, "spec.preemptionPolicy")[0] != "Never"

    @property
    def nominated_node(self) -> str:
        """The node on which kube-scheduler is making room for it."""
        return texts_at(self.raw, "status.nominatedNodeName")[0]

    @property
    def revision_hash(self) -> str:
        """
        The revision of the StatefulSet or DaemonSet of which it was made.

        upstream: stateful_set_utils.go:getPodRevision (v1.37)
        """
        return self.labels.get(REVISION_HASH, "")

    @property
    def template_generation(self) -> int:
        """How often the template of its DaemonSet had been changed when it was made; 0 where that is not known."""
        written = self.labels.get("pod-template-generation", "")
        return int(written) if written.isascii() and written.isdecimal() and len(written) < 20 else 0

    @property
    def ordinal(self) -> int:
        """The number at the end of the name of a StatefulSet's Pod; -1 if there is none."""
        written = self.name.rpartition("-")[2]
        return int(written) if written.isascii() and written.isdecimal() and len(written) < 10 else -1

    @property
    def created_at(self) -> float | None:
        """When it was created, in seconds since 1970."""
        return seconds_at(self.created)

    @property
    def scheduled_condition(self) -> ScheduledCondition:
        """Why kube-scheduler has found no node for it; empty where it has not said so."""
        for condition in self._conditions:
            if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
                return ScheduledCondition(*texts_at(condition, "reason", "message", "lastTransitionTime"))
        return ScheduledCondition()

    @property
    def ready_condition(self) -> ReadyCondition:
        """Its condition Ready; a Pod that is Pending, or has no such condition, is about to be ready."""
        for condition in self._conditions:
            if condition.get("type") == "Ready":
                since = seconds_at(condition.get("lastTransitionTime"))
                return ReadyCondition(condition.get("status") == "True" or self.phase == "Pending", since)
        return ReadyCondition(True, None)

    @property
    def _conditions(self) -> list[Raw]:
        return [as_mapping(condition) for condition in as_list(value_at(self.raw, ("status", "conditions")))]

    @property
    def deletion_cost(self) -> int:
        """upstream: helpers.go:GetDeletionCostFromPodAnnotations (v1.37)"""
        written = self.annotations.get(DELETION_COST_ANNOTATION)
        try:
            return int(written) if isinstance(written, str) and len(written) < 12 else 0
        except ValueError:
            return 0

    @property
    def restarts(self) -> int:
        """The most restarts of any container."""
        statuses = as_list(value_at(self.raw, ("status", "containerStatuses")))
        return max([integer(as_mapping(status).get("restartCount")) or 0 for status in statuses], default=0)


def priority_of(raw: Raw) -> int:
    """The priority of a raw Pod; 0 if it has none."""
    priority = as_mapping(raw.get("spec")).get("priority")
    return priority if type(priority) is int else 0  # isinstance() would let a boolean pass.


def read_pod(raw: Raw) -> PodObject:
    """Read a raw Pod; a value of the wrong type counts as absent."""
    metadata, spec = as_mapping(raw.get("metadata")), as_mapping(raw.get("spec"))
    return PodObject(
        raw,
        as_text(metadata.get("namespace")),
        as_text(metadata.get("name")),
        labels_of(metadata.get("labels")),
        as_mapping(metadata.get("annotations")),
        controller_of(metadata),
        as_text(metadata.get("creationTimestamp")),
        metadata.get("deletionTimestamp") is not None,
        as_text(spec.get("nodeName")),
        as_text(as_mapping(raw.get("status")).get("phase")),
    )
