"""
The objects of a cluster as the informers last reported them, and a view that is cheap to update.

    informers ──apply, retain──> objects by (kind, namespace) ──only what changed──> Snapshot
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from threading import Lock
from typing import Any

from webhook.cluster.watched_resources import NODE, SERVICE, WATCHED_NAMESPACES, WATCHED_PODS
from webhook.scheduler.counts import BoundPod, NodeUsage, PodCounts
from webhook.scheduler.snapshot import Snapshot, SnapshotObject, by_rarest_label

Gvk = tuple[str, str]  # apiVersion, kind
Key = tuple[str, str]  # namespace, name
_POD_KIND = WATCHED_PODS.gvk


class Store:
    """
    Stores objects in batches, each under the lock.  Objects in a view never change.

    A view is in the order of names, as the API server lists objects, so that it does not depend on the order of events.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._objects: dict[Gvk, dict[str, dict[str, SnapshotObject]]] = {}
        self._pods: dict[str, PodCounts] = {}
        self._usage = NodeUsage()
        self._prioritized = 0  # Pods by whose priority PriorityClasses are in use.
        self._changed: set[tuple[Gvk, str]] = set()
        self._changed_pods: set[str] = set()  # The namespaces whose Pods changed.
        self._shared: set[tuple[Gvk, str]] = set()  # In use by a view; copy before changing.
        self._view = Snapshot()
        # The view before.  To free it takes as long as to renew it, so that the next batch does, and no decision.
        self._replaced: Snapshot | None = None

    def apply(self, kind: Gvk, batch: Iterable[tuple[Key, SnapshotObject | None]]) -> None:
        """Store the kept parts of some objects; None removes an object."""
        with self._lock:
            self._replaced = None
            for key, kept in batch:
                self._put(kind, key, kept)

    def retain(self, kind: Gvk, names: Mapping[str, Collection[str]]) -> None:
        """Remove all objects of a kind except those with these names, by namespace."""
        with self._lock:
            gone = [
                (namespace, name)
                for namespace, objects in self._objects.get(kind, {}).items()
                for name in objects.keys() - names.get(namespace, ())
            ]
            for key in gone:
                self._put(kind, key, None)

    def view(self) -> Snapshot:
        """Return a view of the objects. While a batch is applied it is the view before, so no decision waits."""
        if (self._changed or self._changed_pods) and self._lock.acquire(blocking=False):
            try:
                self._replaced, self._view = self._view, self._renewed()
                self._changed, self._changed_pods = set(), set()
            finally:
                self._lock.release()
        return self._view

    def count(self, kind: Gvk) -> int:
        """Return the number of stored objects of a kind."""
        with self._lock:
            return sum(map(len, self._objects.get(kind, {}).values()))

    def _put(self, kind: Gvk, key: Key, kept: SnapshotObject | None) -> None:
        namespace, name = key
        objects = self._objects.setdefault(kind, {}).setdefault(namespace, {})
        before = objects.get(name)
        if before == kept:
            return
        if (kind, namespace) in self._shared:
            objects = self._objects[kind][namespace] = dict(objects)
            self._shared.discard((kind, namespace))
        if kind == _POD_KIND:
            counts = self._pods.setdefault(namespace, PodCounts())
            kept = self._usage.add(counts.add(kept)) if isinstance(kept, BoundPod) else None
            if isinstance(before, BoundPod):
                counts.remove(before)
                self._usage.remove(before)
            self._prioritized += _is_prioritized(kept) - _is_prioritized(before)
        if kept is None:
            del objects[name]
        else:
            objects[name] = kept
        if kind == _POD_KIND:
            self._changed_pods.add(namespace)
        else:
            self._changed.add((kind, namespace))

    def _renewed(self) -> Snapshot:
        """Return the last view, updated with the changes since."""
        fields: dict[str, Any] = self._renewed_pods() if self._changed_pods else {}
        for kind, namespace in self._changed:
            objects: Any = self._objects[kind][namespace]
            if kind == NODE.gvk:
                fields["nodes"] = self._view.nodes.replaced_by(objects[name] for name in sorted(objects))
            elif kind == WATCHED_NAMESPACES.gvk:
                fields["namespaces"] = {name: namespace.labels for name, namespace in objects.items()}
            else:
                field, key, part = self._part(kind, namespace, objects)
                if field not in fields:
                    fields[field] = dict(getattr(self._view, field))
                fields[field][key] = part
                if not objects:
                    del fields[field][key], self._objects[kind][namespace]
        return replace(self._view, **fields)

    def _renewed_pods(self) -> dict[str, object]:
        """Return the fields of the view that Pods make up; a decision pays for these once some hundred Pods changed."""
        pods = dict(self._view.pods)
        for namespace in self._changed_pods:
            if groups := self._pods[namespace].groups():
                pods[namespace] = groups
            else:
                pods.pop(namespace, None)
            if not self._objects[_POD_KIND][namespace]:
                del self._objects[_POD_KIND][namespace], self._pods[namespace]
        # Of PriorityClasses none is read: where any is in use, one may be the default.
        default_priority = None if self._prioritized else 0
        return {"pods": pods, "usage": self._usage.by_node(), "default_priority": default_priority}

    def _part(self, kind: Gvk, namespace: str, objects: Any) -> tuple[str, object, object]:
        """Return the field of the view that holds these objects, the key in it, and the value."""
        if kind == SERVICE.gvk:
            return "services", namespace, by_rarest_label([objects[name] for name in sorted(objects)])
        if objects:
            self._shared.add((kind, namespace))
        return "controllers", (namespace, *kind), objects


def _is_prioritized(kept: SnapshotObject | None) -> bool:
    return isinstance(kept, BoundPod) and kept.prioritized
