"""The interface to a source of snapshots, and the sources that never change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from webhook.objects.references import Owner
from webhook.scheduler.snapshot import Snapshot


class Cluster(Protocol):
    """What the server needs of a cluster; each decision uses the same view from beginning to end."""

    def view(self) -> Snapshot | None:
        """The objects known now; None if there is no cluster, or some kind has not been listed yet."""

    def view_for(self, namespace: str, owner: Owner | None) -> Snapshot | None:
        """A view that includes this namespace and owner, if they can be fetched in time."""

    def state(self) -> State:
        """Whether it is ready, and its condition in words."""

    def start(self) -> None:
        """Start watching, in threads of this process."""

    def stop(self) -> None:
        """Stop watching."""

    def watch_pods(self, wanted: bool) -> None:
        """Start or stop watching Pods."""


@dataclass(frozen=True, slots=True)
class State:
    """Whether decisions can be made from a cluster, and one line about its condition."""

    ready: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Unchanging:
    """A dump of a cluster, or no cluster."""

    snapshot: Snapshot | None

    def view(self) -> Snapshot | None:
        return self.snapshot

    def view_for(self, namespace: str, owner: Owner | None) -> Snapshot | None:
        return self.snapshot

    def state(self) -> State:
        nodes = "none" if self.snapshot is None else f"a dump with {len(self.snapshot.nodes)} nodes"
        return State(True, nodes)

    def start(self) -> None:
        """Do nothing: there is nothing to watch."""

    stop = start

    def watch_pods(self, wanted: bool) -> None:
        """Do nothing: a dump cannot be watched."""
