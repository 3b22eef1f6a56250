"""
The objects of a cluster as the informers last reported them, and a view that is cheap to update.

    informers ──apply, retain──> objects by (kind, namespace) ──only what changed──> ClusterView
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from threading import Lock
from typing import Any

from webhook.cluster.watched_resources import NODE, SERVICE, WATCHED_NAMESPACES
from webhook.spread.cluster_view import ClusterView, ViewObject, by_rarest_label

Gvk = tuple[str, str]  # apiVersion, kind
Key = tuple[str, str]  # namespace, name


class Store:
    """
    Stores objects in batches, each under the lock.  Objects in a view never change.

    A view is in the order of names, as the API server lists objects, so that it does not depend on the order of events.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._objects: dict[Gvk, dict[str, dict[str, ViewObject]]] = {}
        self._changed: set[tuple[Gvk, str]] = set()
        self._shared: set[tuple[Gvk, str]] = set()  # In use by a view; copy before changing.
        self._serves_node_pools = False
        self._view = ClusterView()
        # The previous view.  Freeing it is as slow as renewing it: leave that to the next batch, not to a review.
        self._replaced: ClusterView | None = None

    def apply(self, kind: Gvk, batch: Iterable[tuple[Key, ViewObject | None]]) -> None:
        """Store these objects; None removes one."""
        with self._lock:
            self._replaced = None
            for key, view_object in batch:
                self._put(kind, key, view_object)

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

    def note_node_pools(self, served: bool) -> None:
        """Have views say whether the API server has Karpenter's NodePools."""
        self._serves_node_pools = served

    def view(self) -> ClusterView:
        """A view of the objects. While a batch is applied it is the previous view, so no review waits."""
        is_outdated = self._changed or self._serves_node_pools != self._view.serves_node_pools
        if is_outdated and self._lock.acquire(blocking=False):
            try:
                self._replaced, self._view = self._view, self._renewed()
                self._changed = set()
            finally:
                self._lock.release()
        return self._view

    def count(self, kind: Gvk) -> int:
        """The number of stored objects of a kind."""
        with self._lock:
            return sum(map(len, self._objects.get(kind, {}).values()))

    def _put(self, kind: Gvk, key: Key, view_object: ViewObject | None) -> None:
        namespace, name = key
        objects = self._objects.setdefault(kind, {}).setdefault(namespace, {})
        if objects.get(name) == view_object:
            return
        if (kind, namespace) in self._shared:
            objects = self._objects[kind][namespace] = dict(objects)
            self._shared.discard((kind, namespace))
        if view_object is None:
            del objects[name]
        else:
            objects[name] = view_object
        self._changed.add((kind, namespace))

    def _renewed(self) -> ClusterView:
        """The last view, updated with the changes since."""
        fields: dict[str, Any] = {}
        for kind, namespace in self._changed:
            objects: Any = self._objects[kind][namespace]
            if kind == NODE.gvk:
                fields["nodes"] = self._view.nodes.replaced_by(objects[name] for name in sorted(objects))
            elif kind == WATCHED_NAMESPACES.gvk:
                fields["namespaces"] = {name: obj.labels for name, obj in objects.items()}
            else:
                field, key, part = self._part(kind, namespace, objects)
                if field not in fields:
                    fields[field] = dict(getattr(self._view, field))
                fields[field][key] = part
                if not objects:
                    del fields[field][key], self._objects[kind][namespace]
        return replace(self._view, serves_node_pools=self._serves_node_pools, **fields)

    def _part(self, kind: Gvk, namespace: str, objects: Any) -> tuple[str, object, object]:
        """The field of the view that holds these objects, the key in it, and the value."""
        if kind == SERVICE.gvk:
            return "services", namespace, by_rarest_label([objects[name] for name in sorted(objects)])
        if objects:
            self._shared.add((kind, namespace))  # The view gets the dict itself, not a copy.
        return "controllers", (namespace, *kind), objects
