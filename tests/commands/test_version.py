"""`evenkeel version`: of itself, of the Kubernetes that it knows, and of the cluster, where one is reached."""

from __future__ import annotations

import json

import pytest

from webhook import __version__
from webhook.cluster.client import Client, ClusterError
from webhook.kubernetes.features import NEWEST, OLDEST

OWN = f"evenkeel: {__version__}\nKubernetes: 1.{OLDEST} to 1.{NEWEST}\n"


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """There is no kubeconfig, and no Pod around."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    return f"KUBECONFIG: found no {tmp_path}/none, wanted the path of a kubeconfig"


@pytest.fixture
def reached(monkeypatch):
    """A cluster answers."""
    monkeypatch.setattr(Client, "__init__", lambda *_: None)
    monkeypatch.setattr(Client, "version", lambda _: "v1.34.2")


def test_says_which_version_the_cluster_is_of(run, reached):
    assert (0, f"{OWN}cluster: v1.34.2\n", "") == run("version")


def test_a_version_cannot_write_to_the_terminal_nor_forge_a_line(run, reached, monkeypatch):
    monkeypatch.setattr(Client, "version", lambda _: "v1.34\x1b[31m\nevenkeel: fake")

    assert f"{OWN}cluster: v1.34\\u001b[31m\\u000aevenkeel: fake\n" == run("version").out


def test_a_cluster_that_is_not_reached_is_no_error(run, nowhere):
    assert (0, f"{OWN}cluster: not reached: {nowhere}\n", "") == run("version")


def test_a_cluster_that_refuses_is_told_with_what_to_do(run, reached, monkeypatch):
    def refused(_):
        raise ClusterError("Unauthorized", 401)

    monkeypatch.setattr(Client, "version", refused)

    assert run("version").out.endswith(
        "cluster: not reached: Unauthorized; log in again, and check with kubectl auth whoami\n"
    )


def test_does_not_ask_the_cluster_with_client(run, monkeypatch):
    monkeypatch.setattr(Client, "__init__", None)  # cannot be called

    assert (0, OWN, "") == run("version --client")


def test_a_context_that_is_not_there_is_not_reached(run, nowhere):
    assert 'wanted a kubeconfig with the context "b"' in run("version --context b").out


def test_as_json_for_programs(run, nowhere):
    form = json.loads(run("version -o json").out)

    assert ("Version", __version__, {"oldest": f"1.{OLDEST}", "newest": f"1.{NEWEST}"}) == (
        form["kind"],
        form["evenkeel"],
        form["kubernetes"],
    )
    assert (None, nowhere) == (form["cluster"], form["notReached"])


def test_as_json_with_a_cluster(run, reached):
    form = json.loads(run("version -o json").out)

    assert ("v1.34.2", None) == (form["cluster"], form["notReached"])
