"""
A live scheduler preempts Pods for others, one after the other: on the node and of the Pods that evenkeel names.

`CLUSTERS=20 pytest tests/e2e/test_preemption.py` tries as many; without it there are five: four gave 59 to 64 of them.
Victims end when the test lets them: for a while they are there, and room is kept for the Pod that preempted them.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from random import Random
from typing import NamedTuple

import pytest

from tests.e2e import site
from tests.e2e.api import MERGE
from tests.e2e.decisions import NOW
from tests.e2e.placement import node, refusal
from tests.e2e.plane import ControlPlane
from tests.support.build import HOSTNAME, ZONE, priority_class
from tests.support.serving import until
from webhook.cli.main import main

pytestmark = pytest.mark.slow  # The recordings have it, too.

CLUSTERS, PODS = int(os.environ.get("CLUSTERS") or 5), 32
PRIORITIES = {"placeholder": -10, "batch": 100, "usual": 1000, "urgent": 5000}
APPS = ("web", "db", "log")
HELPED = re.compile(r"preemption: found a potential placement for pod on node (\S+), preempting (\d+) victims$")


class Preempted(NamedTuple):
    """What evenkeel says of a Pod before it is created, and what became of it: whom the scheduler preempted for it."""

    pod: str
    said: dict
    message: str
    nominated: str
    victims: frozenset[str]
    placed: str

    @property
    def differs(self) -> bool:
        passing = {name for name, verdict in self.said["nodes"].items() if verdict["feasible"]}
        if self.placed:
            return self.placed not in passing
        if passing:
            return True
        nodes = {one["node"]: one["victims"] for one in self.said["preemption"]["nodes"]}
        if not self.nominated:
            return bool(nodes) or self.message != self.said["message"]
        told = HELPED.search(self.message)
        return (
            sorted(self.victims) != nodes.get(self.nominated)
            or told is None
            or told.groups() != (self.nominated, str(len(self.victims)))
            or not self.message.startswith(self.said["message"].partition(" preemption:")[0])
        )


class Crowd:
    """A full cluster, and the Pods that arrive there."""

    def __init__(self, plane: ControlPlane, number: int, folder):
        self.plane, self.api, self.folder = plane, plane.api, folder
        self.random, self.namespace = Random(f"crowd {number}"), f"crowd-{number}"
        self.nodes = [f"c{number}-{place}" for place in range(self.random.randint(3, 6))]
        self.seconds = iter(self.random.sample(range(3600), 3600))
        self.pods = f"/api/v1/namespaces/{self.namespace}/pods"

    def begin(self) -> None:
        self.plane.kubelet.lost.update(self.nodes)  # Then Pods stay as they are, and victims end when they are told.
        for place, name in enumerate(self.nodes):
            labels = {HOSTNAME: name, ZONE: "ab"[place % 2]}
            have = {"cpu": self.random.choice(("2", "4")), "memory": "16Gi", "pods": self.random.choice(("4", "110"))}
            self.api.call(
                "POST",
                "/api/v1/nodes",
                {"metadata": {"name": name, "labels": labels}, "status": {"capacity": have, "allocatable": have}},
            )
            self.api.call("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": None}}, MERGE)
            free = 1000 * int(have["cpu"])
            for i in range(int(have["pods"]) if have["pods"] == "4" else 8):
                cpu = self.random.choice((300, 500, 800))
                if cpu <= free:
                    free -= cpu
                    self.run(f"{name}-{i}", name, f"{cpu}m")
        for number in range(2):
            self.budget(number)

    def template(self, name: str, cpu: str, priority: str, **spec: object) -> dict:
        app = self.random.choice(APPS)
        containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]
        if self.random.random() < 0.1:
            containers[0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
        metadata = {"name": name, "labels": {"app": app}}
        return {"metadata": metadata, "spec": {"containers": containers, "priorityClassName": priority, **spec}}

    def run(self, name: str, on: str, cpu: str) -> None:
        """Have a Pod run on a node from the start."""
        made = self.template(
            name, cpu, self.random.choice(("placeholder", "placeholder", "batch", "usual")), nodeName=on
        )
        made["spec"]["containers"][0].pop("ports", None)
        self.api.call("POST", self.pods, made)
        self.start(name)

    def start(self, name: str) -> None:
        """Have a Pod start in a second of its own: the order of Pods that start at once is not known."""
        minute, second = divmod(next(self.seconds), 60)
        status = {"phase": "Running", "startTime": f"2026-01-01T00:{minute:02}:{second:02}Z"}
        self.api.call("PATCH", f"{self.pods}/{name}/status", {"status": status}, MERGE)

    def budget(self, number: int) -> None:
        path = f"/apis/policy/v1/namespaces/{self.namespace}/poddisruptionbudgets"
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": self.random.choice(APPS)}}}
        self.api.call("POST", path, {"metadata": {"name": f"budget-{number}"}, "spec": spec})
        counted = dict.fromkeys(("currentHealthy", "desiredHealthy", "expectedPods"), 1)
        status = {"disruptionsAllowed": self.random.choice((0, 1)), **counted}
        self.api.call("PATCH", f"{path}/budget-{number}/status", {"status": status}, MERGE)

    def decisions(self) -> Iterator[Preempted]:
        for number in range(PODS):
            yield self.decided(number)
            if self.random.random() < 0.6:
                self.end_victims()
        self.end_victims()

    def decided(self, number: int) -> Preempted:
        priority = self.random.choice(("batch", "usual", "usual", "urgent", "urgent"))
        made = self.template(f"new-{number}", self.random.choice(("200m", "700m", "1500m")), priority)
        if self.random.random() < 0.2:
            selector = {"matchLabels": made["metadata"]["labels"]}
            made["spec"]["topologySpreadConstraints"] = [
                {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
            ]
        for one in self.api.call("GET", self.pods)["items"]:
            if node(one) and "startTime" not in one["status"]:
                self.start(one["metadata"]["name"])
        said, leaving = self.said(made), self.leaving()
        self.api.call("POST", self.pods, made)
        name = made["metadata"]["name"]
        there = until(lambda: self.settled(name), f"a decision for {name}")
        nominated, victims = there["status"].get("nominatedNodeName", ""), frozenset[str]()
        if nominated:
            told = HELPED.search(refusal(there))
            count = int(told[2]) if told else 0
            already = self.counted(said, nominated, leaving)
            victims = until(lambda: self.victims(nominated, count, leaving, already), f"{count} victims of {name}")
        elif not node(there):
            self.api.call("DELETE", f"{self.pods}/{name}", NOW)
        return Preempted(name, said, refusal(there), nominated, victims, node(there))

    def counted(self, said: dict, nominated: str, leaving: frozenset[str]) -> frozenset[str]:
        """Return the Pods that are to go, and are ending already: they are victims once more."""
        victims = next((one["victims"] for one in said["preemption"]["nodes"] if one["node"] == nominated), [])
        return leaving & set(victims)

    def victims(
        self, nominated: str, count: int, leaving: frozenset[str], already: frozenset[str]
    ) -> frozenset[str] | None:
        """
        Return the Pods that are leaving this node; those that were before are among them where the others are too few.

        Pods may be leaving another node at the same time: kube-scheduler tries earlier Pods again, and they preempt.
        """
        new = self.leaving(nominated) - leaving
        if count and len(new) == count:
            return new
        return (new | already) if len(new) + len(already) >= count else None

    def said(self, made: dict) -> dict:
        file = self.folder / "pod.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "Pod", **made}))
        with redirect_stdout(StringIO()) as printed:
            code = main(
                [
                    *("explain", "-f", str(file), "-n", self.namespace),
                    *("--kubeconfig", str(self.plane.kubeconfig), "-o", "json"),
                ]
            )
        assert code in (0, 1)
        return json.loads(printed.getvalue())

    def settled(self, name: str) -> dict | None:
        there = self.api.call("GET", f"{self.pods}/{name}")
        return there if node(there) or refusal(there) else None

    def leaving(self, of: str = "") -> frozenset[str]:
        """Return the Pods that are ending, those of one node or all."""
        there = self.api.call("GET", self.pods)["items"]
        ending = [one for one in there if "deletionTimestamp" in one["metadata"]]
        names = [one["metadata"]["name"] for one in ending if of in ("", node(one))]
        return frozenset(f"{self.namespace}/{name}" for name in names)

    def end_victims(self) -> None:
        """Let victims end until no Pod waits for its node any more: others may take its room, and are preempted."""
        until(self.is_quiet, f"no Pod in {self.namespace} that waits for its node", seconds=60)
        for one in self.api.call("GET", self.pods)["items"]:
            if not node(one):
                self.api.call("DELETE", f"{self.pods}/{one['metadata']['name']}", NOW)

    def is_quiet(self) -> bool:
        for name in self.leaving():
            self.api.call("DELETE", f"{self.pods}/{name.partition('/')[2]}", NOW)
        return not any(
            one["status"].get("nominatedNodeName") and not node(one) for one in self.api.call("GET", self.pods)["items"]
        )

    def end(self) -> None:
        self.api.call("DELETE", self.pods, NOW)
        self.api.call("DELETE", "/api/v1/nodes", NOW)


@pytest.fixture(scope="module")
def decisions(tmp_path_factory) -> list[Preempted]:
    with ControlPlane(tmp_path_factory.mktemp("plane")) as plane:
        plane.configure_scheduler(**site.BACKOFF)
        for name, value in PRIORITIES.items():
            plane.api.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", priority_class(name, value))
        crowds = [Crowd(plane, number, tmp_path_factory.mktemp("pods")) for number in range(CLUSTERS)]
        for crowd in crowds:
            plane.create_namespace(crowd.namespace)
        plane.controller_manager.stop()
        made = []
        for crowd in crowds:
            crowd.begin()
            made += crowd.decisions()
            crowd.end()
        return made


def test_the_scheduler_preempts_as_evenkeel_computes(decisions):
    assert [] == [one for one in decisions if one.differs]


def test_all_is_judged(decisions):
    assert [] == [(one.pod, one.said["notJudged"]) for one in decisions if one.said["notJudged"]]


def test_there_are_sixty_decisions_of_all_kinds(decisions):
    kinds = Counter("placed" if one.placed else "preempts" if one.nominated else "waits" for one in decisions)

    assert kinds["preempts"] >= 60, kinds
    assert kinds["waits"] >= 3
