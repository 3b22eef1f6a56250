"""
What kube-scheduler says of Pods in random clusters, and where it puts them, beside what `evenkeel explain` computes.

`MESSAGES=200 pytest tests/e2e/test_message.py` asks of as many; without it there are 50, the same in every run.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from typing import NamedTuple

import pytest

from tests.e2e.api import MERGE
from tests.e2e.placement import node, refusal, settled
from tests.e2e.plane import ControlPlane
from tests.e2e.situations import FINISHED, LAST, TERMINATING, situation
from tests.support.serving import until
from webhook.cli.main import main

pytestmark = pytest.mark.slow  # The recordings have the messages, too.

NUMBER = max(50, int(os.environ.get("MESSAGES") or 0))
ELSEWHERE = "default"
KEPT = {"finalizers": ["example.com/kept"]}
NOW = {"gracePeriodSeconds": 0}
# What the scheduler adds of claims and preemption; from 1.34 on it has found no claims where PreFilter rejects the Pod.
ADDED = " (no new claims to deallocate, )?(preemption: .*|not found)"
REASONS = {
    "Insufficient cpu",
    "Insufficient ephemeral-storage",
    "Insufficient example.com/gpu",
    "Insufficient memory",
    "Too many pods",
    "node(s) didn't match Pod's node affinity/selector",
    "node(s) didn't match pod topology spread constraints",
    "node(s) didn't match pod topology spread constraints (missing required label)",
    "node(s) didn't satisfy plugin(s) [NodeAffinity]",
    "node(s) had untolerated taint",
    "node(s) were unschedulable",
    "pod affinity terms conflict",
}


class Outcome(NamedTuple):
    """The Pod as the scheduler left it, and evenkeel's exit code and explanation."""

    pod: dict
    code: int
    explanation: dict


class Clusters:
    """One cluster after the other in a control plane; the nodes of each are others, and so are its Pods."""

    def __init__(self, plane: ControlPlane):
        self.plane, self.api = plane, plane.api

    def outcome(self, number: int) -> Outcome:
        """What becomes of the Pod of this number, once the scheduler knows its whole cluster."""
        namespace = f"message-{number}"
        self.plane.create_namespace(namespace)
        nodes, there, elsewhere, incoming = situation(number)
        for one in nodes:
            self.register(one)
        for pod in elsewhere:
            self.create(ELSEWHERE, pod)
        for pod, fate in there:
            self.create(namespace, pod, fate)
        self.await_scheduler(nodes[-1]["metadata"]["labels"][LAST])
        self.create(namespace, incoming)
        (pod,) = settled(self.plane, namespace, 1, "incoming")
        found = Outcome(pod, *self.explain(namespace))
        self.remove(namespace)
        return found

    def register(self, one: dict) -> None:
        """A node, which admission taints as not ready, and then with all that is known of it."""
        name = one["metadata"]["name"]
        self.plane.kubelet.lost.add(name)  # Or a Pod that ends may have failed after the scheduler has looked.
        self.api.call("POST", "/api/v1/nodes", {"metadata": {"name": name}, "status": one["status"]})
        self.api.call("PATCH", f"/api/v1/nodes/{name}", {"metadata": one["metadata"], "spec": one["spec"]}, MERGE)

    def create(self, namespace: str, pod: dict, fate: str = "") -> None:
        path = f"/api/v1/namespaces/{namespace}/pods"
        metadata = {**pod["metadata"], **(KEPT if fate == TERMINATING else {})}
        self.api.call("POST", path, {**pod, "metadata": metadata})
        if fate == TERMINATING:
            self.api.call("DELETE", f"{path}/{metadata['name']}")
        elif fate == FINISHED:
            self.api.call("PATCH", f"{path}/{metadata['name']}/status", {"status": {"phase": "Failed"}}, MERGE)

    def await_scheduler(self, last: str) -> None:
        """
        Wait until the scheduler has placed a Pod on the last node.

        It is told of nodes in the order of their changes, and of the Pod after those that are there.
        """
        spec = {"nodeSelector": {LAST: last}, "tolerations": [{"operator": "Exists"}]}
        spec["containers"] = [{"name": "c", "image": "i"}]
        self.create(ELSEWHERE, {"metadata": {"name": last}, "spec": spec})
        path = f"/api/v1/namespaces/{ELSEWHERE}/pods/{last}"
        until(lambda: node(self.api.call("GET", path)), f"a Pod on the node {last}")

    def explain(self, namespace: str) -> tuple[int, dict]:
        kubeconfig = str(self.plane.kubeconfig)
        with redirect_stdout(StringIO()) as printed:
            code = main(["explain", "pod/incoming", "-n", namespace, "--kubeconfig", kubeconfig, "-o", "json"])
        return code, json.loads(printed.getvalue())

    def remove(self, namespace: str) -> None:
        """All Pods and nodes, also Pods that something keeps."""
        for one in (namespace, ELSEWHERE):
            path = f"/api/v1/namespaces/{one}/pods"
            for pod in self.api.call("GET", path)["items"]:
                if pod["metadata"].get("finalizers"):
                    self.api.call("PATCH", f"{path}/{pod['metadata']['name']}", {"metadata": {"finalizers": []}}, MERGE)
            self.api.call("DELETE", path, NOW)
        self.api.call("DELETE", "/api/v1/nodes", NOW)


@pytest.fixture(scope="module")
def plane(tmp_path_factory) -> Iterator[ControlPlane]:
    """A control plane without nodes."""
    with ControlPlane(tmp_path_factory.mktemp("plane")) as running:
        yield running


@pytest.fixture(scope="module")
def outcomes(plane) -> dict[int, Outcome]:
    clusters = Clusters(plane)
    return {number: clusters.outcome(number) for number in range(NUMBER)}


def test_the_scheduler_says_what_evenkeel_computes(outcomes):
    said = {number: refusal(one.pod) for number, one in outcomes.items()}
    waiting = {number: one for number, one in outcomes.items() if said[number]}

    assert {number: said[number] for number in waiting} == {
        number: one.explanation["message"] for number, one in waiting.items()
    }
    assert {number: (1, said[number], True) for number in waiting} == {
        number: (one.code, one.explanation["schedulerMessage"], one.explanation["agrees"])
        for number, one in waiting.items()
    }


def without_added(message: str) -> str:
    """What the scheduler says of the nodes."""
    return re.sub(rf"{ADDED}$", "", message)


def test_a_bound_pod_is_on_a_node_that_passes(outcomes):
    bound = {number: one for number, one in outcomes.items() if node(one.pod)}

    assert {number: (0, node(one.pod), "", True) for number, one in bound.items()} == {
        number: (one.code, one.explanation["node"], one.explanation["message"], passes(one))
        for number, one in bound.items()
    }


def passes(bound: Outcome) -> bool:
    """Whether evenkeel lets the Pod's node pass."""
    return bound.explanation["nodes"][node(bound.pod)]["feasible"]


def test_every_reason_occurs_and_half_of_the_pods_wait(outcomes):
    said = [without_added(refusal(one.pod)) for one in outcomes.values()]

    assert set() == REASONS - {reason for message in said for reason in reasons(message)}
    assert NUMBER / 2 < sum(map(bool, said)) < NUMBER


def reasons(message: str) -> set[str]:
    """The reasons without numbers; that of a taint without the taint, which it names up to 1.33."""
    _, _, listed = message.removesuffix(".").partition(": ")
    return {re.sub(r"^\d+ |( \{.*\}|\(s\))$", "", one) for one in listed.split(", ")}
