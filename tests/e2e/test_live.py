"""The view of a watched cluster against the real API server: it is at all times what a new list would say."""

from __future__ import annotations

import pytest

from tests.e2e.webhook import containers
from tests.support.build import service, workload
from tests.support.serving import until
from webhook.cluster.client import Client
from webhook.cluster.informer import WATCH_LISTED, Pace
from webhook.cluster.live import Live, listed
from webhook.cluster.watched_resources import WATCHED
from webhook.kubernetes.references import Owner


def headless(namespace):
    """A Service that needs no ports."""
    made = service(namespace=namespace)
    return {**made, "spec": {**made["spec"], "clusterIP": "None"}}


class Watching:
    """A live view, what it told, and a client that lists anew."""

    def __init__(self):
        self.told, self.client = [], Client()
        self.live = Live(self.client, self._report, pace=Pace(first=0.1, most=1.0))

    def _report(self, what, kind, **fields):
        self.told.append((what, kind, fields))

    def lists(self):
        return sum(what == WATCH_LISTED for what, _, _ in self.told)

    def catches_up(self):
        until(lambda: self.live.view() == listed(self.client), f"the view: {self.told[-5:]}")


@pytest.fixture
def watching(plane, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(plane.kubeconfig))
    it = Watching()
    it.live.start()
    until(it.live.view, "the first lists")
    yield it
    it.live.stop()


def test_the_view_follows_what_happens(plane, namespace, watching):
    deployment = containers(workload("Deployment", namespace=namespace, spec={"replicas": 6}))
    assert 0 == plane.apply(headless(namespace), deployment).code
    until(lambda: watching.live.view().services_of(namespace, {"app": "web"}), "the Service")
    watching.catches_up()
    plane.kubectl("-n", namespace, "delete", "deployment/web", "service/web", "--wait")
    until(lambda: not watching.live.view().services_of(namespace, {"app": "web"}), "no Service")
    watching.catches_up()

    assert len(WATCHED) == watching.lists()


def test_an_api_server_that_restarts_is_followed_from_where_it_was(plane, namespace, watching):
    before = watching.live.view()
    plane.apiserver.stop()
    until(lambda: all(cache.problem for cache in watching.live.caches().values()), "the loss to be noticed")

    assert before == watching.live.view()
    plane.apiserver.start()
    assert 0 == plane.apply(headless(namespace)).code
    until(lambda: watching.live.view().services_of(namespace, {"app": "web"}), "the Service")
    until(lambda: not any(cache.problem for cache in watching.live.caches().values()), "the return")
    watching.catches_up()


def test_what_no_watch_has_told_of_is_asked_for(plane, namespace, watching):
    watching.live.stop()
    until(lambda: not any(one.is_alive() for one in watching.live._informers.values()), "the end of the watches")
    late = f"{namespace}-late"
    plane.create_namespace(late, team="a")
    assert 0 == plane.apply(containers(workload("ReplicaSet", namespace=late, spec={"replicas": 0}))).code
    owner = Owner("apps/v1", "ReplicaSet", "web")
    view = watching.live.view_for(late, owner)

    assert (None, "a") == (watching.live.view().controller(late, owner), view.namespaces[late]["team"])
    assert "app=web" == str(view.controller(late, owner).selector)
