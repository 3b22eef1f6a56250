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
    """An object of which there may be many, in a tenth of the memory."""

    data: bytes

    @classmethod
    def of(cls, raw: Raw) -> Packed | Raw:
        """Pack an object; return it as it is if it cannot be packed."""
        try:
            return cls(marshal.dumps(cast(dict[str, Any], raw)))
        except ValueError:
            return raw


StoredObject = Raw | Packed


def unpacked(kept: StoredObject | None) -> Raw | None:
    """Return the object; one that was packed is made anew."""
    return as_mapping(marshal.loads(kept.data)) if isinstance(kept, Packed) else kept


@dataclass(frozen=True, slots=True)
class LiveWorkload:
    """
    What makes Pods, and those that it has: a Pod that nobody made is one, too.

    `owned` are objects with Pod templates that it made, such as ReplicaSets.  `nodes` is the number of its Pods on each
    node; `waiting` have no node yet, of which `gated` have scheduling gates; `leaving` are being deleted and count
    nowhere.  Pods that have finished are none.  `claims` are those that its Pods use.
    """

    ref: ObjectRef
    kept: StoredObject | None
    owned: tuple[Raw, ...] = ()
    kept_newest: StoredObject | None = None
    nodes: Mapping[str, int] = field(default_factory=dict)
    waiting: int = 0
    leaving: int = 0
    gated: int = 0
    claims: tuple[str, ...] = ()

    @property
    def raw(self) -> Raw | None:
        """The object, None where it is not known and only its Pods name it."""
        return unpacked(self.kept)

    @property
    def written(self) -> WorkloadObject | None:
        """The object as its controller reads it."""
        raw = self.raw
        return None if raw is None else read_workload_object(raw)

    @property
    def newest(self) -> PodObject | None:
        """The youngest of all of its Pods."""
        raw = unpacked(self.kept_newest)
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
        return self.kept is not None and (self.ref.api_version, self.ref.kind) == (CORE, POD)

    @property
    def labels(self) -> Labels:
        """The labels of the object, or of a Pod of it where it is not known."""
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
    All workloads of a cluster, of kinds that are known, while its objects are gone through.

    Of the Pods of a controller only the newest is kept, and those that nobody made are packed.  `static` is the number
    of Pods that kubelets run from files, `contacts` are the labels and annotations of a namespace that say whose it is.
    """

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self._objects: dict[ObjectKey, StoredObject] = {}
        self._pods: dict[ObjectKey, _Pods] = {}
        self._counted: dict[str, dict[LabelSet, Counter[ObjectKey]]] = {}
        self._autoscalers: list[Autoscaler] = []
        self.static = 0
        self.contacts: dict[str, Mapping[str, str]] = {}

    def add(self, raw: Raw) -> None:
        """Take an object; what neither makes Pods nor scales what does, and is no Namespace, is passed over."""
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
        kept: StoredObject = raw
        if pod.owner is None:
            key = pod.key
            kept = self._objects[key] = Packed.of(raw)
        else:
            key = pod.owner.key(pod.namespace)
        pods = self._pods.get(key)
        if pods is None:
            pods = self._pods[key] = _Pods()
        if pods.newest is None or pod.age > pods.age:
            pods.newest, pods.age = kept, pod.age
        pods.claims.update(volume.claim for volume in read_mounts(Reader(), raw).claims)
        if pod.terminating:
            pods.leaving += 1
        elif not pod.node:
            pods.waiting += 1
            pods.gated += bool(pod.scheduling_gates)
        else:
            pods.nodes[pod.node] = pods.nodes.get(pod.node, 0) + 1
            self._counted.setdefault(pod.namespace, {}).setdefault(label_set(pod.labels), Counter())[key] += 1

    def workloads(self) -> tuple[LiveWorkload, ...]:
        """
        Return the workloads that nothing else makes, by namespace, kind, name and API group.

        What has no Pods is left out if it is a Job, which has finished, or has an owner and 0 replicas.
        """
        owned: dict[ObjectKey, list[Raw]] = {}
        pods: dict[ObjectKey, _Pods] = {}
        for key, kept in self._objects.items():
            if (top := self._top(key)) != key and not isinstance(kept, Packed):
                owned.setdefault(top, []).append(kept)
        for key, of_controller in self._pods.items():
            pods.setdefault(self._top(key), _Pods()).add(of_controller)
        tops = {key for key in self._objects if self._top(key) == key} | pods.keys()
        live_workloads = [self._workload(key, owned.get(key, ()), pods.get(key, _Pods())) for key in tops]
        shown = [workload for workload in live_workloads if workload.pods or _waits_for_pods(workload)]
        return tuple(sorted(shown, key=lambda shown: by_name(shown.ref)))

    def makers(self, namespace: str) -> Mapping[LabelSet, Mapping[ObjectKey, int]]:
        """Return the workloads whose Pods on nodes have these labels, and how many, by label set."""
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
        kept = self._objects.get(key)
        raw = unpacked(kept)
        ref = ObjectRef.of(raw) if raw is not None else ObjectRef(_api_version(key, pods), *key[1:])
        numbers = pods.nodes, pods.waiting, pods.leaving, pods.gated
        return LiveWorkload(ref, kept, tuple(owned), pods.newest, *numbers, tuple(sorted(pods.claims)))

    def _top(self, key: ObjectKey) -> ObjectKey:
        """
        Return the topmost owner of an object that is known; the object itself, if it has none or too long a chain.
        """
        first = key
        for _ in range(LONGEST_CHAIN):
            kept = self._objects.get(key)
            # What is packed has no owner.
            raw = kept if not isinstance(kept, Packed) else None
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
    """Return the apiVersion by which a Pod names an owner that is not known."""
    newest = unpacked(pods.newest)
    owner = owner_of(newest) if newest is not None else None
    return owner.api_version if owner is not None else key.group


def _waits_for_pods(workload: LiveWorkload) -> bool:
    if workload.is_pod or (workload.ref.api_version, workload.ref.kind) == (BATCH, "Job"):
        return False
    written = workload.written
    return written is None or written.owner is None or written.replicas != 0


def by_name(ref: ObjectRef) -> tuple[str, str, str, str]:
    """Return the order of workloads where nothing else sets one; those of one kind and name differ by their group."""
    return ref.namespace, ref.kind, ref.name, ref.api_version


def named(keys: Mapping[ObjectKey, int]) -> Mapping[str, int]:
    """Return the number of each workload as `Kind/name`, by kind and name; those of several groups are added up."""
    by_name: Counter[str] = Counter()
    for key, number in sorted(keys.items(), key=lambda key: (key[0].kind, key[0].name)):
        by_name[f"{key.kind}/{key.name}"] += number
    return dict(by_name)
