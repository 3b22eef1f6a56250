"""
`make bench`: how many manifests a second of CPU, from a cold start, beside PyYAML's C parser on the same files; and one
file, beside a Python that does nothing.

    a repository of 10,000 manifests, half of them workloads ──┐
    one like real ones (tests/bench/repository.py) ────────────┴──> evenkeel lint, a process of its own; medians of five
    one manifest ─────────────────────────────────────────────────> the same; of twenty
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from tests.bench import repository

MANIFESTS, TEAMS, ROUNDS, STARTS = 10_000, 100, 5, 20
EVENKEEL = [sys.executable, "-m", "webhook", "lint"]
PARSE = """
import os, sys, yaml
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        with open(os.path.join(folder, name)) as opened:
            try:
                list(yaml.load_all(opened, Loader=yaml.CSafeLoader))
            except yaml.YAMLError:
                pass  # a template
"""
# A process of its own, and a small one: the memory of a process is at first taken for that of one that it starts.
USAGE = """
import os, sys
quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
_, status, usage = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet), 0)
print(status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""
WORKLOAD = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-{i}
  namespace: team-{team}
  labels:
    app.kubernetes.io/name: app-{i}
    app.kubernetes.io/part-of: team-{team}
spec:
  replicas: 3
  selector:
    matchLabels:
      app.kubernetes.io/name: app-{i}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: app-{i}
        app.kubernetes.io/part-of: team-{team}
    spec:
      containers:
      - name: app
        image: registry.example.com/team-{team}/app:{i}
        ports:
        - {{name: http, containerPort: 8080}}
        env:
        - name: LOG_LEVEL
          value: info
        readinessProbe:
          httpGet: {{path: /ready, port: http}}
        resources:
          requests: {{cpu: 100m, memory: 128Mi}}
          limits: {{memory: 256Mi}}
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: ScheduleAnyway
        labelSelector:
          matchLabels:
            app.kubernetes.io/name: {selected}
        matchLabelKeys: [pod-template-hash]
"""
OTHER = """\
apiVersion: v1
kind: {kind}
metadata:
  name: app-{i}
  namespace: team-{team}
{body}"""
BODIES = {
    "ConfigMap": "data:\n  application.yaml: |\n" + "    a.setting.of.this.application: its value\n" * 10,
    "Service": "spec:\n  selector: {app: app}\n  ports: [{name: http, port: 80, targetPort: http}]\n",
    "ServiceAccount": "automountServiceAccountToken: false\n",
}


def generate(folder: Path, manifests: int) -> int:
    """Files of one manifest each, one workload in a hundred with a mistake; how many bytes."""
    size = 0
    for i in range(manifests):
        team = i % TEAMS
        kind = list(BODIES)[i // 2 % len(BODIES)]
        selected = f"app-{i}" if i % 200 else "nobody"
        content = (
            WORKLOAD.format(i=i, team=team, selected=selected)
            if i % 2 == 0
            else OTHER.format(kind=kind, i=i, team=team, body=BODIES[kind])
        )
        (folder / f"team-{team}").mkdir(parents=True, exist_ok=True)
        size += (folder / f"team-{team}" / f"{i}.yaml").write_text(content)
    return size


def run(command, expected=0):
    """
    Seconds of CPU that a command and its processes take, and the most memory that one of them takes, in MB.

    Modules are kept compiled, as pip leaves them, also where PYTHONDONTWRITEBYTECODE is set.
    """
    usage = [sys.executable, "-S", "-c", USAGE, *command]
    compiled = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(usage, capture_output=True, text=True, check=True, env=compiled)
    status, cpu, memory = done.stdout.split()
    assert os.waitstatus_to_exitcode(int(status)) == expected, command
    return float(cpu), int(memory) / 1024


def by_turns(times, *commands):
    """What `run` gives for each of the commands, as often, in alternating rounds."""
    return zip(*([run(command) for command in commands] for _ in range(times)), strict=True)


def rows(folder: Path):
    """The table, line by line."""
    generate(folder / "tenth", MANIFESTS // 10)
    repositories = {
        "manifests": (folder / "all", MANIFESTS, generate(folder / "all", MANIFESTS)),
        "files like real ones": (folder / "real", *repository.generate(folder / "real")),
    }
    tenth = run([*EVENKEEL, str(folder / "tenth")])[1]  # It is also the run that compiles.
    started = by_turns(STARTS, [*EVENKEEL, str(folder / "all" / "team-2" / "2.yaml")], [sys.executable, "-c", "pass"])
    one, bare = (median(cpu for cpu, _ in runs) for runs in started)
    yield "| what | evenkeel lint, CPU | PyYAML's C loader alone, CPU | ratio |"
    yield "| --- | --- | --- | --- |"
    largest = []
    for what, (path, files, size) in repositories.items():
        lint, parse = [*EVENKEEL, str(path)], [sys.executable, "-c", PARSE, str(path)]
        ours, theirs = by_turns(ROUNDS, lint, parse)
        seconds, parsing = median(mine[0] for mine in ours), median(other[0] for other in theirs)
        ratio = median(mine[0] / other[0] for mine, other in zip(ours, theirs, strict=True))
        largest.append(max(mine[1] for mine in ours))
        rate = f"{seconds:.1f} s, {files / seconds:,.0f}/s"
        yield f"| {files:,} {what}, {size / 1e6:.1f} MB | {rate} | {parsing:.1f} s | {ratio:.2f} |"
    yield ""
    memory = f"{largest[0]:.0f} MB for {MANIFESTS:,} manifests, {tenth:.0f} MB for a tenth of them"
    memory += f", {largest[1]:.0f} MB for the files like real ones"
    yield f"One file: {one:.3f} s of CPU, and a Python that does nothing {bare:.3f} s: a ratio of {one / bare:.1f}."
    yield f"Memory: {memory}."


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        for line in rows(Path(temporary)):
            print(line)
