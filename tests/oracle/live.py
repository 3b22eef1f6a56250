"""
Kubernetes' own code and evenkeel, asked about new random clusters until the time is over: make oracle-live SECONDS=600.

    recorded clusters, mixed anew; generated ones --> the oracle, evenkeel --> the same?
                                                      else the smallest case that differs, in build/oracle-live/

A case that was kept is compared again by `python -m tests.conformance MODE FILE`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from random import Random

from tests.conformance import MODES
from tests.conformance.cases import IllFormed
from tests.oracle.building import program
from tests.oracle.clusters import whole
from tests.oracle.clusters.volumes import with_volumes
from tests.oracle.recording import Case, ask, inputs
from tests.support import DATA, ROOT
from tests.support.kubernetes_source import NEWEST, MissingError, parse
from webhook.kubernetes.features import Features, features

KEPT = ROOT / "build" / "oracle-live"
# How many cases are asked of at a time, by mode.
BATCHES = {"placement": 1000, "profile": 100}
# What makes one cluster together with its Pod: of the Pod, of its nodes, and of the Pods on them.
OF_POD = ("config", "pod", "services", "replicationControllers", "replicaSets", "statefulSets")
SPREAD = "topologySpreadConstraints"
Asked = Callable[[Sequence[Case]], list[object]]


def main(environment: Mapping[str, str] = os.environ) -> int:
    """Return the exit status: 1 if anything differs."""
    try:
        seconds, seed = int(environment.get("SECONDS") or 60), int(environment.get("SEED") or time.time_ns() % 10**6)
        version = parse(environment.get("KUBERNETES") or str(NEWEST))
        oracle, known = program(version), features(version.minor)
        print(f"seed {seed}, Kubernetes {version}, {seconds} s", flush=True)
        counts = {mode: [0, 0, 0] for mode in BATCHES}
        makers = {"placement": mixed(inputs(DATA, "placement"), seed), "profile": whole_profiles(seed)}
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for mode, maker in makers.items():
                cases = [next(maker) for _ in range(BATCHES[mode])]
                asked = partial(ask, oracle, mode)
                differing = differing_cases(mode, cases, asked(cases), known)
                counts[mode][0] += len(cases)
                counts[mode][1] += sum(len(case["nodes"]) for case in cases)
                counts[mode][2] += len(differing)
                for case in differing:
                    path = keep(smallest(mode, case, asked, known), mode, f"1.{version.minor}")
                    print(f"{mode}: {path}", flush=True)
    except (ValueError, MissingError) as error:
        print(error, file=sys.stderr)
        return 2
    for mode, (clusters, nodes, differences) in counts.items():
        print(f"{mode}: {clusters:,} Pods in as many clusters, judged on {nodes:,} nodes: {differences:,} differ")
    return int(any(differences for *_, differences in counts.values()))


def mixed(recorded: Sequence[Case], seed: int) -> Iterator[Case]:
    """Yield clusters with the nodes of one recorded, the Pods of another, a Pod of a third, and constraints of any."""
    random = Random(f"mixed {seed}")
    constraints = [item for case in recorded for item in case["pod"]["spec"].get(SPREAD) or ()]
    for number in count():
        of_pod, of_nodes, of_pods = (random.choice(recorded) for _ in range(3))
        case = {name: of_pod[name] for name in OF_POD}
        pods = [pod for pod in of_pods["pods"] if random.random() < random.choice((0.3, 1.0))]
        nodes = [node for node in of_nodes["nodes"] if random.random() < 0.95] or of_nodes["nodes"]
        if random.random() < 0.7:
            chosen = random.choices(constraints, k=random.choice((1, 1, 2, 3)))
            spec = {**case["pod"]["spec"], SPREAD: _apart(chosen)}
            case["pod"] = {**case["pod"], "spec": spec}
        yield _on_nodes({"id": f"mixed-{seed}-{number}", **case, "nodes": nodes, "pods": pods})


def _on_nodes(case: Case) -> Case:
    """Leave out Pods on nodes that are not there: a plugin that is asked alone cannot bear them."""
    names = {node["metadata"]["name"] for node in case["nodes"]}
    return {**case, "pods": [pod for pod in case["pods"] if pod["spec"].get("nodeName") in names]}


def _apart(constraints: Sequence[Case]) -> list[Case]:
    """Return those that a Pod may have together: one for each topologyKey and whenUnsatisfiable."""
    return list({(item["topologyKey"], item["whenUnsatisfiable"]): item for item in constraints}.values())


def whole_profiles(seed: int) -> Iterator[Case]:
    """Yield clusters in which the whole profile decides: of all kinds that are recorded, in turn."""
    random = Random(f"whole {seed}")
    recombined = mixed(inputs(DATA, "profile"), seed)
    while True:
        yield whole(random.randrange(10**4, 10**12))
        yield with_volumes(random.randrange(10**4, 10**12))
        yield next(recombined)


def differing_cases(mode: str, cases: Sequence[Case], decisions: Sequence[object], known: Features) -> list[Case]:
    """Return the cases on which Kubernetes and evenkeel differ, each with what Kubernetes decided."""
    decided = [{**case, "expected": decision} for case, decision in zip(cases, decisions, strict=True)]
    return [case for case in decided if difference(mode, case, known)]


def difference(mode: str, case: Case, known: Features) -> str:
    """Return what differs first, "" if nothing does."""
    try:
        return next((found.what for found in MODES[mode].differences(case, known)), "")
    except IllFormed as error:
        return str(error)


def smallest(mode: str, case: Case, asked: Asked, known: Features) -> Case:
    """Return the case with as few nodes, Pods and constraints as it takes to differ in the same."""
    what = difference(mode, case, known)
    while True:
        smaller = list(without_parts(case))
        decided = [{**one, "expected": decision} for one, decision in zip(smaller, asked(smaller), strict=True)]
        found = next((one for one in decided if difference(mode, one, known) == what), None)
        if found is None:
            return case
        case = found


def without_parts(case: Case) -> Iterator[Case]:
    """
    Yield the case without half of a list of it, and then without each of its items.

    A node is left: without any, kube-scheduler asks no plugin.
    """
    bare = {name: value for name, value in case.items() if name != "expected"}
    for name, items in bare.items():
        if isinstance(items, list):
            yield from (_on_nodes({**bare, name: fewer}) for fewer in _fewer(items) if fewer or name != "nodes")
    pod = bare["pod"]
    for name, items in pod["spec"].items():
        if isinstance(items, list):
            yield from ({**bare, "pod": {**pod, "spec": {**pod["spec"], name: fewer}}} for fewer in _fewer(items))


def _fewer(items: list[object]) -> Iterator[list[object]]:
    half = len(items) // 2
    if half:
        yield from (items[half:], items[:half])
    yield from (items[:i] + items[i + 1 :] for i in range(len(items)))


def keep(case: Case, mode: str, version: str, folder: Path = KEPT) -> Path:
    """Write a case where `python -m tests.conformance` knows its version."""
    path = folder / version / f"{mode}-{case['id']}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(case) + "\n", "utf-8")
    return path


if __name__ == "__main__":
    sys.exit(main())
