"""What other manifests tell: the namespaces and nodes among them, and which files kustomize merges into others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from webhook.documents.reading import items_of, read_documents
from webhook.documents.scalars import DocumentError
from webhook.lint.chunks import chunks
from webhook.objects.fields import as_list, as_mapping
from webhook.scheduler.snapshot import Snapshot, SnapshotError, from_objects

# What rules look at; Services and controllers bear on the defaults that Pods are given, and on no finding.
_MAY_TELL = re.compile(rb"""kind["']?\s*:\s*["']?(?:Namespace|Node)(?:List)?\b""")
_KINDS = (("v1", "Namespace"), ("v1", "Node"))
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")


@dataclass(slots=True)
class Context:
    """What was gathered so far."""

    objects: list[Mapping[str, object]] = field(default_factory=list)
    patches: set[str] = field(default_factory=set)

    def snapshot(self, cluster: Snapshot | None) -> Snapshot | None:
        """`cluster`, with the namespaces as the manifests will make them; its nodes are those that there are."""
        if not self.objects:
            return cluster
        told = from_objects(self.objects)
        known = cluster or Snapshot()
        return replace(known, nodes=known.nodes or told.nodes, namespaces={**known.namespaces, **told.namespaces})


def may_tell(content: bytes) -> bool:
    """A cheap look, whether there may be a namespace or a node in a file."""
    return _MAY_TELL.search(content) is not None


def telling(text: str) -> Iterator[Mapping[str, object]]:
    """The namespaces and nodes in `text`; what cannot be read is complained of elsewhere."""
    for chunk in chunks(text):
        try:
            documents = read_documents(chunk.text)
        except DocumentError:
            continue
        for _, one in (item for document in documents for item in items_of(document)):
            if isinstance(one, dict) and (one.get("apiVersion"), one.get("kind")) in _KINDS and _sound(one):
                yield {name: one.get(name) for name in ("apiVersion", "kind", "metadata")}


def _sound(one: Mapping[str, object]) -> bool:
    try:
        from_objects([one])
    except SnapshotError:
        return False
    return True


def patches_in(text: str) -> Iterable[str]:
    """The files, relative to its folder, that a kustomization names as patches; inline patches have line breaks."""
    try:
        documents = read_documents(text)
    except DocumentError:
        return
    for document in map(as_mapping, documents):
        named = [as_mapping(one).get("path") for one in as_list(document.get("patches"))]
        for one in (*named, *as_list(document.get("patchesStrategicMerge"))):
            if isinstance(one, str) and "\n" not in one:
                yield one
