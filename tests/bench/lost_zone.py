"""
`make bench`: what it takes to simulate that a zone is lost, for one workload and for all of a cluster.

    a dump ──evenkeel simulate lose=ZONE──> seconds, and those of all CPUs
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench import report
from tests.bench.cluster import NODES, PODS, WORKLOADS, ZONES, resources_of
from tests.bench.page import fill
from tests.bench.reviews import machine
from tests.bench.simulation import RUNS, seconds_of
from tests.support.build import HOSTNAME, ZONE, constraint, owned_by
from tests.support.dump_file import write_dump

FEW_NODES, FEW_WORKLOADS, REPLICAS, TEAMS = 500, 190, 20, 20
BOUND_OF_ONE, BOUND_OF_ALL = 10, 60  # seconds on two CPUs


def small_node(i: int) -> dict:
    labels = {HOSTNAME: f"node-{i}", ZONE: ZONES[i % 3]}
    status = {"allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{i}", "labels": labels}, "status": status}


def workload(i: int) -> Iterator[dict]:
    """A Deployment, its ReplicaSet and its Pods: a third has a hard constraint, and a third has soft ones."""
    name, labels = f"app-{i}", {"app": f"app-{i}"}
    hashed = {**labels, "pod-template-hash": "1"}
    keys = ((ZONE, "DoNotSchedule"),), ((ZONE, "ScheduleAnyway"), (HOSTNAME, "ScheduleAnyway")), ()
    constraints = [
        constraint(topologyKey=key, whenUnsatisfiable=action, labelSelector={"matchLabels": labels})
        for key, action in keys[i % 3]
    ]
    containers = [{"name": "c", "image": "i", "resources": resources_of(i, 0)}]
    spec = {"containers": containers, "topologySpreadConstraints": constraints}
    template = {"metadata": {"labels": labels}, "spec": spec}

    def of(name: str, labels: Mapping[str, str], owner: str = "") -> dict:
        owners = owned_by(owner) if owner else {}
        return {"metadata": {"name": name, "namespace": f"team-{i % TEAMS}", "labels": labels, **owners}}

    inner = {"replicas": REPLICAS, "selector": {"matchLabels": labels}, "template": template}
    yield {"apiVersion": "apps/v1", "kind": "Deployment", **of(name, labels), "spec": inner}
    owned = {**inner, "template": {**template, "metadata": {"labels": hashed}}}
    yield {
        **{"apiVersion": "apps/v1", "kind": "ReplicaSet", "spec": owned},
        **of(f"{name}-1", hashed, f"Deployment/{name}"),
    }
    for number in range(REPLICAS):
        on = {"nodeName": f"node-{(i * 7 + number) % FEW_NODES}"}
        made = of(f"{name}-1-{number}", hashed, f"ReplicaSet/{name}-1")
        yield {
            **{"apiVersion": "v1", "kind": "Pod", **made, "spec": {**spec, **on}},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        }


def small_dump(file: Path) -> None:
    """Write a cluster of 190 workloads with 20 replicas each."""
    pods = (obj for i in range(FEW_WORKLOADS) for obj in workload(i))
    write_dump(file, (*map(small_node, range(FEW_NODES)), *pods))


def row(what: str, bound: int, file: Path, *words: str) -> str:
    seconds, cpu = seconds_of("simulate", *words, "--cluster", file)
    return f"| {what} | {seconds:.1f} s | {cpu:.1f} s | {bound} s |"


def rows(folder: Path) -> Iterator[str]:
    lost = f"lose={ZONE}={ZONES[0]}"
    few, many = folder / "few.jsonl.gz", folder / "many.jsonl.gz"
    small_dump(few)
    yield f"| `evenkeel simulate {lost}`, from a dump | seconds | of all CPUs | bound on two CPUs |"
    yield "| --- | --- | --- | --- |"
    pods = FEW_WORKLOADS * REPLICAS
    small = f"{FEW_NODES:,} nodes, {pods:,} Pods of {FEW_WORKLOADS:,} workloads"
    one, runs = ("deployment/app-0", lost, "-n", "team-0"), ("--runs", str(RUNS))
    yield row(f"of one workload, {small}, {RUNS} runs", BOUND_OF_ONE, few, *one, *runs)
    yield row(f"of one workload, {small}, until no number changes", BOUND_OF_ONE, few, *one)
    yield row(f"of the whole cluster, {small}, {RUNS} runs", BOUND_OF_ONE, few, lost, "-A", *runs)
    report.dump(many)
    large = f"{NODES:,} nodes, {PODS:,} Pods of {WORKLOADS:,} workloads"
    yield row(f"of the whole cluster, {large}, one run", BOUND_OF_ALL, many, lost, "-A", "--runs", "1")


def main() -> None:
    with TemporaryDirectory() as folder:
        fill("bench lost zone", rows(Path(folder)), [machine(), ""])


if __name__ == "__main__":
    main()
