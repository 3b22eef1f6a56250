"""
What `evenkeel simulate` says of a whole cluster, beside what a real control plane does whose kubelets are stopped.

`CROWDS=5 pytest -s tests/e2e/test_cluster_simulate.py` tries as many clusters for each step; without it there are two.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.e2e.crowds import NAMESPACES, POOL, PRIORITIES, WORKLOADS, Crowd
from tests.e2e.futures import HIGH, LOW
from tests.e2e.kubelet import Heartbeat
from tests.e2e.placement import node as node_of
from tests.e2e.placement import refusal
from tests.e2e.plane import ControlPlane
from tests.e2e.site import BACKOFF, GRACE, UNREACHABLE, deleted, ready
from tests.e2e.site import number as number_of
from tests.support.build import ZONE, priority_class
from tests.support.commands import script
from tests.support.serving import PATIENCE, until

pytestmark = pytest.mark.slow  # test_simulate.py asks the same of each workload.

NUMBER = int(os.environ.get("CROWDS") or 2)
RUNS = 100
# What is outside of what these runs show has to be within what so many show. One run more is outside of those with at
# most 4 chances in 10,000 of each number that is one of two.
MORE_RUNS = 1_000
QUIET = 5.0  # seconds, longer than a Pod waits after an attempt, and than a busy machine takes for the next one
CERTAIN = 0.85  # Of so many workloads at least as many Pods wait in all runs.
FLAGS = {
    # No Pod is evicted before all nodes that are lost are known to be: their last heartbeats are up to 2 seconds apart.
    "kube-apiserver": {"default-unreachable-toleration-seconds": 5},
    "kube-controller-manager": {
        "controllers": "*,-persistentvolume-attach-detach-controller",
        "node-monitor-period": "1s",
        "node-monitor-grace-period": "8s",
        "node-eviction-rate": 0.33,
    },
}
CONTROLLERS = ("apis/apps/v1/deployments", "apis/apps/v1/replicasets", "apis/apps/v1/daemonsets", "apis/batch/v1/jobs")


class Numbers(NamedTuple):
    """Pods of a workload, as the JSON of a whole cluster names them."""

    lost: int
    back: int
    more: int
    missing: int


class Range(NamedTuple):
    """The least and the most of all runs."""

    least: int
    most: int


NOTHING, NEVER = Numbers(0, 0, 0, 0), dict.fromkeys(Numbers._fields, Range(0, 0))


class Standing:
    """A crowd in a control plane of its own: `there` are its Pods before the step."""

    def __init__(self, plane: ControlPlane, crowd: Crowd):
        self.plane, self.api, self.crowd = plane, plane.api, crowd
        self.lost: set[str] = set()
        plane.kubelet.grace = GRACE
        plane.configure_scheduler(**BACKOFF)
        for name in (HIGH, LOW):
            self.api.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", priority_class(name, PRIORITIES[name]))
        for node in crowd.nodes:
            self.api.call("POST", "/api/v1/nodes", node)
        Heartbeat(plane.kubelet).start()
        until(lambda: not any(node["spec"].get("taints") for node in self.listed("api/v1/nodes")), "ready nodes")
        for name in NAMESPACES:
            plane.create_namespace(name)
        for made in (*crowd.budgets, *crowd.workloads):
            root = "api" if made["apiVersion"] == "v1" else "apis"
            resource = f"namespaces/{made['metadata']['namespace']}/{made['kind'].lower()}s"
            self.api.call("POST", f"/{root}/{made['apiVersion']}/{resource}", made)
        self.there = self.settle()

    def do(self, step: str) -> dict[str, Numbers]:
        """Take a step, and say what has become of each workload."""
        verb, _, target = step.partition("=")
        getattr(self, verb)(target)
        return self.numbers(self.there, self.settle())

    def lose(self, target: str) -> None:
        """Stop the kubelets of nodes; all else the real controllers do."""
        key, _, value = target.partition("=")
        self.lost = {node["metadata"]["name"] for node in self.crowd.nodes if node["metadata"]["labels"][key] == value}
        self.plane.kubelet.lost |= self.lost
        until(lambda: self.lost <= set(self.evicted_from()), "nodes from which Pods are evicted", 4 * PATIENCE)

    def evicted_from(self) -> Iterator[str]:
        """The nodes whose taint evicts Pods."""
        for node in self.listed("api/v1/nodes"):
            if any(UNREACHABLE[1].items() <= taint.items() for taint in node["spec"].get("taints", ())):
                yield node["metadata"]["name"]

    def drain(self, target: str) -> None:
        done = self.plane.kubectl("drain", "-l", target, "--ignore-daemonsets", "--delete-emptydir-data", "--force")
        assert 0 == done.code, done.stderr

    def listed(self, resource: str) -> list[dict]:
        return self.api.call("GET", f"/{resource}")["items"]

    def settle(self) -> list[dict]:
        """All Pods, once each was placed or refused, controllers have done their part, and nothing changes."""
        state, since, end = None, time.monotonic(), time.monotonic() + 6 * PATIENCE
        while time.monotonic() < since + QUIET:
            pods = self.listed("api/v1/pods")
            now, moving = [pod["metadata"]["resourceVersion"] for pod in pods], self.moving(pods)
            assert time.monotonic() < end, f"{self.crowd}: still moving: {moving}"
            if now != state or moving:
                state, since = now, time.monotonic()
            time.sleep(0.3)
            self.plane.check()
        return pods

    def moving(self, pods: list[dict]) -> list[str]:
        """The names of what somebody is about to do something about."""
        reached = [pod for pod in pods if node_of(pod) not in self.lost]
        due = [pod for pod in reached if deleted(pod) or not (ready(pod) or refusal(pod))]
        due += [owner for resource in CONTROLLERS for owner in self.listed(resource) if not complete(owner)]
        return [each["metadata"]["name"] for each in due]

    def numbers(self, before: list[dict], after: list[dict]) -> dict[str, Numbers]:
        """What has become of the Pods of each workload to which anything has happened."""
        left = [pod for pod in after if not (deleted(pod) or self.is_out_of_reach(pod))]
        stayed = {pod["metadata"]["uid"] for pod in left}
        ran, waited = self.counted(before)
        running, waiting = self.counted(left)
        lost, _ = self.counted(pod for pod in before if pod["metadata"]["uid"] not in stayed)
        numbers = {
            name: Numbers(
                lost[name],
                max(0, running[name] - ran[name] + lost[name]),
                max(0, waiting[name] - waited[name]),
                max(0, ran[name] + waited[name] - running[name] - waiting[name]),
            )
            for name in ran.keys() | waited.keys()
        }
        return {name: of for name, of in numbers.items() if of != NOTHING}

    def is_out_of_reach(self, pod: dict) -> bool:
        """Whether it is on a node that nobody reaches, where those of DaemonSets stay."""
        return node_of(pod) in self.lost and self.crowd.kinds[pod["metadata"]["labels"]["app"]] != "DaemonSet"

    def counted(self, pods: Iterable[dict]) -> tuple[Counter[str], Counter[str]]:
        """How many Pods of each workload have a node, and how many wait for one."""
        counted = Counter[str](), Counter[str]()
        for pod in pods:
            name = pod["metadata"]["labels"]["app"]
            counted[not node_of(pod)][f"{pod['metadata']['namespace']} {self.crowd.kinds[name]}/{name}"] += 1
        return counted


def complete(owner: dict) -> bool:
    """Whether its controller has seen it, and made all Pods, or has given up."""
    spec, status = owner["spec"], owner["status"]
    if "parallelism" in spec:
        return "conditions" in status or number_of(owner, "active") == spec["parallelism"]
    if status.get("observedGeneration") != owner["metadata"]["generation"]:
        return False
    if "replicas" in spec:
        return number_of(owner, "replicas") == spec["replicas"]
    return status["currentNumberScheduled"] == status["desiredNumberScheduled"]


class Compared(NamedTuple):
    """What has become of each workload, of which nothing is said where nothing has, and the least and most of runs."""

    real: Mapping[str, Numbers]
    said: Mapping[str, Mapping[str, Range]]

    def outside(self) -> list[str]:
        """Each number that no run shows."""
        return [
            f"{name}: {what}: {number}, not {least} to {most}"
            for name in sorted(self.real.keys() | self.said.keys())
            for what, number in self.real.get(name, NOTHING)._asdict().items()
            for least, most in (self.said.get(name, NEVER)[what],)
            if not least <= number <= most
        ]

    @property
    def waiting(self) -> set[str]:
        """The workloads of which Pods wait."""
        return {name for name, numbers in self.real.items() if numbers.more}

    @property
    def named(self) -> set[str]:
        """Those of which Pods wait in any run."""
        return {name for name, ranges in self.said.items() if ranges["more"].most}

    @property
    def certain(self) -> set[str]:
        """Those of which Pods wait in every run."""
        return {name for name, ranges in self.said.items() if ranges["more"].least}

    @property
    def vague(self) -> set[str]:
        """Those of which not as many wait in every run."""
        return {name for name, ranges in self.said.items() if ranges["more"].least < ranges["more"].most}

    def __str__(self) -> str:
        lost, wait = (sum(getattr(of, what) for of in self.real.values()) for what in ("lost", "more"))
        return (
            f"{lost} Pods lost, {wait} wait of {len(self.waiting)} workloads, {len(self.waiting & self.named)} named; "
            f"{len(self.certain)} wait in every run, {len(self.certain - self.waiting)} falsely; "
            f"{len(self.named)} in any run, {len(self.vague)} not as many in every run; outside: {self.outside()}"
        )


def simulated(crowd: Crowd, step: str, file: Path, runs: int) -> dict[str, dict[str, Range]]:
    """The least and the most of each number, of each workload to which the step does anything in any run."""
    options = ("-A", "-o", "json", "--runs", str(runs), "--seed", str(crowd.number))
    done = script("simulate", step, "--cluster", file, *options)
    assert 0 == done.returncode, done.stderr
    (only,) = json.loads(done.stdout)["steps"]
    assert not only["held"], only["held"]
    return {
        f"{of['namespace']} {of['workload']}": {
            what: Range(of[what]["least"], of[what]["most"]) for what in Numbers._fields
        }
        for of in only["workloads"]
    }


@pytest.mark.parametrize("number", range(NUMBER))
@pytest.mark.parametrize("step", [f"lose={ZONE}=a", f"drain={POOL}=spot"])
def test_the_workloads_whose_pods_wait_are_those_that_were_named(step, number, tmp_path):
    """And each number is one that a run shows; the runs show little that is not so in all of them."""
    crowd, file, began = Crowd(number), tmp_path / "crowd.jsonl.gz", time.monotonic()
    with ControlPlane(tmp_path, FLAGS) as plane, ThreadPoolExecutor() as beside:
        standing = Standing(plane, crowd)
        done = script("dump", "-o", file, "--kubeconfig", plane.kubeconfig)
        assert 0 == done.returncode, done.stderr
        said = beside.submit(simulated, crowd, step, file, RUNS)
        compared = Compared(standing.do(step), said.result())
    print(f"\n{crowd}, {step}: {len(standing.there)} Pods, {compared}; {time.monotonic() - began:.0f} s")
    if compared.outside():
        compared = Compared(compared.real, simulated(crowd, step, file, MORE_RUNS))

    assert not compared.outside()
    assert compared.certain <= compared.waiting <= compared.named
    assert compared.waiting and len(compared.vague) <= (1 - CERTAIN) * WORKLOADS
