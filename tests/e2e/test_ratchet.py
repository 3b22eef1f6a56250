"""evenkeel comes to a cluster in which bad workloads run already: they go on working, and nothing new gets in."""

from __future__ import annotations

import json

import pytest

from tests.e2e.webhook import installed
from tests.e2e.words import EMPTY, SELECT, denial, empty_selector, of, old_empty, pods_of, rolled_out
from tests.support.build import HOSTNAME, constraint
from tests.support.serving import until

NAMESPACE = "shop"
IN = ("-n", NAMESPACE)
NAMES = {"deployment": "Deployment", "statefulset": "StatefulSet"}
REPLICAS = 3


@pytest.fixture(scope="module", autouse=True)
def running(plane, tmp_path_factory):
    """A bad Deployment, StatefulSet and CronJob run; then there is evenkeel, and what it cannot answer is refused."""
    plane.create_namespace(NAMESPACE)
    for kind in ("Deployment", "StatefulSet", "CronJob"):
        app = {"app": kind.lower()}
        assert 0 == plane.apply(of(kind, NAMESPACE, EMPTY, labels=app, spec={"selector": {"matchLabels": app}})).code
    assert rolled_out(plane, NAMESPACE, "deployment/web") and rolled_out(plane, NAMESPACE, "statefulset/web")
    with installed(plane, tmp_path_factory.mktemp("webhook"), failure_policy="Fail") as running:
        yield running


def pods(plane, app):
    return pods_of(plane, NAMESPACE, app)


def patched(plane, what, operation, path, value):
    patch = [{"op": operation, "path": f"/spec/template/spec/topologySpreadConstraints{path}", "value": value}]
    return plane.kubectl("patch", f"{what}/web", *IN, "--type=json", "-p", json.dumps(patch))


def write(what):
    return f"write labelSelector: {{matchLabels: {{app: {what}}}}}"


def web(what):
    return f"{NAMES[what]} {NAMESPACE}/web"


def old(what):
    """The warning of the error that was there before."""
    return old_empty(web(what), write(what))


each_kind = pytest.mark.parametrize("what", ["deployment", "statefulset"])


@each_kind
@pytest.mark.parametrize(
    ("command", "done", "said"),
    [
        (["scale", "{}/web", "--replicas=4"], "scaled", False),
        (["scale", "{}/web", f"--replicas={REPLICAS}"], "scaled", False),
        (["label", "{}/web", "team=a"], "labeled", False),
        (["annotate", "{}/web", "note=a"], "annotated", False),
        (["rollout", "restart", "{}/web"], "restarted", True),
        (["set", "image", "{}/web", "web=web:2"], "image updated", True),
        (["set", "env", "{}/web", "A=b"], "env updated", True),
    ],
    ids=["scale up", "scale down", "label", "annotate", "restart", "another image", "a variable"],
)
def test_what_was_bad_before_can_be_worked_on(plane, what, command, done, said):
    output = plane.kubectl(*(word.format(what) for word in command), *IN)

    assert (0, f"{what}.apps/web {done}\n", old(what) if said else "") == output
    assert rolled_out(plane, NAMESPACE, f"{what}/web")


@each_kind
def test_its_pods_are_replaced(plane, what):
    before = pods(plane, what)
    assert 0 == plane.kubectl("delete", "pods", "-l", f"app={what}", *IN).code

    until(lambda: len(pods(plane, what)) == REPLICAS and not before.keys() & pods(plane, what).keys(), "new Pods")
    assert rolled_out(plane, NAMESPACE, f"{what}/web")
    kept = [one["spec"]["topologySpreadConstraints"] for one in pods(plane, what).values()]
    assert [[EMPTY]] * REPLICAS == kept


@each_kind
def test_a_second_error_beside_the_old_one_is_denied(plane, what):
    output = patched(plane, what, "add", "/-", EMPTY | {"topologyKey": HOSTNAME})

    assert (1, "", old(what) + denial(empty_selector(web(what), index=1, fix=write(what)), doing="")) == output


@each_kind
@pytest.mark.parametrize(("field", "value"), [("whenUnsatisfiable", "ScheduleAnyway"), ("topologyKey", HOSTNAME)])
def test_a_constraint_with_an_old_error_may_be_relaxed_or_get_another_key(plane, what, field, value):
    output = patched(plane, what, "replace", f"/0/{field}", value)

    assert (0, f"{what}.apps/web patched\n", old(what)) == output
    assert rolled_out(plane, NAMESPACE, f"{what}/web")


def test_a_cron_job_goes_on_and_a_job_can_be_triggered(plane):
    create = plane.kubectl("create", "job", "now", "--from=cronjob/web", *IN)
    label = plane.kubectl("label", "cronjob/web", "team=a", *IN)
    image = plane.kubectl("set", "image", "cronjob/web", "web=web:2", *IN)

    assert (0, "job.batch/now created\n", "") == create
    assert (0, "cronjob.batch/web labeled\n", "") == label
    assert (0, "cronjob.batch/web image updated\n", old_empty(f"CronJob {NAMESPACE}/web", SELECT)) == image
    assert 0 == plane.kubectl("wait", "--for=jsonpath={.status.ready}=1", "job/now", *IN, "--timeout=60s").code


@each_kind
def test_a_rollback_to_a_bad_revision_is_denied_and_nothing_changes(plane, what):
    """It brings the error in anew, and it is a person who does it."""
    good = constraint(labelSelector={"matchLabels": {"app": what}})
    assert (0, f"{what}.apps/web patched\n", "") == patched(plane, what, "replace", "", [good])
    assert rolled_out(plane, NAMESPACE, f"{what}/web")

    output = plane.kubectl("rollout", "undo", f"{what}/web", *IN)

    said = denial(empty_selector(web(what), fix=write(what)), doing="").removeprefix("Error from server (Forbidden): ")
    assert 1 == output.code
    assert output.stderr.endswith(f"error: failed restoring revision 0: {said}")
    assert [[good]] * REPLICAS == [one["spec"]["topologySpreadConstraints"] for one in pods(plane, what).values()]
