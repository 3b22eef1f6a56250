"""
`make bench`: what a dump of a cluster of 5,000 nodes and 150,000 Pods takes, to write and to read.

    an API server (cluster.py) ──TLS──> evenkeel dump ──> file ──> Snapshot; each a process of its own
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from certs.authority import Authority
from tests.bench.cluster import NAMESPACES, NODES, PODS
from tests.bench.page import fill
from tests.support import ROOT
from tests.support.apiserver import kubeconfig

# Runs one command or function, and says what it took.
COMMAND = "from webhook.cli.main import main; assert 0 == main(sys.argv[1:])"
READ = "from evenkeel.clusters.dump_files import contents; sum(1 for _ in contents(pathlib.Path(sys.argv[1])).objects)"
LOAD = (
    "from evenkeel.clusters.dump_files import load; from webhook.kubernetes.features import LATEST;"
    "from evenkeel.scheduler.snapshot import from_objects;"
    "load(pathlib.Path(sys.argv[1]), lambda objects: from_objects(objects, LATEST))"
)
REPORT = """
print(time.process_time(), re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1])
"""


class Taken(NamedTuple):
    """CPU seconds, and the megabytes of the process at its largest."""

    seconds: float
    megabytes: float


def taken(program, *arguments):
    """What a program took that ran in a process of its own."""
    source = f"import pathlib, re, sys, time\n{program}\n{REPORT}"
    done = subprocess.run(
        [sys.executable, "-c", source, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    seconds, kilobytes = done.stdout.split()
    return Taken(float(seconds), int(kilobytes) / 1024)


def rows(folder):
    """The rows of the table, of a cluster that is served meanwhile."""
    file, small = folder / "cluster.jsonl.gz", folder / "small.jsonl.gz"
    command = [sys.executable, "-m", "tests.bench.cluster", str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            url = f"https://127.0.0.1:{server.stdout.readline().strip()}"
            config = kubeconfig(url, folder, folder / "ca.crt")
            yield "`evenkeel dump`", taken(COMMAND, "dump", "--kubeconfig", config, "-o", file), file
        finally:
            server.kill()
    of_one = taken(COMMAND, "dump", "--cluster", file, "-n", "team-1", "-o", small)
    yield "a namespace of that file, as another file", of_one, small
    yield "the file is read, object by object", taken(READ, file), None
    yield "nodes, Pods and what they request are read from it", taken(LOAD, file), None


def table(folder):
    now = datetime.now(UTC)
    ca = Authority.create(now)
    ca.issue(["127.0.0.1"], now).write(folder / "tls.crt", folder / "tls.key")
    (folder / "ca.crt").write_bytes(ca.pair.chain_pem())
    yield f"| {NODES:,} nodes, {PODS:,} Pods in {NAMESPACES} namespaces | CPU | memory | file |"
    yield "| --- | --- | --- | --- |"
    for name, took, file in rows(folder):
        size = f"{file.stat().st_size / 1e6:.1f} MB" if file else ""
        yield f"| {name} | {took.seconds:.1f} s | {took.megabytes:.0f} MB | {size} |"


def main():
    with tempfile.TemporaryDirectory() as temporary:
        fill("bench dump", table(Path(temporary)))


if __name__ == "__main__":
    main()
