"""One round of one webhook: its start, its memory, its reviews, and the Pods that are created while it is asked."""

from __future__ import annotations

import os
from base64 import b64encode
from contextlib import ExitStack
from pathlib import Path
from time import sleep
from typing import NamedTuple
from urllib.parse import urlsplit

from tests.bench.creation import CONSTRAINTS, Creation, Taken, Target, Way, configurations, created, take, undisturbed
from tests.bench.peers import webhooks
from tests.bench.peers.judged import WANTED, review
from tests.bench.peers.webhooks import Webhook, anchors, running, verdicts
from tests.bench.reviews import SERVER_CPU
from tests.e2e.plane import ControlPlane
from tests.e2e.webhook import NAMESPACE
from tests.support.kubernetes_source import MissingError
from tests.support.processes import pss_megabytes
from tests.support.serving import certificate, until

SETTLING = 2.0
WAY = Way("16", 16)
BENCH = "bench-peers"
# What leads the API server to this machine; it speaks HTTP/1.1 to a Service, as in a cluster.
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "peers", "namespace": BENCH}}
SERVICE |= {"spec": {"type": "ExternalName", "externalName": "127.0.0.1"}}


class Figures(NamedTuple):
    """Of one round of one webhook: seconds to start, MB at rest and under load, and what its reviews took."""

    seconds: float
    rest: float
    loaded: float
    taken: Taken


class Bench:
    """A control plane with all webhooks that can be had, and why the others cannot."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        folder.mkdir()
        self.folder, self.plane = folder, stack.enter_context(ControlPlane(folder))
        (own := folder / "peers").mkdir()
        (own / "ca.crt").write_text(certificate(own, ("localhost", "127.0.0.1", f"peers.{BENCH}.svc")), "utf-8")
        self.own, self.missing = own, list[str]()
        for namespace in (NAMESPACE, "shop"):
            self.plane.create_namespace(namespace)
        self.creation = Creation(self.plane, own)
        self.creation.policy = webhooks.POLICIES / "evenkeel.yaml"
        self.creation.prepare(BENCH)
        webhooks.apply(self.plane, SERVICE)
        self.webhooks = [webhooks.evenkeel(self.plane, own, self.creation.policy)]
        # They would watch every Pod, and take the time that is measured.
        self.plane.controller_manager.stop()
        self.plane.scheduler.stop()
        for several in (anchors(own), webhooks.kyverno(self.plane, own), webhooks.gatekeeper(self.plane, own)):
            try:
                self.webhooks += several
            except MissingError as error:
                self.missing.append(f"Not measured: {error}")

    def check_verdicts(self) -> None:
        """Raise AssertionError unless all judge alike."""
        for webhook in self.webhooks:
            with running(self.plane, webhook, self.own, os.sched_getaffinity(0)):
                given = list(verdicts(webhook, self.own, [body for body, _ in WANTED]))
            wanted = [verdict for _, verdict in WANTED]
            assert given == wanted or not webhook.policy, f"{webhook}: {given} instead of {wanted}"

    def reviewed(self) -> bytes:
        """A review of a Pod of about 5 kB as kube-apiserver completes it."""
        made = created(BENCH, CONSTRAINTS, self.creation.owners[BENCH])
        return review(self.plane.api.call("POST", f"/api/v1/namespaces/{BENCH}/pods?dryRun=All", made))

    def judge(self, webhook: Webhook) -> Figures:
        """Start a webhook on one CPU, and have it review."""
        (body := self.folder / "review.json").write_bytes(self.reviewed())
        with running(self.plane, webhook, self.own, SERVER_CPU) as started:
            (given,) = verdicts(webhook, self.own, [body.read_bytes()])
            assert given.allowed, f"{webhook} denies what is to be measured: {given}"
            url = f"https://127.0.0.1:{webhook.port}{webhook.path}"
            target = Target(url, self.own / "ca.crt", body, [started.pid])
            sleep(SETTLING)
            rest = pss_megabytes(started.pid)
            take(target, WAY)  # It warms up.
            taken = undisturbed(target, WAY, lambda: None)
            return Figures(started.seconds, rest, pss_megabytes(started.pid), taken)

    def create(self, webhook: Webhook | None, number: int) -> Taken:
        """Create Pods through the API server, which asks this webhook, or none."""
        if webhook is None:
            return self._created()
        with running(self.plane, webhook, self.own, os.sched_getaffinity(0)) as started:
            made = self._configurations(webhook, number)
            webhooks.apply(self.plane, *made)
            calls = f'admission_webhook_request_total{{code="200",name="{made[-1]["webhooks"][0]["name"]}"'
            try:
                until(lambda: self._counted(calls), f"calls of {webhook}")
                return self._created(started.pid)
            finally:
                for one in made:
                    self.plane.kubectl("delete", one["kind"], one["metadata"]["name"])
                until(lambda: not self._counted(calls), f"no call of {webhook} any more")

    def _created(self, *webhook: int) -> Taken:
        target = self.creation.target(BENCH, CONSTRAINTS, *webhook)
        take(target, WAY, "300ms")
        self.creation.remove()
        return undisturbed(target, WAY, self.creation.remove)

    def _configurations(self, webhook: Webhook, number: int) -> list[dict]:
        """Those of `evenkeel manifests`, or one that sends each Pod of the namespace; named anew in each round."""
        made = [asking(webhook.path)]
        if webhook.name == "evenkeel":
            made = configurations(self.creation.policy, BENCH, webhook.port, self.own / "ca.crt")
        ca = b64encode((self.own / "ca.crt").read_bytes()).decode()
        for entry in (entry for one in made for entry in one["webhooks"]):
            path = urlsplit(entry["clientConfig"]["url"]).path
            service = {**SERVICE["metadata"], "port": webhook.port, "path": path}
            entry |= {"name": f"n{number}.{entry['name']}", "clientConfig": {"service": service, "caBundle": ca}}
        return made

    def _counted(self, series: str) -> bool:
        """Whether another Pod adds to the calls that the API server counts."""
        before = self._calls(series)
        made = created(BENCH, CONSTRAINTS, self.creation.owners[BENCH])
        self.plane.api.call("POST", f"/api/v1/namespaces/{BENCH}/pods?dryRun=All", made)
        return self._calls(series) > before

    def _calls(self, series: str) -> float:
        lines = self.plane.kubectl("get", "--raw", "/metrics").stdout.splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if series in line)


def asking(path: str) -> dict:
    """What has the API server ask for each Pod of the namespace."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["pods"]}
    entry = {
        **{"name": "peers.example.com", "clientConfig": {"url": f"https://localhost{path}"}, "rules": [rule]},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": BENCH}},
        **{"failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"]},
    }
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    return {**kind, "metadata": {"name": "peers"}, "webhooks": [entry]}
