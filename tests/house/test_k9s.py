"""The plugins for k9s are as it wants them, and their commands show what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support import ROOT
from tests.support.apiserver import ApiServer, kubeconfig
from tests.support.build import workload

FILE = ROOT / "docs" / "examples" / "k9s" / "plugins.yaml"
PLUGINS = yaml.safe_load(FILE.read_text("utf-8"))["plugins"]
# Of internal/config/json/schemas/plugins.json and internal/view in derailed/k9s v0.51.0.
NEEDED = {"shortCut", "description", "scopes", "command"}
KNOWN = NEEDED | {"override", "confirm", "dangerous", "background", "overwriteOutput", "args", "inputs"}
OWN_SHORTCUTS = {f"Shift-{letter}" for letter in "ACFJKLNOPRSUV"}
VARIABLE = re.compile(r"\$([\w-]+)")
SELECTED = {
    "pods": ("web-7d4b9c-x2x5p", "no node passes"),
    "deployments": ("web", "rollout"),
    "statefulsets": ("db", "rollout"),
}


@pytest.mark.parametrize("plugin", PLUGINS.values(), ids=PLUGINS)
def test_k9s_takes_a_plugin(plugin):
    assert NEEDED <= {*plugin} <= KNOWN
    assert re.fullmatch("Shift-[A-Z]", plugin["shortCut"])
    assert plugin["shortCut"] not in OWN_SHORTCUTS
    assert not plugin["background"], "what it prints would not be seen"


def test_no_shortcut_stands_for_two_things():
    assert len(PLUGINS) == len({plugin["shortCut"] for plugin in PLUGINS.values()})


@pytest.fixture
def terminal(tmp_path):
    """What k9s has in its environment; less, as where nothing is typed."""
    less = tmp_path / "less"
    less.write_text('#!/bin/sh\n[ "$*" = -K ] && exec cat\n')
    less.chmod(0o755)
    return os.environ | {"PATH": f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}"}


@pytest.fixture
def cluster():
    """That of the page, which has a Pod that waits and a Deployment, and a StatefulSet beside them."""
    (listed,) = yaml.safe_load_all((ROOT / "docs/examples/waiting/cluster.yaml").read_text("utf-8"))
    api = ApiServer()
    api.put(*listed["items"], workload("StatefulSet", name="db"))
    yield api
    api.stop()


def show(name, scope, terminal, folder, kubeconfig=""):
    """What k9s would leave on the screen; it has no kubeconfig to name where it found the one in the home folder."""
    plugin, (selected, _) = PLUGINS[name], SELECTED[scope]
    values = {
        "NAME": selected,
        "NAMESPACE": "shop",
        "RESOURCE_NAME": scope,
        "CONTEXT": "test",
        "KUBECONFIG": kubeconfig,
    }
    command = [plugin["command"], *(VARIABLE.sub(lambda match: values[match[1]], word) for word in plugin["args"])]
    environment = {key: value for key, value in terminal.items() if key != "KUBECONFIG"} | {"HOME": str(folder)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (0, "") == (done.returncode, done.stderr)
    return done.stdout


CASES = [(name, scope) for name, plugin in PLUGINS.items() for scope in plugin["scopes"]]


@pytest.mark.parametrize(("name", "scope"), CASES, ids=str)
def test_a_command_shows_what_is_selected(name, scope, cluster, terminal, tmp_path):
    selected, told = SELECTED[scope]
    shown = show(name, scope, terminal, tmp_path, str(kubeconfig(cluster.url, tmp_path)))

    assert f"shop/{selected}" in shown.splitlines()[0]
    assert told in shown
    assert "\033" not in shown


def test_a_command_finds_the_kubeconfig_that_nothing_names(cluster, terminal, tmp_path):
    (tmp_path / ".kube").mkdir()
    kubeconfig(cluster.url, tmp_path).rename(tmp_path / ".kube" / "config")

    assert "no node passes" in show("evenkeel-explain", "pods", terminal, tmp_path)
