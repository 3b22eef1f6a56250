"""
What kube-scheduler reads, listed once, and then the log of what happens to it.

    list each kind ──> Contents
         └──> watch from the resourceVersion of its list, in a thread ──> queue ──> events

A log has no gaps: where a watch cannot go on from its last event, it ends with LogInterrupted.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, cast

from webhook.cluster import reduction
from webhook.cluster.client import UNAUTHORIZED, Client, ClusterError
from webhook.cluster.cluster import Contents
from webhook.cluster.contents import WITHHELD, read_contents
from webhook.cluster.informer import RELIST, Pace, Reflector
from webhook.cluster.listed_resources import FOLLOWED_RESOURCES, SCHEDULER_LEASE
from webhook.cluster.watched_resources import WATCHED_NAMESPACES, Watched
from webhook.verification.watch_event import WatchEvent

# So often a watch is asked for anew where it is refused: an API server that starts refuses what it allows later.
REFUSED_TRIES = 4


class LogInterrupted(ClusterError):
    """The API server no longer knows what happened after the last event, so that everything must be listed again."""


class Watching:
    """
    The log of the kinds in FOLLOWED_RESOURCES, from the moment at which each was listed.

    `version` is the largest resourceVersion of the lists, but for the Lease's: what happened up to it is in some lists
    and not in others.  The seconds of events are counted from when the log has `begun`, as `monotonic` has it.
    """

    def __init__(self, client: Client, pace: Pace | None = None) -> None:
        self._client, self._pace = client, pace or Pace()
        self._heard: SimpleQueue[WatchEvent | ClusterError] = SimpleQueue()
        self._threads: list[LogReflector] = []
        self.begun, self._end = monotonic(), cast(ClusterError | None, None)
        self.version = 0

    def begin(self) -> Contents:
        """
        Return what there is, as `read_contents` does; each kind is watched once its objects were gone through.

        A kind that may not be listed, or that the API server does not have, is not watched.
        """
        self.begun = monotonic()
        return read_contents(self._client, resources=FOLLOWED_RESOURCES, on_listed=self._watch)

    def _watch(self, kind: Watched, version: str) -> None:
        try:
            listed = _number(version)
        except ValueError as error:
            raise ClusterError(f"{kind.path()}: {error}") from error
        if kind is not SCHEDULER_LEASE:  # Large clusters have an etcd for Leases only.
            self.version = max(self.version, listed)
        self._threads.append(LogReflector(kind, self._client, self._pace, version, self._heard, self.begun))
        self._threads[-1].start()

    def events(self, seconds: float) -> list[WatchEvent]:
        """
        Return what was heard since the last call, of each kind in order; wait at most `seconds` for the first event.

        Once all of it was returned, LogInterrupted or another ClusterError says why nothing more will be heard.
        """
        events: list[WatchEvent] = []
        with suppress(Empty):
            while self._end is None:
                heard = self._heard.get(timeout=0 if events else seconds)
                if isinstance(heard, ClusterError):
                    self._end = heard
                else:
                    events.append(heard)
        if self._end is not None and not events:
            raise self._end
        return events

    @property
    def problem(self) -> str:
        """Why some kind is not heard of at this moment, "" if all are."""
        return next((thread.problem for thread in self._threads if thread.problem), "")

    def stop(self) -> None:
        """End the threads soon."""
        for thread in self._threads:
            thread.stop()


class LogReflector(Reflector):
    """
    A thread that puts what happens to one kind after a resourceVersion into a queue, and last why it cannot go on.

    `begun` is the time, as `monotonic` has it, from which the seconds of events are counted.
    """

    def __init__(
        self,
        watched: Watched,
        client: Client,
        pace: Pace,
        version: str,
        heard: SimpleQueue[WatchEvent | ClusterError],
        begun: float,
    ) -> None:
        of_namespaces = watched.gvk == WATCHED_NAMESPACES.gvk
        decode = reduction.namespace_event if of_namespaces else reduction.event
        super().__init__(watched, client, decode, lambda *_, **__: None, pace)
        self._version, self._queue, self._begun = version, heard, begun
        self._last: tuple[str, dict[str, Any]] | None = None

    def _apply(self, events: Sequence[tuple[str, dict[str, Any]]]) -> None:
        """Put the events into the queue, but for one that repeats the one before, as when a Lease is renewed."""
        seconds = monotonic() - self._begun
        for event in events:
            type_of_event, raw = event
            version = _number(raw["metadata"].pop("resourceVersion"))
            if event != self._last:
                self._last = event
                self._queue.put(WatchEvent(seconds, type_of_event, version, raw))

    def _failed(self, error: ClusterError) -> None:
        """Wait before the retry; end the log where a list would have to come first, or the watch stays refused."""
        refused = error.status in (UNAUTHORIZED, *WITHHELD) and self._failures >= REFUSED_TRIES
        if self._version and not refused:
            super()._failed(error)
        elif not self._stopped.is_set():
            ending = LogInterrupted if error.status in RELIST else ClusterError
            self._queue.put(ending(f"{self.watched.name}: {error}", error.status))
            self._stopped.set()


def _number(version: object) -> int:
    """Return a resourceVersion as a number, by which what happened to several kinds is in order; or ValueError."""
    if isinstance(version, str) and version.isdecimal():
        return int(version)
    raise ValueError(f"resourceVersion: found {version!r}, wanted a number")
