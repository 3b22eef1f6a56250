"""
`make bench`, its part on volumes: what claims add to placing a Pod, and to what is kept of a cluster.

    a cluster without volumes ───────────┐
    the same with 20,000 claims ─────────┴─> what is kept of it, one attempt, a simulation of 1,000 replicas
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median

from evenkeel.scheduler.framework import Framework
from evenkeel.scheduler.incoming import read_incoming_pod
from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.snapshot import Snapshot, from_objects
from evenkeel.simulate.controllers import SimulatedCluster
from evenkeel.simulate.planning import planned
from evenkeel.simulate.step import parse_step
from tests.bench.cluster import NODES, PODS, ZONES, resident
from tests.bench.page import fill
from tests.bench.placement import node, pod
from tests.bench.reviews import machine
from tests.support.build import constraint
from tests.support.build import pod as asked_pod
from tests.support.claims import EBS, claim, csi_node, storage_class, using, volume
from tests.support.simulated import run_one
from webhook.kubernetes.features import LATEST
from webhook.kubernetes.reader import Reader
from webhook.kubernetes.references import ObjectRef
from webhook.spread.constraint import parse_constraints

CLAIMS, REPLICAS = 20_000, 1_000
ROUNDS, RUNS = 31, 3
BOUND, MEMORY = 1, 260
NAME = "db"
SPREAD = constraint(maxSkew=1, labelSelector={"matchLabels": {"app": NAME}})
CONTAINERS = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}]


def objects(claims: int) -> Iterator[Mapping]:
    """The cluster of the other benches; each of its first Pods has a claim, with a PersistentVolume in its zone."""
    for i in range(NODES):
        yield {**node(i), "status": {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110"}}}
    for i in range(PODS):
        on = (i * 7) % NODES
        one = pod(i, on)
        if i < claims:
            one["metadata"]["namespace"] = "shop"
            one["spec"] |= using(f"data-{i}")
            yield claim(f"data-{i}", f"pv-{i}")
            yield volume(f"pv-{i}", ZONES[on % 3], of=f"data-{i}", csi={"driver": EBS, "volumeHandle": f"vol-{i}"})
        yield one
    if claims:
        yield from (csi_node(f"node-{i}", 25) for i in range(NODES))
        yield from (storage_class(), claim("new"), claim("bound", "pv-bound"))
        yield volume("pv-bound", "a", of="bound", csi={"driver": EBS, "volumeHandle": "vol-bound"})


def kept(found: Iterable[Mapping]) -> tuple[Snapshot, float]:
    """What is kept of a cluster, and the megabytes it takes."""
    gc.collect()
    before = resident()
    snapshot = from_objects(found, LATEST)
    gc.collect()
    return snapshot, resident() - before


def attempts(cases: Sequence[tuple[Snapshot, Sequence[str]]]) -> list[float]:
    """
    Return the milliseconds of CPU that an attempt takes in each case, by turns: a snapshot, and the claims of the Pod.

    The Pod is spread over zones.
    """
    constraints, taken = tuple(parse_constraints([SPREAD], {"app": NAME}, LATEST)), [list[float]() for _ in cases]
    for _ in range(ROUNDS + 1):  # The first one reads what the others share.
        for (snapshot, claims), of_case in zip(cases, taken, strict=True):
            raw = asked_pod(labels={"app": NAME}, spec={"containers": CONTAINERS, **using(*claims)})
            asked = read_incoming_pod(Reader(), raw, LATEST)
            begun = time.process_time()
            framework = Framework(Cycle(asked, constraints, snapshot, LATEST))
            framework.best(framework.feasible())
            of_case.append((time.process_time() - begun) * 1e3)
    return [median(of_case[1:]) for of_case in taken]


def stateful_set(*templates: Mapping) -> dict:
    """Return one without replicas; a claim of each template is made for each Pod."""
    template = {
        "metadata": {"labels": {"app": NAME}},
        "spec": {"topologySpreadConstraints": [SPREAD], "containers": CONTAINERS},
    }
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": NAME}}, "template": template, "serviceName": NAME}
    spec |= {"podManagementPolicy": "Parallel", "volumeClaimTemplates": list(templates)}
    metadata = {"name": NAME, "namespace": "shop", "uid": "s1"}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec}


def simulated(snapshot: Snapshot, *templates: Mapping) -> float:
    """Return the milliseconds for each replica of a simulated scale to 1,000."""
    made = stateful_set(*templates)
    cluster = SimulatedCluster(snapshot, LATEST, (), {ObjectRef.of(made).key: made})
    plan, taken = planned(made, cluster, [parse_step(f"scale={REPLICAS}")]).plan, []
    for number in range(RUNS + 1):  # The first one reads what the others share.
        begun = time.process_time()
        outcome = run_one(plan, 1, number)[-1]
        taken.append((time.process_time() - begun) * 1e3)
        assert not outcome.waiting, outcome
    return median(taken[1:]) / REPLICAS


def rows() -> Iterator[str]:
    plain, megabytes = kept(objects(0))
    with_claims, more = kept(objects(CLAIMS))
    yield f"| {NODES:,} nodes, {PODS:,} Pods | without volumes | with {CLAIMS:,} claims | more | bound |"
    yield "| --- | --- | --- | --- | --- |"
    in_all = f"{megabytes:.0f} MB | {more:.0f} MB | {more - megabytes:.0f} MB | {MEMORY} MB in all"
    yield f"| what is kept of the cluster | {in_all} |"
    alone, *attempted = attempts([(plain, ()), (with_claims, ()), (with_claims, ["bound"]), (with_claims, ["new"])])
    kinds = ("without a claim", "whose claim is bound", "whose claim waits for it")
    for kind, after in zip(kinds, attempted, strict=True):
        yield _row(f"an attempt for a Pod {kind}", alone, after)
    alone = simulated(plain)
    yield _row("a replica of a simulation, without claims", alone, simulated(with_claims))
    yield _row("a replica of a simulation, with a new claim", alone, simulated(with_claims, claim("data")))


def _row(what: str, before: float, after: float) -> str:
    return f"| {what} | {before:.2f} ms | {after:.2f} ms | {after - before:.2f} ms | {BOUND} ms |"


def main() -> None:
    fill("bench volumes", rows(), [machine(), ""])


if __name__ == "__main__":
    main()
