"""
`make bench`: what `evenkeel report` takes of a cluster of 5,000 nodes, 150,000 Pods and 2,000 workloads.

    python -m tests.bench.report FILE    keeps the dump of that cluster in FILE, or takes it from there

From the dump, and from an API server that is played by a process of its own (cluster.py).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from certs.authority import Authority
from evenkeel.clusters.contents import Contents
from evenkeel.clusters.dump_format import CompressedLines, reduced, write
from tests.bench import cluster
from tests.bench.cluster import BALLAST, KINDS, NAMESPACES, NODES, PODS, WORKLOADS, labels_of, pod, replica_set
from tests.bench.dump import COMMAND, taken
from tests.bench.page import fill
from tests.support import ROOT
from tests.support.apiserver import kubeconfig
from tests.support.build import HOSTNAME, ZONE, constraint, owned_by

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
    lines = CompressedLines()
    for obj in reduced(raw):
        lines.add(obj)
    with file.open("wb") as out:
        write(out, Contents(iter(()), {}, kubernetes_version="v1.37.1", time="2026-01-31T10:00:00Z"), lines)


SERVE = "import sys; from pathlib import Path; from tests.bench import report; report.serve(Path(sys.argv[1]))"


def serve(folder):
    """Play the API server, with workloads that own the Pods."""
    cluster.KINDS |= {
        "deployments": MADE["apps/v1", "Deployment"],
        "replicasets": MADE["apps/v1", "ReplicaSet"],
        "pods": MADE["v1", "Pod"],
    }
    cluster.serve(folder)


def taken_by(folder, *options):
    """What a report takes, and the bytes that it prints."""
    out = folder / "out"
    into = f"straight, sys.stdout = sys.stdout, open({str(out)!r}, 'w')"
    took = taken(f"{into}\n{COMMAND}\nsys.stdout.close()\nsys.stdout = straight", "report", "-A", *options)
    return took, out.stat().st_size


def rows(folder, file):
    """The rows of the table."""
    policy = folder / "policy.yaml"
    policy.write_text(POLICY, "utf-8")
    of_file, asked = ("--cluster", file), ("--policy", policy)
    yield "`evenkeel report -A`, from a dump", *taken_by(folder, *of_file)
    yield "with `--policy FILE`", *taken_by(folder, *of_file, *asked)
    yield "with `--policy FILE --compare OLD`", *taken_by(folder, *of_file, *asked, "--compare", policy)
    yield "with `-o json`", *taken_by(folder, *of_file, "-o", "json")
    yield "with `-o html`", *taken_by(folder, *of_file, "-o", "html")
    with subprocess.Popen(
        [sys.executable, "-c", SERVE, str(folder)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            url = f"https://127.0.0.1:{server.stdout.readline().strip()}"
            config = kubeconfig(url, folder, folder / "ca.crt")
            yield (
                "`evenkeel report -A`, of a live cluster",
                *taken_by(folder, "--kubeconfig", config, "--kubernetes-version", "1.37"),
            )
        finally:
            server.kill()


def table(folder, file):
    now = datetime.now(UTC)
    ca = Authority.create(now)
    ca.issue(["127.0.0.1"], now).write(folder / "tls.crt", folder / "tls.key")
    (folder / "ca.crt").write_bytes(ca.pair.chain_pem())
    yield f"| {NODES:,} nodes, {PODS:,} Pods, {WORKLOADS:,} workloads | CPU | memory | output | bound |"
    yield "| --- | --- | --- | --- | --- |"
    for name, took, size in rows(folder, file):
        bound = "" if "live" in name else f"{SECONDS} s"
        yield f"| {name} | {took.seconds:.1f} s | {took.megabytes:.0f} MB | {size / 1e6:.1f} MB | {bound} |"


def main():
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        file = Path(sys.argv[1]) if sys.argv[1:] else folder / "cluster.jsonl.gz"
        if not file.exists():
            dump(file)
        fill("bench report", table(folder, file))


if __name__ == "__main__":
    main()
