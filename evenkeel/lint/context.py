"""Information in manifests that affects how others are judged: namespaces and nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from evenkeel.lint.chunks import chunks
from webhook.kubernetes.documents import items_of, read_documents
from webhook.kubernetes.fields import as_mapping
from webhook.kubernetes.labels import labels_in
from webhook.kubernetes.names import HOSTNAME
from webhook.kubernetes.scalars import DocumentError
from webhook.spread.cluster_view import ClusterView, SnapshotError, view_of

# Rules read these. Services and controllers matter only for default constraints, which lint does not add.
_KIND_NAMED = r"""kind["']?\s*:\s*["']?(?:Namespace|Node)(?:List)?\b"""
_MAY_HOLD, _MAY_HOLD_IN_TEXT = re.compile(_KIND_NAMED.encode()), re.compile(_KIND_NAMED)
_CONTEXT_KINDS = (("v1", "Namespace"), ("v1", "Node"))


@dataclass(slots=True)
class Context:
    """Namespaces and nodes as raw objects."""

    objects: list[Mapping[str, object]] = field(default_factory=list)

    def snapshot(self, cluster: ClusterView | None) -> ClusterView | None:
        """Return `cluster` with the manifests' namespaces, which replace its own, and their nodes if it has none."""
        if not self.objects:
            return cluster
        manifests, view = view_of(self.objects), cluster or ClusterView()
        view = view if view.nodes else view.with_nodes(manifests.nodes)
        return replace(view, namespaces={**view.namespaces, **manifests.namespaces})


def may_hold_context(content: bytes) -> bool:
    """Return whether a file may contain a namespace or a node: a cheap search, that spares parsing other files."""
    return _MAY_HOLD.search(content) is not None


def context_objects(text: str) -> Iterator[Mapping[str, object]]:
    """
    Yield the namespaces in `text`, and the nodes that count.

    Documents that cannot be read are skipped; `judge` reports them.
    """
    for chunk in chunks(text):
        if _MAY_HOLD_IN_TEXT.search(chunk.text) is None:
            continue
        try:
            documents = read_documents(chunk.text, [])
        except DocumentError:
            continue
        for _, obj in (item for document in documents for item in items_of(document)):
            if isinstance(obj, dict) and (obj.get("apiVersion"), obj.get("kind")) in _CONTEXT_KINDS and _counts(obj):
                yield {name: obj.get(name) for name in ("apiVersion", "kind", "metadata", "spec")}


def _counts(obj: Mapping[str, object]) -> bool:
    """
    Return whether an object is valid, and a node is one of a cluster.

    A node without a status and a hostname is a fixture, or a patch that adds a label.
    """
    try:
        view_of([obj])
    except SnapshotError:
        return False
    return obj["kind"] != "Node" or bool(as_mapping(obj.get("status"))) or HOSTNAME in labels_in(obj)
