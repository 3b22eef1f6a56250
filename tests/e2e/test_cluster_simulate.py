"""
What `evenkeel simulate` says of a whole cluster, beside what a real control plane does whose kubelets are stopped.

`CROWDS=5 pytest -s tests/e2e/test_cluster_simulate.py` tries as many clusters for each step; without it there are two.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.e2e.crowds import POOL, PRIORITIES, WORKLOADS, Crowd
from tests.e2e.kubelet import Heartbeat
from tests.e2e.placement import node, refusal
from tests.e2e.plane import ControlPlane
from tests.e2e.site import BACKOFF, GRACE, UNREACHABLE, deleted, number, ready
from tests.support.build import ZONE, priority_class
from tests.support.commands import script
from tests.support.serving import PATIENCE, until

NUMBER = int(os.environ.get("CROWDS") or 2)
RUNS = 100
# What is outside of what these runs show has to be within what so many show. One run more is outside of those with at
# most 4 chances in 10,000 of each number that is one of two.
MORE_RUNS = 1_000
QUIET = 3.5  # seconds, longer than it takes from one node to the next
CERTAIN = 0.8  # Of so many workloads at least all runs have to say the same.
FLAGS = {
    "kube-apiserver": {"default-unreachable-toleration-seconds": 1},
    "kube-controller-manager": {
        "controllers": "*,-persistentvolume-attach-detach-controller",
        "node-monitor-period": "1s",
        "node-monitor-grace-period": "9s",
        "node-eviction-rate": 0.33,
    },
}
CONTROLLERS = ("apps/v1/deployments", "apps/v1/replicasets", "apps/v1/daemonsets", "batch/v1/jobs")


class Numbers(NamedTuple):
    """Pods of a workload, as the JSON of a whole cluster names them."""

    lost: int
    back: int
    more: int
    missing: int


NOTHING = Numbers(0, 0, 0, 0)


class Standing:
    """A crowd in a control plane of its own."""

    def __init__(self, plane: ControlPlane, crowd: Crowd):
        self.plane, self.api, self.crowd = plane, plane.api, crowd
        self.lost: set[str] = set()
        plane.kubelet.grace = GRACE
        plane.configure_scheduler(**BACKOFF)
        for name, value in PRIORITIES.items():
            if name:
                self.api.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", priority_class(name, value))
        for one in crowd.nodes:
            self.api.call("POST", "/api/v1/nodes", one)
        Heartbeat(plane.kubelet).start()
        until(lambda: not any(one["spec"].get("taints") for one in self.listed("api/v1/nodes")), "nodes that are ready")
        for name in {one["metadata"]["namespace"] for one in crowd.workloads}:
            plane.create_namespace(name)
        for one in (*crowd.budgets, *crowd.workloads):
            root = "api" if one["apiVersion"] == "v1" else "apis"
            resource = f"{one['kind'].lower()}s"
            self.api.call(
                "POST", f"/{root}/{one['apiVersion']}/namespaces/{one['metadata']['namespace']}/{resource}", one
            )
        self.there = self.settle()

    def do(self, step: str) -> dict[str, Numbers]:
        """Take a step, and say what has become of each workload."""
        verb, _, target = step.partition("=")
        getattr(self, verb)(target)
        return self.numbers(self.there, self.settle())

    def listed(self, resource: str) -> list[dict]:
        return self.api.call("GET", f"/{resource}")["items"]

    def lose(self, target: str) -> None:
        """Stop the kubelets of nodes; all else controllers do."""
        key, _, value = target.partition("=")
        self.lost = {one["metadata"]["name"] for one in self.crowd.nodes if one["metadata"]["labels"][key] == value}
        self.plane.kubelet.lost |= self.lost
        evicting = {tuple(sorted(one.items())) for one in UNREACHABLE}

        def evicted() -> bool:
            there = [one for one in self.listed("api/v1/nodes") if one["metadata"]["name"] in self.lost]
            taints = [
                {(("effect", taint["effect"]), ("key", taint["key"])) for taint in one["spec"].get("taints", ())}
                for one in there
            ]
            return all(evicting <= of_node for of_node in taints)

        until(evicted, "nodes from which Pods are evicted", 4 * PATIENCE)

    def drain(self, target: str) -> None:
        done = self.plane.kubectl("drain", "-l", target, "--ignore-daemonsets", "--delete-emptydir-data", "--force")
        assert 0 == done.code, done.stderr

    def settle(self) -> list[dict]:
        """All Pods, once each was placed or refused, controllers have done their part, and nothing changes."""
        state, since, end = None, time.monotonic(), time.monotonic() + 6 * PATIENCE
        while time.monotonic() < since + QUIET:
            there = self.listed("api/v1/pods")
            now = [(one["metadata"]["uid"], one["metadata"]["resourceVersion"]) for one in there]
            moving = self.moving(there)
            assert time.monotonic() < end, f"{self.crowd}: still moving: {moving}"
            if now != state or moving:
                state, since = now, time.monotonic()
            time.sleep(0.3)
            self.plane.check()
        return there

    def moving(self, there: list[dict]) -> list[str]:
        """The names of what somebody is about to do something about."""
        pods = [
            one for one in there if not (node(one) in self.lost or ((ready(one) or refusal(one)) and not deleted(one)))
        ]
        owners = [one for resource in CONTROLLERS for one in self.listed(f"apis/{resource}") if not complete(one)]
        return [one["metadata"]["name"] for one in (*pods, *owners)]

    def numbers(self, before: list[dict], after: list[dict]) -> dict[str, Numbers]:
        """What has become of the Pods of each workload to which anything has happened."""
        ran, waited = self.counted(before)
        running, waiting = self.counted(one for one in after if not self.out_of_reach(one))
        there = {one["metadata"]["uid"] for one in after if not deleted(one) and not self.out_of_reach(one)}
        lost, _ = self.counted(one for one in before if one["metadata"]["uid"] not in there)
        found = {}
        for name in ran.keys() | waited.keys():
            found[name] = Numbers(
                lost[name],
                max(0, running[name] - ran[name] + lost[name]),
                max(0, waiting[name] - waited[name]),
                max(0, ran[name] + waited[name] - running[name] - waiting[name]),
            )
        return {name: numbers for name, numbers in found.items() if numbers != NOTHING}

    def out_of_reach(self, pod: dict) -> bool:
        """Whether it is on a node that nobody reaches, where those of DaemonSets stay."""
        return node(pod) in self.lost and self.crowd.kinds[app(pod)] != "DaemonSet"

    def counted(self, pods: Iterable[dict]) -> tuple[Counter[str], Counter[str]]:
        """How many Pods of each workload have a node, and how many wait for one."""
        there = [one for one in pods if not deleted(one)]
        with_node = Counter(self.workload(one) for one in there if node(one))
        return with_node, Counter(self.workload(one) for one in there if not node(one))

    def workload(self, pod: dict) -> str:
        return f"{pod['metadata']['namespace']} {self.crowd.kinds[app(pod)]}/{app(pod)}"


def app(pod: dict) -> str:
    return pod["metadata"]["labels"]["app"]


def complete(owner: dict) -> bool:
    """Whether its controller has seen it, and made all Pods, or gives up."""
    spec, status = owner["spec"], owner["status"]
    if "parallelism" in spec:
        return "conditions" in status or number(owner, "active") == spec["parallelism"]
    if status.get("observedGeneration") != owner["metadata"]["generation"]:
        return False
    if "replicas" in spec:
        return number(owner, "replicas") == spec["replicas"]
    return status["currentNumberScheduled"] == status["desiredNumberScheduled"]


class Compared(NamedTuple):
    """
    The real numbers of each workload to which anything has happened, and the least and the most of all runs.
    """

    real: Mapping[str, Numbers]
    said: Mapping[str, Mapping[str, tuple[int, int]]]

    def outside(self) -> list[str]:
        """Each number that no run shows."""
        return [
            f"{name}: {what}: {number}, not {least} to {most}"
            for name in sorted(self.real.keys() | self.said.keys())
            for what, number in self.real.get(name, NOTHING)._asdict().items()
            for least, most in (self.range(name, what),)
            if not least <= number <= most
        ]

    def range(self, name: str, what: str) -> tuple[int, int]:
        return self.said.get(name, {}).get(what, (0, 0))

    def waiting(self) -> set[str]:
        return {name for name, numbers in self.real.items() if numbers.more}

    def named(self) -> set[str]:
        """The workloads of which Pods wait in any run."""
        return {name for name in self.said if self.range(name, "more")[1]}

    def surely(self) -> set[str]:
        """Those of which Pods wait in every run."""
        return {name for name in self.said if self.range(name, "more")[0]}

    def vague(self) -> set[str]:
        """Those of which not as many wait in every run."""
        return {name for name in self.said if len({*self.range(name, "more")}) > 1}

    def __str__(self) -> str:
        pods = sum(numbers.more for numbers in self.real.values())
        named, waiting, surely = self.named(), self.waiting(), self.surely()
        lost = sum(numbers.lost for numbers in self.real.values())
        return (
            f"{lost} Pods lost, {pods} wait, of {len(waiting)} workloads; "
            f"named: {len(waiting & named)}; falsely: {len(surely - waiting)} of {len(surely)} that wait in every run; "
            f"{len(named)} named in any run; not the same in every run: {len(self.vague())} of {WORKLOADS}"
        )


def simulated(crowd: Crowd, step: str, file: Path, runs: int) -> dict[str, dict[str, tuple[int, int]]]:
    """The least and the most of each number, of each workload to which the step does anything in any run."""
    options = ("-A", "-o", "json", "--runs", str(runs), "--seed", str(crowd.number))
    done = script("simulate", step, "--cluster", file, *options)
    assert 0 == done.returncode, done.stderr
    (found,) = json.loads(done.stdout)["steps"]
    assert not found["held"], found["held"]
    return {
        f"{one['namespace']} {one['workload']}": {
            what: (one[what]["least"], one[what]["most"]) for what in Numbers._fields
        }
        for one in found["workloads"]
    }


@pytest.mark.parametrize("number", range(NUMBER))
@pytest.mark.parametrize("step", [f"lose={ZONE}=a", f"drain={POOL}=spot"])
def test_the_workloads_whose_pods_wait_are_those_that_were_named(step, number, tmp_path):
    crowd, file, began = Crowd(number), tmp_path / "crowd.jsonl.gz", time.monotonic()
    with ControlPlane(tmp_path, FLAGS) as plane, ThreadPoolExecutor() as beside:
        standing = Standing(plane, crowd)
        done = script("dump", "-o", file, "--kubeconfig", plane.kubeconfig)
        assert 0 == done.returncode, done.stderr
        stood, said = time.monotonic(), beside.submit(simulated, crowd, step, file, RUNS)
        real = standing.do(step)
        came = time.monotonic()
    found = Compared(real, said.result())
    times = f"{stood - began:.0f} + {came - stood:.0f} + {time.monotonic() - came:.0f} s"
    print(f"\n{crowd}, {step}: {len(standing.there)} Pods; {found}; {times}; outside: {found.outside()}")
    if os.environ.get("KEEP"):
        import shutil

        d = Path(os.environ["KEEP"])
        d.mkdir(exist_ok=True)
        verb = step.partition("=")[0]
        shutil.copy(file, d / f"{number}-{verb}.jsonl.gz")
        (d / f"{number}-{verb}.json").write_text(json.dumps({"real": {k: v._asdict() for k, v in real.items()}}))
    if found.outside():
        found = Compared(real, simulated(crowd, step, file, MORE_RUNS))

    assert not found.outside()
    assert found.waiting() <= found.named()
    assert found.surely() <= found.waiting() != set()
    assert len(found.vague()) <= (1 - CERTAIN) * WORKLOADS
