"""A cluster that is watched: whatever happens to it and on the way, the view is what from_objects makes of it."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cluster.test_store import OBJECTS
from tests.support.apiserver import TOKEN, ApiServer
from tests.support.build import namespace, service, whole
from tests.support.serving import until
from tests.support.watching import SHOP, watching
from webhook.cluster.client import NOT_FOUND, ClusterError
from webhook.cluster.informer import WATCH_FAILED, WATCH_LISTED, Pace
from webhook.cluster.live import ABSENT, BUSY, FOUND, LOOKUP_EVENTS, LOOKUP_SECONDS, SYNCED, listed
from webhook.cluster.live import FAILED as LOOKUP_FAILED
from webhook.cluster.watched_resources import WATCHED
from webhook.kubernetes.references import Owner

WEB = Owner("apps/v1", "ReplicaSet", "web")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(("put", "put", "put", "delete")), OBJECTS),
        st.tuples(st.sampled_from(("cut", "forget", "bookmark", "wait")), st.none()),
        st.tuples(st.just("error"), st.sampled_from((410, 500))),
        st.tuples(st.just("refuse"), st.lists(st.sampled_from((410, 429, 500, 503)), max_size=3)),
    ),
    max_size=20,
)


@given(STEPS)
def test_the_view_is_what_is_there_whatever_happened(steps):
    with watching() as it:
        it.api.page = 2
        for what, value in steps:
            if what in ("put", "delete"):
                getattr(it.api, what)(value)
            elif what == "error":
                it.api.error(value)
            elif what == "refuse":
                it.api.refusals += value
            elif what == "wait":
                it.catches_up()
            else:
                getattr(it.api, what)()
        it.catches_up()


def test_there_is_no_view_until_every_kind_was_listed():
    with watching(*SHOP, started=False) as it:
        assert (None, False) == (it.live.view(), it.live.state().ready)
        assert None is it.live.view_for("shop", WEB)
        it.api.refusals = [403] * 3
        it.live.start()
        until(lambda: it.live.state().ready, "readiness")

        assert it.is_whole()
        assert [{"seconds"}] == [set(fields) for fields in it.heard(SYNCED, "")]


def test_it_is_told_once_that_all_is_known_although_all_lists_end_at_once():
    with watching(*SHOP, started=False) as it:
        together = threading.Barrier(len(WATCHED))
        tell = it.live._report

        def slowly(what, kind, **fields):
            if what == WATCH_LISTED:
                together.wait(30)
            tell(what, kind, **fields)
            if what == SYNCED:
                time.sleep(0.1)  # while the others look whether they are the last

        it.live._report = slowly
        it.live.start()
        until(it.live.view, "the first lists")
        it.ends()

        assert 1 == len(it.heard(SYNCED, ""))


def test_what_is_missing_is_named_with_the_reason():
    with watching(*SHOP, started=False, pace=Pace(first=60.0)) as it:
        it.api.token = TOKEN
        it.live.start()
        until(lambda: len(it.told) == len(WATCHED), "every refusal")

        assert "Service (/api/v1/services: 401 refused with 401)" in it.live.state().detail


def test_a_lost_api_server_leaves_the_last_view():
    with watching(*SHOP) as it:
        before, port = it.live.view(), it.api.port
        it.api.stop()
        until(lambda: all(cache.problem for cache in it.live.caches().values()), "the loss")
        until(lambda: "Connection refused" in it.live.state().detail, "the reason")  # first, answers break off

        assert before is it.live.view()
        assert it.live.state().ready
        it.api = ApiServer(port, floor=5_000)
        it.api.put(*SHOP, service("after"))
        it.catches_up()
        until(lambda: not any(cache.problem for cache in it.live.caches().values()), "the return")

        assert all(cache.age < 5 for cache in it.live.caches().values())
        forgotten = [fields["tries"] for fields in it.heard(WATCH_FAILED) if "410" in fields["problem"]]
        assert [1] == forgotten, "what is forgotten is listed soon, however long the loss was"


def test_stopping_ends_every_thread():
    with watching(*SHOP) as it:
        assert all(one.is_alive() for one in it.live._informers.values())
        it.ends()

        assert it.live.view() == whole(SHOP[:3])


class Lookup(NamedTuple):
    name: str
    results: tuple
    status: tuple = ()
    owner: Owner | None = WEB
    there: tuple = SHOP
    namespace: str = "shop"


RS, NS = "ReplicaSet", "Namespace"
LOOKUPS = [
    Lookup("an owner that the informer has not seen", ((RS, FOUND),)),
    Lookup("one that there is none of", ((RS, ABSENT),), owner=Owner("apps/v1", RS, "other")),
    Lookup("one that is not told", ((RS, LOOKUP_FAILED),), status=(500,)),
    Lookup("one of a kind that gives no selector", (), owner=Owner("batch/v1", "Job", "web")),
    Lookup("no owner", (), owner=None),
    Lookup("a path for a name", (), owner=Owner("apps/v1", RS, "../../../../v1/secrets")),
    Lookup("dots for a name", (), owner=Owner("apps/v1", RS, "..")),
    Lookup("a name far too long", (), owner=Owner("apps/v1", RS, "x" * 300)),
    Lookup("no namespace", (), namespace=""),
    Lookup("a namespace that the informer has not seen", ((NS, FOUND),), there=(namespace("new"),), namespace="new"),
    Lookup("one that there is none of", ((NS, ABSENT), (RS, ABSENT)), there=(), namespace="none"),
]


@pytest.mark.parametrize("case", LOOKUPS, ids=lambda case: case.name)
def test_what_a_view_lacks_is_looked_up(case):
    """Without being remembered: the informers' own view stays as it was."""
    with watching(namespace()) as it:
        it.ends()
        before = it.live.view()
        it.api.put(*case.there)
        it.api.refusals = [*case.status]
        owner = case.owner if case.namespace != "new" else None
        view = it.live.view_for(case.namespace, owner)

        told = [(what, kind, fields["result"]) for what, kind, fields in it.told if what in LOOKUP_EVENTS.values()]
        assert [(LOOKUP_EVENTS[result], kind, result) for kind, result in case.results] == told
        assert ((RS, FOUND) in case.results) == (owner is not None and view.controller("shop", owner) is not None)
        assert ((NS, FOUND) in case.results) == ("new" in view.namespaces)
        assert before is it.live.view()


def test_all_look_ups_of_a_review_share_their_time(monkeypatch):
    times, given = iter((1.0, 1.1, 1.0 + LOOKUP_SECONDS)), []

    def get(path, query, seconds):
        given.append(round(seconds, 3))
        raise ClusterError("", NOT_FOUND)

    with watching(service()) as it:
        monkeypatch.setattr(it.live, "_client", SimpleNamespace(get=get))
        monkeypatch.setattr("webhook.cluster.live.monotonic", lambda: next(times))
        it.live.view_for("none", WEB)

    assert [round(LOOKUP_SECONDS - 0.1, 3), 0.001] == given


def test_who_may_not_wait_looks_nothing_up():
    """It is asked only where something is missing."""
    asked = []

    def may_wait():
        asked.append(None)
        return False

    with watching(*SHOP, may_wait=may_wait) as it:
        view = it.live.view()
        assert view is it.live.view_for("shop", None)
        assert [] == asked
        assert view is it.live.view_for("new", None)
        assert [None] == asked
        assert [BUSY] == [fields["result"] for fields in it.heard("look-up skipped", NS)]


def test_a_cluster_is_listed_once_for_a_command():
    with watching(*SHOP, started=False) as it:
        assert whole(SHOP[:3]) == listed(it.client)
