"""From the commit before to this one and back, chart and program, under load: no call is lost, whoever certifies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from time import sleep
from typing import NamedTuple

import pytest
import yaml

from tests.e2e import programs
from tests.e2e.helm import NAMESPACE, helm
from tests.e2e.release import NEEDS_AN_OPERATOR, issue, played, trusted
from tests.e2e.replicas import PAUSE, Balancer, Load
from tests.e2e.webhook import CONFIGURATIONS
from tests.support import ROOT
from tests.support.serving import until
from webhook.cli.main import main

PREVIOUS = os.environ.get("PREVIOUS", "HEAD^")  # Any commit that git knows.
MODES = ("self-managed", "cert-manager", "own")


class Version(NamedTuple):
    """A chart, and where its program is imported from."""

    chart: Path
    program: Path


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    """What the commit before has: its chart, and the wheel that is built of it."""
    archive = subprocess.run(["git", "-C", ROOT, "archive", PREVIOUS], capture_output=True)
    if archive.returncode:
        pytest.skip(f"git has no {PREVIOUS} here: clone with the history")
    folder = tmp_path_factory.mktemp("before")
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
        files.extractall(folder / "source", filter="data")
    wheels = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder / "wheels", folder / "source"]
    subprocess.run([sys.executable, *wheels], check=True)
    (wheel,) = (folder / "wheels").iterdir()
    with zipfile.ZipFile(wheel) as files:
        files.extractall(folder / "program")
    return Version(folder / "source" / "charts" / "evenkeel", folder / "program")


def rendered(version, values, port):
    """What the chart makes, with a Service that leads to a port of this machine."""
    where = ["--namespace", NAMESPACE, "--kube-version", programs.version(), "--no-hooks", "--values", "-"]
    objects = yaml.safe_load_all(helm("template", "evenkeel", version.chart, *where, given=json.dumps(values)))
    for obj in filter(None, objects):
        if obj["apiVersion"].partition("/")[0] in NEEDS_AN_OPERATOR:
            continue
        if obj["kind"] == "Service":
            obj["spec"] |= {"type": "ExternalName", "externalName": "127.0.0.1"}
        for entry in obj.get("webhooks", ()):
            entry["clientConfig"]["service"]["port"] = port
        yield obj


class Cluster:
    """Replicas of one version after the other, in the place of a Deployment."""

    def __init__(self, plane, values, folder, balancer):
        self.plane, self.values, self.folder, self.balancer = plane, values, folder, balancer
        self.running = []

    def apply(self, version):
        output = self.plane.apply(*rendered(version, self.values, self.balancer.port))
        assert 0 == output.code, output.stderr

    def start(self, version):
        stack = ExitStack()
        (folder := self.folder / f"replica-{len(list(self.folder.iterdir()))}").mkdir()
        replica = stack.enter_context(played(self.plane, folder, version.program))
        self.balancer.endpoints.append(replica.port)
        self.running.append((replica, stack))

    def stop(self):
        """Stop the oldest, as a kubelet does; it has answered calls."""
        replica, stack = self.running.pop(0)
        until(lambda: reviews(replica) > 0, "a call that is answered")
        self.balancer.endpoints.remove(replica.port)
        sleep(PAUSE)
        stack.close()

    def change_to(self, version):
        """One more, then one less, for each."""
        self.apply(version)
        for _ in range(2):
            self.start(version)
            self.stop()


def reviews(replica):
    lines = replica.probe("/metrics")[1].decode().splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("evenkeel_requests_total{"))


def report(what, calls):
    print(f"{what}: {len(calls.seconds)} calls, {len(calls.lost)} lost, the slowest took {max(calls.seconds):.2f} s")
    assert len(calls.seconds) > 20, "there was no load"
    assert [] == calls.lost


@pytest.mark.parametrize("mode", MODES)
def test_no_call_is_lost_by_an_upgrade_nor_by_its_rollback(plane, before, tmp_path, mode):
    """With failurePolicy Fail, so that each would be an object refused."""
    now = Version(ROOT / "charts" / "evenkeel", ROOT)
    assert 0 == main(["certs", "issue", "--dir", str(tmp_path), "--name", f"evenkeel.{NAMESPACE}.svc"])
    own = {"existingSecret": "own-tls", "caBundle": (tmp_path / "ca.crt").read_text("utf-8")} if mode == "own" else {}
    values = {"failurePolicy": "Fail", "certificate": {"mode": mode, **own}}
    for namespace in (NAMESPACE, "load"):
        plane.create_namespace(namespace)
    with ExitStack() as stack:
        stack.callback(plane.kubectl, "delete", "namespace", NAMESPACE, "load")
        stack.callback(plane.kubectl, "delete", "--ignore-not-found", *CONFIGURATIONS)
        balancer = Balancer()
        stack.callback(balancer.close)
        (tmp_path / "replicas").mkdir()
        cluster = Cluster(plane, values, tmp_path / "replicas", balancer)
        stack.callback(lambda: [each.close() for _, each in cluster.running])
        cluster.apply(before)
        if mode != "self-managed":
            issue(plane, mode, tmp_path)
        for _ in range(2):
            cluster.start(before)
        assert trusted(plane)
        load = stack.enter_context(Load(plane.api, "load"))
        until(lambda: not load.during(lambda: None).lost, "calls that are answered")

        report(f"{mode}: upgrade", load.during(lambda: cluster.change_to(now)))
        report(f"{mode}: rollback", load.during(lambda: cluster.change_to(before)))
