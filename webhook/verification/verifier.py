"""
Judges the decisions of a kube-scheduler, one after the other, by a log of what the API server says.

    objects that are there ──> snapshot ───────────────────────┐
    events ──in the order of resourceVersions──> decisions ─────┴──states──> agrees, differs, or is not compared

A decision is judged some seconds after it is heard of: kube-scheduler has assumed Pods that it writes later.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import Any

from webhook.objects.fields import Raw, texts_at
from webhook.objects.pod_object import read_pod
from webhook.objects.references import ObjectKey, ObjectRef
from webhook.scheduler.counts import BoundPod
from webhook.scheduler.features import Features
from webhook.scheduler.images import ImageNumbers
from webhook.scheduler.nodes import Node
from webhook.scheduler.plugins.nodes_by_usage import ChangingUsage
from webhook.scheduler.profile import Profiles
from webhook.scheduler.snapshot import NominatedPod, Snapshot, SnapshotError, from_objects
from webhook.scheduler.snapshot_changes import Kept, ObjectChange, changed, put, read_kept, without_missing
from webhook.verification.compressed_objects import Compression
from webhook.verification.computation import ComputedDecision, compute
from webhook.verification.decision import (
    CREATED_BOUND,
    HAS_GATES,
    TAKEN_OVER,
    PodDecision,
    read_decision,
    reason_to_pass_over,
)
from webhook.verification.judgement import DIFFERS, NO_CHANGES, Judged, judge
from webhook.verification.search_windows import tree_order
from webhook.verification.states import LogEntry, Overlay, Window
from webhook.verification.watch_event import ADDED_EVENT, DELETED_EVENT, WatchEvent

WINDOW = 2.0  # Seconds of the log that are looked at, before a decision and after it.
MOST_USAGE_CHANGES = 10_000  # of what is used of nodes, after which all of it is looked at anew
LEASE_KIND, POD_OBJECT, NODE_KIND = "Lease", "Pod", "Node"


class Verifier:
    """
    A log of a cluster, and the cluster at the place up to which it was judged.

    `objects` were there when the log began; decisions up to the resourceVersion `version` are not judged, nor those
    outside of `namespace` if that is not "".  `missing` are the resources that may not be listed.  `skipped` counts the
    decisions that nobody had the time to judge, `unreadable` the objects with a field of a wrong type.
    """

    def __init__(
        self,
        objects: Iterable[Raw],
        features: Features,
        profiles: Profiles,
        *,
        version: int = 0,
        namespace: str = "",
        missing: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self._features, self._profiles, self.version, self._namespace = features, profiles, version, namespace
        self._kept: dict[ObjectKey, Kept] = {}
        self._compression = Compression()
        self._lines: dict[ObjectKey, bytes] = {}  # Each object in compressed form.
        self._waiting: dict[ObjectKey, PodDecision] = {}  # The Pods without a node, as the newest event has them.
        self._assumed: set[ObjectKey] = set()  # Those of them for which a node was chosen.
        self._created: dict[str, tuple[str, int]] = {}  # The creation of each node.
        self._holder: str | None = None  # None until a Lease is heard of, "" while no replica holds it.
        self._taken_over = deque[float]()
        self.skipped = self.unreadable = 0
        partly_read: list[ObjectChange] = []
        snapshot = from_objects(self._first(objects, partly_read), features)
        for change in partly_read:
            snapshot = changed(snapshot, change)
        self._images = ImageNumbers(node.images for node in snapshot.nodes)
        self._snapshot = replace(without_missing(snapshot, frozenset(missing())), image_numbers=self._images)
        for there in snapshot.pods_on.values():
            for named in there:
                self._kept[ObjectKey("", POD_OBJECT, named.namespace, named.name)] = named.pod
        self._usage, self._changes = ChangingUsage(snapshot.nodes, snapshot.usage), 0
        self._differing: set[str] = set()  # The nodes of which something else was used in the state before.
        self._behind, self._ahead = deque[LogEntry](), deque[LogEntry]()

    def _first(self, objects: Iterable[Raw], partly_read: list[ObjectChange]) -> Iterator[Raw]:
        """Take the objects that were there when the log began; yield those that can be read, and list the others."""
        for raw in objects:
            key = ObjectRef.of(raw).key
            if key.kind == LEASE_KIND:
                self._hold(raw)
                continue
            self._lines[key] = self._compression.compressed(key.kind, raw)
            if key.kind == NODE_KIND:
                self._created[key.name] = _creation(raw), 0
            elif key.kind == POD_OBJECT and not (pod := read_pod(raw)).node:
                self._waiting[key] = PodDecision(
                    raw, "", tried=bool(pod.scheduled_condition.message) and not pod.scheduling_gates
                )
            kept, is_readable = self._read(raw)
            if not isinstance(kept, BoundPod):  # Those are taken from the snapshot, in which Pods share what is equal.
                put(self._kept, key, kept)
            if is_readable:
                yield raw
            elif kept is not None:
                partly_read.append(ObjectChange(key.namespace, key.name, None, kept))

    def _read(self, raw: Raw) -> tuple[Kept | None, bool]:
        """Return what a snapshot keeps of an object, and whether each field has the right type."""
        try:
            return read_kept(raw, self._features)[2], True
        except SnapshotError as error:
            self.unreadable += 1
            return error.kept, False

    def _hold(self, raw: Raw, seconds: float = 0.0) -> None:
        (holder,) = texts_at(raw, "spec.holderIdentity")
        if self._holder not in (None, holder):
            self._taken_over.append(seconds)
        self._holder = holder

    def add(self, event: WatchEvent) -> None:
        """Take an event; those of one kind come in their order."""
        raw, key, deleted = event.raw, ObjectRef.of(event.raw).key, event.type == DELETED_EVENT
        if key.kind == LEASE_KIND:
            self._hold(raw, event.seconds)
            return
        kept = None if deleted else self._read(raw)[0]
        decision = self._decided(key, raw, event) if key.kind == POD_OBJECT else None
        if isinstance(kept, NominatedPod) and key in self._assumed:
            kept = kept.pod  # It is on its node already, for kube-scheduler.
        line = None if deleted else self._compression.compressed(key.kind, raw)
        entry = LogEntry(event.seconds, event.version, key, kept, line, decision)
        if self._ahead and self._ahead[-1].version > entry.version:
            insort(self._ahead, entry, key=lambda other: other.version)
        else:
            self._ahead.append(entry)

    def _decided(self, key: ObjectKey, raw: Raw, event: WatchEvent) -> PodDecision | None:
        """Return what kube-scheduler has decided of a Pod by an event, None for nothing."""
        before, pod, was_assumed = self._waiting.pop(key, None), read_pod(raw), key in self._assumed
        self._assumed.discard(key)
        if event.type == DELETED_EVENT:
            return None
        if event.type == ADDED_EVENT:
            return self._new_pod(key, raw, event)
        if before is None:
            return None
        was = read_pod(before.pod)
        decision = read_decision(before.pod, raw, nominates_before_binding=self._features.nominates_before_binding)
        was_assumed &= was.nominated_node == (pod.node or pod.nominated_node)
        if not pod.node:
            refused = decision is not None and not decision.node
            queued = event.version if was.scheduling_gates else before.queued
            self._waiting[key] = before._replace(pod=raw, queued=queued, tried=before.tried or refused)
            if (was_assumed and not refused) or (decision is not None and decision.assumes):
                self._assumed.add(key)
        if decision is None or (was_assumed and decision.node):
            return None  # A Pod that is bound was judged when its node was chosen.
        decision = decision._replace(queued=before.queued, tried=before.tried)
        return decision._replace(passed_over=reason_to_pass_over(decision, self._profiles))

    def _new_pod(self, key: ObjectKey, raw: Raw, event: WatchEvent) -> PodDecision | None:
        """Take a new Pod; return a decision that is not compared if kube-scheduler does not look at it."""
        pod = read_pod(raw)
        if pod.node:
            return PodDecision(raw, pod.node, passed_over=CREATED_BOUND)
        self._waiting[key] = PodDecision(raw, "", queued=event.version)
        return PodDecision(raw, "", passed_over=HAS_GATES) if pod.scheduling_gates else None

    def judged(self, until: float, may_judge: Callable[[], bool] = lambda: True) -> Iterator[Judged]:
        """Yield the judgement of each decision up to the time `until`, by what is known now."""
        while self._ahead and self._ahead[0].seconds <= until:
            entry = self._ahead.popleft()
            decision = entry.decision
            if decision is not None and not decision.is_of_others:
                self._images.look()
            if decision is not None and entry.version > self.version and self._namespace in ("", decision.key[0]):
                if reason := decision.passed_over or (TAKEN_OVER if self._is_taken_over(entry.seconds) else ""):
                    yield Judged(decision, reason, entry.seconds)
                elif may_judge():
                    yield self._judge(entry, decision)
                else:
                    self.skipped += 1
            self._follow(entry)

    def _is_taken_over(self, seconds: float) -> bool:
        while self._taken_over and self._taken_over[0] < seconds - WINDOW:
            self._taken_over.popleft()
        return bool(self._taken_over) and self._taken_over[0] <= seconds + WINDOW

    def _follow(self, entry: LogEntry) -> None:
        """Let the cluster be as it is after an entry."""
        key = entry.key
        entry.before, entry.line_before = self._kept.get(key), self._lines.get(key)
        put(self._kept, key, entry.kept)
        put(self._lines, key, entry.line)
        if key.kind == NODE_KIND:
            if entry.line is None:
                self._created.pop(key.name, None)
            elif entry.line_before is None:
                self._created[key.name] = _creation(self._compression.object(key.kind, entry.line)), entry.version
        while self._behind and self._behind[0].seconds < entry.seconds - WINDOW:
            self._behind.popleft()
        self._stir(entry)
        if entry.before == entry.kept:
            return
        self._behind.append(entry)
        change, nodes = ObjectChange(key.namespace, key.name, entry.before, entry.kept), self._snapshot.nodes
        self._snapshot = changed(self._snapshot, change)
        if self._snapshot.nodes is not nodes or self._changes > MOST_USAGE_CHANGES:
            self._usage, self._changes = ChangingUsage(self._snapshot.nodes, self._snapshot.usage), 0
            self._differing = set()
        else:
            self._used_in(self._snapshot, [change])

    def _stir(self, entry: LogEntry) -> None:
        """Note on which nodes something has happened: kube-scheduler looks at them before its next decision."""
        before, after = entry.before, entry.kept
        if entry.key.kind == NODE_KIND:
            self._images.change(*[kept.images if isinstance(kept, Node) else () for kept in (before, after)])
            self._images.happen(entry.key.name)
            if after is None:
                self._images.forget(entry.key.name)
        for kept in (before, after):
            if isinstance(kept, BoundPod):
                self._images.happen(kept.node)

    def _judge(self, entry: LogEntry, decision: PodDecision) -> Judged:
        ahead = list(takewhile(lambda other: other.seconds <= entry.seconds + WINDOW, self._ahead))
        window = Window(entry, tuple(self._behind), ahead, self._kept)
        try:
            return judge(window, partial(self.compute, decision), partial(tree_order, created=self._created))
        except Exception as error:  # A defect must not end a run of days; what it takes to see it is kept as a case.
            told = f"evenkeel itself failed: {type(error).__name__}: {error}. This is a defect of evenkeel: report it"
            return Judged(decision, DIFFERS, entry.seconds, computed=told)

    def compute(self, decision: PodDecision, overlay: Overlay = NO_CHANGES) -> ComputedDecision:
        """Return what is computed of a decision in a state; it holds until the next is asked for."""
        changes = [ObjectChange(key.namespace, key.name, self._kept.get(key), kept) for key, kept in overlay.items()]
        snapshot = self._snapshot
        for change in changes:
            snapshot = changed(snapshot, change)
        profile = self._profiles[read_pod(decision.pod).scheduler_name]
        if snapshot.nodes is not self._snapshot.nodes:
            usage = ChangingUsage(snapshot.nodes, snapshot.usage)
        else:
            usage = self._used_in(snapshot, changes)
        return compute(decision, snapshot, usage, self._features, profile)

    def _used_in(self, snapshot: Snapshot, changes: Iterable[ObjectChange]) -> ChangingUsage:
        """Return what is used of the nodes in a state: what is known of nodes without a change is kept."""
        before, self._differing = self._differing, set()
        for change in changes:
            for kept in (change.before, change.after):
                if isinstance(kept, BoundPod):
                    self._differing.add(kept.node)
        self._usage.by_node = snapshot.usage
        for name in before | self._differing:
            self._usage.change(name)
        self._changes += len(before | self._differing)
        return self._usage

    def objects(self, judged: Judged) -> Iterator[Raw]:
        """
        Yield the objects of the first state of the decision that was judged last.

        They are as they are in the log, but that each Pod has the node on which it is assumed.
        """
        first = judged.first
        lines = dict(self._lines)
        for entry in reversed(self._ahead):
            if entry.key in first and entry.kept == first[entry.key]:
                put(lines, entry.key, entry.line)
        for entry in self._behind:
            if entry.key in first and entry.before == first[entry.key]:
                put(lines, entry.key, entry.line_before)
        for key, line in lines.items():
            raw: Any = self._compression.object(key.kind, line)
            kept = first[key] if key in first else self._kept.get(key)
            if isinstance(kept, BoundPod):
                raw["spec"]["nodeName"] = kept.node
            yield raw


def _creation(raw: Raw) -> str:
    return texts_at(raw, "metadata.creationTimestamp")[0]
