"""
`make bench`, its last part: what a simulation takes, beside the real scheduler placing the same replicas.

    nodes, Pods, replicas ──> evenkeel: a run of `scale=…`; and the command, from a dump, with 200 runs
                          ──> kube-scheduler in Go (tests/oracle): its default profile, one replica after the other

Both must place as many: no replica has anything but constraints, room and taints that could keep it waiting.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from evenkeel.scheduler.snapshot import from_objects
from evenkeel.simulate.controllers import SimulatedCluster
from evenkeel.simulate.planning import planned
from evenkeel.simulate.step import parse_step
from tests.bench.page import as_far_as_possible, fill
from tests.bench.placement import KEYS, SOFT
from tests.bench.placement import node as bare_node
from tests.bench.placement import pod as running_pod
from tests.bench.reviews import machine
from tests.oracle.building import program
from tests.oracle.recording import ask
from tests.support.build import constraint
from tests.support.dump_file import write_dump
from tests.support.kubernetes_source import NEWEST
from tests.support.simulated import run_one
from webhook.kubernetes.features import LATEST
from webhook.kubernetes.references import ObjectRef

ROUNDS, RUNS, BOUND = 5, 200, 10
NAMESPACE, NAME = "team-7", "simulated"
SELECTOR = {"matchLabels": {"app": NAME}}
ROOM, FULL = "110", "4"  # Pods that a node takes.


class Size(NamedTuple):
    """A cluster, and how many replicas are placed in it; `room` for so many is left in zone c, None: for all."""

    what: str
    nodes: int
    pods: int
    replicas: int
    room: int | None = None
    rounds: int = ROUNDS

    def objects(self) -> tuple[list[dict], list[dict]]:
        """Nodes and Pods, which lie alike on all nodes."""
        nodes = [bare_node(i) for i in range(self.nodes)]
        there, left = self.pods // self.nodes, self.room
        for one in nodes:
            most = int(ROOM)
            if left is not None and one["metadata"]["labels"][KEYS[0]] == "c" and not one.get("spec"):
                most, left = (there + 1, left - 1) if left else (there, 0)
            one["status"] = {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": str(most)}}
        return nodes, [running_pod(i, i % self.nodes) for i in range(self.pods)]


SIZES = (
    Size("a zone with room for 10", 500, 5_000, 50, room=10),
    Size("room for all", 500, 5_000, 50),
    Size("room for all", 5_000, 150_000, 1_000, rounds=1),
)


def deployment(replicas: int) -> dict:
    """One that is spread by zone, hard, and by node, soft."""
    constraints = [
        constraint(topologyKey=KEYS[0], labelSelector=SELECTOR),
        constraint(topologyKey=KEYS[1], labelSelector=SELECTOR, whenUnsatisfiable=SOFT),
    ]
    requests = {"requests": {"cpu": "100m", "memory": "64Mi"}}
    spec = {
        "topologySpreadConstraints": constraints,
        "containers": [{"name": "c", "image": "i", "resources": requests}],
    }
    template = {"metadata": {"labels": {"app": NAME}}, "spec": spec}
    return {
        **{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": NAME, "namespace": NAMESPACE}},
        "spec": {"replicas": replicas, "selector": SELECTOR, "template": template},
    }


def ours(size: Size, nodes: list[dict], pods: list[dict]) -> tuple[float, int]:
    """CPU seconds of a run that begins with no replica, and how many replicas it places."""
    made = deployment(0)
    cluster = SimulatedCluster(from_objects([*nodes, *pods], LATEST), LATEST, (), {ObjectRef.of(made).key: made})
    plan = planned(made, cluster, [parse_step(f"scale={size.replicas}")]).plan
    taken, placed = [], set()
    for number in range(size.rounds + 1):  # The first one reads what the others share.
        begun = time.process_time()
        outcome = run_one(plan, 1, number)[-1]
        taken.append(time.process_time() - begun)
        placed.add(size.replicas - outcome.waiting)
    (found,) = placed
    return median(taken[1:]), found


def theirs(size: Size, nodes: list[dict], pods: list[dict]) -> tuple[float, int]:
    """The same of kube-scheduler."""
    template = deployment(0)["spec"]["template"]
    metadata = {"name": NAME, "namespace": NAMESPACE, **template["metadata"]}
    case = {
        "config": {"defaultingType": "List", "defaultConstraints": []},
        "pod": {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]},
        **{"nodes": nodes, "pods": pods, "replicas": size.replicas, "runs": size.rounds},
    }
    (found,) = ask(program(NEWEST), "replicas", [case])
    (placed,) = {sum(map(bool, hosts)) for hosts in found["runs"]}
    return median(found["taken"]) / 1e6, placed


def command(size: Size, folder: Path) -> tuple[float, float]:
    """Seconds that `evenkeel simulate` takes from a dump, and those of all CPUs."""
    nodes, pods = size.objects()
    file = write_dump(folder / "cluster.jsonl.gz", (*nodes, *pods, deployment(0)))
    words = ("simulate", f"deployment/{NAME}", f"scale={size.replicas}", "-n", NAMESPACE, "--runs", str(RUNS))
    return seconds_of(*words, "--cluster", file)


def seconds_of(*words: str | Path) -> tuple[float, float]:
    """Seconds that a command takes, and those of all CPUs."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-m", "webhook", *words], check=True, stdout=subprocess.DEVNULL)
    seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rows() -> Iterator[str]:
    yield "| a run | placed | evenkeel, CPU ms | kube-scheduler, CPU ms | ratio |"
    yield "| --- | --- | --- | --- | --- |"
    for size in SIZES:
        nodes, pods = size.objects()
        (mine, placed), (go, expected) = ours(size, nodes, pods), theirs(size, nodes, pods)
        assert placed == expected, (size, placed, expected)
        what = f"{size.replicas:,} replicas on {size.nodes:,} nodes with {size.pods:,} Pods, {size.what}"
        yield f"| {what} | {placed:,} | {mine * 1e3:.0f} | {go * 1e3:.0f} | {go / mine:.0f} |"
    yield ""
    with TemporaryDirectory() as folder:
        seconds, cpu = command(SIZES[1], Path(folder))
    yield (
        f"`evenkeel simulate` with {RUNS} runs of the second row, from a dump: {seconds:.1f} s, "
        f"{cpu:.1f} s of all CPUs (bound: {BOUND} s on two CPUs)."
    )


def main() -> None:
    fill("bench simulation", as_far_as_possible(rows()), [machine(), ""])


if __name__ == "__main__":
    main()
