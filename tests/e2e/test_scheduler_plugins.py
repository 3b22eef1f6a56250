"""Which plugins of a KubeSchedulerConfiguration kube-scheduler itself starts with; evenkeel refuses the same."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.e2e import programs
from tests.e2e.configuration import kubeconfig, kubeconfig_name, scheduler
from tests.support.scheduler_plugins import CASES
from tests.support.serving import free_ports

STARTS = "Starting Kubernetes Scheduler"  # which it says once it has made its profiles, and asks no API server before.


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A kubeconfig of an API server that does not answer."""
    folder, (port,) = tmp_path_factory.mktemp("scheduler"), free_ports(1)
    user = kubeconfig(folder, port, "system:kube-scheduler", "none")
    user["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{port}"}
    (folder / kubeconfig_name("system:kube-scheduler")).write_text(json.dumps(user))
    return folder


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_kube_scheduler_refuses_what_evenkeel_refuses(folder, case):
    named = [{"schedulerName": "default-scheduler", **profile} for profile in case.profiles]
    (folder / "scheduler.json").write_text(json.dumps(scheduler(folder, {"profiles": named})))
    flags = [f"--config={folder / 'scheduler.json'}", "--secure-port=0", "--authentication-skip-lookup"]
    program = programs.folder() / "kube-scheduler"
    with subprocess.Popen([program, *flags], stderr=subprocess.PIPE, text=True) as process:
        started = any(STARTS in line for line in process.stderr)  # or it ends
        process.kill()

    assert started == (not case.refused)
