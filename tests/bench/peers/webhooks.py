"""
The webhooks that are compared, each as a command with the objects that it needs in the API server.

All serve TLS with one certificate.  Kyverno does not lead, or it would register itself, and reports nothing.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import yaml

from tests.bench import programs
from tests.bench.cluster import IN_A_POD
from tests.bench.peers.judged import WANTED, Verdict, verdict
from tests.bench.peers.programs import GATEKEEPER, KYVERNO, Peer, built
from tests.bench.reviews import NULL
from tests.e2e.plane import ControlPlane
from tests.e2e.webhook import granted
from tests.support.serving import free_ports, until

# The image has only what is locked. With this module, which a tool for releases brings, jsonschema imports slowly.
AS_LOCKED = 'import sys; sys.modules["rfc3987_syntax"] = None'
POLICIES = Path(__file__).parent / "policies"
# Who leads instead, for ten hours: a peer that leads has work of its own beside its reviews.
LEADER = {
    **{
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "kyverno", "namespace": "kyverno"},
    },
    "spec": {"holderIdentity": "another", "leaseDurationSeconds": 36_000, "renewTime": "2026-01-01T00:00:00.000000Z"},
}


class Webhook(NamedTuple):
    """One of those that are compared; `policy` is what it judges by, "" if it judges nothing."""

    name: str
    policy: str
    port: int
    path: str
    command: Sequence[str | Path]
    environment: Mapping[str, str] = {}
    objects: Sequence[dict] = ()

    def __str__(self) -> str:
        return f"{self.name}, {self.policy}" if self.policy else self.name


class Started(NamedTuple):
    """A process that answers, and the seconds from its start to the first right answers."""

    pid: int
    seconds: float


def anchors(folder: Path) -> Iterator[Webhook]:
    """What a webhook takes that judges nothing, in Go and in Python."""
    for name, command in (
        ("Go that does nothing", [programs.built() / "null"]),
        ("Flask that does nothing", [sys.executable, "-c", NULL]),
    ):
        port, health = free_ports(2)
        served = ["serve", f"--bind=127.0.0.1:{port}", *_tls(folder), "--log-level=error"]
        environment = {"EVENKEEL_HEALTH_BIND": f"127.0.0.1:{health}"}
        yield Webhook(name, "", port, "/validate", [*command, *served], environment)


def evenkeel(plane: ControlPlane, folder: Path, policy: Path) -> Webhook:
    """evenkeel as in its image: by the token of its ServiceAccount, with what the image sets of malloc."""
    port, health = free_ports(2)
    bind = [f"--bind=127.0.0.1:{port}", f"--health-bind=127.0.0.1:{health}"]
    options = ["--cluster=live", f"--policy={policy}", "--log-level=error"]
    command = [sys.executable, "-c", AS_LOCKED + IN_A_POD, "serve", *bind, *_tls(folder), *options]
    (account := folder / "account").mkdir()
    token = json.loads(granted(plane, folder, policy).read_text("utf-8"))["users"][0]["user"]["token"]
    (account / "token").write_text(token, "utf-8")
    shutil.copy(plane.folder / "ca.crt", account)
    environment = {
        **{"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(plane.api.port)},
        **{"SERVICE_ACCOUNT": str(account), "HOME": str(folder), "KUBECONFIG": ""},
        **{"MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": "1048576"},
    }
    return Webhook("evenkeel", "SpreadPolicy", port, "/validate", command, environment)


def kyverno(plane: ControlPlane, folder: Path) -> Iterator[Webhook]:
    """Kyverno's admission controller, by its newest and by its classic kind of policy."""
    program = installed(plane, KYVERNO)
    named = [{"metadata": {"name": name, "namespace": "kyverno"}} for name in ("kyverno", "kyverno-metrics", "tls")]
    pair = {f"tls.{part}": (folder / f"tls.{part}").read_text("utf-8") for part in ("crt", "key")}
    apply(
        plane,
        *({"apiVersion": "v1", "kind": "ConfigMap", **one} for one in named[:2]),
        {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "stringData": pair, **named[2]},
        LEADER,
    )
    environment = {f"KYVERNO_{name}": "kyverno" for name in ("NAMESPACE", "SERVICEACCOUNT_NAME", "DEPLOYMENT")}
    environment |= {"KYVERNO_POD_NAME": "measured", "INIT_CONFIG": "kyverno", "METRICS_CONFIG": "kyverno-metrics"}
    for file, path in (("kyverno-validating", "/vpol/spread"), ("kyverno-cluster", "/validate/fail")):
        (port,) = free_ports(1)
        flags = {
            **{"kubeconfig": plane.kubeconfig, "serverIP": f"127.0.0.1:{port}", "webhookServerPort": port},
            **{"webhookServerHost": "::ffff:127.0.0.1", "caSecretName": "tls", "tlsSecretName": "tls"},
            **{"disableCertManagerController": "true", "backgroundServiceAccountName": "kyverno"},
            **{"disableMetrics": "true", "controllerRuntimeMetricsAddress": "0"},
            **{"admissionReports": "false", "v": 0},
        }
        policy = _policy(file)
        yield Webhook(
            *(str(KYVERNO), policy[0]["kind"], port, path),
            *([program, *_flags(flags)], environment, policy),
        )


def gatekeeper(plane: ControlPlane, folder: Path) -> Iterator[Webhook]:
    """Gatekeeper's manager, by its newest engine and by its classic one."""
    program = installed(plane, GATEKEEPER)
    environment = {"KUBECONFIG": str(plane.kubeconfig), "POD_NAMESPACE": GATEKEEPER.namespace}
    for file in ("gatekeeper-cel", "gatekeeper-rego"):
        port, health, metrics = free_ports(3)
        flags = {
            **{"host": "127.0.0.1", "port": port, "health-addr": f"127.0.0.1:{health}", "prometheus-port": metrics},
            **{"cert-dir": folder, "disable-cert-rotation": "true", "debug-use-fake-pod": "true"},
            **{"log-level": "WARNING", "shutdown-delay": 0},
        }
        operations = [f"--operation={name}" for name in ("webhook", "generate")]
        template, constraint = _policy(file)
        engine = template["spec"]["targets"][0]["code"][0]["engine"]
        webhook = Webhook(
            *(str(GATEKEEPER), engine, port, "/v1/admit"),
            *([program, *_flags(flags), *operations], {**environment, "POD_NAME": "measured"}, [template, constraint]),
        )
        _define(plane, webhook, folder)
        yield webhook


def _define(plane: ControlPlane, webhook: Webhook, folder: Path) -> None:
    """Have Gatekeeper make the kind of the constraint from its template; nobody collects it when the template goes."""
    template, constraint = webhook.objects
    apply(plane, template)
    with process(webhook, folder):
        until(lambda: plane.apply(constraint).code == 0, f"the kind of the constraints of {webhook}")
    remove(plane, webhook)


def installed(plane: ControlPlane, peer: Peer) -> Path:
    """The program of a peer, whose kinds the API server then has."""
    folder = built(peer)
    apply(plane, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": peer.namespace}})
    output = plane.kubectl("apply", "--server-side", "--recursive", "-f", str(folder / "crds"))
    assert 0 == output.code, output
    return folder / "program"


def apply(plane: ControlPlane, *objects: dict) -> None:
    """`kubectl apply`, also of a status if there is one."""
    output = plane.apply(*objects)
    assert 0 == output.code, output
    for made in objects:
        if "status" in made:
            to_status = ("apply", "--server-side", "--subresource=status", "-f", "-")
            output = plane.kubectl(*to_status, stdin=json.dumps(made))
            assert 0 == output.code, output


def remove(plane: ControlPlane, webhook: Webhook) -> None:
    """Take its policy out of the API server."""
    items = {"apiVersion": "v1", "kind": "List", "items": [*reversed(webhook.objects)]}
    output = plane.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=json.dumps(items))
    assert 0 == output.code, output


@contextmanager
def running(plane: ControlPlane, webhook: Webhook, folder: Path, cpus: set[int]) -> Iterator[Started]:
    """The webhook on these CPUs, with its own policy alone in the API server, from its first right answers on."""
    if webhook.objects:
        apply(plane, *webhook.objects)
    try:
        begin = perf_counter()
        with process(webhook, folder, cpus) as started:
            until(lambda: judges(webhook, folder, started, WANTED[-2:]), f"right answers of {webhook}")
            yield Started(started.pid, perf_counter() - begin)
    finally:
        if webhook.objects:
            remove(plane, webhook)


@contextmanager
def process(webhook: Webhook, folder: Path, cpus: set[int] | None = None) -> Iterator[subprocess.Popen]:
    """The process of a webhook, whatever it answers; its Python modules are kept compiled, as pip leaves them."""
    given = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", **webhook.environment}
    environment = {name: value for name, value in given.items() if value}
    with (folder / "log").open("ab") as log:
        started = subprocess.Popen(
            webhook.command,
            **{"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log},
            env=environment,
            preexec_fn=partial(os.sched_setaffinity, 0, cpus or os.sched_getaffinity(0)),
        )
    try:
        yield started
    finally:
        started.send_signal(signal.SIGTERM)
        try:
            started.wait(3)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()


def judges(webhook: Webhook, folder: Path, started: subprocess.Popen, wanted: Sequence[tuple[bytes, Verdict]]) -> bool:
    """Whether it gives each of these reviews its verdict; a webhook that has no policy only has to answer."""
    assert started.poll() is None, f"{webhook} has ended: {(folder / 'log').read_text('utf-8', 'replace')[-2_000:]}"
    try:
        given = list(verdicts(webhook, folder, [body for body, _ in wanted]))
    except OSError:
        return False
    return not webhook.policy or given == [one for _, one in wanted]


def verdicts(webhook: Webhook, folder: Path, bodies: Sequence[bytes]) -> Iterator[Verdict]:
    """What it answers to these reviews, on one connection."""
    context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
    with closing(http.client.HTTPSConnection("127.0.0.1", webhook.port, context=context, timeout=30)) as connection:
        for body in bodies:
            connection.request("POST", webhook.path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            content = answer.read()
            assert answer.status == 200, content
            yield verdict(json.loads(content))


def _policy(file: str) -> list[dict]:
    return list(yaml.safe_load_all((POLICIES / f"{file}.yaml").read_text("utf-8")))


def _flags(flags: Mapping[str, object]) -> list[str]:
    return [f"--{name}={value}" for name, value in flags.items()]


def _tls(folder: Path) -> list[str]:
    return [f"--tls-cert={folder / 'tls.crt'}", f"--tls-key={folder / 'tls.key'}"]
