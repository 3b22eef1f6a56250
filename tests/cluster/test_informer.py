"""A kind is listed in pages, watched, and listed again where a watch cannot go on."""

from __future__ import annotations

import json
import random
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest

from evenkeel.clusters.reduction import custom_page
from tests.support.build import namespace, service, whole
from tests.support.serving import until
from tests.support.watching import SHOP, watching
from webhook.cluster import decoding, informer
from webhook.cluster.client import ClusterError
from webhook.cluster.informer import (
    OBJECT_LEFT_OUT,
    WATCH_FAILED,
    WATCH_LISTED,
    WATCH_RESUMED,
    Informer,
    Pace,
)
from webhook.cluster.listed_resources import LISTED_RESOURCES as KINDS
from webhook.cluster.store import Store
from webhook.cluster.watched_resources import SERVICE

(NODES,) = (kind for kind in KINDS if kind.kind == "Node")


def test_a_long_list_comes_in_pages():
    with watching(*(service(f"web-{i}") for i in range(7)), started=False) as it:
        it.api.page = 3
        it.live.start()
        until(it.live.view, "the list")

        assert it.is_whole()
        assert 3 == sum("/services?" in path and "watch=" not in path for path in it.api.asked)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"metadata": None, "items": []},
        {"metadata": {}, "items": 3},
        {"metadata": {}, "items": {"a": {}}},
        {"metadata": [], "items": [3]},
    ],
    ids=str,
)
@pytest.mark.parametrize("decode", [decoding.page, partial(custom_page, kinds=())], ids=["watched", "custom"])
def test_a_response_that_is_no_list_is_an_error(body, decode):
    client = SimpleNamespace(get=lambda path, query, seconds, decode, most: decode(json.dumps(body).encode()))

    with pytest.raises(ClusterError, match=r"^/api/v1/nodes: the response is no list of objects$"):
        list(informer.pages(client, NODES, 1, decode))


def test_a_list_with_what_is_no_object_is_an_error():
    client = SimpleNamespace(get=lambda *_: {"metadata": {}, "items": [{}, None]})

    with pytest.raises(ClusterError, match=r"^/api/v1/nodes: the response is no list of objects$"):
        list(informer.pages(client, NODES, 1, decoding.page))


def test_a_page_that_would_take_much_memory_is_asked_for_in_smaller_ones(monkeypatch):
    """A Service may have a megabyte; one alone is read whatever it has."""
    monkeypatch.setattr(informer, "LARGEST_PAGE", 100_000)
    large = [service(f"a-{i}", selector={"app": "x" * 30_000}) for i in range(9)]
    huge, small = service("b", selector={"app": "x" * 300_000}), [service(f"c-{i:03}") for i in range(600)]
    with watching(*large, huge, *small, started=False) as it:
        it.live.start()
        view = until(it.live.view, "the list")

        asked = [path for path in it.api.asked if "/services?" in path and "watch=" not in path]
        limits = [int(parse_qs(urlsplit(path).query)["limit"][0]) for path in asked]
        assert [one.name for _, one in view.services["shop"]["app", "web"]] == [
            one["metadata"]["name"] for one in small
        ]
        assert [500, 125, 31, 7, 1] == list(dict.fromkeys(limits))[:5]
        assert 40 > len(limits)  # And not one for each object that follows.
        assert [] == it.heard(WATCH_FAILED)


def test_pauses_do_not_follow_the_generator_that_forked_workers_share():
    state = random.getstate()
    with watching(started=False) as it:
        it.api.refusals = [500] * 9
        it.live.start()
        until(it.live.view, "the list")

        assert it.heard(WATCH_FAILED)
    assert random.getstate() == state


def test_a_list_whose_rest_is_gone_is_begun_anew(monkeypatch):
    with watching(*(service(f"web-{i}") for i in range(7)), started=False) as it:
        it.api.page = 3
        send = it.client.get

        def forgetful(path, query, seconds, decode, most):
            page = send(path, query, seconds, decode, most)
            if "continue" not in query and len(it.api.asked) < 30:
                it.api.forget()
            return page

        monkeypatch.setattr(it.client, "get", forgetful)
        it.live.start()
        until(it.live.view, "the list")

        assert it.is_whole()
        assert any("410" in fields["problem"] for fields in it.heard(WATCH_FAILED))


class Resumed(NamedTuple):
    name: str
    happens: str
    argument: tuple = ()
    lists: int = 1


RESUMES = [
    Resumed("a cut connection goes on where it was", "cut"),
    Resumed("an error event goes on where it was", "error", (500,)),
    Resumed("410 as an event lists again", "error", (410,), 2),
]


@pytest.mark.parametrize("case", RESUMES, ids=lambda case: case.name)
def test_a_watch_that_ends(case):
    with watching(*SHOP) as it:
        until(lambda: "Service" in it.api.watched, "a watch that can end")
        getattr(it.api, case.happens)(*case.argument)
        it.api.put(service("after"))
        it.catches_up()
        until(lambda: len(it.heard(WATCH_LISTED)) >= case.lists, "a list")  # It is told after the view has it.

        assert case.lists == len(it.heard(WATCH_LISTED))
        assert [case.lists > 1] == [fields["again"] for fields in it.heard(WATCH_LISTED)][-1:]
        assert it.heard(WATCH_FAILED)
        until(lambda: it.heard(WATCH_RESUMED), "an answer")


def test_a_bookmark_spares_a_list():
    """Nothing happened to Services for long, other things did: the version of the last event is forgotten."""
    with watching(*SHOP, namespace("other")) as it:
        it.api.put(*(namespace(f"n{i}") for i in range(3)))
        it.api.bookmark()
        it.catches_up()
        until(lambda: {str(it.api.version)} == {one._version for one in it.live._informers.values()}, "the bookmark")
        it.api.floor = it.api.version
        it.api.cut()
        it.api.put(service("after"))
        it.catches_up()

        assert 1 == len(it.heard(WATCH_LISTED))


def test_without_a_bookmark_what_is_forgotten_is_listed_again():
    with watching(*SHOP) as it:
        it.api.put(service("late"))
        it.catches_up()
        it.api.forget()
        it.api.cut()
        it.api.delete(service("late"))
        it.catches_up()

        assert [False, True] == [fields["again"] for fields in it.heard(WATCH_LISTED)]


def test_a_silent_connection_is_taken_for_dead():
    with watching(*SHOP, pace=Pace(first=0.01, most=0.05, silence=0.2)) as it:
        until(
            lambda: any("Read timed out" in one["problem"] for one in it.heard(WATCH_FAILED)),
            "the silence being noticed",
        )
        it.api.put(service("after"))
        it.catches_up()

        assert 1 == len(it.heard(WATCH_LISTED))


def test_an_object_of_the_wrong_form_is_passed_over_and_told():
    with watching(*SHOP) as it:
        it.api.put({**service("bad"), "spec": {"selector": []}}, service("good"))
        until(lambda: it.heard(OBJECT_LEFT_OUT), "a complaint")
        until(lambda: it.live.view() == whole([*SHOP[:3], service("good")]), "the good one")

        assert [{"problem": "Service shop/bad: spec.selector: found [], must be an object"}] == it.heard(
            OBJECT_LEFT_OUT
        )


def line(what, name="web", version="7", **fields):
    obj = service(name)
    obj["metadata"]["resourceVersion"] = version
    return json.dumps({"type": what, "object": {**obj, **fields}}).encode()


FAILS = ClusterError("no", 500)
NEWS = [[line("ADDED")]]


class Scripted:
    """An API server that answers each watch by the next of `answers`: batches of lines, or an error; then it stops."""

    def __init__(self, *answers, pace=Pace()):  # noqa: B008
        self.answers, self.watches, self.lists, self.reconnected = list(answers), [], 0, 0
        self.waited, self.reports, self.store = [], [], Store()
        self.informer = Informer(SERVICE, self, self.store, self._report, pace)
        self.informer._stopped.wait = self.waited.append
        self.informer.run()

    def _report(self, what, kind, **fields):
        self.reports.append((what, fields))

    def authenticate(self):
        """As the service account's token is read again."""

    def reconnect(self):
        self.reconnected += 1
        raise ClusterError("no such file")

    def get(self, path, query, seconds, decode, most):
        self.lists += 1
        return {"metadata": {"resourceVersion": "5"}, "items": [service("old")]}

    @contextmanager
    def stream(self, path, query, silence):
        if not self.answers:
            self.informer.stop()
            raise FAILS
        self.watches.append(query)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        yield answer

    @property
    def names(self):
        return {one.name for one in self.store.view().services_of("shop", {"app": "web"})}


@pytest.fixture
def on_the_dot(monkeypatch):
    """Nobody waits longer or shorter by chance."""
    monkeypatch.setattr(informer, "CHANCE", SimpleNamespace(uniform=lambda least, most: 1.0))


@pytest.mark.parametrize(
    ("answers", "waited"),
    [
        ([FAILS] * 7, [1, 2, 4, 8, 16, 30, 30]),
        ([FAILS, FAILS, NEWS, FAILS], [1, 2, 1]),
        ([FAILS, FAILS, [], FAILS], [1, 2, 4, 8]),
        ([FAILS, FAILS, ClusterError("gone", 410), FAILS], [1, 2, 1, 1]),
        ([ClusterError("busy", 429, 50.0), FAILS], [50, 2]),
        ([ClusterError("busy", 429, 0.5)], [1]),
    ],
    ids=[
        *("doubled, up to 30 s", "anew after an event", "not after an empty watch", "anew after a list"),
        *("for as long as it is asked to", "no shorter for that"),
    ],
)
@pytest.mark.usefixtures("on_the_dot")
def test_how_long_it_waits_after_a_failure(answers, waited):
    assert waited == Scripted(*answers).waited


@pytest.mark.parametrize(
    ("error", "lists"),
    [
        *((ClusterError("x", status), 2) for status in (400, 410, 504)),
        *((ClusterError("x", status), 1) for status in (0, 401, 403, 429, 500, 503)),
        (ValueError("a defect"), 2),
    ],
    ids=str,
)
def test_which_failure_of_a_watch_needs_a_new_list(error, lists):
    asked = Scripted(error, NEWS)

    assert (lists, ["5", "5"]) == (asked.lists, [query["resourceVersion"] for query in asked.watches])


def test_what_came_before_an_error_event_is_kept_and_what_comes_after_is_not_read():
    error = json.dumps({"type": "ERROR", "object": {"code": 500, "message": "no"}}).encode()
    asked = Scripted([[line("ADDED", "a"), b"", line("ADDED", "b", "8"), error, line("ADDED", "c", "9")]], NEWS)

    assert ({"old", "a", "b", "web"}, ["5", "8"]) == (asked.names, [one["resourceVersion"] for one in asked.watches])
    assert ["/api/v1/services: no"] == [fields["problem"] for what, fields in asked.reports if what == WATCH_FAILED]


def test_what_is_modified_stays_what_is_deleted_goes_and_a_bookmark_is_no_object():
    events = [line("MODIFIED", "a"), line("DELETED", "old", "8"), line("BOOKMARK", "b", "9")]
    asked = Scripted([events], [])

    assert ({"a"}, "9") == (asked.names, asked.watches[1]["resourceVersion"])


def test_a_watch_that_ends_after_a_while_is_none_that_fails():
    assert [] == Scripted([], pace=Pace(first=0.0)).waited


@pytest.mark.usefixtures("on_the_dot")
def test_a_watch_asks_for_bookmarks_and_ends_in_time():
    (query,) = Scripted(NEWS).watches

    assert {"watch": "1", "resourceVersion": "5", "allowWatchBookmarks": "true", "timeoutSeconds": "300"} == query


@pytest.mark.parametrize(("status", "times"), [(401, 1), (403, 0), (500, 0)])
def test_who_is_not_known_reads_the_configuration_again(status, times):
    asked = Scripted(ClusterError("no", status))

    assert times == asked.reconnected
    assert ("no" + "; no such file" * times) == asked.informer.problem


def test_the_first_answer_after_failures_is_told_once():
    asked = Scripted(FAILS, FAILS, NEWS, NEWS)
    told = [(what, fields.get("tries")) for what, fields in asked.reports if what != WATCH_LISTED]

    assert [(WATCH_FAILED, 1), (WATCH_FAILED, 2), (WATCH_RESUMED, 2)] == told
    assert "" == asked.informer.problem
