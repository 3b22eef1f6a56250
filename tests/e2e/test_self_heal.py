"""With no replica and `Fail`: a label of namespaces lets Pods in, at once and while GitOps puts everything back."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from threading import Event, Thread

import pytest

from tests.e2e.api import ApiError
from tests.e2e.helm import NAMESPACE, render
from tests.e2e.test_chart import ENFORCED, OWN_FILES, POLICIES
from tests.e2e.test_gitops import unhooked
from tests.e2e.webhook import CONFIGURATIONS, containers
from tests.support import ROOT
from tests.support.build import constraint, merged, pod
from tests.support.serving import certificate, until

PAGE = ROOT / "docs" / "outage.md"
COMMANDS = PAGE.read_text("utf-8").replace("\\\n", "")
OFF, ON = re.findall(r"^\$ (kubectl label namespaces .*)$", COMMANDS, re.MULTILINE)
FAILING = {
    "all": {"failurePolicy": "Fail", "policy": {"earlyAnswer": True}},
    "what is enforced": {
        "failurePolicyEnforced": "Fail",
        "policy": {"rules": {"missing-constraints": ENFORCED, "empty-selector": ENFORCED}},
    },
}
FLUX = ("--server-side", "--force-conflicts", "--field-manager", "kustomize-controller")
APPLIES = {"client-side": (), "server-side": ("--server-side", "--force-conflicts"), "as Flux": FLUX}
SKIP = "evenkeel.dev/skip"


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_the_label_takes_every_entry_away_that_may_refuse(policy):
    """What is in no namespace, such as a custom resource of a cluster, is never refused by an entry that fails."""
    for failing in FAILING.values():
        objects = render(failing | {"policy": policy | failing["policy"]})
        entries = [one for obj in objects if obj["kind"].endswith("WebhookConfiguration") for one in obj["webhooks"]]
        refusing = [one for one in entries if one["failurePolicy"] == "Fail"]

        assert refusing
        for one in refusing:
            asked = {"key": SKIP, "operator": "NotIn", "values": ["true"]}
            assert asked in one["namespaceSelector"]["matchExpressions"]
            assert {"Namespaced"} == {rule["scope"] for rule in one["rules"]}


class SelfHeal:
    """Applies what is in git every second, as Argo CD and Flux would: `rounds` counts how often it has."""

    def __init__(self, plane, objects, how):
        self.plane, self.how, self.rounds = plane, how, 0
        self.git = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        self.stopped, self.error = Event(), None
        self.thread = Thread(target=self._run, daemon=True)

    def apply(self):
        if self.how == FLUX:
            self.take_over()
        output = self.plane.kubectl("apply", *self.how, "-f", "-", stdin=self.git)
        assert 0 == output.code, output
        self.rounds += 1

    def take_over(self):
        """
        Make Flux the manager of what kubectl has set in the namespaces, so that its next apply removes it.

        upstream: fluxcd/pkg/ssa/patch.go:PatchReplaceFieldsManagers
        """
        for obj in json.loads(self.git)["items"]:
            if obj["kind"] == "Namespace":
                self._take_over(obj["metadata"]["name"])

    def _take_over(self, name):
        try:
            fields = self.plane.api.call("GET", f"/api/v1/namespaces/{name}")["metadata"]["managedFields"]
        except ApiError:  # The first apply is yet to make it.
            return
        theirs = [each for each in fields if each["manager"].startswith("kubectl")]
        if not theirs:
            return
        flux = [each for each in fields if (each["manager"], each["operation"]) == (FLUX[-1], "Apply")]
        taken = {**theirs[0], "manager": FLUX[-1], "operation": "Apply"}
        taken["fieldsV1"] = reduce(merged, (each["fieldsV1"] for each in (*flux, *theirs)))
        others = [each for each in fields if each not in theirs and each not in flux]
        patch = [{"op": "replace", "path": "/metadata/managedFields", "value": [*others, taken]}]
        output = self.plane.kubectl("patch", "namespace", name, "--type=json", "--patch", json.dumps(patch))
        assert 0 == output.code, output

    def _run(self):
        while not self.stopped.wait(1):
            try:
                self.apply()
            except BaseException as error:  # It is raised where the rounds are waited for.
                self.error = error
                return

    def go_on(self, more=3):
        """Wait until it has applied everything, wholly, some more times."""
        enough = self.rounds + more
        until(lambda: self.error or self.rounds > enough, "GitOps to apply again")
        if self.error:
            raise self.error


@contextmanager
def healing(plane, objects, how) -> Iterator[SelfHeal]:
    heal = SelfHeal(plane, objects, how)
    heal.apply()
    heal.thread.start()
    try:
        yield heal
    finally:
        heal.stopped.set()
        heal.thread.join()
        plane.kubectl("delete", *CONFIGURATIONS)


def refused(plane, namespace):
    """What the API server says of a Pod, or None if it is created."""
    made = containers(pod(constraint(), namespace=namespace))
    try:
        plane.api.call("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", made)
    except ApiError as error:
        return error.message
    return None


def labels(plane, name):
    return plane.api.call("GET", f"/api/v1/namespaces/{name}")["metadata"]["labels"]


def kubectl(plane, command):
    output = plane.kubectl(*shlex.split(command)[1:])
    assert 0 == output.code, output


def namespaced(name, **labels):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


@pytest.mark.parametrize("how", APPLIES.values(), ids=APPLIES)
@pytest.mark.parametrize("failing", FAILING.values(), ids=FAILING)
def test_pods_are_let_in_by_a_label_and_self_heal_leaves_it(plane, tmp_path, namespace, failing, how):
    """Where deleting the configurations is undone in seconds; and what had the label before has it afterwards."""
    exempt, new = f"{namespace}-exempt", f"{namespace}-new"
    values = OWN_FILES | {"certificate": OWN_FILES["certificate"] | {"caBundle": certificate(tmp_path)}} | failing
    namespaces = [namespaced(NAMESPACE), namespaced(namespace, team="a"), namespaced(exempt, **{SKIP: "true"})]

    with healing(plane, [*namespaces, *unhooked(values)], how) as heal:
        until(lambda: refused(plane, namespace), "the API server to ask nobody")
        assert "failed calling webhook" in refused(plane, namespace)
        plane.kubectl("delete", *CONFIGURATIONS)
        heal.go_on()
        until(lambda: refused(plane, namespace), "what was deleted to be there again")

        kubectl(plane, OFF)
        until(lambda: refused(plane, namespace) is None, "a Pod")
        heal.go_on()
        assert refused(plane, namespace) is None
        assert {"team": "a", SKIP: "true"}.items() <= labels(plane, namespace).items()
        plane.create_namespace(new)
        assert refused(plane, new)
        kubectl(plane, OFF)
        until(lambda: refused(plane, new) is None, "a Pod in a namespace that was created since")

        kubectl(plane, ON)
        until(lambda: refused(plane, namespace) and refused(plane, new), "refusals as before")
        assert {one for one in labels(plane, namespace) if "evenkeel" in one} == set()
        assert {one for one in labels(plane, exempt) if "evenkeel" in one} == {SKIP}
        assert refused(plane, exempt) is None
