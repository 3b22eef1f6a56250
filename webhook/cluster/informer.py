"""
One kind of object, listed once and then watched for ever.

    list ──> watch from its resourceVersion ──cut, timeout──> watch from the last event or bookmark
      ^                                     └──410 Gone──────> list
      └───────────────────────────────────────────────┘
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from threading import Event, Thread
from time import monotonic
from typing import Any

from webhook.cluster.client import GONE, UNAUTHORIZED, Client, ClusterError, Stream
from webhook.cluster.store import Key, Store
from webhook.cluster.watched import Watched
from webhook.scheduler.snapshot import Kept, SnapshotError, read_object

PAGE = 500
RELIST = frozenset({400, GONE, 504})  # Of a watch: the resourceVersion is unknown, too old, or not reached yet.

# What an informer tells, with its kind, and fields for a log.
LISTED, FAILED, RESUMED, UNREADABLE = "listed", "watch failed", "watch resumed", "object unreadable"
Tell = Callable[..., None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How patient an informer is, in seconds."""

    first: float = 1.0  # From a failure to the next try, doubled with each,
    most: float = 30.0  # up to this; either way times 0.5 to 1.5, so that replicas do not come all at once.
    list: float = 60.0  # For a page of a list.
    watch: float = 300.0  # After which the API server ends a watch, or up to twice that.
    silence: float = 90.0  # Without an event or a bookmark, of which one comes every minute: the connection is dead.


class Informer(Thread):
    """A thread that tells a store what is there of one kind, and keeps what it last knew when nobody answers."""

    def __init__(self, watched: Watched, client: Client, store: Store, tell: Tell, pace: Pace) -> None:
        super().__init__(name=f"informer-{watched.kind}", daemon=True)
        self.watched, self._client, self._store, self._pace = watched, client, store, pace
        self._tell = tell
        self._kind = watched.gvk
        self._stopped, self._forget = Event(), False
        self._stream: Stream | None = None
        self._version = ""  # The last resourceVersion, "" when a list must come first.
        self._failures = 0
        self.synced = False
        self.problem = ""
        self.heard = monotonic()  # When the API server last said something of this kind.

    @property
    def age(self) -> float:
        """Seconds since the API server last said something of this kind."""
        return monotonic() - self.heard

    def run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._client.authenticate()
                if not self._version:
                    self._list()
                self._watch()
            except ClusterError as error:
                self._failed(error)
            except Exception as error:  # a defect must not end the informer for good
                self._version = ""
                self._failed(ClusterError(f"{type(error).__name__}: {error}"))
        if self._forget:
            self._store.retain(self._kind, {})

    def stop(self, forget: bool = False) -> None:
        """End soon, not waiting for what it waits for; `forget` what it has told."""
        self._forget = forget
        self._stopped.set()
        if stream := self._stream:
            stream.end()

    def _failed(self, error: ClusterError) -> None:
        """Note what went wrong, once, and stay away for a while."""
        if self._stopped.is_set():
            return
        self._failures += 1
        delay = min(self._pace.most, self._pace.first * 2.0 ** min(self._failures - 1, 16)) * random.uniform(0.5, 1.5)
        delay = max(delay, error.retry_after)
        self.problem = str(error)
        self._tell(FAILED, self.watched.kind, problem=self.problem, tries=self._failures, retrySeconds=round(delay, 1))
        if error.status == UNAUTHORIZED:
            self._reconnect()
        self._stopped.wait(delay)

    def _reconnect(self) -> None:
        try:
            self._client.reconnect()
        except Exception as error:
            self.problem = f"{self.problem}; {error}"

    def _answered(self) -> None:
        """The API server has said something."""
        self.heard = monotonic()
        if self.problem:
            self.problem = ""
            self._tell(RESUMED, self.watched.kind, tries=self._failures)

    def _list(self) -> None:
        """
        Take all that there is, page by page; a list whose rest is gone (410) is begun anew.

        Each page is a batch: 150,000 Pods at once would take more memory to hold than to keep.
        """
        begun, again = monotonic(), self.synced
        page, names = dict[str, Any](), dict[str, set[str]]()
        for page in pages(self._client, self.watched, self._pace.list):
            self._answered()
            batch = [self._read(raw) for raw in page.get("items") or ()]
            self._store.apply(self._kind, batch)
            for (namespace, name), _ in batch:
                names.setdefault(namespace, set()).add(name)
        self._store.retain(self._kind, names)
        self._version = page["metadata"]["resourceVersion"]
        self.synced, self._failures = True, 0
        listed = {"objects": sum(map(len, names.values())), "seconds": round(monotonic() - begun, 3)}
        self._tell(LISTED, self.watched.kind, **listed, again=again)

    def _watch(self) -> None:
        """Take what happens from the last resourceVersion on, until the API server or the connection ends it."""
        seconds = round(self._pace.watch * random.uniform(1, 2))
        asked = {"watch": "1", "resourceVersion": self._version, "allowWatchBookmarks": "true"}
        query = {**self.watched.query, **asked, "timeoutSeconds": str(max(1, seconds))}
        begun, any_news = monotonic(), False
        try:
            with self._client.stream(self.watched.path(), query, self._pace.silence) as self._stream:
                if self._stopped.is_set():
                    return
                self._answered()
                for lines in self._stream:
                    self._take(lines)
                    any_news = True
        except ClusterError as error:
            if error.status in RELIST:
                self._version, self._failures = "", 0  # it answers again: the list need not wait as long as the loss
            raise
        finally:
            self._stream = None
        if not any_news and monotonic() - begun < self._pace.first:
            raise ClusterError(f"{self.watched.path()}: the watch ended at once")

    def _take(self, lines: Iterable[bytes]) -> None:
        """Apply a batch of events; the resourceVersion follows what was applied, and nothing else."""
        batch: list[tuple[Key, Kept | None]] = []
        version, error = self._version, None
        for line in filter(None, lines):
            event = json.loads(line)
            kind, obj = event["type"], event["object"]
            if kind == "ERROR":
                error = ClusterError(f"{self.watched.path()}: {obj.get('message')}", int(obj.get("code") or 0))
                break
            version = obj["metadata"]["resourceVersion"]
            if kind != "BOOKMARK":
                key, kept = self._read(obj)
                batch.append((key, kept if kind != "DELETED" else None))
        self._store.apply(self._kind, batch)
        self._version, self.heard = version, monotonic()
        if error is not None:
            raise error
        self._failures = 0  # not at the first answer already: one that is cut off each time must not come at full speed

    def _read(self, raw: Mapping[str, object]) -> tuple[Key, Kept | None]:
        """What is kept of an object; one that is not of its kind's form is told of and passed over."""
        try:
            namespace, name, kept = read_object(raw, *self._kind)
        except SnapshotError as error:
            metadata: Any = raw.get("metadata")
            self._tell(UNREADABLE, self.watched.kind, problem=str(error))
            return (str(metadata.get("namespace") or ""), str(metadata.get("name"))), None
        return (namespace, name), kept


def pages(client: Client, watched: Watched, seconds: float) -> Iterator[dict[str, Any]]:
    """The pages of one consistent list; ClusterError 410 if the rest of it is gone."""
    query = {**watched.query, "limit": str(PAGE)}
    while True:
        page = client.get(watched.path(), query, seconds)
        yield page
        rest = page["metadata"].get("continue")
        if not rest:
            return
        query["continue"] = rest
