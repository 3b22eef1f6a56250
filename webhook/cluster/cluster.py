"""The interface to a source of snapshots, and the sources that never change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from webhook.objects.references import Owner
from webhook.scheduler.cluster_view import ClusterView


class Cluster(Protocol):
    """What the server needs of a cluster; each decision uses the same view from beginning to end."""

    def view(self) -> ClusterView | None:
        """Return the objects known now; None if there is no cluster, or some kind has not been listed yet."""

    def view_for(self, namespace: str, owner: Owner | None) -> ClusterView | None:
        """Return a view that includes this namespace and owner, if they can be fetched in time."""

    def state(self) -> Readiness:
        """Return whether it is ready, and its condition in words."""

    def start(self) -> None:
        """Start watching, in threads of this process."""

    def stop(self) -> None:
        """Stop watching."""

    def note_node_pools(self, served: bool) -> None:
        """Have views say whether the API server has Karpenter's NodePools."""


class Contents(NamedTuple):
    """
    The objects of a cluster at one moment, for a command that reads each once.

    `objects` are raw, with at least the fields of `fields.OBJECT_FIELDS`, and can be gone through once.  After that
    `missing` says why a kind could not be read, by its resource, such as `nodes`.  Namespaced objects are those of
    `namespace`, or of all if it is empty.  `kubernetes_version` and `time`, as RFC 3339 has it, are empty if they are
    not known.  `serves_node_pools` says whether the API server has Karpenter's NodePools.
    """

    objects: Iterator[Mapping[str, object]]
    missing: Mapping[str, str]
    namespace: str = ""
    kubernetes_version: str = ""
    time: str = ""
    serves_node_pools: bool = False


class FormatError(ValueError):
    """A file of contents that was cut off or changed, or is of a version that is not known."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether decisions can be made from a cluster, and one line about its condition."""

    ready: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Unchanging:
    """A dump of a cluster, or no cluster."""

    snapshot: ClusterView | None

    def view(self) -> ClusterView | None:
        return self.snapshot

    def view_for(self, namespace: str, owner: Owner | None) -> ClusterView | None:
        return self.snapshot

    def state(self) -> Readiness:
        nodes = "none" if self.snapshot is None else f"a dump with {len(self.snapshot.nodes)} nodes"
        return Readiness(True, nodes)

    def start(self) -> None:
        """Do nothing: there is nothing to watch."""

    stop = start

    def note_node_pools(self, served: bool) -> None:
        """Do nothing: a dump says it itself."""
