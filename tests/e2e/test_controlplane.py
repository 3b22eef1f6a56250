"""The control plane behaves as a cluster does, recovers as a cluster does, and leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL

import pytest

from tests.e2e import programs
from tests.e2e.component import ComponentError
from tests.support import ROOT
from tests.support.build import constraint, workload
from tests.support.serving import until

pytestmark = pytest.mark.slow  # It is of what these tests stand on.

UP_AND_WAITING = """
import signal, sys
from pathlib import Path
from tests.e2e.plane import ControlPlane

with ControlPlane(Path(sys.argv[1])):
    print("up", flush=True)
    signal.pause()
"""


def deployment(namespace, *constraints):
    """Three replicas that the API server accepts: it wants containers."""
    made = workload("Deployment", *constraints, namespace=namespace)
    made["spec"]["template"]["spec"]["containers"] = [{"name": "web", "image": "web"}]
    return made


def roll_out(plane, namespace):
    """Create the Deployment and wait for its Pods to be ready."""
    assert plane.apply(deployment(namespace, constraint())).stdout == "deployment.apps/web created\n"
    output = plane.kubectl("rollout", "status", "deployment/web", "-n", namespace, "--timeout=60s")
    assert output.stdout.endswith("successfully rolled out\n"), output


def pods(plane, namespace):
    return plane.api.call("GET", f"/api/v1/namespaces/{namespace}/pods")["items"]


def processes(folder):
    """The command lines that name something in `folder`, as every component's does; a zombie has none."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(entry.read_bytes())
    return [one for one in found if bytes(folder) in one]


def test_nodes_are_ready_and_untainted(plane):
    output = plane.kubectl(
        "get", "nodes", "-o", "custom-columns=TAINTS:.spec.taints,READY:.status.conditions[0].status"
    )

    assert ["<none> True"] * 9 == [" ".join(line.split()) for line in output.stdout.splitlines()[1:]]


def test_all_components_are_of_the_version_that_was_built(plane):
    output = plane.kubectl("version")

    assert [str(programs.version())] * 2 == [output.stdout.split()[at] for at in (2, -1)]


def test_a_deployment_rolls_out_over_the_zones(plane, namespace):
    roll_out(plane, namespace)

    assert {"a", "b", "c"} == {pod["spec"]["nodeName"].rstrip("123") for pod in pods(plane, namespace)}


def test_kubectl_shows_pods_that_run(plane, namespace):
    roll_out(plane, namespace)

    output = plane.kubectl("get", "pods", "-n", namespace, "--no-headers")
    assert [["1/1", "Running", "0"]] * 3 == [line.split()[1:4] for line in output.stdout.splitlines()]


def test_deleted_pods_go_and_are_replaced(plane, namespace):
    roll_out(plane, namespace)
    before = {pod["metadata"]["uid"] for pod in pods(plane, namespace)}

    output = plane.kubectl("delete", "pods", "--all", "-n", namespace, "--timeout=60s")

    assert (0, 3) == (output.code, output.stdout.count("deleted")), output
    until(lambda: len(pods(plane, namespace)) == 3, "three Pods")
    assert not before & {pod["metadata"]["uid"] for pod in pods(plane, namespace)}


def test_a_deleted_namespace_goes_with_its_pods(plane, namespace):
    roll_out(plane, namespace)

    output = plane.kubectl("delete", "namespace", namespace, "--timeout=60s")

    assert 0 == output.code, output
    assert not plane.api.exists(f"/api/v1/namespaces/{namespace}")


def test_the_scheduler_can_be_given_a_configuration(plane, namespace):
    """Here, defaults that no node meets: they apply to Pods of a ReplicaSet."""
    defaults = {
        "defaultingType": "List",
        "defaultConstraints": [{"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}],
    }
    plugin = {"name": "PodTopologySpread", "args": defaults}
    plane.configure_scheduler(profiles=[{"schedulerName": "default-scheduler", "pluginConfig": [plugin]}])
    try:
        plane.apply(deployment(namespace))
        until(lambda: len(pods(plane, namespace)) == 3, "three Pods")
        wait = ("wait", "--for=condition=PodScheduled=False", "pods", "--all", "-n", namespace, "--timeout=60s")
        assert 0 == plane.kubectl(*wait).code
        messages = [pod["status"]["conditions"][0]["message"] for pod in pods(plane, namespace)]
        assert all("topology spread constraints (missing required label)" in message for message in messages), messages
    finally:
        plane.configure_scheduler()
    output = plane.kubectl("rollout", "status", "deployment/web", "-n", namespace, "--timeout=60s")
    assert 0 == output.code, output


def test_a_component_that_does_not_start_shows_the_end_of_its_log(plane):
    with pytest.raises(
        ComponentError, match=r"kube-scheduler ended by itself with 1:\n(.*\n)*.*unknown field.*nonsense"
    ):
        plane.configure_scheduler(nonsense=True)

    plane.configure_scheduler()


def test_all_recovers_when_etcd_is_back(plane, namespace):
    plane.etcd.stop(SIGKILL)
    assert 0 != plane.kubectl("get", "--raw", "/readyz").code

    plane.etcd.start()
    plane.apiserver.await_ready()
    roll_out(plane, namespace)


def test_all_recovers_when_the_api_server_is_back(plane, namespace):
    plane.apiserver.stop()
    output = plane.kubectl("get", "pods")
    assert (1, "") == output[:2]
    assert "refused" in output.stderr

    plane.apiserver.start()
    roll_out(plane, namespace)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends the children of what is killed")
def test_nothing_runs_on_when_the_tests_are_killed(tmp_path):
    command = [sys.executable, "-c", UP_AND_WAITING, tmp_path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as tests:
        try:
            assert tests.stdout.readline() == b"up\n"
            assert 5 == len(processes(tmp_path))  # this one, and four components
        finally:
            tests.kill()

    until(lambda: not processes(tmp_path), "all processes to be gone")
