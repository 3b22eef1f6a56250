"""
What `evenkeel report` takes of a cluster of 5,000 nodes, 150,000 Pods and 2,000 workloads, from a dump of it.

    python -m tests.bench.report [FILE]    keeps the dump in FILE, and reads it if it is there
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.bench.cluster import BALLAST, KINDS, NAMESPACES, NODES, PODS, WORKLOADS, labels_of, pod, replica_set
from tests.bench.dump import COMMAND, taken
from tests.support.build import HOSTNAME, ZONE, constraint, owned_by
from webhook.cluster.cluster import Contents
from webhook.cluster.dump_file import Lines, reduced, write

SECONDS = 10
POLICY = """
apiVersion: config.evenkeel.dev/v1alpha1
kind: SpreadPolicy
defaulting:
  defaultingType: List
  defaultConstraints:
  - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}
  - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}
"""


def spec(i):
    """Every second workload has constraints of its own, hard ones every fourth."""
    action = "DoNotSchedule" if i % 4 == 0 else "ScheduleAnyway"
    selector = {"labelSelector": {"matchLabels": {"app": f"app-{i}"}}}
    own = [constraint(topologyKey=key, whenUnsatisfiable=action, maxSkew=3, **selector) for key in (ZONE, HOSTNAME)]
    return {"topologySpreadConstraints": own} if i % 2 == 0 else {}


def template(i, labels):
    described = pod(i)["spec"]
    containers = {name: described[name] for name in ("containers", "initContainers")}
    return {"metadata": {"labels": labels}, "spec": {**containers, **spec(i)}}


def deployment(i):
    labels = {"app": f"app-{i}"}
    metadata = {"name": f"app-{i}", "namespace": f"team-{i % NAMESPACES}", "labels": labels, "managedFields": BALLAST}
    inner = {"replicas": PODS // WORKLOADS, "selector": {"matchLabels": labels}, "template": template(i, labels)}
    return {"metadata": metadata, "spec": inner}


def owned_replica_set(i):
    found = replica_set(i)
    found["metadata"] |= owned_by(f"Deployment/app-{i}")
    found["spec"] |= {"replicas": PODS // WORKLOADS, "template": template(i, labels_of(i))}
    return found


def owned_pod(i):
    found, workload = pod(i), i % WORKLOADS
    found["metadata"] |= owned_by(f"ReplicaSet/app-{workload}-{workload:010x}")
    found["spec"] |= spec(workload)
    return found


MADE = {
    ("v1", "Node"): KINDS["nodes"],
    ("v1", "Namespace"): KINDS["namespaces"],
    ("v1", "Service"): KINDS["services"],
    ("apps/v1", "Deployment"): (deployment, WORKLOADS),
    ("apps/v1", "ReplicaSet"): (owned_replica_set, WORKLOADS),
    ("v1", "Pod"): (owned_pod, PODS),
}


def dump(file):
    """Write the cluster as `evenkeel dump` would."""
    raw = (
        {"apiVersion": api_version, "kind": kind, **make(i)}
        for (api_version, kind), (make, count) in MADE.items()
        for i in range(count)
    )
    lines = Lines()
    for obj in reduced(raw):
        lines.add(obj)
    with file.open("wb") as out:
        write(out, Contents(iter(()), {}, kubernetes_version="v1.37.1", time="2026-01-31T10:00:00Z"), lines)


def rows(folder, file):
    policy = folder / "policy.yaml"
    policy.write_text(POLICY, "utf-8")
    of_all = ("report", "-A", "--cluster", file)
    for name, options in (
        ("`evenkeel report -A`", ()),
        ("with `--policy FILE`", ("--policy", policy)),
        ("with `--policy FILE --compare OLD`", ("--policy", policy, "--compare", policy)),
        ("as JSON", ("-o", "json")),
    ):
        out = folder / "out"
        into = f"straight, sys.stdout = sys.stdout, open({str(out)!r}, 'w')"
        took = taken(f"{into}\n{COMMAND}\nsys.stdout.close()\nsys.stdout = straight", *of_all, *options)
        yield name, took, out.stat().st_size


def main():
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        file = Path(sys.argv[1]) if sys.argv[1:] else folder / "cluster.jsonl.gz"
        if not file.exists():
            dump(file)
        print(f"| {NODES:,} nodes, {PODS:,} Pods, {WORKLOADS:,} workloads | CPU | bound | memory | output |")
        print("| --- | --- | --- | --- | --- |")
        for name, took, size in rows(folder, file):
            row = (f"{took.seconds:.1f} s", f"{SECONDS} s", f"{took.megabytes:.0f} MB", f"{size / 1e6:.1f} MB")
            print(f"| {name} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
