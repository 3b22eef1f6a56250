"""The Pod of the chart that runs `evenkeel report`, as a process with its arguments, policy, account and rights."""

from __future__ import annotations

import re
import signal
import subprocess
from contextlib import contextmanager

import pytest

from tests.e2e import custom, programs
from tests.e2e.api import MERGE
from tests.e2e.helm import NAMESPACE, render
from tests.e2e.release import Container
from tests.e2e.words import EMPTY, deployment
from tests.support.build import constraint
from tests.support.serving import PATIENCE, Running, until
from webhook.kubernetes.kinds import KINDS, Kind

NAME = "evenkeel-report"
ROLE = f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{NAME}"
FLEET = {"apiVersion": "a.io/v1", "kind": "Fleet", "resource": "fleets", "podTemplate": "spec.template"}
VALUES = {
    "policy": {"workloads": [FLEET]},
    "report": {"metrics": {"enabled": True, "interval": 5}},
}


@pytest.fixture(scope="module", autouse=True)
def installed(plane):
    """The chart's account, rights, policy and Deployment, where every kind is served that it may list."""
    plane.create_namespace(NAMESPACE)
    fleet = Kind(FLEET["apiVersion"], FLEET["kind"], FLEET["resource"], built_in=False)
    of_each_group = {(kind.api_group, kind.resource): kind for kind in (*KINDS, fleet) if not kind.built_in}
    custom.define(plane, *of_each_group.values())
    output = plane.apply(*render(VALUES, only="policy"), *render(VALUES, only="report"))
    assert 0 == output.code, output
    until(lambda: may_list(plane, "pods"), "the API server to know of the rights")


def may_list(plane, resource):
    """Whether the account may, as far as the API server has heard of it."""
    account = f"system:serviceaccount:{NAMESPACE}:{NAME}"
    return plane.kubectl("auth", "can-i", "list", resource, "--all-namespaces", "--as", account).code == 0


@contextmanager
def without(plane, full):
    """The account without its rights to a resource, `full` with its group."""
    resource = full.partition(".")[0]
    rules = plane.api.call("GET", ROLE)["rules"]
    less = [{**rule, "resources": [one for one in rule["resources"] if one != resource]} for rule in rules]
    plane.api.call("PATCH", ROLE, {"rules": [rule for rule in less if rule["resources"]]}, MERGE)
    until(lambda: not may_list(plane, full), "the API server to know of it")
    yield
    plane.api.call("PATCH", ROLE, {"rules": rules}, MERGE)
    until(lambda: may_list(plane, full), "the API server to know of it")


def made(plane, selected):
    """The spec of the Pod with these labels."""
    path = f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector={selected}"
    return until(lambda: plane.api.call("GET", path)["items"], "a Pod")[0]["spec"]


@pytest.fixture
def findings(plane, namespace):
    """A namespace with a Deployment that has findings."""
    assert 0 == plane.apply(deployment(namespace, EMPTY)).code
    return namespace


@contextmanager
def served(plane, folder):
    """The container as a process that has made a report; at the end it exits with 0."""
    spec = made(plane, "app.kubernetes.io/component=report")
    container, probe = Container(plane, spec, folder), spec["containers"][0]["readinessProbe"]["httpGet"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(container.command, stdout=log, stderr=log, env=container.environment)
    running = Running((), {}, "", 0, "", folder / "log", process, health=container.ports[probe["port"]])
    try:
        until(lambda: answered(running, probe["path"]) == 200, "a report")
        yield running
        process.send_signal(signal.SIGTERM)
        assert 0 == process.wait(PATIENCE)
    finally:
        process.kill()
        process.wait(PATIENCE)


def test_the_metrics_are_served_and_nothing_is_forbidden(plane, findings, tmp_path):
    """As the probe of the container asks, and as Prometheus does."""
    spread = constraint(labelSelector={"matchLabels": {"app": "web"}})
    assert 0 == plane.apply(deployment(findings, spread)).code
    skew = re.compile(
        rf'^evenkeel_workload_skew{{.*group="apps",kind="Deployment",namespace="{findings}",.*workload="web"}} ', re.M
    )
    with served(plane, tmp_path) as running:
        until(lambda: len(skew.findall(running.probe("/metrics")[1].decode())) == 1, "the skew of the Deployment")
        read_at = running.metric("evenkeel_report_timestamp_seconds")
        until(lambda: running.metric("evenkeel_report_timestamp_seconds") > read_at, "the next report")
        assert 0 == running.metric("evenkeel_report_failures_total")
        logged = (tmp_path / "log").read_text("utf-8").splitlines()
        assert not [line for line in logged if "a pre-release of Kubernetes" not in line]
        assert bool(programs.version().pre_release) == bool(logged)


@pytest.mark.parametrize("resource", ["pods", "fleets.a.io"])
def test_a_right_that_is_taken_away_is_missed(plane, tmp_path, resource):
    with without(plane, resource), served(plane, tmp_path):
        assert f"note: {resource} cannot be listed: " in (tmp_path / "log").read_text("utf-8")


def answered(running, path):
    """The status, 0 while nothing listens."""
    try:
        return running.probe(path)[0]
    except OSError:
        return 0
