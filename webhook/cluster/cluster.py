"""The source of Snapshots: a cluster that is watched, a dump of one, or none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from webhook.objects.references import Owner
from webhook.scheduler.snapshot import Snapshot


class Cluster(Protocol):
    """What the server needs of a cluster; each decision uses one view from beginning to end."""

    def view(self) -> Snapshot | None:
        """The objects as they are known now; None if there is no cluster, or not all kinds were listed yet."""

    def view_for(self, namespace: str, owner: Owner | None) -> Snapshot | None:
        """A view that also holds this namespace and this owner of a Pod in it, if they can be found in time."""

    def state(self) -> State:
        """Whether decisions can be made from it, and its condition in words."""

    def start(self) -> None:
        """Start to watch it, in threads of this process."""

    def stop(self) -> None:
        """Stop watching it."""

    def watch_pods(self, wanted: bool) -> None:
        """Start or stop watching its Pods."""


@dataclass(frozen=True, slots=True)
class State:
    """Whether a cluster is ready, and one line about its condition."""

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
        """Do nothing: a dump has Pods or has none."""
