"""
One kind of object, listed once and then watched until it is stopped.

    list ──> watch from its resourceVersion ──cut, timeout──> watch from the last event or bookmark
      ^                                     └──410 Gone──────> list
      └───────────────────────────────────────────────┘
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import SystemRandom
from threading import Event, Thread
from time import monotonic
from typing import Any

from webhook.cluster import decoding
from webhook.cluster.client import GONE_STATUS, UNAUTHORIZED, Client, ClusterError, Stream, TooLong
from webhook.cluster.store import Key, Store
from webhook.cluster.watched_resources import Watched
from webhook.spread.cluster_view import SnapshotError, ViewObject, read_view_object

BOOKMARK_EVENT, DELETED_EVENT, ERROR_EVENT = "BOOKMARK", "DELETED", "ERROR"
PAGE, LARGEST_PAGE = 500, 16 << 20  # Objects, and bytes.
# The system's, because workers forked from one parent share the state of the module's own generator.
CHANCE = SystemRandom()
RELIST = frozenset({400, GONE_STATUS, 504})  # A watch: the resourceVersion is unknown, too old, or not reached yet.

# What an informer reports, with its kind, and fields for a log.
WATCH_LISTED, WATCH_FAILED, WATCH_RESUMED = "listed", "watch failed", "watch resumed"
OBJECT_LEFT_OUT = "object left out: cannot be read"
ReportEvent = Callable[..., None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long an informer waits, in seconds."""

    first: float = 1.0  # After the first failure; doubled with each further one,
    most: float = 30.0  # up to this.  Times 0.5 to 1.5, so that replicas do not retry at the same time.
    list: float = 60.0  # For one page of a list.
    watch: float = 300.0  # Timeout of a watch, times 1 to 2.
    # Longest time without an event.  Bookmarks come every minute, so a longer silence means a dead connection.
    silence: float = 90.0


class Informer(Thread):
    """A thread that keeps one kind in a store up to date; while no server responds, the store keeps its objects."""

    def __init__(self, watched: Watched, client: Client, store: Store, report: ReportEvent, pace: Pace) -> None:
        super().__init__(name=f"informer-{watched.kind}", daemon=True)
        self.watched, self._client, self._pace = watched, client, pace
        self._report, self._stopped = report, Event()
        self._store, self._kind = store, watched.gvk
        self._stream: Stream | None = None
        self._version = ""  # The last resourceVersion, "" when a list must come first.
        self._failures = 0
        self.synced = False
        self.problem = ""
        self.heard = monotonic()  # Time of the last response or event for this kind.

    @property
    def age(self) -> float:
        """Seconds since the last response or event for this kind."""
        return monotonic() - self.heard

    def run(self) -> None:
        """List and watch, and retry after each failure, until the thread is stopped."""
        while not self._stopped.is_set():
            try:
                self._client.authenticate()
                if not self._version:
                    self._list()
                self._watch()
            except ClusterError as error:
                self._failed(error)
            except Exception as error:  # A defect must not end the thread.
                self._version = ""
                self._failed(ClusterError(f"{type(error).__name__}: {error}"))

    def stop(self) -> None:
        """End the thread soon."""
        self._stopped.set()
        if stream := self._stream:
            stream.end()

    def _failed(self, error: ClusterError) -> None:
        """Report a failure, and wait before the retry."""
        if self._stopped.is_set():
            return
        self._failures += 1
        delay = min(self._pace.most, self._pace.first * 2.0 ** min(self._failures - 1, 16)) * CHANCE.uniform(0.5, 1.5)
        delay = max(delay, error.retry_after)
        self.problem = str(error)
        self._report(
            WATCH_FAILED, self.watched.kind, problem=self.problem, tries=self._failures, retrySeconds=round(delay, 1)
        )
        if error.status == UNAUTHORIZED:
            self._reconnect()
        self._stopped.wait(delay)

    def _reconnect(self) -> None:
        try:
            self._client.reconnect()
        except Exception as error:
            self.problem = f"{self.problem}; {error}"

    def _answered(self) -> None:
        """Note a response of the API server; report it if the last try failed."""
        self.heard = monotonic()
        if self.problem:
            self.problem = ""
            self._report(WATCH_RESUMED, self.watched.kind, tries=self._failures)

    def _watch(self) -> None:
        """Watch from the last resourceVersion, until the API server or the connection ends the watch."""
        seconds = round(self._pace.watch * CHANCE.uniform(1, 2))
        query = {
            "watch": "1",
            "resourceVersion": self._version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(max(1, seconds)),
        }
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
                self._version, self._failures = "", 0  # The server is reachable, so list again soon.
            raise
        finally:
            self._stream = None
        if not any_news and monotonic() - begun < self._pace.first:
            raise ClusterError(f"{self.watched.path()}: the watch ended immediately")

    def _take(self, lines: Iterable[bytes]) -> None:
        """Apply a batch of events; the resourceVersion is then that of the last event applied."""
        batch: list[tuple[str, dict[str, Any]]] = []
        version, error = self._version, None
        for line in filter(None, lines):
            event = decoding.event(line)
            event_type, obj = event["type"], event["object"]
            if event_type == ERROR_EVENT:
                error = ClusterError(f"{self.watched.path()}: {obj.get('message')}", int(obj.get("code") or 0))
                break
            version = obj["metadata"]["resourceVersion"]
            if event_type != BOOKMARK_EVENT:
                batch.append((event_type, obj))
        self._apply(batch)
        self._version, self.heard = version, monotonic()
        if error is not None:
            raise error
        self._failures = 0  # Reset only after an event; a watch that is always cut off must back off.

    def _list(self) -> None:
        """
        List all objects, page by page.  ClusterError 410 if a page has expired; the next try begins a new list.

        Each page is one batch: 150,000 raw Pods at once would need far more memory than what is kept of them.
        """
        begun, again = monotonic(), self.synced
        page: dict[str, Any] = {}
        names: dict[str, set[str]] = {}  # By namespace.
        for page in pages(self._client, self.watched, self._pace.list, decoding.page):
            self._answered()
            batch = [self._read(raw) for raw in page.get("items") or ()]
            self._store.apply(self._kind, batch)
            for (namespace, name), _ in batch:
                names.setdefault(namespace, set()).add(name)
        self._store.retain(self._kind, names)
        self._version = page["metadata"]["resourceVersion"]  # Each page has that of the whole list.
        self.synced, self._failures = True, 0
        listed = {"objects": sum(map(len, names.values())), "seconds": round(monotonic() - begun, 3)}
        self._report(WATCH_LISTED, self.watched.kind, **listed, again=again)

    def _apply(self, events: Sequence[tuple[str, dict[str, Any]]]) -> None:
        batch = []
        for event_type, raw in events:
            key, view_object = self._read(raw)
            batch.append((key, view_object if event_type != DELETED_EVENT else None))
        self._store.apply(self._kind, batch)

    def _read(self, raw: Mapping[str, object]) -> tuple[Key, ViewObject | None]:
        """The key of an object, and what a view keeps of it; None if a field has the wrong type, which is reported."""
        try:
            namespace, name, view_object = read_view_object(raw, *self._kind)
        except SnapshotError as error:
            metadata: Any = raw.get("metadata")
            self._report(OBJECT_LEFT_OUT, self.watched.kind, problem=str(error))
            return (str(metadata.get("namespace") or ""), str(metadata.get("name"))), None
        return (namespace, name), view_object


def pages(
    client: Client,
    watched: Watched,
    seconds: float,
    decode: Callable[[bytes], Any],
    namespace: str = "",
) -> Iterator[dict[str, Any]]:
    """
    Yield the pages of one consistent list, of a namespace or of all.

    A page above LARGEST_PAGE bytes is asked for again with fewer objects: an object may have megabytes.  ClusterError
    with status 410 if the next page has expired, and with status 0 if a response is no list.
    """
    limit = PAGE
    query: dict[str, str] = {}
    while True:
        query["limit"] = str(limit)
        try:
            page = client.get(watched.path(namespace), query, seconds, decode, LARGEST_PAGE if limit > 1 else None)
        except TooLong:
            limit = max(1, limit // 4)
            continue
        if not _is_list(page):
            raise ClusterError(f"{watched.path(namespace)}: the response is no list of objects")
        yield page
        limit = min(PAGE, limit * 4)  # What comes after a few large objects may be 100,000 small ones.
        token = page["metadata"].get("continue")
        if not token:
            return
        query["continue"] = token


def _is_list(page: Mapping[str, Any]) -> bool:
    """Whether a response has the form of a list; a server other than kube-apiserver may send anything."""
    items = page.get("items")
    return isinstance(page.get("metadata"), dict) and (
        items is None or (isinstance(items, list) and all(isinstance(item, dict) for item in items))
    )
