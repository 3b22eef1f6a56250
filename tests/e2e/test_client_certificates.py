"""evenkeel serves the API server, with its certificate as docs/operate.md shows, and nobody else."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from textwrap import dedent

import pytest

from tests.e2e.api import ApiError
from tests.e2e.plane import ControlPlane
from tests.e2e.webhook import CONFIGURATIONS, NAMESPACE, apply, asked, calls, containers, granted, manifests
from tests.support import ROOT
from tests.support.admission_reviews import raw
from tests.support.build import constraint, pod, workload
from tests.support.handshakes import client_certificate, client_context
from tests.support.serving import PATIENCE, Running, serving, until
from webhook.policy.schema import POLICY_API_VERSION, POLICY_KIND

PAGE = (ROOT / "docs" / "operate.md").read_text("utf-8")
ON_A_NODE, SERVICE, NAME = "/etc/kubernetes/evenkeel", "evenkeel.evenkeel.svc", "kube-apiserver"


def documented(file: str) -> str:
    """The content of a file as the page shows it."""
    return dedent(re.search(rf"<!-- {re.escape(file)} -->\n *```yaml\n(.*?) *```\n", PAGE, re.DOTALL)[1])


class Guarded:
    """A webhook that demands certificates, the folder of the API server's, and the file of CAs that are accepted."""

    def __init__(self, plane: ControlPlane, running: Running, node: Path, ca_file: Path):
        self.plane, self.running, self.node, self.ca_file = plane, running, node, ca_file

    def refused(self, reason: str) -> float:
        return self.running.metric(f'evenkeel_clients_refused_total{{reason="{reason}"}}')

    def ask(self, folder: Path | None = None) -> bytes:
        """What a client on the network gets for a review, with the certificate in a folder: an answer, or nothing."""
        context = client_context(self.running.ca, folder)
        connection = http.client.HTTPSConnection("127.0.0.1", self.running.port, context=context, timeout=PATIENCE)
        with closing(connection), suppress(OSError):
            connection.request("POST", "/validate", raw(), {"Content-Type": "application/json"})
            return connection.getresponse().read()
        return b""

    def create(self) -> None:
        """Have a Pod judged that is allowed."""
        made = containers(pod(constraint(), namespace="default"))
        self.plane.api.call("POST", "/api/v1/namespaces/default/pods?dryRun=All", made)

    def judged(self) -> bool:
        """Whether the API server has a bad Deployment judged, which is then denied."""
        bad = json.dumps(containers(workload("Deployment", constraint(labelSelector={}), namespace="default")))
        return (
            "(evenkeel empty-selector)" in self.plane.kubectl("create", "--dry-run=server", "-f", "-", stdin=bad).stderr
        )

    def present(self, *names: str, ca=None) -> object:
        """Give the API server another certificate, and let it start anew; returns the CA."""
        ca = client_certificate(self.node, *names, ca=ca)
        self.plane.apiserver.restart()
        return ca


@pytest.fixture(scope="module")
def guarded(plane, tmp_path_factory) -> Iterator[Guarded]:
    folder, node = tmp_path_factory.mktemp("guarded"), tmp_path_factory.mktemp("node")
    client_certificate(node, NAME)
    ca_file, policy = folder / "clients.crt", folder / "policy.json"
    ca_file.write_bytes((node / "ca.crt").read_bytes())
    policy.write_text(json.dumps({"apiVersion": POLICY_API_VERSION, "kind": POLICY_KIND}), "utf-8")
    plane.create_namespace(NAMESPACE)
    kubeconfig = granted(plane, folder, policy)
    options = ("--cluster", "live", "--policy", policy, "--client-ca", ca_file, "--client-names", NAME)
    with serving(folder, *options, client=node, KUBECONFIG=str(kubeconfig)) as running:
        (folder / "ca.crt").write_text(running.ca, "utf-8")
        for file in ("admission.yaml", "kubeconfig"):
            text = documented(file).replace(ON_A_NODE, str(node)).replace(SERVICE, f"127.0.0.1:{running.port}")
            (node / file).write_text(text, "utf-8")
        plane.configure_admission(node / "admission.yaml")
        url = f"https://127.0.0.1:{running.port}"
        apply(plane, manifests(policy, "--url", url, "--ca-bundle", folder / "ca.crt", "--failure-policy", "Fail"))
        try:
            until(lambda: asked(plane, running), "calls from the API server")
            yield Guarded(plane, running, node, ca_file)
        finally:
            plane.kubectl("delete", "--ignore-not-found", *CONFIGURATIONS)


def test_the_api_server_is_served_by_its_certificate(guarded):
    before = calls(guarded.running, "validate")
    guarded.create()

    assert guarded.judged()
    assert calls(guarded.running, "validate") == before + 2


def test_a_client_without_a_certificate_or_with_that_of_another_ca_gets_nothing(guarded, tmp_path):
    client_certificate(tmp_path, NAME)
    before = {reason: guarded.refused(reason) for reason in ("none", "untrusted")}

    assert [b"", b""] == [guarded.ask(), guarded.ask(tmp_path)]
    assert {"none": 1, "untrusted": 1} == {reason: guarded.refused(reason) - before[reason] for reason in before}
    assert guarded.judged()
    assert b'"uid"' in guarded.ask(guarded.node), "the API server's own certificate would do"


def test_an_api_server_of_another_name_is_refused(guarded, tmp_path):
    """failurePolicy then decides, as when no webhook answers."""
    authority = guarded.present(NAME)
    guarded.ca_file.write_bytes((guarded.node / "ca.crt").read_bytes())
    guarded.running.context.load_cert_chain(guarded.node / "tls.crt", guarded.node / "tls.key")
    until(lambda: guarded.judged(), "the new CA to be accepted")
    guarded.present("somebody", ca=authority)

    with pytest.raises(ApiError, match="failed calling webhook"):
        guarded.create()
    assert guarded.refused("name")
    guarded.present(NAME, ca=authority)
    until(lambda: guarded.judged(), "the right name to be accepted")


def test_the_ca_is_replaced_while_both_run(guarded, tmp_path):
    """In the order that the page tells, the API server's calls are answered at any time."""
    old, both = tmp_path / "old", (guarded.node / "ca.crt").read_bytes()
    old.mkdir()
    for name in ("tls.crt", "tls.key"):
        (old / name).write_bytes((guarded.node / name).read_bytes())
    new = client_certificate(tmp_path / "new", NAME)
    guarded.ca_file.write_bytes(both + (tmp_path / "new" / "ca.crt").read_bytes())
    until(lambda: guarded.ask(tmp_path / "new"), "the new CA to be accepted, too")
    assert guarded.judged()
    guarded.present(NAME, ca=new)
    until(lambda: guarded.judged(), "the API server with its new certificate")
    guarded.running.context.load_cert_chain(guarded.node / "tls.crt", guarded.node / "tls.key")
    guarded.ca_file.write_bytes((guarded.node / "ca.crt").read_bytes())
    until(lambda: not guarded.ask(old), "the old CA to be refused")

    assert guarded.judged()
