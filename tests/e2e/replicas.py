"""Replicas of evenkeel behind a balancer that stands in for their Service, and a load that shows a lost call."""

from __future__ import annotations

import json
import os
import re
import select
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from signal import SIGTERM
from typing import NamedTuple

from tests.e2e.api import Api, ApiError
from tests.e2e.plane import ControlPlane
from tests.e2e.webhook import CONFIGURATIONS, NAMESPACE, apply, containers, granted, manifests
from tests.support import ROOT
from tests.support.build import constraint, pod, workload
from tests.support.serving import EVENKEEL, PATIENCE, free_ports, until
from webhook.policy.schema import POLICY_API_VERSION, POLICY_KIND

# As the image sets it.
ARENAS = dict(re.findall(r"(MALLOC_\w+)=(\d+)", (ROOT / "Dockerfile").read_text("utf-8")))
RATE = 10  # objects a second
PAUSE = 1.0  # Between the end of an endpoint and SIGTERM, as a preStop hook gives the balancers of a cluster.


class Balancer:
    """New connections go to the endpoints in turn; those that stand stay where they are, as in a Service."""

    def __init__(self) -> None:
        self.endpoints: list[int] = []
        self.turn = count()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        endpoints = list(self.endpoints)
        with client, suppress(OSError), socket.create_connection(("127.0.0.1", _next(endpoints, self.turn))) as server:
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _relay(client, server)

    def close(self) -> None:
        self.listener.close()


def _next(endpoints: list[int], turn: Iterator[int]) -> int:
    if not endpoints:
        raise OSError("no endpoint")
    return endpoints[next(turn) % len(endpoints)]


def _relay(client: socket.socket, server: socket.socket) -> None:
    """Both ways, until either end is through."""
    other = {client: server, server: client}
    while True:
        for one in select.select(list(other), [], [])[0]:
            data = one.recv(1 << 16)
            if not data:
                return
            other[one].sendall(data)


class Replica:
    """One process of `evenkeel serve`."""

    def __init__(self, number: int, folder: Path, kubeconfig: Path, *options: object) -> None:
        (self.port, self.health), self.log = free_ports(2), folder / f"replica-{number}.log"
        bind = ["--bind", f"127.0.0.1:{self.port}", "--health-bind", f"127.0.0.1:{self.health}"]
        command = [*EVENKEEL, "serve", *bind, "--cluster", "live"]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*command, *map(str, options)],
                stdout=log,
                stderr=log,
                env={**os.environ, "KUBECONFIG": str(kubeconfig), **ARENAS},
            )

    def ready(self) -> bool:
        """As a kubelet probes it."""
        assert self.process.poll() is None, self.log.read_text("utf-8")
        command = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", f"http://127.0.0.1:{self.health}/readyz"]
        return subprocess.run(command, capture_output=True, text=True).stdout == "200"

    def worker(self) -> int:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        until(children.read_text, "a worker")
        return int(children.read_text().split()[0])

    def held(self) -> dict[str, int]:
        """Memory in kilobytes, threads and descriptors of the process that answers."""
        worker = self.worker()
        status = dict(line.split(":", 1) for line in Path(f"/proc/{worker}/status").read_text().splitlines())
        return {
            "kilobytes": int(status["VmRSS"].split()[0]),
            "threads": int(status["Threads"]),
            "descriptors": len(os.listdir(f"/proc/{worker}/fd")),
        }


class Replicas:
    """A Deployment of evenkeel: `start` another, `stop` one as a kubelet does, `roll` all of them."""

    def __init__(self, folder: Path, kubeconfig: Path, balancer: Balancer, *options: object) -> None:
        self.folder, self.kubeconfig, self.balancer, self.options = folder, kubeconfig, balancer, options
        self.numbers = count()
        self.running: list[Replica] = []

    def start(self) -> Replica:
        replica = Replica(next(self.numbers), self.folder, self.kubeconfig, *self.options)
        self.running.append(replica)
        until(replica.ready, "a replica that is ready")
        self.balancer.endpoints.append(replica.port)
        return replica

    def stop(self, replica: Replica, pause: float = PAUSE) -> int:
        """Take it out of the balancer, wait a little, end it; its exit status."""
        self.forget(replica)
        time.sleep(pause)
        replica.process.send_signal(SIGTERM)
        return replica.process.wait(PATIENCE)

    def forget(self, replica: Replica) -> None:
        self.running.remove(replica)
        self.balancer.endpoints.remove(replica.port)

    def roll(self) -> None:
        """maxUnavailable 0: one more, then one less."""
        for replica in list(self.running):
            self.start()
            assert 0 == self.stop(replica)

    def kill(self) -> None:
        for replica in self.running:
            replica.process.kill()
            replica.process.wait()


@contextmanager
def replicas(plane: ControlPlane, folder: Path, kubeconfig: Path, *options: object) -> Iterator[Replicas]:
    """None yet; all that are left at the end are killed."""
    balancer = Balancer()
    found = Replicas(folder, kubeconfig, balancer, *options)
    try:
        yield found
    finally:
        found.kill()
        balancer.close()


@dataclass
class Calls:
    """What became of the objects that were created: seconds of each, and what the API server said of those lost."""

    seconds: list[float] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


class Load:
    """Creates Pods and Deployments, dry, at a steady rate; each must be let through by the webhook."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api, self.namespace = api, namespace
        self.calls, self.stopped = Calls(), threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Load:
        self.thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.stopped.set()
        self.thread.join(PATIENCE)

    def during(self, act: Callable[[], object], seconds: float = 1.0) -> Calls:
        """The calls from now until `act` is done, and some more."""
        self.calls = Calls()
        act()
        time.sleep(seconds)
        found, self.calls = self.calls, Calls()
        return found

    def _run(self) -> None:
        due = time.monotonic()
        for number in count():
            due += 1 / RATE
            if self.stopped.wait(max(0.0, due - time.monotonic())):
                return
            threading.Thread(target=self._create, args=(number, self.calls), daemon=True).start()

    def _create(self, number: int, calls: Calls) -> None:
        path, obj = self._object(number)
        begun = time.monotonic()
        try:
            self.api.call("POST", f"{path}?dryRun=All", obj)
        except (ApiError, OSError) as error:
            calls.lost.append(str(error))
        calls.seconds.append(time.monotonic() - begun)

    def _object(self, number: int) -> tuple[str, dict]:
        made = containers(pod() if number % 2 else workload("Deployment", constraint()))
        made["metadata"] = {"name": f"load-{number}"}
        return f"{PATHS[made['kind']]}/namespaces/{self.namespace}/{made['kind'].lower()}s", made


PATHS = {"Pod": "/api/v1", "Deployment": "/apis/apps/v1"}

NAME = "evenkeel-tls"
SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/{NAME}"
POLICY = {"apiVersion": POLICY_API_VERSION, "kind": POLICY_KIND}
# A leaf is renewed after 40 seconds, its CA after 80; a new CA settles in 10.
LIVES = ("--certificate-lifetime", "1m", "--ca-lifetime", "2m")


class Stage(NamedTuple):
    """Two replicas that the API server trusts, and a load on them; a call that is lost is an object refused."""

    plane: ControlPlane
    replicas: Replicas
    load: Load
    policy: Path


@contextmanager
def staged(plane: ControlPlane, folder: Path) -> Iterator[Stage]:
    """From when calls are answered until all is taken away again."""
    policy = folder / "policy.json"
    policy.write_text(json.dumps(POLICY), "utf-8")
    plane.create_namespace(NAMESPACE)
    plane.create_namespace("load")
    kubeconfig = granted(plane, folder, policy, secret=NAME)
    options = ["--policy", policy, "--tls-secret", f"{NAMESPACE}/{NAME}", "--tls-names", "127.0.0.1", *LIVES]
    with replicas(plane, folder, kubeconfig, *options) as found:
        where = ["--url", f"https://127.0.0.1:{found.balancer.port}", "--ca-bundle", plane.folder / "ca.crt"]
        apply(plane, manifests(policy, *where, "--failure-policy", "Fail"))
        try:
            found.start()
            found.start()
            with Load(plane.api, "load") as load:
                until(lambda: not load.during(lambda: None).lost, "calls that are answered")
                yield Stage(plane, found, load, policy)
        finally:
            plane.kubectl("delete", "--ignore-not-found", *CONFIGURATIONS)


def reload_policy(stage: Stage, rules: dict) -> None:
    """Change the policy, and wait until every replica has taken it."""
    before = [_reloads(one) for one in stage.replicas.running]
    stage.policy.write_text(json.dumps({**POLICY, "rules": rules}), "utf-8")
    until(lambda: all(_reloads(one) > n for one, n in zip(stage.replicas.running, before, strict=True)), "a reload")


def _reloads(replica: Replica) -> int:
    return replica.log.read_text("utf-8").count("policy reloaded")


def be_silent(stage: Stage) -> None:
    """200 connections that say nothing, for five seconds."""
    with ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(socket.create_connection(("127.0.0.1", stage.replicas.balancer.port)))
        time.sleep(5)


def create_large(stage: Stage) -> None:
    """A Deployment of 1.4 MB, thrice, that the API server escapes to 8.4."""
    large = containers(workload("Deployment", constraint()))
    large["metadata"] = {"name": "large"}
    large["spec"]["template"]["metadata"]["annotations"] = {"a": "<" * 200_000}
    large["spec"]["template"]["spec"]["containers"][0]["command"] = ["<" * 1_200_000]
    for _ in range(3):
        stage.plane.api.call("POST", "/apis/apps/v1/namespaces/load/deployments?dryRun=All", large)
