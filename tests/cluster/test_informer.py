"""A kind is listed in pages, watched, and listed again where a watch cannot go on."""

from __future__ import annotations

import json
import random
from functools import partial
from types import SimpleNamespace
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest

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
    Pace,
)
from webhook.cluster.listed_resources import LISTED_RESOURCES as KINDS
from webhook.cluster.reduction import custom_page

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
