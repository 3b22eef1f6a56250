"""A control plane on this machine: `with ControlPlane(folder) as plane:`, then `plane.kubectl("get", "nodes")`."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from tests.e2e import configuration, programs
from tests.e2e.api import Api, healthy
from tests.e2e.component import Component
from tests.e2e.kubelet import Kubelet
from tests.support.serving import PATIENCE, certificate, free_ports, until

HEALTH = {
    "etcd": "/health",
    "kube-apiserver": "/readyz",
    "kube-controller-manager": "/healthz",
    "kube-scheduler": "/readyz",
}


class Output(NamedTuple):
    """What a command left: its exit status, and what it printed."""

    code: int
    stdout: str
    stderr: str


class ControlPlane:
    """etcd, kube-apiserver, kube-controller-manager and kube-scheduler, with state, logs and keys in `folder`.

    Each is a Component: `plane.etcd.stop()`, `plane.apiserver.restart()`. `api` and `kubeconfig` are an admin's.
    When the API server was away for 20 s, controllers may wait another minute before they ask again: restart the
    controller manager and the scheduler where that is not what is tested.  `flags` replace those of a component.
    """

    def __init__(self, folder: Path, flags: Mapping[str, Mapping[str, object]] = MappingProxyType({})):
        self.folder, self.programs, self.flags = folder, programs.folder(), flags
        self.ports = dict(zip(HEALTH, free_ports(len(HEALTH)), strict=True))
        tokens = {user: secrets.token_hex() for user in configuration.GROUPS}
        ca = certificate(folder)
        self._write_files(ca, tokens)
        self.api = Api(self.ports["kube-apiserver"], ca, tokens["admin"])
        self.components = tuple(map(self._component, HEALTH))
        self.etcd, self.apiserver, self.controller_manager, self.scheduler = self.components
        self.kubelet = Kubelet(self.api)

    def __enter__(self) -> ControlPlane:
        try:
            self.etcd.start()
            self.apiserver.start()
            self.kubelet.start()
            for component in (self.controller_manager, self.scheduler):
                component.launch()
            for component in (self.controller_manager, self.scheduler):
                component.await_ready()
            self._await_service_account("default")
        except BaseException:
            self._kill()
            raise
        return self

    def __exit__(self, *raised: object) -> None:
        """Whoever ended by itself before is an error; the others are not asked, for nothing is worth keeping."""
        try:
            self.check()
        finally:
            self._kill()

    def check(self) -> None:
        """Raise the reason if a component ended by itself, or the kubelet gave up."""
        for component in self.components:
            component.check()
        if self.kubelet.error:
            raise self.kubelet.error

    def kubectl(self, *arguments: str, stdin: str | None = None) -> Output:
        """Run kubectl as an admin; `--as` makes it somebody else."""
        done = subprocess.run(
            [self.programs / "kubectl", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=4 * PATIENCE,
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig), "HOME": str(self.folder)},
        )
        return Output(done.returncode, done.stdout, done.stderr)

    def apply(self, *objects: dict) -> Output:
        """`kubectl apply` of objects, whatever comes of it."""
        items = {"apiVersion": "v1", "kind": "List", "items": objects}
        return self.kubectl("apply", "-f", "-", stdin=json.dumps(items))

    def create_namespace(self, name: str, **labels: str) -> None:
        """A namespace that Pods can be created in at once: the ServiceAccount they run as is there."""
        self.api.call("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
        self._await_service_account(name)

    def configure_scheduler(self, **fields: object) -> None:
        """Restart the scheduler with these fields of a KubeSchedulerConfiguration; with none it has its defaults."""
        self._write("scheduler.json", configuration.scheduler(self.folder, fields))
        self.scheduler.restart()

    def configure_admission(self, file: Path) -> None:
        """Restart the API server with this AdmissionConfiguration."""
        self.apiserver.command.append(f"--admission-control-config-file={file}")
        self.apiserver.restart()

    @property
    def kubeconfig(self) -> Path:
        return self.folder / configuration.kubeconfig_name("admin")

    def _component(self, name: str) -> Component:
        flags = configuration.flags(self.folder, self.ports)[name] | self.flags.get(name, {})
        health = partial(healthy, self.ports[name], HEALTH[name], None if name == "etcd" else self.api.context)
        return Component(self.programs / name, flags, self.folder / f"{name}.log", health)

    def _write_files(self, ca: str, tokens: dict[str, str]) -> None:
        self._write("ca.crt", ca)
        self._write("tokens.csv", configuration.tokens(tokens))
        for user, token in tokens.items():
            kubeconfig = configuration.kubeconfig(self.folder, self.ports["kube-apiserver"], user, token)
            self._write(configuration.kubeconfig_name(user), kubeconfig)
        self._write("scheduler.json", configuration.scheduler(self.folder, {}))

    def _write(self, name: str, content: str | dict) -> None:
        text = content if isinstance(content, str) else json.dumps(content, indent=1)
        (file := self.folder / name).touch(0o600)  # It may hold tokens.
        file.write_text(text, "utf-8")

    def _await_service_account(self, namespace: str) -> None:
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
        until(lambda: self.check() or self.api.exists(path), f"the default ServiceAccount of {namespace}")

    def _kill(self) -> None:
        self.kubelet.stopped.set()
        for component in reversed(self.components):
            component.stop(signal.SIGKILL)
        if self.kubelet.ident:
            self.kubelet.join(PATIENCE)
