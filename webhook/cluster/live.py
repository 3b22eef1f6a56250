"""
A watched cluster: an informer for each kind, one store, and a look-up of objects that the store does not have yet.

    API server ──list, watch──> informers ──> store ──> view ─────────────────────┐
               ──GET, 300 ms──> the owner or namespace that the view lacks ──> + ─┴─> one decision
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from threading import Lock
from time import monotonic

from webhook.cluster import decoding
from webhook.cluster.client import NOT_FOUND, Client, ClusterError
from webhook.cluster.cluster import Readiness
from webhook.cluster.discovery import serves_node_pools
from webhook.cluster.informer import WATCH_LISTED, Informer, Pace, ReportEvent, pages
from webhook.cluster.store import Store
from webhook.cluster.watched_resources import BY_KIND, WATCHED, WATCHED_NAMESPACES, Watched
from webhook.kubernetes.fields import Raw
from webhook.kubernetes.references import Owner
from webhook.spread.cluster_view import ClusterView, Controller, Namespace, SnapshotError, read_view_object, view_of
from webhook.spread.default_selector import SELECTOR_KINDS

LOOKUP_SECONDS = 0.3  # For all look-ups of one review: a tenth of the API server's timeout for /mutate.
LIST_SECONDS = 60.0

SYNCED = "cluster synced"
FOUND, ABSENT, FAILED, BUSY = LOOKUP_RESULTS = ("found", "absent", "failed", "busy")
# What is reported of a look-up, by its result.
LOOKUP_EVENTS = {FOUND: "looked up", ABSENT: "looked up", FAILED: "look-up failed", BUSY: "look-up skipped"}
LOOKUP_KINDS = ("Namespace", *(kind for _, kind in SELECTOR_KINDS))

# Any user can write an owner reference, so only a valid object name may become part of a path.
_OBJECT_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Cache:
    """How up to date one kind is."""

    synced: bool  # It has been listed.
    age: float  # Seconds since the last response or event for it.
    problem: str  # Why the last try failed; "" if it did not.


class Live:
    """
    A watched cluster; it has no view until every kind has been listed.

    `may_wait` is asked before each look-up: False skips it, and what it raises is passed on.
    """

    def __init__(
        self,
        client: Client,
        report: ReportEvent,
        *,
        may_wait: Callable[[], bool] = lambda: True,
        pace: Pace | None = None,
    ) -> None:
        self._client, self._report, self._pace = client, report, pace or Pace()
        self._store, self._may_wait = Store(), may_wait
        self._informers = {
            kind.kind: Informer(kind, client, self._store, self._reported, self._pace) for kind in WATCHED
        }
        self._begun, self._ready, self._ready_lock = 0.0, False, Lock()

    def _reported(self, event: str, kind: str, **fields: object) -> None:
        self._report(event, kind, **fields)
        if event == WATCH_LISTED and not self._ready:
            with self._ready_lock:  # Two lists may end at the same moment; report "synced" once.
                self._become_ready()

    def _become_ready(self) -> None:
        if not self._ready and all(informer.synced for informer in self._informers.values()):
            self._report(SYNCED, "", seconds=round(monotonic() - self._begun, 3))
            self._ready = True

    def start(self) -> None:
        """Start watching, in threads.  Fork first: a fork does not copy threads."""
        self._begun = monotonic()
        for informer in self._informers.values():
            informer.start()

    def stop(self) -> None:
        """Stop watching; the last view stays in use."""
        for informer in self._informers.values():
            informer.stop()

    def note_node_pools(self, served: bool) -> None:
        """Have views say whether the API server has Karpenter's NodePools."""
        self._store.note_node_pools(served)

    def view(self) -> ClusterView | None:
        """The objects as last reported, even if the server is unreachable; None until all kinds are listed."""
        return self._store.view() if self._ready else None

    def caches(self) -> Mapping[str, Cache]:
        """How up to date each kind is, by kind."""
        return {
            kind: Cache(informer.synced, informer.age, informer.problem) for kind, informer in self._informers.items()
        }

    def state(self) -> Readiness:
        """Ready once all kinds have been listed; it stays ready if the view becomes stale."""
        caches = self.caches()
        if not self._ready:
            missing = (f"{kind} ({cache.problem or 'listing'})" for kind, cache in caches.items() if not cache.synced)
            return Readiness(False, f"{self._client.host}, waiting for {', '.join(missing)}")
        ages = ", ".join(f"{kind} {cache.age:.0f} s" for kind, cache in caches.items())
        problems = "".join(
            f"; {problem}" for problem in dict.fromkeys(cache.problem for cache in caches.values()) if problem
        )
        return Readiness(True, f"{self._client.host}, last response: {ages} ago{problems}")

    def view_for(self, namespace: str, owner: Owner | None) -> ClusterView | None:
        """
        The view, with this namespace and owner if they can be fetched in LOOKUP_SECONDS.

        Objects that the informers have not reported yet are looked up.  The response is not stored: the informer will
        report the object, and an older response must not replace it.
        """
        view = self.view()
        missing = list(_missing(view, namespace, owner)) if view is not None else []
        if view is None or not missing:
            return view
        if not self._may_wait():
            for kind, name in missing:
                self._report(LOOKUP_EVENTS[BUSY], kind.kind, namespace=namespace, name=name, result=BUSY)
            return view
        deadline = monotonic() + LOOKUP_SECONDS
        for kind, name in missing:
            view = self._with(view, kind, namespace, name, deadline)
        return view

    def _with(self, view: ClusterView, kind: Watched, namespace: str, name: str, deadline: float) -> ClusterView:
        """The view with one more object, if the API server returns it in time."""
        result, problem = FOUND, None
        try:
            seconds = max(0.001, deadline - monotonic())  # urllib3 refuses a timeout of 0.
            raw = self._client.get(kind.path(namespace, name), {}, seconds)
            view_object = read_view_object(raw, kind.api_version, kind.kind)[2]
            if isinstance(view_object, Namespace):
                view = view.with_namespace(view_object)
            elif isinstance(view_object, Controller):
                view = view.with_controller(namespace, view_object)
        except (ClusterError, SnapshotError) as error:
            result = ABSENT if isinstance(error, ClusterError) and error.status == NOT_FOUND else FAILED
            problem = str(error)
        self._report(LOOKUP_EVENTS[result], kind.kind, namespace=namespace, name=name, result=result, problem=problem)
        return view


def _missing(view: ClusterView, namespace: str, owner: Owner | None) -> Iterator[tuple[Watched, str]]:
    """Yield the kind and name of the namespace and the owner, where the view does not have them."""
    if not _OBJECT_NAME.fullmatch(namespace):
        return
    if namespace not in view.namespaces:
        yield WATCHED_NAMESPACES, namespace
    if owner is None or (owner.api_version, owner.kind) not in SELECTOR_KINDS or not _OBJECT_NAME.fullmatch(owner.name):
        return
    if view.controller(namespace, owner) is None:
        yield BY_KIND[owner.api_version, owner.kind], owner.name


def listed(client: Client, through: Callable[[Iterator[Raw]], Iterator[Raw]] = iter) -> ClusterView:
    """
    List once what the webhook watches of the cluster; every object goes through `through` as it is read.

    ClusterError if the API server does not answer.
    """
    objects = (
        {**raw, "apiVersion": kind.api_version, "kind": kind.kind}
        for kind in WATCHED
        for page in pages(client, kind, LIST_SECONDS, decoding.page)
        for raw in page.get("items") or ()
    )
    view = view_of(through(objects))
    return replace(view, serves_node_pools=serves_node_pools(client))
