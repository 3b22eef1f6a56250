"""A running `evenkeel serve` for tests: its own process, its own ports, its own certificate."""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from certs.authority import Authority
from tests.support.processes import pss_megabytes

PATIENCE = 30
LOOPBACK = "127.0.0.1"
EVENKEEL = (sys.executable, "-m", "webhook")
RUN = "from webhook.cli.main import main; raise SystemExit(main())"
Value = TypeVar("Value")


class Running:
    """A server, and a client that trusts its CA."""

    def __init__(self, command, environment, host, port, ca, log, process=None, *, health):
        self.command, self.environment = command, {**os.environ, **environment}
        self.host, self.port, self.health, self.ca, self.log_file = host, port, health, ca, log
        self.context = ssl.create_default_context(cadata=ca)
        self.process = process

    def start(self, seconds=PATIENCE):
        """Start the process, again if another one has ended, and wait until it is ready."""
        with self.log_file.open("a") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, env=self.environment)
        until(lambda: ready(self), "a server that is ready", seconds)

    def connection(self, timeout=PATIENCE):
        return http.client.HTTPSConnection(self.host, self.port, context=self.context, timeout=timeout)

    def call(self, method, path, body=None, headers=None):
        """Status and body of one request on a connection of its own."""
        connection = self.connection()
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"} | (headers or {}))
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def probe(self, path, method="GET"):
        """Status and body of one request on the health port."""
        with closing(http.client.HTTPConnection(LOOPBACK, self.health, timeout=PATIENCE)) as connection:
            connection.request(method, path)
            response = connection.getresponse()
            return response.status, response.read()

    def review(self, path, body, **headers):
        """Status, and the response in the AdmissionReview that comes back."""
        given = body if isinstance(body, bytes) else json.dumps(body).encode()
        status, answer = self.call("POST", path, given, headers)
        return status, json.loads(answer)["response"]

    def metric(self, series):
        lines = self.probe("/metrics")[1].decode().splitlines()
        return next(float(line.rpartition(" ")[2]) for line in lines if line.rpartition(" ")[0] == series)

    def worker(self):
        """The process that answers."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return int(until(path.read_text, "a worker"))

    def peak_megabytes(self):
        """The most memory that the worker has had."""
        status = dict(line.split(":", 1) for line in Path(f"/proc/{self.worker()}/status").read_text().splitlines())
        return int(status["VmHWM"].split()[0]) >> 10

    def pss_megabytes(self):
        """The memory of all processes together; what several share is counted once."""
        self.worker()  # Which may still be starting.
        return pss_megabytes(self.process.pid)

    def lines(self, message):
        """The log lines with this message; a line that is no JSON is an error, unless it is still being written."""
        found = map(json.loads, self.log_file.read_text("utf-8").rpartition("\n")[0].splitlines())
        return [line for line in found if line["message"] == message]


def until(true: Callable[[], Value], what: str, seconds: float = PATIENCE) -> Value:
    """The first true value that `true` returns; after `seconds`, fail with what was waited for."""
    deadline = time.monotonic() + seconds
    while not (value := true()):
        assert time.monotonic() < deadline, f"waited {seconds} s in vain for {what}"
        time.sleep(0.01)
    return value


def certificate(folder, names=("localhost", "127.0.0.1")):
    """A CA in PEM; the pair it issued is in `folder`."""
    now = datetime.now(UTC)
    ca = Authority.create(now)
    ca.issue(names, now).write(folder / "tls.crt", folder / "tls.key")
    return ca.pair.chain_pem().decode()


def free_port():
    return free_ports(1)[0]


def free_ports(count):
    """Ports for servers that may be away for a while, which no outgoing connection is given meanwhile."""
    free = []
    for port in random.SystemRandom().sample(range(20_000, 32_768), 1_000):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            free.append(port)
        if len(free) == count:
            return free
    raise OSError("no free port between 20000 and 32767")


@contextmanager
def serving(
    folder,
    *options,
    program=None,
    host="127.0.0.1",
    names=("localhost", "127.0.0.1"),
    client=None,
    patience=PATIENCE,
    **environment,
):
    """
    `evenkeel serve` with a certificate in `folder`, once it is ready; it must end by itself after SIGTERM.

    `program` is Python code that is run in place of the command, with the same arguments; `client` a folder with the
    certificate that calls present.
    """
    ca, (port, health), log = certificate(folder, names), free_ports(2), folder / "log"
    tls = ["--tls-cert", str(folder / "tls.crt"), "--tls-key", str(folder / "tls.key")]
    evenkeel = EVENKEEL if program is None else (sys.executable, "-c", program)
    bind = ["--bind", f"{host}:{port}", "--health-bind", f"{LOOPBACK}:{health}"]
    command = [*evenkeel, "serve", *bind, *tls, *map(str, options)]
    running = Running(command, environment, host.strip("[]") or LOOPBACK, port, ca, log, health=health)
    if client is not None:
        running.context.load_cert_chain(client / "tls.crt", client / "tls.key")
    try:
        running.start(patience)
        yield running
    finally:
        running.process.terminate()
        try:
            running.process.wait(PATIENCE)
        finally:
            running.process.kill()


def ready(running):
    assert running.process.poll() is None, running.log_file.read_text()
    try:
        return running.probe("/readyz")[0] == 200
    except OSError:
        return False
