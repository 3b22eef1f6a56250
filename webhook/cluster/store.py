"""
The objects of a cluster as they were last told, and a view of them that is cheap to renew.

    informers ──apply, retain──> objects by (kind, namespace) ──only what changed──> Snapshot
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from threading import Lock
from typing import Any

from webhook.cluster.watched import NAMESPACE, NODE, POD, SERVICE
from webhook.scheduler.counts import BoundPod, PodCounts
from webhook.scheduler.snapshot import Kept, Snapshot, by_rarest_label

Kind = tuple[str, str]  # apiVersion and kind,
Key = tuple[str, str]  # namespace and name.


class Store:
    """
    Objects are told in batches, each under the lock; whatever a view holds is never changed again.

    Order is that of names, as the API server lists them, so that a view does not depend on what happened when.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._objects: dict[Kind, dict[str, dict[str, Kept]]] = {}
        self._pods: dict[str, PodCounts] = {}
        self._changed: set[tuple[Kind, str]] = set()
        self._shared: set[tuple[Kind, str]] = set()  # Held by a view, and so copied before they change.
        self._view = Snapshot()

    def apply(self, kind: Kind, batch: Iterable[tuple[Key, Kept | None]]) -> None:
        """Take what has become of some objects: None is kept of those that are gone."""
        with self._lock:
            for key, kept in batch:
                self._put(kind, key, kept)

    def retain(self, kind: Kind, names: Mapping[str, Collection[str]]) -> None:
        """Forget all of a kind but these names, by namespace."""
        with self._lock:
            gone = [
                (namespace, name)
                for namespace, those in self._objects.get(kind, {}).items()
                for name in those.keys() - names.get(namespace, ())
            ]
            for key in gone:
                self._put(kind, key, None)

    def view(self) -> Snapshot:
        """A view of the objects; while a batch is applied, the one before it, so that no decision waits."""
        if self._changed and self._lock.acquire(blocking=False):
            try:
                self._view = self._renewed()
                self._changed.clear()
            finally:
                self._lock.release()
        return self._view

    def count(self, kind: Kind) -> int:
        """How many objects of a kind are kept."""
        with self._lock:
            return sum(map(len, self._objects.get(kind, {}).values()))

    def _put(self, kind: Kind, key: Key, kept: Kept | None) -> None:
        namespace, name = key
        those = self._objects.setdefault(kind, {}).setdefault(namespace, {})
        before = those.get(name)
        if before == kept:
            return
        if (kind, namespace) in self._shared:
            those = self._objects[kind][namespace] = dict(those)
            self._shared.discard((kind, namespace))
        if kind == POD.gvk:
            counts = self._pods.setdefault(namespace, PodCounts())
            kept = counts.add(kept) if isinstance(kept, BoundPod) else None
            if isinstance(before, BoundPod):
                counts.remove(before)
        if kept is None:
            del those[name]
        else:
            those[name] = kept
        self._changed.add((kind, namespace))

    def _renewed(self) -> Snapshot:
        """The last view, but for what has changed."""
        fields: dict[str, Any] = {}
        for kind, namespace in self._changed:
            those: Any = self._objects[kind][namespace]
            if kind == NODE.gvk:
                fields["nodes"] = tuple(those[name] for name in sorted(those))
            elif kind == NAMESPACE.gvk:
                fields["namespaces"] = {name: one.labels for name, one in those.items()}
            else:
                field, key, part = self._part(kind, namespace, those)
                if field not in fields:
                    fields[field] = dict(getattr(self._view, field))
                fields[field][key] = part
                if not those:
                    del fields[field][key], self._objects[kind][namespace]
        return replace(self._view, **fields)

    def _part(self, kind: Kind, namespace: str, those: Any) -> tuple[str, object, object]:
        """Which field of the view holds these objects, under which key, and in what form."""
        if kind == SERVICE.gvk:
            return "services", namespace, by_rarest_label([those[name] for name in sorted(those)])
        if kind == POD.gvk:
            counts = self._pods[namespace] if those else self._pods.pop(namespace)
            return "pods", namespace, counts.groups()
        if those:
            self._shared.add((kind, namespace))
        return "controllers", (namespace, *kind), those
