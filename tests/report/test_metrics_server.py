"""evenkeel report --metrics-bind: it reads the cluster again and again, and serves what it found last."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest

from evenkeel.report.metrics_server import LATE, Exposed, ReportError
from tests.support.build import constraint
from tests.support.reporting import ZONES, deployment, pods, report
from tests.support.serving import free_ports, until

CLUSTER = {"apiVersion": "v1", "kind": "List", "items": [*ZONES, *deployment(constraint()), *pods("a1", "a1")]}


class Clock:
    def __init__(self):
        self.now = 1_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def exposed():
    return Exposed(60, Clock())


def asked(exposed, path, method="GET"):
    response = exposed.app().test_client().open(path, method=method)
    return response.status_code, response.text


def failing():
    raise ReportError("--cluster live: no answer")


def test_it_is_healthy_once_the_cluster_was_read_and_for_some_time(exposed):
    assert 503 == asked(exposed, "/healthz")[0]
    exposed.read(lambda: (report(), ()))
    assert (200, "ok\n") == asked(exposed, "/healthz")
    exposed.clock.now += LATE * 60
    assert (200, "ok\n") == asked(exposed, "/healthz")
    exposed.clock.now += 1
    assert 503 == asked(exposed, "/healthz")[0]


def test_where_the_cluster_cannot_be_read_the_last_report_is_served(exposed, capsys):
    exposed.read(lambda: (report(*ZONES, *deployment(constraint()), *pods("a1")), ()))
    before = asked(exposed, "/metrics")[1]
    exposed.read(failing)
    after = asked(exposed, "/metrics")[1]

    assert re.search(r'^evenkeel_workload_skew\{.*namespace="shop"', after, re.MULTILINE)
    assert before.replace("failures_total 0.0", "failures_total 1.0") == after
    assert "evenkeel: --cluster live: no answer\n" == capsys.readouterr().err


def test_what_cannot_be_judged_is_printed_once_until_it_is_something_else(exposed, capsys):
    pods, nodes = ("pods cannot be listed",), ("nodes cannot be listed",)
    for notes in (pods, pods, (), nodes, nodes, pods):
        exposed.read(lambda notes=notes: (report(), notes))

    said = capsys.readouterr().err.splitlines()
    assert [f"note: {note}" for (note,) in (pods, nodes, pods)] == said


@pytest.mark.parametrize(
    ("path", "method", "status"), [("/", "GET", 404), ("/metrics", "POST", 405), ("/metrics", "HEAD", 200)]
)
def test_what_else_is_asked(exposed, path, method, status):
    assert status == asked(exposed, path, method)[0]


def test_it_serves_until_it_is_ended(tmp_path):
    (tmp_path / "dump").write_text(json.dumps(CLUSTER))
    with serving(tmp_path, "--cluster", "dump") as metrics:
        shown = metrics()

    assert re.search(r"^evenkeel_workload_skew\{.*\} 2.0$", shown, re.MULTILINE)


@contextmanager
def serving(folder, *options):
    """The command, once it has read the cluster: what it serves at /metrics; at the end it exits with 0."""
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "webhook", "report", "-A", *options, "--metrics-bind", f"127.0.0.1:{port}"]

    def metrics():
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as response:
            return response.read().decode()

    with subprocess.Popen(command, cwd=folder) as running:
        try:
            until(lambda: status(port, "/healthz") == 200, "the first report")
            yield metrics
            running.send_signal(signal.SIGTERM)
            assert 0 == running.wait(20)
        finally:
            running.kill()


def status(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0
