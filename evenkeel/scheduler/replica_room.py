"""The room that a snapshot has for the replicas of a workload, for the rules that ask for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from evenkeel.scheduler.capacity import bound
from evenkeel.scheduler.claim_ties import tie
from evenkeel.scheduler.incoming import IncomingPod, read_incoming_pod
from evenkeel.scheduler.joint_limit import never_all
from evenkeel.scheduler.pod_affinity import PodAffinity, one_per_domain, read_pod_affinity
from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.resources import with_default_requests
from evenkeel.scheduler.snapshot import Snapshot
from evenkeel.scheduler.volumes import read_mounts
from webhook.findings.room import Bound, Tie
from webhook.findings.rule import Subject
from webhook.kubernetes.fields import as_list, value_at
from webhook.kubernetes.names import POD_ANTI_AFFINITY, REQUIRED_TERMS
from webhook.kubernetes.reader import Reader
from webhook.spread.constraint import Constraint

PER_REVISION = frozenset({"matchLabelKeys", "mismatchLabelKeys"})  # A term with these may select only new Pods.


class SnapshotRoom:
    """The room of a snapshot for a workload; `findings.room.Room` says what each answer is."""

    def __init__(self, subject: Subject, snapshot: Snapshot) -> None:
        self._subject, self._workload, self._snapshot = subject, subject.workload, snapshot

    @property
    def may_preempt(self) -> bool:
        spec = self._workload.pod_spec or {}
        if spec.get("preemptionPolicy") == "Never":
            return False
        default = self._snapshot.default_priority
        lower = default is None or any(priority < default for priority in self._snapshot.priorities.values())
        return lower or bool(spec.get("priorityClassName") or spec.get("priority"))

    @property
    def running_pods(self) -> int:
        own = self._subject.workload_selector
        if own.matches_nothing or own.empty:
            return 0
        groups = self._snapshot.pods.get(self._workload.namespace, {}).values()
        return sum(sum(group.nodes.values()) for group in groups if own.matches(group.labels))

    def anti_affinity(self) -> Iterator[Constraint]:
        workload, nodes = self._workload, self._subject.nodes
        terms = as_list(value_at(workload.pod_spec or {}, ("affinity", POD_ANTI_AFFINITY, REQUIRED_TERMS)))
        affinity = {POD_ANTI_AFFINITY: {REQUIRED_TERMS: [term for term in terms if not _is_per_revision(term)]}}
        for term in read_pod_affinity(Reader(), affinity, workload.namespace).anti_affinity:
            key, selector = term.topology_key, term.selector
            # Labels that a controller adds are not known yet: a term that asks for one may not select the Pods.
            is_certain = workload.namespace in term.namespaces and selector.keys.isdisjoint(self._subject.addable)
            if is_certain and selector.matches(workload.labels) and key in nodes.common_label_keys:
                yield one_per_domain(term, nodes)

    def tied(self, topology_key: str) -> Tie | None:
        raw = {"metadata": {"namespace": self._workload.namespace}, "spec": self._workload.pod_spec or {}}
        return tie(self._snapshot, read_mounts(Reader(), raw), topology_key)

    def joint_limit(self, constraints: Iterable[Constraint]) -> Bound | None:
        limit = never_all(self._cycle(constraints), self._subject.workload_selector, self._workload.replicas)
        return None if limit is None else Bound(limit.number, limit.constraints[0], together=limit.constraints)

    def most_replicas(self, constraints: Iterable[Constraint], wanted: int, others_affinity: bool) -> Bound:
        addable = self._workload.addable  # A label that the controller may yet add decides nothing for sure.
        affine = {
            affinity: nodes
            for affinity, nodes in self._snapshot.affine.items()
            if others_affinity and all(term.selector.keys.isdisjoint(addable) for term in affinity.anti_affinity)
        }
        return bound(self._cycle(constraints, affine), wanted)

    def _cycle(
        self, constraints: Iterable[Constraint], affine: Mapping[PodAffinity, Mapping[str, int]] = MappingProxyType({})
    ) -> Cycle:
        """Return the attempt to place the next replica, among Pods with the anti-affinity `affine`."""
        snapshot = replace(self._snapshot, affine=affine)
        return Cycle(self._next_replica(), tuple(constraints), snapshot, self._subject.features)

    def _next_replica(self) -> IncomingPod:
        """
        Return the next replica, with what it requests and its host ports.

        Its own affinity to other Pods is left out: it can only lower the bound, and to look at all Pods takes too long.
        """
        spec, namespace = with_default_requests(self._workload.pod_spec or {}), self._workload.namespace
        raw = {"metadata": {"namespace": namespace}, "spec": spec}
        incoming, new_pod = read_incoming_pod(Reader(), raw, self._subject.features), self._subject.pod
        return IncomingPod(
            namespace,
            self._workload.pods_labels(),
            new_pod.affinity,
            new_pod.tolerations,
            requests=incoming.requests,
            ports=incoming.ports,
        )


def room_for(subject: Subject) -> SnapshotRoom | None:
    """Return the room for a workload; None where Pods were not read."""
    return SnapshotRoom(subject, subject.snapshot) if isinstance(subject.snapshot, Snapshot) else None


def _is_per_revision(term: object) -> bool:
    return isinstance(term, dict) and not PER_REVISION.isdisjoint(term)
