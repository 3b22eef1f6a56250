"""`evenkeel serve --cluster live` against a small API server: what it answers, shows and logs while things happen."""

from __future__ import annotations

import json
import logging
from contextlib import contextmanager

import pytest

from tests.cluster.test_live import SHOP
from tests.support.admission_reviews import review
from tests.support.apiserver import ApiServer, kubeconfig
from tests.support.build import namespace, pod, request, service, workload
from tests.support.serving import serving, until
from webhook.admission.ownership import MANAGER
from webhook.cluster.informer import WATCH_FAILED, WATCH_LISTED, WATCH_RESUMED
from webhook.cluster.live import ABSENT, BUSY, FAILED, FOUND, LOOKUP_EVENTS, SYNCED
from webhook.cluster.watched_resources import WATCHED
from webhook.server import cluster_telemetry

POD = pod(owner="ReplicaSet/web")


@pytest.fixture
def api():
    server = ApiServer()
    server.put(*SHOP)
    yield server
    server.silent = False
    server.stop()


@contextmanager
def live(folder, api, *options, **environment):
    config = kubeconfig(api.url, folder)
    with serving(folder, "--cluster", "live", *options, KUBECONFIG=str(config), **environment) as running:
        yield running


def sent(obj, user=MANAGER):
    """A review of what this user creates."""
    return review(request=request(obj, userInfo={"username": user}))


def source(running, obj=POD):
    """From what the defaults are derived of a Pod that a controller creates."""
    return running.review("/mutate", sent(obj))[1].get("auditAnnotations", {}).get("defaulted")


def verbose(running):
    return running.probe("/readyz?verbose")[1].decode()


def test_defaults_follow_the_cluster(tmp_path, api):
    with live(tmp_path, api) as running:
        assert "policy; selector from Service/web, ReplicaSet/web" == source(running)
        api.delete(service())
        until(lambda: source(running) == "policy; selector from ReplicaSet/web", "the Service to be gone")

        assert ["", "Namespace", "Node"] == sorted(
            line.get("kind", "") for line in running.lines("cluster synced") + running.lines("listed")
        )[:3]
        assert 1 == running.metric('evenkeel_cache_synced{kind="StatefulSet"}')
        assert 60 > running.metric('evenkeel_cache_age_seconds{kind="Node"}')
        assert [0] * len(WATCHED) == [
            running.metric(f'evenkeel_cache_watch_failures_total{{kind="{one.kind}"}}') for one in WATCHED
        ]


@pytest.mark.parametrize(("options", "shown"), [((), "v1.33.2"), (("--kubernetes-version", "1.36"), "")])
def test_the_version_of_the_cluster_is_asked_for_unless_it_is_given(tmp_path, api, options, shown):
    api.git_version = "v1.33.2"
    with live(tmp_path, api, *options) as running:
        if shown:
            until(lambda: f"[+] kubernetes: {shown}" in verbose(running), "the version")
        else:
            assert "kubernetes" not in verbose(running)


def test_an_owner_that_no_watch_has_told_of_is_asked_for(tmp_path, api):
    with live(tmp_path, api) as running:
        late = workload("ReplicaSet", name="late")
        with api.changed:  # there, but not told to any watch
            api.objects["ReplicaSet"]["shop", "late"] = late

        assert "policy; selector from Service/web, ReplicaSet/late" == source(running, pod(owner="ReplicaSet/late"))
        assert "policy; selector from Service/web" == source(running, pod(owner="ReplicaSet/none"))
        for result in ("found", "absent"):
            assert 1 == running.metric(f'evenkeel_lookups_total{{kind="ReplicaSet",result="{result}"}}')
        assert 0 == running.metric('evenkeel_lookups_total{kind="Namespace",result="found"}')


def test_a_namespace_that_no_watch_has_told_of_is_asked_for(tmp_path, api):
    with live(tmp_path, api) as running:
        for one in (service(namespace="new"), service(namespace="off")):
            api.put(one)
        with api.changed:
            api.objects["Namespace"]["", "new"] = namespace("new")
            api.objects["Namespace"]["", "off"] = namespace("off", **{"evenkeel.dev/skip": "true"})
        until(lambda: source(running, pod(namespace="new")) == "policy; selector from Service/web", "the Service")

        assert source(running, pod(namespace="off")) is None


def test_only_a_pod_that_may_be_given_defaults_is_looked_up_for(tmp_path, api):
    with live(tmp_path, api) as running:
        running.review("/validate", sent(pod(owner="ReplicaSet/none")))
        running.review("/mutate", sent(pod({"maxSkew": 1}, owner="ReplicaSet/none")))
        running.review("/mutate", sent(pod(owner="Job/none")))
        running.review("/mutate", sent(pod(owner="ReplicaSet/none"), user="dev"))

        assert [] == [path for path in api.asked if path.endswith("/none")]  # A watch may begin anew at any time.
        assert running.review("/mutate", sent(pod(owner="ReplicaSet/none")))
        assert [path for path in api.asked if path.endswith("/none")]


def test_an_api_server_that_is_lost_changes_nothing_but_what_is_shown(tmp_path, api):
    with live(tmp_path, api) as running:
        api.stop()
        until(lambda: "Connection refused" in verbose(running), "the loss to be noticed")

        assert 200 == running.probe("/readyz")[0]
        assert "policy; selector from Service/web, ReplicaSet/web" == source(running)
        assert "policy; selector from Service/web" == source(running, pod(owner="ReplicaSet/late"))
        assert 1 == running.metric('evenkeel_lookups_total{kind="ReplicaSet",result="failed"}')
        failed = [line for line in running.lines("watch failed") if line["kind"] == "Node"]
        assert [("warning", 1)] == [(line["level"], line["tries"]) for line in failed]


def test_it_is_not_ready_until_it_knows_the_cluster(tmp_path, api):
    api.refusals = [503] * len(WATCHED)
    with live(tmp_path, api) as running:
        assert len(WATCHED) == len(running.lines("watch failed")) == len(running.lines("watch resumed"))
        order = [json.loads(line)["message"] for line in running.log_file.read_text("utf-8").splitlines()]
        assert order.index("cluster synced") > max(i for i, message in enumerate(order) if message == "watch resumed")
        assert "[+] cluster: http://127.0.0.1" in verbose(running)


def test_it_stops_soon_although_nobody_answers(tmp_path, api):
    with live(tmp_path, api) as running:
        api.silent = True
        running.process.terminate()

        assert 0 == running.process.wait(5)


@pytest.mark.parametrize(
    ("what", "fields", "level"),
    [
        (WATCH_LISTED, {"again": False}, "info"),
        (SYNCED, {}, "info"),
        (WATCH_FAILED, {"tries": 1}, "warning"),
        (WATCH_FAILED, {"tries": 2}, "debug"),
        (WATCH_RESUMED, {"tries": 2}, "warning"),
        *((LOOKUP_EVENTS[result], {"result": result}, "debug") for result in (FOUND, ABSENT)),
        *((LOOKUP_EVENTS[result], {"result": result}, "warning") for result in (FAILED, BUSY)),
    ],
)
def test_the_first_of_failures_in_a_row_is_a_warning(what, fields, level):
    assert level == logging.getLevelName(cluster_telemetry._level(what, fields)).lower()
