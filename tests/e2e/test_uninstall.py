"""The commands of the page on uninstalling leave nothing: after a Job of Helm that did not finish, and of manifests."""

from __future__ import annotations

import re
import shlex

import pytest
import yaml

from tests.e2e.helm import helm
from tests.e2e.webhook import manifests
from tests.generate.chart import FOLDER
from tests.support import ROOT
from tests.support.serving import until

PAGE = (ROOT / "docs" / "uninstall.md").read_text("utf-8")
EXAMPLES = ROOT / "docs" / "examples" / "install"
ANYWHERE = (
    "deployments,services,secrets,configmaps,serviceaccounts,roles,rolebindings,poddisruptionbudgets,jobs,namespaces,"
    "clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingwebhookconfigurations,"
    "validatingadmissionpolicies,validatingadmissionpolicybindings"
)


def commands(title):
    """The commands of a section; those of Helm that go on where the Job could not."""
    section = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    found = [shlex.split(line) for line in re.findall(r"^\$ ((?:helm|kubectl) .*)$", section, re.MULTILINE)]
    return [words for words in found if words != ["helm", "uninstall", "evenkeel", "-n", "evenkeel"]]


def run(plane, words):
    if words[0] == "helm":
        helm(*words[1:], "--kubeconfig", plane.kubeconfig)
    else:
        output = plane.kubectl(*words[1:])
        assert 0 == output.code, output


def left(plane):
    """What has evenkeel's name, or is in its namespace."""
    output = plane.kubectl("get", ANYWHERE, "-A", "-o", "name")
    assert 0 == output.code, output
    return [name for name in output.stdout.split() if "evenkeel" in name]


def by_helm(plane):
    """A release, and what Helm had made of the hook when its Job failed."""
    where = ("evenkeel", FOLDER, "--namespace", "evenkeel")
    helm("install", *where, "--create-namespace", "--kubeconfig", plane.kubeconfig)
    rendered = yaml.safe_load_all(helm("template", *where, "--show-only", "templates/detach.yaml"))
    assert 0 == plane.apply(*rendered).code
    assert "job.batch/evenkeel-detach" in left(plane)


def by_manifests(plane):
    """All that install.md can have applied."""
    policy = EXAMPLES / "policy.yaml"
    options = ("--service", "evenkeel/evenkeel", "--tls-secret", "evenkeel/evenkeel-tls", "--rbac", "--rbac-viewer")
    guards = ("--ca-bundle-user", "system:serviceaccount:evenkeel:evenkeel", "--skip-label-group", "platform")
    plane.create_namespace("evenkeel")
    for given in (manifests(policy, *options, *guards), (EXAMPLES / "evenkeel.yaml").read_text("utf-8")):
        output = plane.kubectl("apply", "-n", "evenkeel", "-f", "-", stdin=given)
        assert 0 == output.code, output


@pytest.mark.parametrize(("title", "install"), [("Helm", by_helm), ("Manifests", by_manifests)])
def test_the_commands_leave_nothing(plane, title, install):
    install(plane)
    before = left(plane)
    assert any("webhookconfiguration" in name for name in before)

    first = shlex.split(re.search(r"^\$ (.*)$", PAGE, re.MULTILINE)[1])
    last = ["kubectl", "delete", "namespace", "evenkeel"]
    for words in (first, *(one for one in commands(title) if one != last), last):
        run(plane, words)
    until(lambda: not left(plane), "nothing of evenkeel")
