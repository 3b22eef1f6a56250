"""The interface to a source of snapshots, and the sources that never change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from webhook.kubernetes.references import Owner
from webhook.spread.cluster_view import ClusterView


class Cluster(Protocol):
    """What the server needs of a cluster; each decision uses the same view from beginning to end."""

    def view(self) -> ClusterView | None:
        """The objects as last reported; None if there is no cluster, or some kind has not been listed yet."""

    def view_for(self, namespace: str, owner: Owner | None) -> ClusterView | None:
        """The view, with this namespace and owner if they can be fetched in time."""

    def state(self) -> Readiness:
        """Whether it is ready, and its condition in words."""

    def start(self) -> None:
        """Start watching, in threads of this process."""

    def stop(self) -> None:
        """Stop watching."""

    def note_node_pools(self, served: bool) -> None:
        """Have views say whether the API server has Karpenter's NodePools."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether decisions can be made from a cluster, and one line about its condition."""

    ready: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Unchanging:
    """The objects of a file, or no cluster."""

    snapshot: ClusterView | None

    def view(self) -> ClusterView | None:
        return self.snapshot

    def view_for(self, namespace: str, owner: Owner | None) -> ClusterView | None:
        return self.snapshot

    def state(self) -> Readiness:
        nodes = "none" if self.snapshot is None else f"a file with {len(self.snapshot.nodes)} nodes"
        return Readiness(True, nodes)

    def start(self) -> None:
        """Do nothing: there is nothing to watch."""

    stop = start

    def note_node_pools(self, served: bool) -> None:
        """Do nothing: nobody asks an API server."""
