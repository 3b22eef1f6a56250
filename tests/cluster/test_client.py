"""How a client finds the API server, and says who it is."""

from __future__ import annotations

import json

import pytest

from tests.support.apiserver import TOKEN, kubeconfig
from tests.support.build import whole
from tests.support.serving import until
from tests.support.watching import QUICK, SHOP, configured, watching
from webhook.cluster.client import Client, ClusterError, configuration
from webhook.cluster.live import Live, listed


def test_a_refused_token_is_read_again(monkeypatch):
    monkeypatch.setattr("webhook.cluster.client.RECONNECT_SECONDS", 0.0)
    with watching(*SHOP, started=False) as it:
        tokens = iter(["Bearer old", TOKEN])
        it.api.token = TOKEN
        latest = []

        def configure():
            latest.append(next(tokens, TOKEN))
            return configured(it.api.url, latest[-1])

        it.live = Live(Client(configure), it._report, pace=QUICK)
        it.live.start()
        until(it.live.view, "the new token")

        assert it.is_whole()


def test_a_kubeconfig_leads_to_the_api_server(tmp_path, monkeypatch):
    with watching(*SHOP, started=False) as it:
        it.api.token = TOKEN
        user = {"token": TOKEN.removeprefix("Bearer ")}
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig(it.api.url, tmp_path, user=user)))

        assert whole(SHOP[:3]) == listed(Client())


def test_a_plugin_says_who_we_are(tmp_path, monkeypatch):
    """As `aws eks get-token` and its like do, with a token that has to be renewed."""
    plugin = tmp_path / "plugin"
    answer = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": TOKEN.removeprefix("Bearer "), "expirationTimestamp": "2020-01-01T00:00:00Z"},
    }
    plugin.write_text(f"#!/bin/sh\necho x >> {tmp_path}/runs\ncat <<'END'\n{json.dumps(answer)}\nEND\n")
    plugin.chmod(0o700)
    user = {"exec": {"apiVersion": answer["apiVersion"], "command": str(plugin), "interactiveMode": "Never"}}
    with watching(*SHOP, started=False) as it:
        it.api.token = TOKEN
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig(it.api.url, tmp_path, user=user)))
        client = Client()
        before = (tmp_path / "runs").read_text()
        client.authenticate()

        assert whole(SHOP[:3]) == listed(client)
        assert len(before) < len((tmp_path / "runs").read_text())


NOWHERE = [
    ({"KUBECONFIG": "{}/none"}, "found neither {}/none nor a Pod's service account; set KUBECONFIG"),
    ({"KUBECONFIG": "{}/bad"}, "{}/bad: "),
    ({"HOME": "{}"}, "found neither {}/.kube/config nor a Pod's service account; set KUBECONFIG"),
    (
        {"HOME": "{}", "KUBERNETES_SERVICE_HOST": "h", "KUBERNETES_SERVICE_PORT": "1"},
        "Service token file does not exist.",
    ),
]


@pytest.mark.parametrize(("environment", "message"), NOWHERE)
def test_where_there_is_no_cluster_it_is_said_in_one_line(tmp_path, monkeypatch, environment, message):
    (tmp_path / "bad").write_text("x: [")
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value.format(tmp_path))
    with pytest.raises(ClusterError) as error:
        configuration()

    assert str(error.value).startswith(message.format(tmp_path))
    assert 1 == len(str(error.value).splitlines())


def test_nothing_of_the_kubernetes_package_is_imported_without_need():
    """It is slow to import, and a dump needs none of it."""
    import subprocess
    import sys

    imported = "import sys, webhook.serving.server, webhook.cluster.live"
    code = f"{imported}; print([m for m in sys.modules if m[:10] == 'kubernetes'])"

    assert (
        "[]" == subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    )
