"""A cluster that is watched: whatever happens to it and on the way, the view is what from_objects makes of it."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cluster.test_store import OBJECTS, whole
from tests.support.apiserver import TOKEN, ApiServer, kubeconfig
from tests.support.build import namespace, pod, service, workload
from tests.support.serving import until
from webhook.cluster.client import Client, ClusterError, configuration
from webhook.cluster.informer import FAILED, LISTED, RESUMED, UNREADABLE, Pace
from webhook.cluster.live import ABSENT, BUSY, FOUND, LOOKED_UP, SYNCED, Live, listed
from webhook.cluster.live import FAILED as LOOKUP_FAILED
from webhook.cluster.watched import WATCHED, watched
from webhook.objects.references import Owner

QUICK = Pace(first=0.01, most=0.05, silence=5.0)


def configured(url, token=None):
    """The configuration of a client that talks to this address."""
    from kubernetes.client import Configuration

    found = Configuration()
    found.host, found.no_proxy = url, "*"
    if token:
        found.api_key["authorization"] = token
    return found


class Watching:
    """A live cluster and the API server that it watches."""

    def __init__(self, api, pace=QUICK, **options):
        self.api, self.told = api, []
        self.client = Client(lambda: configured(api.url))
        self.live = Live(self.client, self._tell, pace=pace, **options)

    def _tell(self, what, kind, **fields):
        self.told.append((what, kind, fields))

    def heard(self, what, kind="Service"):
        return [fields for told, of, fields in self.told if (told, of) == (what, kind)]

    def is_whole(self):
        """Whether the view is what the API server has."""
        with self.api.changed:
            objects = [obj for kind in self.live.caches() for obj in self.api.objects[kind].values()]
        return self.live.view() == whole(objects)

    def catches_up(self):
        until(self.is_whole, f"a view of what is there: {self.live.view()} {self.told[-9:]}")


@contextmanager
def watching(*objects, pace=QUICK, started=True, **options):
    api = ApiServer()
    api.put(*objects)
    it = Watching(api, pace, **options)
    try:
        if started:
            it.live.start()
            until(it.live.view, "the first lists")
        yield it
    finally:
        it.live.stop()
        api.silent = False
        api.stop()


SHOP = (namespace(), service(), workload("ReplicaSet"), pod(spec={"nodeName": "n1"}))
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


@settings(max_examples=40)
@given(STEPS)
def test_the_view_is_what_is_there_whatever_happened(steps):
    with watching(watch_pods=True) as it:
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
        together = threading.Barrier(len(watched(False)))
        tell = it.live._tell

        def slowly(what, kind, **fields):
            if what == LISTED:
                together.wait(30)
            tell(what, kind, **fields)
            if what == SYNCED:
                time.sleep(0.1)  # while the others look whether they are the last

        it.live._tell = slowly
        it.live.start()
        until(it.live.view, "the first lists")
        it.live.stop()
        until(lambda: not any(one.is_alive() for one in it.live._informers.values()), "the end")

        assert 1 == len(it.heard(SYNCED, ""))


def test_what_is_missing_is_named_with_the_reason():
    with watching(*SHOP, started=False, pace=Pace(first=60.0)) as it:
        it.api.token = TOKEN
        it.live.start()
        until(lambda: len(it.told) == len(watched(False)), "every refusal")

        assert "Service (/api/v1/services: 401 refused with 401)" in it.live.state().detail


def test_pods_are_watched_only_where_they_are_asked_for():
    with watching(*SHOP) as it:
        assert ({}, False) == (it.live.view().pods, any("/pods" in path for path in it.api.asked))
        it.live.watch_pods(True)
        until(lambda: it.live.view().pods, "Pods")

        assert it.live.state().ready
        (asked,) = [path for path in it.api.asked if "/pods" in path and "watch=" not in path]
        assert "fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed" in asked
        it.live.watch_pods(False)
        until(lambda: not it.live.view().pods, "no Pods")
        it.live.watch_pods(True)
        until(lambda: it.live.watch_pods(True) or it.live.view().pods, "Pods again")


def test_a_long_list_comes_in_pages():
    with watching(*(service(f"web-{i}") for i in range(7)), started=False) as it:
        it.api.page = 3
        it.live.start()
        until(it.live.view, "the list")

        assert it.is_whole()
        assert 3 == sum("/services?" in path and "watch=" not in path for path in it.api.asked)


def test_a_list_whose_rest_is_gone_is_begun_anew(monkeypatch):
    with watching(*(service(f"web-{i}") for i in range(7)), started=False) as it:
        it.api.page = 3
        send = it.client.get

        def forgetful(path, query, seconds):
            page = send(path, query, seconds)
            if "continue" not in query and len(it.api.asked) < 30:
                it.api.forget()
            return page

        monkeypatch.setattr(it.client, "get", forgetful)
        it.live.start()
        until(it.live.view, "the list")

        assert it.is_whole()
        assert any("410" in fields["problem"] for fields in it.heard(FAILED))


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
        getattr(it.api, case.happens)(*case.argument)
        it.api.put(service("after"))
        it.catches_up()

        assert case.lists == len(it.heard(LISTED))
        assert [case.lists > 1] == [fields["again"] for fields in it.heard(LISTED)][-1:]
        assert it.heard(FAILED)
        until(lambda: it.heard(RESUMED), "an answer")


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

        assert 1 == len(it.heard(LISTED))


def test_without_a_bookmark_what_is_forgotten_is_listed_again():
    with watching(*SHOP) as it:
        it.api.put(service("late"))
        it.catches_up()
        it.api.forget()
        it.api.cut()
        it.api.delete(service("late"))
        it.catches_up()

        assert [False, True] == [fields["again"] for fields in it.heard(LISTED)]


def test_a_silent_connection_is_taken_for_dead():
    with watching(*SHOP, pace=Pace(first=0.01, most=0.05, silence=0.2)) as it:
        until(lambda: any("Read timed out" in one["problem"] for one in it.heard(FAILED)), "the silence being noticed")
        it.api.put(service("after"))
        it.catches_up()

        assert 1 == len(it.heard(LISTED))


def test_a_lost_api_server_leaves_the_last_view():
    with watching(*SHOP) as it:
        before, port = it.live.view(), it.api.port
        it.api.stop()
        until(lambda: all(cache.problem for cache in it.live.caches().values()), "the loss")

        assert before is it.live.view()
        assert it.live.state().ready and "Connection refused" in it.live.state().detail
        it.api = ApiServer(port)
        it.api.version = 5_000
        it.api.put(*SHOP, service("after"))
        it.api.floor = it.api.version
        it.catches_up()
        until(lambda: not any(cache.problem for cache in it.live.caches().values()), "the return")

        assert all(cache.age < 5 for cache in it.live.caches().values())
        forgotten = [fields["tries"] for fields in it.heard(FAILED) if "410" in fields["problem"]]
        assert [1] == forgotten, "what is forgotten is listed soon, however long the loss was"


def test_a_refused_token_is_read_again(monkeypatch):
    monkeypatch.setattr("webhook.cluster.client.RECONNECT_SECONDS", 0.0)
    with watching(*SHOP, started=False) as it:
        tokens = iter(["Bearer old", TOKEN])
        it.api.token = TOKEN
        latest = []

        def configure():
            latest.append(next(tokens, TOKEN))
            return configured(it.api.url, latest[-1])

        it.live = Live(Client(configure), it._tell, pace=QUICK)
        it.live.start()
        until(it.live.view, "the new token")

        assert it.is_whole()


def test_an_object_of_the_wrong_form_is_passed_over_and_told():
    with watching(*SHOP) as it:
        it.api.put({**service("bad"), "spec": {"selector": []}}, service("good"))
        until(lambda: it.heard(UNREADABLE), "a complaint")
        until(lambda: it.live.view() == whole([*SHOP[:3], service("good")]), "the good one")

        assert [{"problem": "Service shop/bad: spec.selector: found [], must be an object"}] == it.heard(UNREADABLE)


def test_stopping_ends_every_thread():
    with watching(*SHOP) as it:
        informers = list(it.live._informers.values())
        assert all(one.is_alive() for one in informers)
        it.live.stop()
        until(lambda: not any(one.is_alive() for one in informers), "the end of the threads")

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
        it.live.stop()
        before = it.live.view()
        it.api.put(*case.there)
        it.api.refusals = [*case.status]
        owner = case.owner if case.namespace != "new" else None
        view = it.live.view_for(case.namespace, owner)

        assert list(case.results) == [(kind, fields["result"]) for what, kind, fields in it.told if what == LOOKED_UP]
        assert ((RS, FOUND) in case.results) == (owner is not None and view.controller("shop", owner) is not None)
        assert ((NS, FOUND) in case.results) == ("new" in view.namespaces)
        assert before is it.live.view()


def test_look_ups_leave_half_of_the_threads_free():
    """An API server that does not answer holds two of four; the others go on without, at once."""
    with watching(namespace()) as it:
        it.api.silent = True
        results, done = [], []
        threads = [threading.Thread(target=lambda: done.append(it.live.view_for("shop", WEB))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        results = [fields["result"] for fields in it.heard(LOOKED_UP, RS)]

        assert ([BUSY, BUSY, LOOKUP_FAILED, LOOKUP_FAILED], 4) == (sorted(results), len(done))


def test_a_cluster_is_listed_once_for_a_command():
    with watching(*SHOP, started=False) as it:
        assert whole(SHOP[:3]) == listed(it.client)
        assert whole(SHOP) == listed(it.client, watch_pods=True)


def test_a_kubeconfig_leads_to_the_api_server(tmp_path, monkeypatch):
    with watching(*SHOP, started=False) as it:
        it.api.token = TOKEN
        user = {"token": TOKEN.removeprefix("Bearer ")}
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig(it.api.url, tmp_path, user=user)))

        assert whole(SHOP[:3]) == listed(Client())


def test_a_plugin_says_who_we_are(tmp_path, monkeypatch):
    """As `aws eks get-token` and its like do, with a token that has to be renewed."""
    plugin = tmp_path / "plugin"
    answer = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": TOKEN.removeprefix("Bearer "), "expirationTimestamp": "2020-01-01T00:00:00Z"},
    }
    plugin.write_text(f"#!/bin/sh\necho x >> {tmp_path}/runs\ncat <<'END'\n{json.dumps(answer)}\nEND\n")
    plugin.chmod(0o700)
    user = {"exec": {"apiVersion": answer["apiVersion"], "command": str(plugin), "interactiveMode": "Never"}}
    with watching(*SHOP, started=False) as it:
        it.api.token = TOKEN
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig(it.api.url, tmp_path, user=user)))
        client = Client()
        before = (tmp_path / "runs").read_text()
        client.authenticate()

        assert whole(SHOP[:3]) == listed(client)
        assert len(before) < len((tmp_path / "runs").read_text())


NOWHERE = [
    ({"KUBECONFIG": "{}/none"}, "found neither {}/none nor a Pod's service account; set KUBECONFIG"),
    ({"KUBECONFIG": "{}/bad"}, "{}/bad: "),
    ({"HOME": "{}"}, "found neither {}/.kube/config nor a Pod's service account; set KUBECONFIG"),
    (
        {"HOME": "{}", "KUBERNETES_SERVICE_HOST": "h", "KUBERNETES_SERVICE_PORT": "1"},
        "Service token file does not exist.",
    ),
]


@pytest.mark.parametrize(("environment", "message"), NOWHERE)
def test_where_there_is_no_cluster_it_is_said_in_one_line(tmp_path, monkeypatch, environment, message):
    (tmp_path / "bad").write_text("x: [")
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value.format(tmp_path))
    with pytest.raises(ClusterError) as error:
        configuration()

    assert str(error.value).startswith(message.format(tmp_path))
    assert 1 == len(str(error.value).splitlines())


def test_the_kinds_that_are_watched_are_those_that_a_snapshot_holds_but_for_owners_of_owners():
    assert ("Node", "Namespace", "Service", "ReplicationController", "ReplicaSet", "StatefulSet", "Pod") == tuple(
        one.kind for one in WATCHED
    )
    assert ("", "apps") == (WATCHED[0].api_group, WATCHED[-2].api_group)
    assert "/apis/apps/v1/namespaces/shop/statefulsets/db" == WATCHED[-2].path("shop", "db")
    assert "/api/v1/namespaces/shop" == WATCHED[1].path("shop", "shop")


def test_nothing_of_the_kubernetes_package_is_imported_without_need():
    """It is slow to import, and a dump needs none of it."""
    import subprocess
    import sys

    imported = "import sys, webhook.serving.server, webhook.cluster.live"
    code = f"{imported}; print([m for m in sys.modules if m[:10] == 'kubernetes'])"

    assert (
        "[]" == subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    )
