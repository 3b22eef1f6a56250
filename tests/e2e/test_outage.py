"""Whoever is lost, evenkeel, the API server or etcd: Pods are created, and evenkeel recovers and says what happened."""

from __future__ import annotations

import time
from collections.abc import Iterator
from signal import SIGCONT, SIGKILL, SIGSTOP

import pytest

from tests.e2e.api import MERGE
from tests.e2e.placement import pods
from tests.e2e.webhook import containers, installed, send
from tests.support.admission_reviews import review
from tests.support.build import constraint, owned_by, pod, request, service, workload
from tests.support.serving import Running, until
from webhook.admission.ownership import MANAGER
from webhook.cluster.watched_resources import WATCHED
from webhook.server.health import TEXTS

KINDS = [one.kind for one in WATCHED]
SECONDS = 20  # for which etcd is gone
LOOKUPS = 'evenkeel_lookups_total{{kind="{}",result="{}"}}'
ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/evenkeel"


@pytest.fixture(scope="module")
def running(plane, tmp_path_factory) -> Iterator[Running]:
    with installed(plane, tmp_path_factory.mktemp("webhook")) as running:
        yield running


def web(namespace, **fields) -> dict:
    return containers(pod(namespace=namespace, **fields))


def selector(plane, namespace, **fields) -> dict | None:
    """Of the constraints that a Pod gets when it is created, the selector; None if it gets no constraints."""
    path = f"/api/v1/namespaces/{namespace}/pods?dryRun=All"
    spec = plane.api.call("POST", path, web(namespace, **fields))["spec"]
    return spec["topologySpreadConstraints"][0]["labelSelector"] if "topologySpreadConstraints" in spec else None


def create_service(plane, namespace, **labels) -> None:
    """A Service that selects app=web and these labels."""
    made = service("-".join(["web", *labels]), namespace=namespace)
    spec = {"clusterIP": "None", "selector": {"app": "web", **labels}}
    plane.api.call("POST", f"/api/v1/namespaces/{namespace}/services", made | {"spec": spec})


def follows(plane, running, namespace, **labels) -> None:
    """Wait until a Service that is created now gives a Pod its selector, without a look-up: the view is current."""
    create_service(plane, namespace, **labels)
    wanted = {"matchLabels": {"app": "web", **labels}}
    until(lambda: selector(plane, namespace, labels={"app": "web", **labels}) == wanted, "defaults from a new Service")
    until(lambda: knows(plane, running, namespace), "the namespace")


def knows(plane, running, namespace) -> bool:
    """Whether a watch has told of a namespace: then none is looked up."""
    before = lookups(running)
    selector(plane, namespace)
    return before == lookups(running)


def lookups(running) -> float:
    """How many namespaces were looked up so far, at a pace at which the health port makes its metrics anew."""
    time.sleep(2 / TEXTS)
    return running.metric(LOOKUPS.format("Namespace", "found"))


def verbose(running) -> str:
    status, body = running.probe("/readyz?verbose")
    assert 200 == status, body
    return body.decode()


def ages(running) -> list[float]:
    return [running.metric(f'evenkeel_cache_age_seconds{{kind="{kind}"}}') for kind in KINDS]


def failures(running) -> list[float]:
    return [running.metric(f'evenkeel_cache_watch_failures_total{{kind="{kind}"}}') for kind in KINDS]


def bring_back(plane) -> None:
    """The API server; the controller manager may wait a minute before it asks again, and is not what is tested."""
    plane.apiserver.start()
    plane.controller_manager.restart()


def test_pods_are_created_while_evenkeel_is_killed_and_get_defaults_once_it_is_back(plane, running, namespace):
    follows(plane, running, namespace)
    send(running, SIGKILL)
    running.process.wait()

    assert [None] * 5 == [selector(plane, namespace) for _ in range(5)]
    create_service(plane, namespace, tier="gold")
    output = plane.apply(containers(workload("Deployment", constraint(labelSelector={}), namespace=namespace)))
    assert (0, "deployment.apps/web created\n", "") == output

    running.start()
    gold = {"app": "web", "tier": "gold"}
    assert {"matchLabels": gold} == selector(plane, namespace, labels=gold)
    assert 2 == len(running.lines("cluster synced"))
    assert "last response: Node" in verbose(running)


def test_pods_are_created_while_evenkeel_hangs(plane, running, namespace):
    follows(plane, running, namespace)
    send(running, SIGSTOP)
    try:
        assert selector(plane, namespace) is None
    finally:
        send(running, SIGCONT)

    assert {"matchLabels": {"app": "web"}} == selector(plane, namespace)


@pytest.fixture
def no_replicasets(plane, running) -> Iterator[None]:
    """No watch tells evenkeel of ReplicaSets any more; a single one it may still get."""
    rules = plane.api.call("GET", ROLE)["rules"]
    less = [{"apiGroups": ["apps"], "resources": ["replicasets"], "verbs": ["get"]}]
    less += [one | {"resources": [kind for kind in one["resources"] if kind != "replicasets"]} for one in rules]
    plane.api.call("PATCH", ROLE, {"rules": less}, MERGE)
    plane.apiserver.stop()  # which ends the watch that stands
    bring_back(plane)
    until(lambda: "403 replicasets.apps is forbidden" in verbose(running), "the refusal")
    yield
    plane.api.call("PATCH", ROLE, {"rules": rules}, MERGE)


def test_a_pod_whose_replicaset_no_watch_has_told_of_gets_its_defaults(plane, running, no_replicasets, namespace):
    found = running.metric(LOOKUPS.format("ReplicaSet", "found"))

    plane.apply(containers(workload("ReplicaSet", spec={"replicas": 1}, namespace=namespace)))
    until(lambda: pods(plane, namespace), "the ReplicaSet's Pod")

    (made,) = pods(plane, namespace)
    assert "policy; selector from ReplicaSet/web" == made["metadata"]["annotations"]["evenkeel.dev/defaulted-by"]
    assert found + 1 == running.metric(LOOKUPS.format("ReplicaSet", "found"))


def test_evenkeel_follows_an_api_server_that_restarts(plane, running, namespace):
    follows(plane, running, namespace)
    plane.apiserver.stop()
    try:
        until(lambda: verbose(running).count("Connection refused") == len(KINDS), "the loss of each watch")
        before = ages(running)
        until(lambda: all(map(float.__gt__, ages(running), before)), "the view growing older")
        assert all(failures(running))
        assert {line["kind"] for line in running.lines("watch failed")} == set(KINDS)
    finally:
        bring_back(plane)

    follows(plane, running, namespace, tier="gold")
    until(lambda: {line["kind"] for line in running.lines("watch resumed")} == set(KINDS), "each watch")
    until(lambda: "Connection refused" not in verbose(running), "no problem that is shown")


def test_evenkeel_answers_from_its_last_view_while_etcd_is_gone(plane, running, namespace):
    follows(plane, running, namespace)
    failed = running.metric(LOOKUPS.format("ReplicaSet", "failed"))
    plane.etcd.stop(SIGKILL)
    time.sleep(SECONDS)
    try:
        assert "last response: Node" in verbose(running)
        late = request(pod(namespace=namespace, **owned_by("ReplicaSet/late")), userInfo={"username": MANAGER})
        notes = running.review("/mutate", review(request=late))[1]["auditAnnotations"]
        assert "policy; selector from Service/web" == notes["defaulted"]
        assert failed + 1 == running.metric(LOOKUPS.format("ReplicaSet", "failed"))
    finally:
        plane.etcd.start()
        plane.apiserver.await_ready()

    follows(plane, running, namespace, tier="gold")
