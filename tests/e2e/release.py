"""A release of the chart on a control plane, and the processes that play its containers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from base64 import b64decode, b64encode
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from threading import Thread

from tests.e2e.api import MERGE
from tests.e2e.helm import NAMESPACE, helm
from tests.generate.chart import FOLDER
from tests.support import ROOT
from tests.support.serving import EVENKEEL, PATIENCE, Running, free_ports, ready, until
from webhook.manifests.configurations import MUTATING_NAME, NAME

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"
MUTATING = f"{CONFIGURATIONS}/mutatingwebhookconfigurations/{MUTATING_NAME}"
VALIDATING = f"{CONFIGURATIONS}/validatingwebhookconfigurations/{NAME}"
SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/evenkeel-tls"
NEEDS_AN_OPERATOR = ("cert-manager.io", "monitoring.coreos.com")  # whose kinds a bare cluster does not have
DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/evenkeel"


def release(plane, action, *options, chart=FOLDER, **values):
    """A helm command on the release, with these values."""
    chart = [] if action in ("uninstall", "rollback", "history", "test") else [chart, "--values", "-"]
    where = ["--namespace", NAMESPACE, "--kubeconfig", plane.kubeconfig]
    return helm(action, NAME, *chart, *where, *options, given=json.dumps(values))


def as_account(plane, name, folder):
    """The kubeconfig of a ServiceAccount of the release."""
    token = plane.kubectl("create", "token", name, "-n", NAMESPACE).stdout.strip()
    config = json.loads(plane.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    file = folder / f"{name}.kubeconfig"
    file.write_text(json.dumps(config))
    return {"KUBECONFIG": str(file)}


def bundles(plane, path):
    return {entry["name"]: entry["clientConfig"].get("caBundle") for entry in plane.api.call("GET", path)["webhooks"]}


def files(plane, volume):
    """What a ConfigMap or a Secret puts into a container; an emptyDir nothing."""
    path = f"/api/v1/namespaces/{NAMESPACE}"
    if "configMap" in volume:
        data = plane.api.call("GET", f"{path}/configmaps/{volume['configMap']['name']}")["data"]
        return {name: text.encode() for name, text in data.items()}
    if "secret" in volume:
        data = plane.api.call("GET", f"{path}/secrets/{volume['secret']['secretName']}")["data"]
        return {name: b64decode(text) for name, text in data.items()}
    return {}


def project(folder, contents):
    """Make a folder have these files as a kubelet does: all of them change at once, by the rename of one link."""
    folder.mkdir(exist_ok=True)
    data = folder / "..data"
    before = data.resolve()
    if contents == {file.name: file.read_bytes() for file in (before.iterdir() if data.is_symlink() else ())}:
        return
    now = Path(mkdtemp(prefix="..", dir=folder))
    for name, content in contents.items():
        (now / name).write_bytes(content)
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"..data/{name}")
    (swapped := folder / "..data_tmp").symlink_to(now.name)
    swapped.rename(data)
    shutil.rmtree(before, ignore_errors=True)


def trusted(plane):
    """The CA that the API server is told to trust."""
    found = [bundle for path in (MUTATING, VALIDATING) for bundle in bundles(plane, path).values()]
    return b64decode(found[0]).decode() if all(found) and len(set(found)) == 1 else ""


def issue(plane, mode, folder):
    """What whoever issues the certificate does with what `evenkeel certs issue` wrote: cert-manager, or a person."""
    name = {"own": "own-tls", "cert-manager": "evenkeel-cert"}[mode]
    pair = {part: b64encode((folder / part).read_bytes()).decode() for part in ("tls.crt", "tls.key")}
    plane.api.call("POST", f"/api/v1/namespaces/{NAMESPACE}/secrets", {"metadata": {"name": name}, "data": pair})
    for path in (MUTATING, VALIDATING):
        found = plane.api.call("GET", path)
        for entry in found["webhooks"]:
            entry["clientConfig"]["caBundle"] = b64encode((folder / "ca.crt").read_bytes()).decode()
        plane.api.call("PUT", path, found)


def send_here(plane, port):
    """Let the Service lead to a port of this machine; the name in the certificate stays the Service's."""
    spec = {"type": "ExternalName", "externalName": "127.0.0.1", "clusterIP": None, "clusterIPs": None}
    plane.api.call("PATCH", f"/api/v1/namespaces/{NAMESPACE}/services/evenkeel", {"spec": spec}, MERGE)
    for path in (MUTATING, VALIDATING):
        found = plane.api.call("GET", path)
        for entry in found["webhooks"]:
            entry["clientConfig"]["service"]["port"] = port
        plane.api.call("PUT", path, found)


class Container:
    """
    The only container of a Pod as a process of this machine has it: its arguments, environment, mounts and account.

    Its mounts are in `folder`, and its ports are free ones here, by their names in `ports`.
    """

    def __init__(self, plane, pod, folder):
        (container,) = pod["containers"]
        self._plane, self._volumes = plane, {volume["name"]: volume for volume in pod["volumes"]}
        self._mounts = {mount["mountPath"]: folder / mount["name"] for mount in container["volumeMounts"]}
        listening = {port["name"]: port["containerPort"] for port in container.get("ports", ())}
        self.ports = dict(zip(listening, free_ports(len(listening)), strict=True)) if listening else {}
        self._bound = {f"=:{listening[name]}": f"=127.0.0.1:{port}" for name, port in self.ports.items()}
        self.mount()
        own = {variable["name"]: self._here(variable["value"]) for variable in container.get("env", ())}
        self.environment = {**os.environ, **own, **as_account(plane, pod["serviceAccountName"], folder)}
        self.command = [*EVENKEEL, *map(self._here, container["args"])]

    def mount(self):
        """Make the files in its mounts those of now."""
        for path in self._mounts.values():
            project(path, files(self._plane, self._volumes[path.name]))

    def _here(self, text):
        for path in sorted(self._mounts, key=len, reverse=True):
            text = text.replace(path, str(self._mounts[path]))
        for bound, here in self._bound.items():
            text = text.replace(bound, here)
        return text


@contextmanager
def played(plane, folder, program=ROOT):
    """The container of the Deployment as a process, with evenkeel as it is in the folder `program`."""
    container = Container(plane, plane.api.call("GET", DEPLOYMENT)["spec"]["template"]["spec"], folder)
    port, health = container.ports["webhook"], container.ports["health"]
    with (folder / "log").open("w") as log:
        environment = {**container.environment, "PYTHONPATH": str(program)}
        process = subprocess.Popen(container.command, stdout=log, stderr=log, env=environment, cwd=program)
    try:
        until(lambda: trusted(plane), "a CA in every entry")
        running = Running((), {}, "127.0.0.1", port, trusted(plane), folder / "log", process, health=health)
        running.context.check_hostname = False  # It is the Service's name, which is the API server's to look up.
        running.mount = container.mount
        until(lambda: ready(running), "a replica that is ready")
        yield running
    finally:
        process.terminate()
        process.wait(PATIENCE)


def going(pod):
    return "deletionTimestamp" in pod["metadata"]


@contextmanager
def played_hook(plane, folder, selector="labelSelector=app.kubernetes.io/component=detach", here=("", "")):
    """
    Runs what the container of the hook's Pod runs, and lets the Pod end as that ends; yields what it found.

    `here` is an argument of the container, and what it is on this machine.
    """
    found = {}

    def play():
        path = f"/api/v1/namespaces/{NAMESPACE}/pods"
        pods = []

        def waits():
            items = plane.api.call("GET", f"{path}?{selector}")["items"]
            pods[:] = [pod for pod in items if pod["status"]["phase"] in ("Pending", "Running") and not going(pod)]
            return pods

        until(waits, "the hook's Pod")
        (pod,) = pods
        (container,) = pod["spec"]["containers"]
        _, *arguments = container["command"]
        arguments = [here[1] if argument == here[0] else argument for argument in arguments]
        environment = {**os.environ, **as_account(plane, pod["spec"]["serviceAccountName"], folder)}
        done = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True)
        found["printed"] = done.stdout + done.stderr
        found["configurations"] = [one for one in (MUTATING, VALIDATING) if plane.api.exists(one)]
        found["deployment"] = plane.api.exists(DEPLOYMENT)
        phase = "Failed" if done.returncode else "Succeeded"
        until(lambda: plane.api.call("GET", f"{path}/{pod['metadata']['name']}")["status"]["phase"] == "Running", "it")
        plane.api.call("PATCH", f"{path}/{pod['metadata']['name']}/status", {"status": {"phase": phase}}, MERGE)

    thread = Thread(target=play, daemon=True)
    thread.start()
    yield found
    thread.join(PATIENCE)
