"""The flags and variables of `evenkeel serve`: addresses, and what cannot be used."""

from __future__ import annotations

import argparse
import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest

from certs.authority import Authority
from tests.support import ROOT
from tests.support.admission_reviews import review
from tests.support.build import constraint, workload
from tests.support.serving import EVENKEEL, PATIENCE, RUN, certificate, free_port, serving, until
from webhook.cli.serve import value_of
from webhook.cli.usage import UsageError
from webhook.policy.parsing import BUILT_IN
from webhook.server.settings import SETTINGS


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="there is no IPv6")
def test_without_a_host_every_address_is_served(tmp_path):
    with serving(tmp_path, host="", names=("127.0.0.1", "::1")) as running:
        for host in ("127.0.0.1", "::1"):
            running.host = host
            assert 200 == running.probe("/readyz")[0]
    (told,) = running.lines("listening")
    assert f"https://[::]:{running.port}" == told["reviews"]


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="there is no IPv6")
def test_ipv6_is_served(tmp_path):
    with serving(tmp_path, host="[::1]", names=("::1",)) as running:
        assert 200 == running.review("/validate", review())[0]


def test_port_0_is_any_and_is_told(tmp_path):
    """In the log, which is the only place that knows it."""
    certificate(tmp_path)
    options = ["--bind", "127.0.0.1:0", "--health-bind", "127.0.0.1:0", "--tls-cert", "tls.crt", "--tls-key", "tls.key"]
    command = [*EVENKEEL, "serve", *options]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        told = next(line for line in map(json.loads, process.stderr) if line["message"] == "listening")
        for name, start in {"reviews": "https://127.0.0.1:", "probes": "http://127.0.0.1:"}.items():
            socket.create_connection(("127.0.0.1", int(told[name].removeprefix(start)))).close()
        process.terminate()
        process.communicate(timeout=PATIENCE)

    assert 0 == process.returncode


def test_a_certificate_that_has_expired_is_said_to_be_and_served_until_it_is_replaced(tmp_path):
    then = datetime.now(UTC) - timedelta(days=400)
    Authority.create(then).issue(["localhost"], then).write(tmp_path / "tls.crt", tmp_path / "tls.key")
    options = ["--bind", "127.0.0.1:0", "--health-bind", "127.0.0.1:0", "--tls-cert", "tls.crt", "--tls-key", "tls.key"]
    command = [*EVENKEEL, "serve", *options]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        said, listening = (json.loads(process.stderr.readline()) for _ in range(2))
        process.terminate()
        process.communicate(timeout=PATIENCE)

    assert said["problem"].startswith("tls.crt: expired at ")
    assert "listening" == listening["message"]


def test_one_address_for_both_ports_is_said_to_be(tmp_path):
    certificate(tmp_path)
    address = f"127.0.0.1:{free_port()}"
    options = ["--bind", address, "--health-bind", address, "--tls-cert", "tls.crt", "--tls-key", "tls.key"]
    done = subprocess.run(
        [*EVENKEEL, "serve", *options], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False
    )

    assert 2 == done.returncode
    assert f'--health-bind: found "{address}", which is that of --bind, wanted another port' in done.stderr


class Unusable(NamedTuple):
    name: str
    options: tuple
    said: str


UNUSABLE = [
    Unusable("no certificate", (), "needs a certificate: give both --tls-cert and --tls-key, or --tls-secret"),
    Unusable("a Secret for no name", ("--tls-secret", "a/b"), "--tls-names: a serving certificate must have a name"),
    Unusable(
        "a Secret for a name that is none",
        ("--tls-secret", "a/b", "--tls-names", "a.svc, http://a"),
        '--tls-names: "http://a": must be a DNS name or an IP address',
    ),
    Unusable(
        "a Secret of no namespace",
        ("--tls-names", "a.b.svc", "--tls-secret", "c"),
        '--tls-secret: found "c", wanted NAMESPACE/NAME',
    ),
    Unusable(
        "a Secret in a cluster that cannot be found",
        ("--tls-names", "a.b.svc", "--tls-secret", "a/b"),
        "--tls-secret: KUBECONFIG: found no nowhere, wanted the path of a kubeconfig",
    ),
    Unusable(
        "two certificates",
        ("--self-signed", "--tls-secret", "a/b"),
        "--self-signed and --tls-secret: found 2 sources of a certificate, wanted one",
    ),
    Unusable(
        "a lifetime that is none",
        ("--tls-names", "a.b.svc", "--tls-secret", "a/c", "--certificate-lifetime", "1y"),
        '--certificate-lifetime: found "1y", wanted a duration such as 90d, 36h or 15m',
    ),
    Unusable(
        "a lifetime that is none, where it is not needed",
        ("--self-signed", "--ca-lifetime", "banana"),
        '--ca-lifetime: found "banana", wanted a duration such as 90d, 36h or 15m',
    ),
    Unusable(
        "a CA that ends too soon",
        ("--tls-names", "a.b.svc", "--tls-secret", "a/c", "--ca-lifetime", "100d"),
        "--ca-lifetime: found 100d, wanted twice --certificate-lifetime or more",
    ),
    Unusable(
        "a certificate that is not there", ("--tls-cert", "no.crt", "--tls-key", "tls.key"), "no.crt: No such file"
    ),
    Unusable("a certificate that is none", ("--tls-cert", "bad", "--tls-key", "tls.key"), "bad: is not PEM"),
    Unusable("another's key", ("--tls-cert", "tls.crt", "--tls-key", "other/tls.key"), "is not the key of tls.crt"),
    Unusable(
        "names of clients without a CA",
        ("--self-signed", "--client-names", "kube-apiserver"),
        "--client-names: needs --client-ca, the CA that issues certificates with these names",
    ),
    Unusable(
        "names of clients that are none",
        ("--self-signed", "--client-ca", "tls.crt", "--client-names", ", "),
        '--client-names: found ", ", wanted NAME,…',
    ),
    Unusable(
        "a CA of clients that is not there",
        ("--self-signed", "--client-ca", "no.crt"),
        "--client-ca: no.crt: No such file",
    ),
    Unusable("a CA of clients that is none", ("--self-signed", "--client-ca", "bad"), "--client-ca: bad: is not PEM"),
    Unusable(
        "a certificate in the place of a CA of clients",
        ("--self-signed", "--client-ca", "tls.crt"),
        "which is not a CA",
    ),
    Unusable("a bad policy", ("--self-signed", "--policy", "bad"), "bad: "),
    Unusable("a policy that is not there", ("--self-signed", "--policy", "none"), "none: No such file"),
    Unusable("a bad cluster", ("--self-signed", "--cluster", "bad"), "bad: "),
    Unusable(
        "an empty cluster",
        ("--self-signed", "--cluster", "empty"),
        "empty: found no object, wanted what kubectl get -o yaml prints",
    ),
    Unusable("a dump", ("--self-signed", "--cluster", "dump"), "dump: found a dump, wanted what kubectl get"),
    Unusable("a folder", ("--self-signed", "--cluster", "other"), "other: Is a directory, wanted what kubectl get"),
    Unusable("a bad version", ("--self-signed", "--kubernetes-version", "2"), 'found "2", wanted a version such as 1.'),
    Unusable("a bad address", ("--self-signed", "--bind", "nowhere"), '--bind: found "nowhere", wanted HOST:PORT'),
    Unusable(
        "half an IPv6 address", ("--self-signed", "--bind", "[::1:80"), '--bind: found "[::1:80", wanted HOST:PORT'
    ),
    Unusable("no health address", ("--self-signed", "--health-bind", ""), '--health-bind: found "", wanted HOST:PORT'),
    Unusable(
        "a health address of another host",
        ("--self-signed", "--bind", "127.0.0.1:0", "--health-bind", "192.0.2.1:80"),
        "--health-bind: 192.0.2.1:80: Cannot assign requested address; name another address or port",
    ),
    Unusable("a bad log level", ("--self-signed", "--log-level", "loud"), '--log-level: found "loud", wanted '),
    Unusable(
        "a version of TLS that is too old",
        ("--self-signed", "--tls-min-version", "1.1"),
        '--tls-min-version: found "1.1", wanted 1.2, 1.3',
    ),
    Unusable("a bad number of threads", ("--self-signed", "--threads", "0"), '--threads: found "0", wanted a number'),
    Unusable("an address in use", ("--self-signed",), ": Address already in use; name another address or port"),
    Unusable("a health address in use", ("--self-signed", "--bind", "127.0.0.1:0"), "--health-bind: "),
]


@pytest.mark.parametrize("case", UNUSABLE, ids=lambda case: case.name)
def test_what_cannot_be_used_is_said_in_one_line(tmp_path, case):
    certificate(tmp_path)
    (tmp_path / "other").mkdir()
    certificate(tmp_path / "other")
    (tmp_path / "bad").write_text("nonsense: [")
    (tmp_path / "empty").write_text("")
    (tmp_path / "dump").write_text('{"kind": "ClusterDump", "version": 1}\n')
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1] if 'in use' in case.name else 0}"
        done = subprocess.run(
            [*EVENKEEL, "serve", "--bind", address, *case.options],
            cwd=tmp_path,
            env={**os.environ, "KUBECONFIG": "nowhere", "EVENKEEL_HEALTH_BIND": address},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    (said,) = done.stderr.splitlines()
    assert 2 == done.returncode
    assert case.said in said
    assert said.startswith("evenkeel: ")


def test_settings_come_from_the_environment_too(tmp_path):
    with serving(tmp_path, EVENKEEL_LOG_LEVEL="debug") as running:
        running.review("/validate", review(workload("Deployment", constraint())))

        assert running.lines("allowed")


@pytest.mark.parametrize(("value", "on"), [("true", True), ("1", True), ("false", False), ("", False)])
def test_a_switch_in_the_environment_is_true_or_false(monkeypatch, value, on):
    setting = next(one for one in SETTINGS if one.metavar is None)
    monkeypatch.setenv(setting.variable, value)

    assert on == bool(value_of(setting, argparse.Namespace(self_signed=None)))


def test_a_switch_that_is_neither_is_refused(monkeypatch):
    setting = next(one for one in SETTINGS if one.metavar is None)
    monkeypatch.setenv(setting.variable, "maybe")

    with pytest.raises(UsageError, match='EVENKEEL_SELF_SIGNED: found "maybe", wanted true or false'):
        value_of(setting, argparse.Namespace(self_signed=None))


# Runs `evenkeel serve` where the system refuses something.
REFUSING = f"""
import errno, os, signal
from webhook.server import settings
def refuse(*_):
    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
{{how}}
{RUN}
"""
REFUSED = {
    "no worker": "os.fork = refuse",
    "no pipe in the worker": "os.register_at_fork(after_in_child=lambda: setattr(os, 'pipe', refuse))",
}


@pytest.mark.parametrize("how", REFUSED.values(), ids=REFUSED)
def test_what_the_system_refuses_is_said_as_it_is(tmp_path, how):
    certificate(tmp_path)
    bind = ["--bind", "127.0.0.1:0", "--health-bind", "127.0.0.1:0"]
    command = [sys.executable, "-c", REFUSING.format(how=how), "serve", *bind]
    done = subprocess.run(
        [*command, "--tls-cert", "tls.crt", "--tls-key", "tls.key"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]

    assert 1 == done.returncode
    (told,) = (line["exception"] for line in lines if "exception" in line)
    assert told.endswith(f"[Errno {errno.EAGAIN}] Resource temporarily unavailable")


# Runs `evenkeel serve` with little patience, and tells when the worker has come to its end.
IMPATIENT = f"""
from webhook.server import settings
settings.SHUTDOWN_SECONDS -= 17
import logging
from webhook.server import logs, gunicorn_server as server
straight = server.Server._end
def end(self, arbiter, worker):
    straight(self, arbiter, worker)
    logs.log(logging.INFO, "ended")
server.Server._end = end
{RUN}
"""


def test_a_worker_whose_patience_with_clients_has_ended_ends_by_itself(tmp_path):
    """Before the arbiter, which has some more patience with it, kills it."""
    with serving(tmp_path, program=IMPATIENT) as running, closing(running.connection()) as half:
        half.putrequest("POST", "/validate")
        half.putheader("Content-Type", "application/json")
        half.putheader("Content-Length", "100")
        half.endheaders(b"{")
        time.sleep(0.5)  # In which it is read.
        begin = time.monotonic()
        running.process.terminate()

        assert 0 == running.process.wait(PATIENCE)
        assert 1.5 < time.monotonic() - begin
        assert running.lines("ended")


def test_a_worker_that_cannot_follow_ends_the_server(tmp_path):
    """It ends as if it were just started with that file, and the kubelet starts it again, less and less often."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(BUILT_IN)
    with serving(tmp_path, "--policy", policy) as running:
        policy.write_text("nonsense: [")
        until(lambda: running.lines("cannot use the policy file, keeping the previous policy"), "the refusal")
        os.kill(running.worker(), signal.SIGKILL)

        assert 2 == running.process.wait(PATIENCE)
        assert f"\nevenkeel: {policy}: " in running.log_file.read_text("utf-8")
