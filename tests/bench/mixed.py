"""
`python -m tests.bench.mixed [COMMIT]`: what commands take in a mixed cluster, and beside it with the code of a commit.

    260 nodes and their Pods, nine times ──a dump──> explain, pending, simulate ──> seconds, and those of all CPUs

Nodes differ in size, taints, disks and racks; workloads in constraints, affinity, tolerations and volumes.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from compileall import compile_dir
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.cluster import ZONES
from tests.bench.page import fill
from tests.bench.reviews import machine
from tests.support import ROOT
from tests.support.build import HOSTNAME, ZONE, constraint, owned_by
from tests.support.claims import EBS, claim, csi_node, storage_class, using, volume
from tests.support.commits import OURS, checked_out
from tests.support.dump_file import write_dump

COPIES, NODES, WORKLOADS, REPLICAS = 9, 260, 60, 39
WAITS = "waits"
TAINT = {"key": "dedicated", "value": "infra", "effect": "NoSchedule"}
APART, TOGETHER = "podAntiAffinity", "podAffinity"
REFUSED = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2340 nodes"}
BOUNDS = {"explain": 3, "pending": 3, "scale": 15, "lose": 20}  # seconds on two CPUs


def node(copy: int, i: int) -> dict:
    """In zone c the smallest nodes, and a taint on each; elsewhere a tenth is tainted."""
    zone = ZONES[i % 3]
    name = f"node-{i}-{copy}"
    labels = {HOSTNAME: name, ZONE: zone, "disk": "hdd" if i % 5 == 0 else "ssd", "rack": f"r{i % 9}"}
    status = {"allocatable": {"cpu": "4" if zone == "c" else "8" if i % 2 else "16", "memory": "32Gi", "pods": "110"}}
    spec = {"taints": [TAINT]} if zone == "c" or i % 10 == 0 else {}
    metadata = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


def template_of(i: int, labels: dict) -> dict:
    """The template of a workload, by its number with constraints, affinity, tolerations and a node selector."""
    selector = {"labelSelector": {"matchLabels": labels}}
    keys = ((ZONE, HOSTNAME), (ZONE,), (HOSTNAME,), (), ())[i % 5]
    actions = ("DoNotSchedule", "ScheduleAnyway")
    requests = {"cpu": f"{50 + 10 * (i % 7)}m", "memory": f"{64 + 32 * (i % 5)}Mi"}
    spec: dict = {
        "containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}],
        "topologySpreadConstraints": [
            constraint(topologyKey=key, maxSkew=5, whenUnsatisfiable=actions[(i + place) % 2], **selector)
            for place, key in enumerate(keys)
        ],
        "nodeSelector": {"disk": "ssd"} if i % 3 == 0 else {},
        "tolerations": [{**TAINT, "operator": "Equal"}] if i % 2 else [],
    }
    term = {**selector, "topologyKey": HOSTNAME}
    if i % 6 == 0:
        spec["affinity"] = {APART: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    elif i % 6 == 3:
        preferred = [{"weight": 10, "podAffinityTerm": {**term, "topologyKey": ZONE}}]
        spec["affinity"] = {TOGETHER: {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    return {"metadata": {"labels": labels}, "spec": spec}


def owners(name: str, namespace: str, replicas: int, template: dict) -> Iterator[dict]:
    """A Deployment and its ReplicaSet."""
    hashed = {**template["metadata"]["labels"], "pod-template-hash": "1"}
    for kind, named, owner, labels in (
        ("Deployment", name, "", template["metadata"]["labels"]),
        ("ReplicaSet", f"{name}-1", f"Deployment/{name}", hashed),
    ):
        metadata = {"name": named, "namespace": namespace, "uid": f"{kind}-{name}"}
        spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
        yield {
            **{"apiVersion": "apps/v1", "kind": kind, "spec": spec},
            "metadata": metadata | (owned_by(owner) if owner else {}),
        }


def pod(name: str, number: int, namespace: str, template: dict, on: str, claims: Sequence[str] = ()) -> dict:
    """A Pod that runs on a node, or that kube-scheduler has refused if it has none."""
    labels = {**template["metadata"]["labels"], "pod-template-hash": "1"}
    metadata = {"name": f"{name}-1-{number}", "namespace": namespace, "labels": labels, "uid": f"{name}-{number}"}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-31T10:00:00Z"}
    spec = {**template["spec"], **({"nodeName": on} if on else {}), **(using(*claims) if claims else {})}
    status = {"phase": "Running" if on else "Pending", "conditions": [ready if on else REFUSED]}
    return {
        **{"apiVersion": "v1", "kind": "Pod", "spec": spec, "status": status},
        "metadata": metadata | owned_by(f"ReplicaSet/{name}-1"),
    }


def workload(copy: int, i: int) -> Iterator[dict]:
    """A Deployment with its Pods, of those that tolerate the taint on all nodes; a sixth of them have a volume each."""
    name, namespace = f"app-{i}-{copy}", f"team-{i % 20}"
    template = template_of(i, {"app": name})
    yield from owners(name, namespace, REPLICAS, template)
    tolerating, fast = bool(template["spec"]["tolerations"]), bool(template["spec"]["nodeSelector"])
    places = [n for n in range(NODES) if (tolerating or not node(0, n)["spec"]) and (not fast or n % 5)]
    for number in range(REPLICAS):
        on = places[(i * 37 + number * 11) % len(places)]
        claims = [f"data-{name}-{number}"] if i % 6 == 1 else []
        for claimed in claims:
            bound = claim(claimed, f"pv-{claimed}")
            bound["metadata"]["namespace"] = namespace
            there = volume(f"pv-{claimed}", ZONES[on % 3], of=claimed, csi={"driver": EBS, "volumeHandle": claimed})
            there["spec"]["claimRef"]["namespace"] = namespace
            yield from (bound, there)
        yield pod(name, number, namespace, template, f"node-{on}-{copy}", claims)


def waiting() -> Iterator[dict]:
    """A Deployment of which one Pod waits: two constraints refuse it in zones a and b, a taint and room in zone c."""
    labels = {"app": WAITS}
    selector = {"labelSelector": {"matchLabels": labels}}
    template = template_of(4, labels)
    template["spec"] |= {
        "topologySpreadConstraints": [
            constraint(topologyKey=key, nodeTaintsPolicy=policy, **selector)
            for key, policy in ((ZONE, None), ("rack", None), (HOSTNAME, "Honor"))
        ],
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "5"}}}],
    }
    yield from owners(WAITS, "team-4", 13, template)
    open_nodes = [n for n in range(NODES) if n % 3 < 2 and n % 10][:12]
    for number, on in enumerate([*(f"node-{n}-0" for n in open_nodes), ""]):
        yield pod(WAITS, number, "team-4", template, on)


def objects() -> Iterator[dict]:
    yield storage_class()
    for copy in range(COPIES):
        for i in range(NODES):
            yield node(copy, i)
            yield csi_node(f"node-{i}-{copy}", 25)
        for i in range(WORKLOADS):
            yield from workload(copy, i)
    yield from waiting()


def taken(tree: Path, words: Sequence[str]) -> tuple[float, float]:
    """Seconds that a command takes with the code of a tree, and those of all CPUs."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run(
        [sys.executable, "-m", "webhook", *words], cwd=tree, env=environment, stdout=subprocess.DEVNULL
    )
    seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode in (0, 1), words
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rows(trees: Sequence[Path], folder: Path) -> Iterator[str]:
    dump = ["--cluster", str(write_dump(folder / "mixed.jsonl.gz", objects()))]
    commands = {
        "explain": ["explain", f"pod/{WAITS}-1-12", "-n", "team-4"],
        "pending": ["pending", "-A"],
        "scale": ["simulate", "deployment/app-0-0", "scale=100", "-n", "team-0"],
        "lose": ["simulate", f"lose={ZONE}=a", "-A"],
    }
    before = "before, seconds | of all CPUs | " if len(trees) > 1 else ""
    yield f"| in a mixed cluster | {before}seconds | of all CPUs | bound on two CPUs |"
    yield f"| --- | {'--- | ' * (2 * len(trees))}--- |"
    for name, words in commands.items():
        figures = " | ".join(f"{figure:.1f} s" for tree in trees for figure in taken(tree, [*words, *dump]))
        yield f"| `evenkeel {' '.join(words)}` | {figures} | {BOUNDS[name]} s |"


def main(commits: Sequence[str]) -> None:
    with TemporaryDirectory() as temporary:
        trees = [checked_out(commit, Path(temporary, commit)) for commit in commits]
        for tree in (*trees, ROOT):
            for name in OURS:
                compile_dir(tree / name, quiet=2)  # as pip leaves them, also where PYTHONDONTWRITEBYTECODE is set
        fill("bench mixed", rows([*trees, ROOT], Path(temporary)), [machine(), ""])


if __name__ == "__main__":
    main(sys.argv[1:])
