"""While evenkeel is down, nothing enforced passes with failurePolicy Fail for it, and Pods start all the same."""

from __future__ import annotations

from signal import SIGKILL

import pytest

from tests.e2e.api import MERGE, ApiError
from tests.e2e.placement import pods
from tests.e2e.webhook import containers, installed, send
from tests.support.build import constraint, pod, workload
from tests.support.serving import until

POLICY = {"rules": {"excessive-max-skew": {"severity": "error", "enforced": True, "maxSkew": 5}}}
CALL = 'failed calling webhook "enforced.{}.evenkeel.dev"'


@pytest.fixture(scope="module")
def running(plane, tmp_path_factory):
    with installed(plane, tmp_path_factory.mktemp("webhook"), policy=POLICY, enforced="Fail") as running:
        yield running


def web(namespace, kind="Deployment", name="web", most=5):
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}} if kind != "Job" else {}
    return containers(workload(kind, constraint(maxSkew=most), name=name, namespace=namespace, spec=spec))


def create(plane, namespace, made):
    return plane.api.call("POST", f"/api/v1/namespaces/{namespace}/pods", containers(made))


def names(plane, namespace):
    return {one["metadata"]["name"] for one in pods(plane, namespace)}


def test_what_is_enforced_fails_closed_and_pods_start(plane, running, namespace):
    assert 'admission webhook "enforced.workloads.evenkeel.dev" denied' in plane.apply(web(namespace, most=6)).stderr
    assert 0 == plane.apply(web(namespace)).code
    first = until(lambda: names(plane, namespace), "the Deployment's Pod")

    send(running, SIGKILL)
    running.process.wait()
    try:
        for kind, entry in (("Deployment", "workloads"), ("ReplicaSet", "workloads"), ("Job", "workloads")):
            assert CALL.format(entry) in plane.apply(web(namespace, kind, "other")).stderr
        with pytest.raises(ApiError, match=r"enforced\.pods\.evenkeel\.dev"):
            create(plane, namespace, pod(constraint(), name="by-hand", namespace=namespace))
        create(plane, namespace, pod(name="without", namespace=namespace))  # No enforced rule looks at it.

        deployment = f"/apis/apps/v1/namespaces/{namespace}/deployments/web"
        plane.api.call("PATCH", f"{deployment}/scale", {"spec": {"replicas": 3}}, MERGE)
        until(lambda: len(names(plane, namespace) - {"without"}) == 3, "the Deployment to be scaled")
        for name in first:
            plane.api.call("DELETE", f"/api/v1/namespaces/{namespace}/pods/{name}", {"gracePeriodSeconds": 0})
        until(lambda: len(names(plane, namespace) - first - {"without"}) == 3, "the Pod to be replaced")
    finally:
        running.start()
    until(lambda: plane.apply(web(namespace, "ReplicaSet", "other")).code == 0, "evenkeel to be asked again")
