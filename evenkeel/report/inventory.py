"""
The workloads of a cluster, each with its Pods counted, from objects that are gone through once.

    Pod ─────────────────> number by node, of its controller ─┐
    Deployment, Job, … ──> who owns whom ─────────────────────┴──> LiveWorkload, one for each that nothing else makes
"""

from __future__ import annotations

import marshal
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from evenkeel.objects.autoscalers import Autoscaler, read_autoscaler, scalings
from evenkeel.objects.contacts import contacts_of
from evenkeel.objects.pod_object import PodObject, read_pod
from evenkeel.objects.workload_object import WorkloadObject, read_workload_object
from evenkeel.scheduler.pod_counts import FINISHED, LabelSet, label_set
from evenkeel.scheduler.volumes import read_mounts
from webhook.kubernetes.fields import Raw, as_mapping
from webhook.kubernetes.kinds import BATCH, CORE, Kinds, find_kinds
from webhook.kubernetes.labels import Labels, labels_in
from webhook.kubernetes.reader import Reader
from webhook.kubernetes.references import ObjectKey, ObjectRef, ScaleTarget, Scaling, owner_of

POD = "Pod"
LONGEST_CHAIN = 8  # Owner references are the user's to write, and may go in a circle.


class Packed(NamedTuple):
    """A serialized object, which takes a tenth of the memory: there may be many."""

    data: bytes

    @classmethod
    def of(cls, raw: Raw) -> Packed | Raw:
        """Pack an object; it is returned as it is if that fails."""
        try:
            return cls(marshal.dumps(cast(dict[str, Any], raw)))
        except ValueError:
            return raw


StoredObject = Raw | Packed


def unpacked(stored: StoredObject | None) -> Raw | None:
    """Return the object; one that was packed is made anew."""
    return as_mapping(marshal.loads(stored.data)) if isinstance(stored, Packed) else stored


@dataclass(frozen=True, slots=True)
class LiveWorkload:
    """What makes Pods, with its Pods counted, except those that have finished.  A Pod that nobody made is one, too."""

    ref: ObjectRef
    stored: StoredObject | None  # the object: see `raw`
    owned: tuple[Raw, ...] = ()  # objects with Pod templates that it has made, such as ReplicaSets
    stored_newest: StoredObject | None = None  # its youngest Pod: see `newest`
    nodes: Mapping[str, int] = field(default_factory=dict)  # the number of its Pods on each node
    waiting: int = 0  # Pods without a node
    leaving: int = 0  # Pods that are being deleted; not among the others
    gated: int = 0  # of those that wait, the Pods with scheduling gates
    claims: tuple[str, ...] = ()  # names of the claims that its Pods use

    @property
    def raw(self) -> Raw | None:
        """The object, None where it is not known and only its Pods name it."""
        return unpacked(self.stored)

    @property
    def written(self) -> WorkloadObject | None:
        """The object as its controller reads it."""
        raw = self.raw
        return None if raw is None else read_workload_object(raw)

    @property
    def newest(self) -> PodObject | None:
        """Its youngest Pod."""
        raw = unpacked(self.stored_newest)
        return None if raw is None else read_pod(raw)

    @property
    def running(self) -> int:
        """The number of its Pods on nodes."""
        return sum(self.nodes.values())

    @property
    def pods(self) -> int:
        """The number of its Pods, those that wait included."""
        return self.running + self.waiting

    @property
    def is_pod(self) -> bool:
        """Whether it is a Pod that nobody made."""
        return self.stored is not None and (self.ref.api_version, self.ref.kind) == (CORE, POD)

    @property
    def labels(self) -> Labels:
        """The labels of the object; those of its youngest Pod where only Pods are known."""
        raw = self.raw
        if raw is not None:
            return labels_in(raw)
        newest = self.newest
        return {} if newest is None else newest.labels


class _Pods:
    """The Pods of one controller, while they are counted."""

    __slots__ = ("age", "claims", "gated", "leaving", "newest", "nodes", "waiting")

    def __init__(self) -> None:
        self.nodes: dict[str, int] = {}
        self.waiting = self.leaving = self.gated = 0
        self.newest: StoredObject | None = None
        self.age = ("", "")
        self.claims: set[str] = set()

    def add(self, other: _Pods) -> None:
        for node, number in other.nodes.items():
            self.nodes[node] = self.nodes.get(node, 0) + number
        self.waiting += other.waiting
        self.leaving += other.leaving
        self.gated += other.gated
        self.claims |= other.claims
        if self.newest is None or other.age > self.age:
            self.newest, self.age = other.newest, other.age


class Inventory:
    """
    All workloads of a cluster that are of known kinds, collected while its objects are gone through.

    To save memory, only the newest Pod of a controller is kept, and Pods that nobody made are packed.
    """

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self._objects: dict[ObjectKey, StoredObject] = {}
        self._pods: dict[ObjectKey, _Pods] = {}
        # Pods on nodes: by namespace and label set, how many each owner has.
        self._counted: dict[str, dict[LabelSet, Counter[ObjectKey]]] = {}
        self._autoscalers: list[Autoscaler] = []
        self.static = 0  # Pods that kubelets run from files
        self.contacts: dict[str, Mapping[str, str]] = {}  # by namespace, labels and annotations that say whose it is

    def add(self, raw: Raw) -> None:
        """Take an object: a Pod, what makes Pods, an autoscaler or a Namespace; others are passed over."""
        if raw.get("kind") == POD and raw.get("apiVersion") == CORE:
            self._add_pod(raw)
        elif find_kinds(raw, self._kinds):
            self._objects[ObjectRef.of(raw).key] = raw
        elif (autoscaler := read_autoscaler(raw, "")) is not None:
            self._autoscalers.append(autoscaler)
        elif (raw.get("apiVersion"), raw.get("kind")) == (CORE, "Namespace"):
            self.contacts[ObjectRef.of(raw).name] = contacts_of(raw)

    @property
    def scalings(self) -> Mapping[ScaleTarget, Scaling]:
        """The minimum and maximum number of replicas that autoscalers set, by the workload that they scale."""
        return scalings(self._autoscalers)

    def _add_pod(self, raw: Raw) -> None:
        pod = read_pod(raw)
        if pod.phase in FINISHED:
            return
        if pod.static:
            self.static += 1
            return
        stored: StoredObject = raw
        if pod.owner is None:
            key = pod.key
            stored = self._objects[key] = Packed.of(raw)
        else:
            key = pod.owner.key(pod.namespace)
        pods = self._pods.get(key)
        if pods is None:
            pods = self._pods[key] = _Pods()
        if pods.newest is None or pod.age > pods.age:
            pods.newest, pods.age = stored, pod.age
        pods.claims.update(volume.claim for volume in read_mounts(Reader(), raw).claims)
        if pod.terminating:
            pods.leaving += 1
        elif not pod.node:
            pods.waiting += 1
            if pod.scheduling_gates:
                pods.gated += 1
        else:
            pods.nodes[pod.node] = pods.nodes.get(pod.node, 0) + 1
            self._counted.setdefault(pod.namespace, {}).setdefault(label_set(pod.labels), Counter())[key] += 1

    def workloads(self) -> tuple[LiveWorkload, ...]:
        """
        Return the workloads that nothing else makes, by namespace, kind, name and API group.

        Without Pods, a Job is left out, since it has finished, and so is what has an owner and 0 replicas.
        """
        owned: dict[ObjectKey, list[Raw]] = {}
        pods: dict[ObjectKey, _Pods] = {}
        for key, stored in self._objects.items():
            if (top := self._top(key)) != key and not isinstance(stored, Packed):
                owned.setdefault(top, []).append(stored)
        for key, pods_of_controller in self._pods.items():
            pods.setdefault(self._top(key), _Pods()).add(pods_of_controller)
        tops = {key for key in self._objects if self._top(key) == key} | pods.keys()
        live_workloads = [self._workload(key, owned.get(key, ()), pods.get(key, _Pods())) for key in tops]
        shown = [workload for workload in live_workloads if workload.pods or _waits_for_pods(workload)]
        return tuple(sorted(shown, key=lambda workload: by_name(workload.ref)))

    def makers(self, namespace: str) -> Mapping[LabelSet, Mapping[ObjectKey, int]]:
        """Return by label set the workloads whose Pods on nodes have these labels, and how many each has."""
        by_labels: dict[LabelSet, Mapping[ObjectKey, int]] = {}
        for labels, keys in self._counted.get(namespace, {}).items():
            tops: Counter[ObjectKey] = Counter()
            for key, number in keys.items():
                tops[self._top(key)] += number
            by_labels[labels] = tops
        return by_labels

    def top(self, key: ObjectKey) -> ObjectKey:
        """Return the key of the workload that owns an object, or its own key if no owner is known."""
        return self._top(key)

    def _workload(self, key: ObjectKey, owned: Iterable[Raw], pods: _Pods) -> LiveWorkload:
        stored = self._objects.get(key)
        raw = unpacked(stored)
        ref = ObjectRef.of(raw) if raw is not None else ObjectRef(_api_version(key, pods), *key[1:])
        return LiveWorkload(
            ref,
            stored,
            owned=tuple(owned),
            stored_newest=pods.newest,
            nodes=pods.nodes,
            waiting=pods.waiting,
            leaving=pods.leaving,
            gated=pods.gated,
            claims=tuple(sorted(pods.claims)),
        )

    def _top(self, key: ObjectKey) -> ObjectKey:
        """Return the topmost known owner of an object; the object itself if it has none, or the chain is too long."""
        first = key
        for _ in range(LONGEST_CHAIN):
            stored = self._objects.get(key)
            # What is packed has no owner.
            raw = stored if not isinstance(stored, Packed) else None
            owner = owner_of(raw) if raw is not None else None
            if owner is None:
                return key
            above = owner.key(key.namespace)
            if above not in self._objects:
                return key
            key = above
        return first


def key_of(workload: LiveWorkload) -> ObjectKey:
    """Return the key that stands for a workload in `Inventory.makers`."""
    return workload.ref.key


def _api_version(key: ObjectKey, pods: _Pods) -> str:
    """Return the apiVersion of an owner that is not known, as its Pods name it."""
    newest = unpacked(pods.newest)
    owner = owner_of(newest) if newest is not None else None
    return owner.api_version if owner is not None else key.group


def _waits_for_pods(workload: LiveWorkload) -> bool:
    if workload.is_pod or (workload.ref.api_version, workload.ref.kind) == (BATCH, "Job"):
        return False
    written = workload.written
    return written is None or written.owner is None or written.replicas != 0


def by_name(ref: ObjectRef) -> tuple[str, str, str, str]:
    """Return the sort key of workloads where no other order is set."""
    return ref.namespace, ref.kind, ref.name, ref.api_version


def named(keys: Mapping[ObjectKey, int]) -> Mapping[str, int]:
    """Return the numbers of workloads by `Kind/name`, sorted; those of one name in several API groups are added."""
    numbers: Counter[str] = Counter()
    for key, number in sorted(keys.items(), key=lambda entry: (entry[0].kind, entry[0].name)):
        numbers[f"{key.kind}/{key.name}"] += number
    return dict(numbers)
