"""Where the Snapshot comes from: a cluster that is watched, a dump of one, or none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from webhook.objects.references import Owner
from webhook.scheduler.snapshot import Snapshot


class Cluster(Protocol):
    """What a server asks of a cluster; a decision takes one view and keeps it."""

    def view(self) -> Snapshot | None:
        """The objects as they are known now, None where there is no cluster or it is not known yet."""

    def view_for(self, namespace: str, owner: Owner | None) -> Snapshot | None:
        """A view that knows this namespace and this owner of a Pod in it, if they can be found in time."""

    def state(self) -> State:
        """Whether there is all that decisions are made from."""

    def start(self) -> None:
        """Begin to follow it, in this process."""

    def stop(self) -> None:
        """Follow it no longer."""

    def watch_pods(self, wanted: bool) -> None:
        """Follow its Pods, too, or no longer."""


@dataclass(frozen=True, slots=True)
class State:
    """Whether a cluster is ready to decide from, and what a person may want to know of it."""

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
        """There is nothing to follow."""

    stop = start

    def watch_pods(self, wanted: bool) -> None:
        """The dump has Pods or has none."""
