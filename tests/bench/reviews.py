"""
`make bench`: how many reviews a second, beside a Flask app in the same gunicorn that parses a review and allows it;
then how many manifests (tests/bench/lint.py).

    load on one CPU ── TLS, keep-alive ──> server on another; five alternating rounds, medians
"""

from __future__ import annotations

import json
import os
import platform
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median

from tests.bench import lint as bench_lint
from tests.bench.page import fill
from tests.support.admission_reviews import raw
from tests.support.build import constraint, pod, service, workload
from tests.support.serving import EVENKEEL, certificate, free_port, until

ROUNDS, SECONDS, CONNECTIONS, WORKLOADS = 5, 2.0, 4, 2_000
SERVER_CPU, LOAD_CPU = {0}, {1}
NULL = """
import json, sys
from flask import Flask, Response, request
from webhook.server import gunicorn_server as server
def null(service):
    app = Flask("null", static_folder=None)
    @app.post("/<phase>")
    def allow(phase):
        review = json.loads(request.get_data(cache=False))
        body = {"uid": review["request"]["uid"], "allowed": True}
        answer = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": body}
        return Response(json.dumps(answer), content_type="application/json")
    return app
server.create_app = null
from webhook.cli.main import main
sys.exit(main())
"""


def cluster():
    """A namespace of 2,000 workloads, each with a Service and a ReplicaSet."""
    for i in range(WORKLOADS):
        labels = {"app": f"app-{i}", "pod-template-hash": f"{i:08x}"}
        selector = {"matchLabels": labels}
        yield service(f"app-{i}", {"app": f"app-{i}"})
        yield workload("ReplicaSet", name=f"app-{i}", labels=labels, spec={"selector": selector})


def review(obj):
    """A review of about 5 kB."""
    obj["spec"]["containers"] = [{"name": "c", "image": "nginx", "env": [{"name": "X", "value": "x" * 4_000}]}]
    return raw(obj)


def subjects():
    """What is reviewed: name, path, body."""
    labels = {"app": "app-7", "pod-template-hash": "00000007"}
    selector = {"matchLabels": {"app": "app-7"}}
    two = [constraint(labelSelector=selector), constraint(topologyKey="kubernetes.io/hostname", labelSelector=selector)]
    nobodys = pod(labels={"app": "nobody"})
    return [
        ("a Pod without constraints", "/validate", review(nobodys)),
        ("a Pod with two constraints to check", "/validate", review(pod(*two, labels=labels))),
        ("a Pod that nothing selects", "/mutate", review(nobodys)),
        ("a Pod with defaults to derive", "/mutate", review(pod(labels=labels, owner="ReplicaSet/app-7"))),
    ]


class Server:
    """A server, pinned to its CPU unless it is to share all of them."""

    def __init__(self, folder, program, *options, pinned=True):
        self.ca, self.port = certificate(folder), free_port()
        tls = ["--tls-cert", str(folder / "tls.crt"), "--tls-key", str(folder / "tls.key"), "--log-level", "error"]
        command = [*program, "serve", "--bind", f"127.0.0.1:{self.port}", *tls, *options]
        begun = time.perf_counter()
        cpus = SERVER_CPU if pinned else os.sched_getaffinity(0)
        environment = {**os.environ, "EVENKEEL_HEALTH_BIND": "127.0.0.1:0"}
        pin = partial(os.sched_setaffinity, 0, cpus)
        self.process = subprocess.Popen(command, preexec_fn=pin, env=environment)
        self.context = ssl.create_default_context(cadata=self.ca)
        until(self._answers, "a server that answers")
        self.cold_start = time.perf_counter() - begun

    def _answers(self):
        try:
            self.connect().close()
        except OSError:
            return False
        return True

    def connect(self):
        plain = socket.create_connection(("127.0.0.1", self.port))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self.context.wrap_socket(plain, server_hostname="localhost")

    def rate(self, path, body):
        """Reviews a second, over kept connections."""
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        )
        sent, counts, stop = head.encode() + b"\r\n\r\n" + body, [0] * CONNECTIONS, time.perf_counter() + SECONDS

        def load(i):
            with self.connect() as connection:
                while time.perf_counter() < stop:
                    connection.sendall(sent)
                    _receive(connection)
                    counts[i] += 1

        threads = [threading.Thread(target=load, args=(i,)) for i in range(CONNECTIONS)]
        begun = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sum(counts) / (time.perf_counter() - begun)


LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)


def _receive(connection):
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65536) or _end()
    head, _, body = received.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    while len(body) < int(LENGTH.search(head)[1]):
        body += connection.recv(65536) or _end()


def _end():
    raise AssertionError("the server closed the connection")


def alone(dump):
    """The pure function, in microseconds for each subject: the best of five runs."""
    from evenkeel.clusters.dump_files import load
    from tests.support.review import review as decide
    from webhook.kubernetes.features import LATEST
    from webhook.policy.parsing import built_in
    from webhook.spread.cluster_view import view_of

    snapshot, policy = load(dump, view_of), built_in()
    for name, path, body in subjects():
        given, phase, times = json.loads(body)["request"], path.strip("/"), []
        for _ in range(5):
            begun = time.perf_counter()
            for _ in range(1_000):
                decide(given, phase, policy, snapshot, LATEST)
            times.append((time.perf_counter() - begun) * 1_000)
        yield name, path, min(times)


def rows(folder):
    """The table, line by line."""
    dump = folder / "cluster.json"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(cluster())}))
    for name in ("ours", "null"):
        (folder / name).mkdir()
    servers = [
        Server(folder / "ours", EVENKEEL, "--cluster", str(dump)),
        Server(folder / "null", (sys.executable, "-c", NULL)),
    ]
    os.sched_setaffinity(0, LOAD_CPU)
    microseconds = {(name, path): value for name, path, value in alone(dump)}
    try:
        yield "| review | path | evenkeel, 1/s | null app, 1/s | ratio | the pure function, µs |"
        yield "| --- | --- | --- | --- | --- | --- |"
        for name, path, body in subjects():
            rates = [[server.rate(path, body) for server in servers] for _ in range(ROUNDS)]
            ours, null = (median(one) for one in zip(*rates, strict=True))
            ratio = median(mine / other for mine, other in rates)
            yield f"| {name} | `{path}` | {ours:.0f} | {null:.0f} | {ratio:.2f} | {microseconds[name, path]:.0f} |"
        yield ""
        yield f"Cold start of `evenkeel serve` with that cluster, to a handshake: {servers[0].cold_start:.1f} s."
    finally:
        for server in servers:
            server.process.terminate()
            server.process.wait()


def machine():
    """What it ran on."""
    model = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text("utf-8"))
    libraries = ", ".join(f"{name} {version(name)}" for name in ("flask", "gunicorn", "cryptography"))
    cpu = model[1] if model else "unknown CPU"
    return f"{cpu}, {os.cpu_count()} CPUs; Python {platform.python_version()}, {libraries}."


def main():
    with tempfile.TemporaryDirectory() as temporary:
        fill("bench", rows(Path(temporary)), [machine(), ""])
    with tempfile.TemporaryDirectory() as temporary:
        fill("bench lint", bench_lint.rows(Path(temporary)))


if __name__ == "__main__":
    main()
