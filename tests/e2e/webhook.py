"""evenkeel in front of a control plane: served on this machine with rights of its own, and registered as by hand."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path

from tests.e2e import configuration
from tests.e2e.api import ApiError
from tests.e2e.plane import ControlPlane
from tests.support.build import constraint, pod, workload
from tests.support.serving import Running, serving, until
from webhook.cli.main import main
from webhook.policy.schema import POLICY_API_VERSION, POLICY_KIND

NAMESPACE = "evenkeel"
CONFIGURATIONS = ("mutatingwebhookconfiguration/zz-evenkeel", "validatingwebhookconfiguration/evenkeel")


@contextmanager
def installed(
    plane: ControlPlane,
    folder: Path,
    *options: str,
    policy: dict | None = None,
    failure_policy: str = "Ignore",
    enforced: str = "Ignore",
    program: str | None = None,
) -> Iterator[Running]:
    """A webhook with a policy of these fields, from when the API server asks it until it is taken away again."""
    file = folder / "policy.json"
    file.write_text(json.dumps({"apiVersion": POLICY_API_VERSION, "kind": POLICY_KIND, **(policy or {})}), "utf-8")
    if not plane.api.exists(f"/api/v1/namespaces/{NAMESPACE}"):
        plane.create_namespace(NAMESPACE)
    live = ["--cluster", "live", "--policy", file, *options]
    with serving(folder, *live, program=program, KUBECONFIG=str(granted(plane, folder, file))) as running:
        (folder / "ca.crt").write_text(running.ca, "utf-8")
        url = f"https://127.0.0.1:{running.port}"
        failing = ["--failure-policy", failure_policy, "--failure-policy-enforced", enforced]
        apply(plane, manifests(file, "--url", url, "--ca-bundle", folder / "ca.crt", *failing))
        try:
            until(lambda: asked(plane, running), "calls from the API server")
            yield running
        finally:
            plane.kubectl("delete", "--ignore-not-found", *CONFIGURATIONS)


def send(running: Running, number: int) -> None:
    """Send a signal to all of evenkeel: gunicorn's first process, and the one that answers."""
    pid = running.process.pid
    for one in (pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split())):
        os.kill(one, number)


def manifests(policy: Path, *options: object) -> str:
    """What `evenkeel manifests` prints."""
    with redirect_stdout(StringIO()) as printed:
        assert 0 == main(["manifests", "--policy", str(policy), *map(str, options)])
    return printed.getvalue()


def apply(plane: ControlPlane, text: str) -> None:
    output = plane.kubectl("apply", "-f", "-", stdin=text)
    assert 0 == output.code, output


def granted(plane: ControlPlane, folder: Path, policy: Path, secret: str = "") -> Path:
    """A kubeconfig with the rights that `evenkeel manifests --rbac` asks for, with `--tls-secret` or without."""
    ca = ("--tls-secret", f"{NAMESPACE}/{secret}") if secret else ("--ca-bundle", plane.folder / "ca.crt")
    printed = manifests(policy, "--rbac", "--url", "https://localhost", *ca)
    rights = printed.partition("apiVersion: admissionregistration")[0]
    apply(plane, rights)
    token = plane.kubectl("create", "token", "evenkeel", "-n", NAMESPACE, "--duration=1h").stdout
    file = folder / "kubeconfig"
    made = configuration.kubeconfig(plane.folder, plane.ports["kube-apiserver"], "evenkeel", token)
    file.write_text(json.dumps(made), "utf-8")
    return file


def asked(plane: ControlPlane, running: Running) -> bool:
    """Whether the API server has learnt to ask: it takes a moment, and each configuration has its own."""
    wanted = {name.partition("webhook")[0] for name in CONFIGURATIONS if plane.kubectl("get", name).code == 0}
    before = {phase: calls(running, phase) for phase in ("mutate", "validate")}
    for made, path in ((pod(), "api/v1/namespaces/default/pods"), (workload("Deployment", constraint()), DEPLOYMENTS)):
        made = containers(made) | {"metadata": {"name": "canary"}}
        try:
            plane.api.call("POST", f"/{path}?dryRun=All", made)
        except ApiError as error:
            assert error.status == 403, error
    after = {phase: calls(running, phase) for phase in ("mutate", "validate")}
    return all(after[phase] > before[phase] for phase in after if any(one.startswith(phase[:5]) for one in wanted))


DEPLOYMENTS = "apis/apps/v1/namespaces/default/deployments"


def calls(running: Running, phase: str) -> float:
    """How many reviews were answered in a phase."""
    lines = running.probe("/metrics")[1].decode().splitlines()
    series = 'evenkeel_requests_total{operation="', f'phase="{phase}"'
    return sum(float(line.split()[-1]) for line in lines if line.startswith(series[0]) and series[1] in line)


def containers(made: dict) -> dict:
    """A workload or Pod of tests.build as the API server accepts it: with containers, and what its kind asks for."""
    spec = made.get("template", made)["spec"]
    while inner := spec.get("jobTemplate") or spec.get("template"):
        spec = inner["spec"]
    spec["containers"] = [{"name": "web", "image": "web"}]
    outer = made["spec"]
    match made["kind"]:
        case "PodTemplate":
            del made["spec"]
        case "ReplicationController":
            outer["selector"] = outer["selector"].get("matchLabels", outer["selector"])
        case "DaemonSet":
            outer.pop("replicas", None)
        case "CronJob":
            outer["schedule"] = "0 0 1 1 *"
    if made["kind"] in ("Job", "CronJob"):
        job = outer["jobTemplate"]["spec"] if "jobTemplate" in outer else outer
        for name in ("replicas", "selector"):
            job.pop(name, None)
        spec["restartPolicy"] = "Never"
    return made
