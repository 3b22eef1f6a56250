"""The Pods of the chart that run `evenkeel report`, as processes with their arguments, policy, account and rights."""

from __future__ import annotations

import re
import signal
import subprocess
from contextlib import contextmanager

import pytest

from tests.e2e import custom, openreports
from tests.e2e.api import MERGE
from tests.e2e.helm import NAMESPACE, render
from tests.e2e.openreports import PATH
from tests.e2e.release import Container
from tests.e2e.words import EMPTY, deployment
from tests.support.build import constraint
from tests.support.serving import PATIENCE, Running, until
from webhook.objects.kinds import KINDS, Kind

NAME = "evenkeel-report"
ROLE = f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{NAME}"
FLEET = {"apiVersion": "a.io/v1", "kind": "Fleet", "resource": "fleets", "podTemplate": "spec.template"}
VALUES = {
    "policy": {"workloads": [FLEET]},
    "report": {"openReports": {"enabled": True}, "metrics": {"enabled": True, "interval": 5}},
}


@pytest.fixture(scope="module", autouse=True)
def installed(plane):
    """The chart's account, rights, policy, CronJob and Deployment, where every kind is served that it may list."""
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


def of_the_cron_job(plane, job, folder):
    """What a Pod runs that the Job controller has made of the chart's CronJob."""
    assert 0 == plane.kubectl("create", "job", job, f"--from=cronjob/{NAME}", "-n", NAMESPACE).code
    return Container(plane, made(plane, f"batch.kubernetes.io/job-name={job}"), folder)


def made(plane, selected):
    """The spec of the Pod with these labels."""
    path = f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector={selected}"
    return until(lambda: plane.api.call("GET", path)["items"], "a Pod")[0]["spec"]


def ended(container):
    return subprocess.run(container.command, env=container.environment, capture_output=True, text=True)


@pytest.fixture
def findings(plane, namespace):
    """A namespace with a Deployment that has findings."""
    assert 0 == plane.apply(deployment(namespace, EMPTY)).code
    return namespace


@pytest.fixture
def definitions(plane, tmp_path):
    (tmp_path / "module").mkdir()
    openreports.define(plane, tmp_path / "module")


def test_the_cron_job_publishes_and_is_forbidden_nothing(plane, definitions, findings, tmp_path):
    container = of_the_cron_job(plane, findings, tmp_path)
    assert {"--all-namespaces", "--cluster=live", "--output=openreports", "--apply"} <= {*container.command}
    first, again = ended(container), ended(container)

    assert (0, "") == (first.returncode, first.stderr)
    assert re.fullmatch("[1-9][0-9]* reports.openreports.io written, 0 unchanged, 0 deleted\n", first.stdout)
    assert ["Deployment"] == [one["scope"]["kind"] for one in plane.api.call("GET", PATH.format(findings))["items"]]
    assert re.fullmatch("0 reports.openreports.io written, [1-9][0-9]* unchanged, 0 deleted\n", again.stdout)
    good = constraint(nodeTaintsPolicy="Honor", matchLabelKeys=["pod-template-hash"])
    assert 0 == plane.apply(deployment(findings, good)).code
    assert ", 1 deleted\n" in ended(container).stdout


def test_who_may_view_a_namespace_may_read_the_reports_there(plane, definitions, findings):
    """As kube-controller-manager aggregates roles into view."""
    asked = ("auth", "can-i", "list", "reports.openreports.io", "--as", "jane", "-n")
    assert 0 == plane.kubectl("create", "rolebinding", "jane", "--clusterrole=view", "--user=jane", "-n", findings).code

    until(lambda: plane.kubectl(*asked, findings).code == 0, "the role to be aggregated")
    assert 0 != plane.kubectl(*asked, NAMESPACE).code


@pytest.mark.parametrize(
    ("resource", "code", "said"),
    [
        ("pods", 0, "note: pods cannot be listed: "),
        ("fleets.a.io", 0, "note: fleets.a.io cannot be listed: "),
        ("reports.openreports.io", 2, "ask for the rights to list, create, patch and delete reports.openreports.io"),
    ],
)
def test_a_right_that_is_taken_away_is_missed(plane, definitions, findings, tmp_path, resource, code, said):
    container = of_the_cron_job(plane, findings, tmp_path)
    with without(plane, resource):
        done = ended(container)

    assert code == done.returncode
    assert said in done.stderr


def test_while_a_right_is_missed_no_report_is_deleted(plane, definitions, findings, tmp_path):
    """What cannot be read may have findings."""
    container, reports = of_the_cron_job(plane, findings, tmp_path), PATH.format(findings)
    assert 0 == ended(container).returncode
    with without(plane, "deployments"):
        done = ended(container)

    assert done.stdout.endswith(", 0 deleted\n")
    assert (
        "note: reports without findings are not deleted, because not all of the cluster could be read\n"
    ) in done.stderr
    assert "Deployment" in [one["scope"]["kind"] for one in plane.api.call("GET", reports)["items"]]


def test_the_metrics_are_served_and_nothing_is_forbidden(plane, findings, tmp_path):
    """As the probe of the container asks, and as Prometheus does."""
    spread = constraint(labelSelector={"matchLabels": {"app": "web"}})
    assert 0 == plane.apply(deployment(findings, spread)).code
    spec = made(plane, "app.kubernetes.io/part-of=metrics")
    container, probe = Container(plane, spec, tmp_path), spec["containers"][0]["readinessProbe"]["httpGet"]
    skew = re.compile(
        rf'^evenkeel_workload_skew{{.*group="apps",kind="Deployment",namespace="{findings}",.*workload="web"}} ', re.M
    )
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(container.command, stdout=log, stderr=log, env=container.environment)
    running = Running((), {}, "", 0, "", tmp_path / "log", process, health=container.ports[probe["port"]])
    try:
        until(lambda: answered(running, probe["path"]) == 200, "a report")
        until(lambda: len(skew.findall(running.probe("/metrics")[1].decode())) == 1, "the skew of the Deployment")
        read_at = running.metric("evenkeel_report_timestamp_seconds")
        until(lambda: running.metric("evenkeel_report_timestamp_seconds") > read_at, "the next report")
        assert 0 == running.metric("evenkeel_report_failures_total")
        assert "" == (tmp_path / "log").read_text("utf-8")
        process.send_signal(signal.SIGTERM)
        assert 0 == process.wait(PATIENCE)
    finally:
        process.kill()
        process.wait(PATIENCE)


def answered(running, path):
    """The status, 0 while nothing listens."""
    try:
        return running.probe(path)[0]
    except OSError:
        return 0
