"""
The objects of a cluster as the informers last reported them, and a view of them that is cheap to renew.

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

Kind = tuple[str, str]  # apiVersion, kind
Key = tuple[str, str]  # namespace, name


class Store:
    """
    Takes objects in batches, each under the lock.  Nothing that a view holds is ever changed.

    A view is in the order of names, as the API server lists objects, so that it does not depend on the order of events.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._objects: dict[Kind, dict[str, dict[str, Kept]]] = {}
        self._pods: dict[str, PodCounts] = {}
        self._changed: set[tuple[Kind, str]] = set()
        self._shared: set[tuple[Kind, str]] = set()  # Held by a view, and so copied before they change.
        self._view = Snapshot()

    def apply(self, kind: Kind, batch: Iterable[tuple[Key, Kept | None]]) -> None:
        """Store what is kept of some objects; None for those that are gone, or of which nothing is kept."""
        with self._lock:
            for key, kept in batch:
                self._put(kind, key, kept)

    def retain(self, kind: Kind, names: Mapping[str, Collection[str]]) -> None:
        """Remove all objects of a kind but those with these names, by namespace."""
        with self._lock:
            gone = [
                (namespace, name)
                for namespace, those in self._objects.get(kind, {}).items()
                for name in those.keys() - names.get(namespace, ())
            ]
            for key in gone:
                self._put(kind, key, None)

    def view(self) -> Snapshot:
        """A view of the objects; while a batch is applied, the view before it, so that no decision waits."""
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
        """The last view with what has changed since."""
        fields: dict[str, Any] = {}
        for kind, namespace in self._changed:
            those: Any = self._objects[kind][namespace]
            if kind == NODE.gvk:
                fields["nodes"] = tuple(those[name] for name in sorted(those))
            elif kind == NAMESPACE.gvk:
                fields["namespaces"] = {name: namespace.labels for name, namespace in those.items()}
            else:
                field, key, part = self._part(kind, namespace, those)
                if field not in fields:
                    fields[field] = dict(getattr(self._view, field))
                fields[field][key] = part
                if not those:
                    del fields[field][key], self._objects[kind][namespace]
        return replace(self._view, **fields)

    def _part(self, kind: Kind, namespace: str, those: Any) -> tuple[str, object, object]:
        """The field of the view that holds these objects, the key in it, and the value."""
        if kind == SERVICE.gvk:
            return "services", namespace, by_rarest_label([those[name] for name in sorted(those)])
        if kind == POD.gvk:
            counts = self._pods[namespace] if those else self._pods.pop(namespace)
            return "pods", namespace, counts.groups()
        if those:
            self._shared.add((kind, namespace))
        return "controllers", (namespace, *kind), those
