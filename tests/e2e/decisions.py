"""One Pod after the other is placed by a live scheduler, beside what `evenkeel explain` says before it is created."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from tests.e2e.api import MERGE
from tests.e2e.arrivals import Arrivals
from tests.e2e.placement import node, refusal
from tests.e2e.plane import ControlPlane
from tests.support.serving import until
from webhook.cli.main import main

FLAGS = {"kube-scheduler": {"v": 10}}  # From here on it logs the scores of each node.
ELSEWHERE = "default"
NOW = {"gracePeriodSeconds": 0}
LAST = "example.com/last"
TOTAL = re.compile(
    r'"Calculated node\'s final score for pod" pod="(?P<pod>[^"]+)" node="(?P<node>[^"]+)" score=(?P<score>-?\d+)'
)


class Decision(NamedTuple):
    """
    What is said of a Pod: the nodes that pass with their totals, and the message if there is none.

    A single node has no total: nothing is scored.
    """

    totals: dict[str, int | None]
    message: str


class Decided(NamedTuple):
    """What evenkeel computes for a Pod, what the scheduler has done, and the node, "" if there is none."""

    pod: str
    computed: Decision
    live: Decision
    node: str
    code: int
    gaps: tuple[str, ...]

    @property
    def best(self) -> set[str]:
        """The nodes of which the scheduler takes one, by what evenkeel computes."""
        totals = self.computed.totals
        return {name for name, total in totals.items() if total == max(totals.values(), key=lambda of: of or 0)}


class Log:
    """What a scheduler that logs all has written since it was last read."""

    def __init__(self, file: Path):
        self.file, self.read = file, 0

    def totals(self, pod: str) -> dict[str, int]:
        """Return the totals in what is new, of the last attempt for the Pod."""
        with self.file.open("rb") as log:
            log.seek(self.read)
            text = log.read()
        self.read += len(text)
        found = (match for match in TOTAL.finditer(text.decode("utf-8", "replace")) if match["pod"] == pod)
        return {match["node"]: int(match["score"]) for match in found}


def make_namespaces(plane: ControlPlane, clusters: Iterable[Arrivals]) -> None:
    """Make the namespaces of all; then no controllers run any more, which would take the Pods for their own."""
    for given in clusters:
        for name, labels in given.namespaces.items():
            plane.create_namespace(name, **labels)
    plane.controller_manager.stop()


class Stream:
    """A cluster in a control plane, and the decisions for the Pods that arrive there."""

    def __init__(self, plane: ControlPlane, given: Arrivals, folder: Path):
        self.plane, self.api, self.given, self.folder = plane, plane.api, given, folder
        self.log = Log(plane.scheduler.log)
        self.uids: dict[tuple[str, str], str] = {}

    def begin(self) -> None:
        """Make all but namespaces and Pods."""
        for made in self.given.services:
            self.api.call("POST", f"/api/v1/namespaces/{made['metadata']['namespace']}/services", made)
        for made in self.given.replica_sets:
            metadata = made["metadata"]
            there = self.api.call("POST", f"/apis/apps/v1/namespaces/{metadata['namespace']}/replicasets", made)
            self.uids[metadata["namespace"], metadata["name"]] = there["metadata"]["uid"]
        for made in self.given.nodes:
            self.register(made)
        self.await_scheduler()

    def register(self, made: dict) -> None:
        """Register a node, which admission taints as not ready, and then with all that is known of it."""
        name = made["metadata"]["name"]
        self.api.call("POST", "/api/v1/nodes", {"metadata": {"name": name}, "status": made["status"]})
        self.api.call("PATCH", f"/api/v1/nodes/{name}", {"metadata": made["metadata"], "spec": made["spec"]}, MERGE)

    def await_scheduler(self) -> None:
        """Wait until the scheduler, told of nodes in their order, has placed a Pod on one more; both go again."""
        name = f"{self.given.nodes[-1]['metadata']['name']}-last"
        have = {"cpu": "1", "memory": "1Gi", "pods": "1"}
        last = {"metadata": {"name": name, "labels": {LAST: name}}, "spec": {"taints": []}}
        self.register({**last, "status": {"capacity": have, "allocatable": have}})
        spec = {"nodeSelector": {LAST: name}, "containers": [{"name": "c", "image": "i"}]}
        path = f"/api/v1/namespaces/{ELSEWHERE}/pods"
        self.api.call("POST", path, {"metadata": {"name": name}, "spec": spec})
        until(lambda: node(self.api.call("GET", f"{path}/{name}")), f"a Pod on the node {name}")
        self.api.call("DELETE", f"{path}/{name}", NOW)
        self.api.call("DELETE", f"/api/v1/nodes/{name}", NOW)

    def decisions(self) -> Iterator[Decided]:
        """Decide for each Pod; one that finds no node goes again."""
        for made in self.given.pods:
            yield self.decided(made)

    def decided(self, made: dict) -> Decided:
        metadata = made["metadata"]
        for owner in metadata.get("ownerReferences", ()):
            owner["uid"] = self.uids[metadata["namespace"], owner["name"]]
        name, path = f"{metadata['namespace']}/{metadata['name']}", f"/api/v1/namespaces/{metadata['namespace']}/pods"
        computed, code, gaps = self.computed(made)
        self.api.call("POST", path, made)
        path = f"{path}/{metadata['name']}"
        there = until(lambda: self.settled(path), f"a decision for {name}")
        if not node(there):
            self.api.call("DELETE", path, NOW)
        return Decided(name, computed, self.live(name, there), node(there), code, gaps)

    def live(self, name: str, there: dict) -> Decision:
        """Return what the scheduler says of a Pod that it has placed or refused."""
        totals = self.log.totals(name) or ({node(there): None} if node(there) else {})
        return Decision(totals, refusal(there))

    def settled(self, path: str) -> dict | None:
        """Return the Pod once it is bound or refused."""
        there = self.api.call("GET", path)
        return there if node(there) or refusal(there) else None

    def computed(self, made: dict) -> tuple[Decision, int, tuple[str, ...]]:
        """Return what `evenkeel explain -f` says of a Pod that is not there yet, with its exit code and the gaps."""
        file = self.folder / "pod.json"
        file.write_text(json.dumps(made))
        return self.explained("-f", str(file))

    def explained(self, *which: str) -> tuple[Decision, int, tuple[str, ...]]:
        """Return what `evenkeel explain` says of what it is given."""
        with redirect_stdout(StringIO()) as printed:
            code = main(["explain", *which, "--kubeconfig", str(self.plane.kubeconfig), "-o", "json"])
        said = json.loads(printed.getvalue())
        passing = {name: verdict.get("score") for name, verdict in said["nodes"].items() if verdict["feasible"]}
        return Decision(passing, said["message"]), code, tuple(said["notJudged"])

    def end(self) -> None:
        """Take away all Pods and nodes."""
        for namespace in self.given.namespaces:
            self.api.call("DELETE", f"/api/v1/namespaces/{namespace}/pods", NOW)
        self.api.call("DELETE", "/api/v1/nodes", NOW)


def differing(decided: Iterable[Decided]) -> Mapping[str, Decided]:
    """Return the decisions for which evenkeel and the scheduler say something else, by the Pod."""
    return {of.pod: of for of in decided if of.computed != of.live or (of.node and of.node not in of.best)}
