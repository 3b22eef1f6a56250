"""A situation of `futures` in a real cluster: what stands there, and each step done as people and controllers do it."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from itertools import count, cycle, islice, zip_longest
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.e2e.api import MERGE, STRATEGIC, ApiError
from tests.e2e.configuration import SWITCHED_OFF
from tests.e2e.futures import FOR_EVER, NAME, SCALER, Situation
from tests.e2e.placement import node, pods, refusal
from tests.e2e.plane import ControlPlane
from tests.e2e.stored import create_all, remove_all
from tests.support.build import HOSTNAME, ZONE
from tests.support.commands import script
from tests.support.serving import PATIENCE, until

# Nobody attaches volumes; Pods stay on nodes without a kubelet.
CONTROLLERS_OF_VOLUMES = ",".join(
    ["*", *(f"-{name}" for name in (*SWITCHED_OFF, "persistentvolume-attach-detach-controller"))]
)
# Two controllers take Pods away from nodes that have no kubelet. One of them heeds taints only, and is switched on.
FLAGS = {
    "kube-apiserver": {"default-unreachable-toleration-seconds": 1},
    "kube-controller-manager": {
        "controllers": "*,-node-lifecycle-controller,-pod-garbage-collector-controller,"
        "-persistentvolume-attach-detach-controller"
    },
}
BACKOFF = {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1}
QUIET = 1.7  # Longer than a Pod waits after an attempt, in seconds.
BINDING = 1.3  # By so much longer is a Pod still that was refused once, and whose claims are now being bound.
GRACE = 0.4
NOW = {"gracePeriodSeconds": 0}
RESOURCES = {
    **{"Deployment": "deployments", "StatefulSet": "statefulsets", "ReplicaSet": "replicasets", "Job": "jobs"},
    "DaemonSet": "daemonsets",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    SCALER: "horizontalpodautoscalers",
}
CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
REVISION = "deployment.kubernetes.io/revision"
UNREACHABLE = [{"key": "node.kubernetes.io/unreachable", "effect": effect} for effect in ("NoSchedule", "NoExecute")]


class Seen(NamedTuple):
    """What a cluster has come to: its nodes, the Pods that nobody has deleted, and the revision of the workload."""

    nodes: dict[str, dict]
    pods: list[dict]
    revision: str

    def waiting(self) -> int:
        """How many replicas have no node."""
        return sum(replica(one) and not node(one) for one in self.pods)

    def counts(self, constraint: dict, tolerations: Collection[dict]) -> Counter[str]:
        """The Pods in each domain that has any, as the constraint of a new replica counts them."""
        key, labels = constraint["topologyKey"], dict(constraint["labelSelector"]["matchLabels"])
        labels |= dict.fromkeys(constraint.get("matchLabelKeys", ()), self.revision)
        honors = constraint.get("nodeTaintsPolicy") == "Honor"
        there = {name: one for name, one in self.nodes.items() if not honors or tolerated(one, tolerations)}
        on = [node(one) for one in self.pods if labels.items() <= one["metadata"]["labels"].items()]
        return Counter(there[name]["metadata"]["labels"][key] for name in on if name in there)


class Place:
    """Nodes and a namespace in a control plane; `close` takes everything away."""

    def __init__(self, plane: ControlPlane, namespace: str, nodes: Collection[dict]):
        self.plane, self.api, self.namespace = plane, plane.api, namespace
        self.sick: set[str] = set()
        plane.kubelet.grace = GRACE
        plane.create_namespace(namespace)
        for one in nodes:
            self.register(one)

    def path(self, api: str, resource: str, *name: str) -> str:
        root = api if api.startswith("api/") else f"apis/{api}"
        return "/".join(("", root, "namespaces", self.namespace, resource, *name))

    def create(self, api: str, resource: str, obj: dict) -> None:
        metadata = {name: value for name, value in obj["metadata"].items() if name != "namespace"}
        self.api.call("POST", self.path(api, resource), {**obj, "metadata": metadata})

    def register(self, one: dict) -> None:
        """A node, which admission taints as not ready, and then with all that is known of it."""
        name = one["metadata"]["name"]
        self.api.call("POST", "/api/v1/nodes", {"metadata": one["metadata"], "status": one["status"]})
        self.change(name, one["spec"].get("taints", []))

    def change(self, name: str, taints: Collection[dict], **spec: object) -> None:
        """Give a node these taints, and no others."""
        self.api.call("PATCH", f"/api/v1/nodes/{name}", {"spec": {**spec, "taints": list(taints)}}, MERGE)

    def dump(self, folder: Path) -> Path:
        """What `evenkeel dump` writes, in a file with the namespace's name."""
        file = folder / f"{self.namespace}.jsonl.gz"
        done = script("dump", "-o", file, "--kubeconfig", self.plane.kubeconfig)
        assert 0 == done.returncode, done.stderr
        return file

    def nodes(self) -> dict[str, dict]:
        return {one["metadata"]["name"]: one for one in self.api.call("GET", "/api/v1/nodes")["items"]}

    def everyone(self) -> list[dict]:
        return pods(self.plane, self.namespace)

    def remove(self, which: Callable[[dict], bool]) -> None:
        for one in filter(which, self.everyone()):
            try:
                self.api.call("DELETE", self.path("api/v1", "pods", one["metadata"]["name"]), NOW)
            except ApiError as error:
                if error.status != 404:
                    raise

    def rest(self, quiet: float = QUIET) -> list[dict]:
        """The Pods once each was placed or refused, controllers have done their part, and nothing changes."""
        state, since, end = None, time.monotonic(), time.monotonic() + 4 * PATIENCE
        while time.monotonic() < since + quiet:
            assert time.monotonic() < end, f"{self}: still moving: {state}"
            there = self.everyone()
            now = [(one["metadata"]["uid"], one["metadata"]["resourceVersion"]) for one in there]
            if now != state or not self.at_rest(there):
                state, since = now, time.monotonic()
            time.sleep(0.05)
            self.plane.check()
        return there

    def at_rest(self, there: list[dict]) -> bool:
        """Whether nobody is about to do anything about these Pods."""
        lost = self.plane.kubelet.lost
        return all(node(one) in lost if deleted(one) else self.is_settled(one) for one in there)

    def is_settled(self, pod: dict) -> bool:
        return bool(ready(pod) or refusal(pod) or pod["metadata"]["name"] in self.sick)

    def close(self) -> None:
        for resource in ("deployments", "statefulsets", "replicasets", "daemonsets"):
            self.api.call("DELETE", self.path("apps/v1", resource), {"propagationPolicy": "Background"})
        self.api.call("DELETE", self.path("batch/v1", "jobs"), {"propagationPolicy": "Background"})
        self.plane.kubelet.lost.clear()
        until(lambda: self.remove(lambda one: True) or not self.everyone(), "no Pods")
        self.api.call("DELETE", f"/api/v1/namespaces/{self.namespace}")
        self.api.call("DELETE", "/api/v1/nodes", NOW)


class Site(Place):
    """One situation, from its nodes on."""

    def __init__(self, plane: ControlPlane, namespace: str, situation: Situation):
        super().__init__(plane, namespace, situation.nodes)
        self.situation, self.random = situation, Random(situation.number)
        for one in situation.bare:
            self.create("api/v1", "pods", one)
        until(lambda: all(map(ready, self.everyone())), "Pods that run")
        create_all(self.api, situation.storage)
        for one in situation.others:
            api = "api/v1" if one["apiVersion"] == "v1" else one["apiVersion"]
            self.create(api, RESOURCES[one["kind"]], one)
        self.create(situation.workload["apiVersion"], RESOURCES[situation.workload["kind"]], situation.workload)
        self.settle()
        for one in situation.late:
            self.register(one)
        if situation.aged:
            self.age()
        self.seen = self.settle()
        for step in situation.before:
            self.do(step)

    def age(self) -> None:
        """Let the replicas have been ready for different times, and some be dearer than others."""
        for one in filter(replica, self.everyone()):
            if self.random.random() < 0.15:
                dear = {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "7"}}}
                self.api.call("PATCH", self.path("api/v1", "pods", one["metadata"]["name"]), dear, MERGE)
            if node(one):
                since = datetime.now(UTC) - timedelta(minutes=4 ** self.random.randint(1, 7))
                ready = {"type": "Ready", "status": "True", "lastTransitionTime": f"{since:%Y-%m-%dT%H:%M:%SZ}"}
                path = self.path("api/v1", "pods", one["metadata"]["name"], "status")
                self.api.call("PATCH", path, {"status": {"conditions": [ready]}}, STRATEGIC)

    def do(self, step: str) -> Seen:
        """One step, and what has come of it once nothing moves any more."""
        verb, _, rest = step.partition("=")
        getattr(self, verb)(*rest.split(","))
        self.seen = self.settle()
        return self.seen

    def scale(self, replicas: str) -> None:
        field = "parallelism" if self.situation.workload["kind"] == "Job" else "replicas"
        self.patch({"spec": {field: int(replicas)}})

    def rollout(self, _: str) -> None:
        template = {"metadata": {"annotations": {"example.com/restarted": str(time.monotonic())}}}
        self.patch({"spec": {"template": template, **self.situation.applied}})

    def patch(self, change: dict) -> None:
        made = self.situation.workload
        name = made["metadata"]["name"]
        self.api.call("PATCH", self.path(made["apiVersion"], RESOURCES[made["kind"]], name), change, MERGE)

    def cordon(self, target: str) -> None:
        """As kubectl does, and then the controller that is switched off here."""
        for name, one in self.chosen(target).items():
            self.change(name, [*one["spec"].get("taints", []), CORDON], unschedulable=True)

    def taint(self, target: str, taint: str) -> None:
        key, value, effect = re.fullmatch(r"(.+?)=(.*):(\w+)", taint).groups()
        for name, one in self.chosen(target).items():
            self.change(name, [*one["spec"].get("taints", []), {"key": key, "value": value, "effect": effect}])

    def add(self, number: str, label: str) -> None:
        """Nodes like those that have the label, or else like any, of one zone after the other."""
        key, _, value = label.partition("=")
        there = self.nodes()
        alike = [one for one in there.values() if one["metadata"]["labels"].get(key) == value] or [*there.values()]
        alike = [one for one in alike if not cordoned(one)] or alike
        names = (name for name in map("new-{}".format, count(1)) if name not in there)
        for name, like in zip(islice(names, int(number)), cycle(mixed(alike)), strict=False):
            labels = like["metadata"]["labels"] | {HOSTNAME: name, key: value}
            taints = [taint for taint in like["spec"].get("taints", ()) if taint["key"] != CORDON["key"]]
            metadata = {"name": name, "labels": labels}
            self.register({"metadata": metadata, "status": like["status"], "spec": {"taints": taints}})

    def drain(self, target: str) -> None:
        """As kubectl does, node after node, for as long as Pods still go."""
        self.cordon(target)
        for name in sorted(self.chosen(target)):
            self.drain_node(name)

    def drain_node(self, name: str) -> None:
        moved = time.monotonic()
        while left := [one for one in self.everyone() if node(one) == name and not of_daemon_set(one)]:
            self.random.shuffle(left)
            for one in left:
                if not deleted(one) and self.evict(one["metadata"]["name"]):
                    moved = time.monotonic()
            if time.monotonic() > moved + 2 * QUIET:
                return
            time.sleep(0.1)

    def evict(self, name: str) -> bool:
        """Whether a PodDisruptionBudget lets a Pod go."""
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        try:
            self.api.call("POST", self.path("api/v1", "pods", name, "eviction"), body)
        except ApiError as error:
            if error.status not in (404, 429):
                raise
            return False
        return True

    def delete(self, target: str) -> None:
        """Nodes go, and their Pods as the controller takes them away that is switched off here."""
        gone = self.chosen(target)
        for name in gone:
            self.api.call("DELETE", f"/api/v1/nodes/{name}")
        self.remove(lambda one: node(one) in gone)

    def lose(self, target: str) -> None:
        """Their kubelets do nothing any more, and so the controller that is switched off here taints the nodes."""
        gone = self.chosen(target)
        self.plane.kubelet.lost |= gone.keys()
        self.sick |= self.break_on(gone)
        for name, one in gone.items():
            self.change(name, [*one["spec"].get("taints", []), *UNREACHABLE])
        until(
            lambda: all(deleted(one) for one in self.everyone() if node(one) in gone and not stays(one)),
            "Pods of lost nodes to be evicted",
        )

    def unready(self, target: str) -> None:
        """The Pods on these nodes run, and are never ready again."""
        self.sick |= self.break_on(self.chosen(target))

    def break_on(self, nodes: Collection[str]) -> set[str]:
        """Let the Pods on these nodes not be ready; their names."""
        names = {one["metadata"]["name"] for one in self.everyone() if node(one) in nodes}
        for name in names:
            unready = {"type": "Ready", "status": "False"}
            path = self.path("api/v1", "pods", name, "status")
            self.api.call("PATCH", path, {"status": {"conditions": [unready]}}, STRATEGIC)
        return names

    def chosen(self, target: str) -> dict[str, dict]:
        """The nodes of this name, or with this label."""
        key, _, value = target.partition("=")
        return {
            name: one
            for name, one in self.nodes().items()
            if (one["metadata"]["labels"].get(key) == value if value else name == key)
        }

    def __str__(self) -> str:
        return str(self.situation)

    def settle(self) -> Seen:
        """What there is once all is at rest."""
        there = self.rest(QUIET + (BINDING if self.situation.storage else 0))
        return Seen(self.nodes(), [one for one in there if not deleted(one)], self.revision())

    def revision(self) -> str:
        """What tells the Pods of the workload's newest template from others."""
        found, sets = self.workload()
        if self.situation.workload["kind"] == "StatefulSet":
            return found["status"]["updateRevision"]
        if self.situation.workload["kind"] == "Job":
            return ""
        if self.situation.workload["kind"] == "DaemonSet":
            revisions = self.api.call("GET", self.path("apps/v1", "controllerrevisions"))["items"]
            return max(revisions, key=lambda one: one["revision"])["metadata"]["labels"]["controller-revision-hash"]
        own = [one for one in sets if one["spec"]["selector"]["matchLabels"]["app"] == NAME]
        newest = max(own, key=lambda one: int(one["metadata"].get("annotations", {}).get(REVISION, 0)))
        return newest["spec"]["selector"]["matchLabels"].get("pod-template-hash", "")

    def workload(self) -> tuple[dict, list[dict]]:
        """The workload, and all ReplicaSets."""
        made = self.situation.workload
        found = self.api.call("GET", self.path(made["apiVersion"], RESOURCES[made["kind"]], made["metadata"]["name"]))
        return found, self.api.call("GET", self.path("apps/v1", "replicasets"))["items"]

    def at_rest(self, there: list[dict]) -> bool:
        """Whether nobody is about to do anything about the workload and these Pods."""
        found, sets = self.workload()
        if found["kind"] == "Job":
            return job_rests(found, there) and super().at_rest(there)
        return (
            all(one["status"].get("observedGeneration") == one["metadata"]["generation"] for one in (found, *sets))
            and all(one["status"]["replicas"] == one["spec"]["replicas"] for one in sets)
            and all(number(one, "availableReplicas") == number(one, "readyReplicas") for one in (found, *sets))
            and all(within(found["spec"]["replicas"], one["spec"]) for one in self.situation.others if is_scaler(one))
            and super().at_rest(there)
        )

    def close(self) -> None:
        super().close()
        if self.situation.storage:
            remove_all(self.api, [self.namespace])


def job_rests(job: dict, pods: list[dict]) -> bool:
    """Whether a Job has as many Pods as it wants, which are none once it has failed."""
    spec, own = job["spec"], [one for one in pods if replica(one)]
    failing = any(one["type"] == "FailureTarget" for one in job["status"].get("conditions", ()))
    wanted = 0 if failing else min(spec["parallelism"], spec["completions"])
    waits = spec["podReplacementPolicy"] == "Failed" and not failing
    return wanted == sum(waits or not deleted(one) for one in own)


def is_scaler(one: dict) -> bool:
    return one["kind"] == SCALER


def within(replicas: int, scaler: dict) -> bool:
    """Whether an autoscaler has nothing to do: without replicas it is off."""
    return not replicas or scaler["minReplicas"] <= replicas <= scaler["maxReplicas"]


def number(workload: dict, name: str) -> int:
    """A number of Pods in a status, which leaves out 0."""
    return workload["status"].get(name, 0)


def complete(workload: dict) -> bool:
    """Whether a Deployment or StatefulSet has all Pods, and all of its newest template."""
    names = ("replicas", "updatedReplicas", "availableReplicas")
    return all(number(workload, name) == workload["spec"]["replicas"] for name in names)


def of_daemon_set(pod: dict) -> bool:
    return any(one["kind"] == "DaemonSet" for one in pod["metadata"].get("ownerReferences", ()))


def stays(pod: dict) -> bool:
    """Whether it tolerates for ever that nobody reaches its node."""
    mine = (one for one in pod["spec"].get("tolerations", ()) if one.get("key") == FOR_EVER["key"])
    return any("tolerationSeconds" not in one for one in mine)


def deleted(pod: dict) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def mixed(nodes: Collection[dict]) -> list[dict]:
    """Nodes in the order of their names, but one of each zone in turn."""
    zones: dict[str, list[dict]] = {}
    for one in sorted(nodes, key=lambda one: one["metadata"]["name"]):
        zones.setdefault(one["metadata"]["labels"][ZONE], []).append(one)
    turns = zip_longest(*zones.values())
    return [one for turn in turns for one in turn if one is not None]


def tolerated(node: dict, tolerations: Collection[dict]) -> bool:
    """Whether tolerations that say Exists let a Pod onto a node."""
    keys = {one["key"] for one in tolerations}
    taints = node["spec"].get("taints", ())
    return all(one["key"] in keys or one["effect"] == "PreferNoSchedule" for one in taints)


def cordoned(node: dict) -> bool:
    return node["spec"].get("unschedulable", False)


def replica(pod: dict) -> bool:
    """Whether it is one of the workload."""
    return bool(pod["metadata"].get("ownerReferences")) and pod["metadata"]["labels"]["app"] == NAME


def ready(pod: dict) -> bool:
    """Whether a Pod is on a node, and is ready."""
    conditions = pod["status"].get("conditions", ())
    return bool(node(pod)) and any((one["type"], one["status"]) == ("Ready", "True") for one in conditions)
