"""The commands whose outputs are recorded, by the cluster or the example that they read."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

from tests.outputs.clusters import SEEDS, cluster, workloads
from webhook.cli.main import main

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
POLICY = EXAMPLES / "install" / "policy.yaml"
MINORS = ("1.37", "1.33", "1.30")

SCHEDULER = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}]
"""
# Times of day and ages, which differ from run to run.
TIMES = re.compile(
    r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?| \d\d:\d\d)?|\b\d+ ?(?:d|h|min|s)(?: at least)?\b"
)


class Output(NamedTuple):
    code: int
    out: str
    err: str

    def without(self, folder: str) -> Output:
        """Return the same output with `CLUSTER` for the folder of the cluster."""
        return Output(self.code, self.out.replace(folder, "CLUSTER"), self.err.replace(folder, "CLUSTER"))


def groups() -> Iterator[str]:
    """Yield the names of all groups of commands."""
    yield from ("examples", "examples-json")
    yield from (f"cluster-{seed}" for seed in SEEDS)
    yield from (f"dump-{seed}" for seed in SEEDS)


def outputs(group: str, folder: Path) -> dict[str, Output]:
    """Return what each command of a group prints, by its line; the cluster of the group is written to `folder`."""
    if group == "examples":
        return {line: output(line) for line in _of_examples()}
    if group == "examples-json":
        return {line: output(line) for line in _of_examples_in_json()}
    read_from, _, seed = group.partition("-")
    seed = int(seed)
    objects = cluster(seed)
    (folder / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    (folder / "workloads.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": workloads(objects)})
    )
    version = f"--kubernetes-version {MINORS[seed % len(MINORS)]}"
    (folder / "scheduler.yaml").write_text(SCHEDULER)
    lines = _of_cluster(objects, version) if read_from == "cluster" else _of_dump(objects, version)
    return {line: output(line.replace("CLUSTER", str(folder))).without(str(folder)) for line in lines}


def output(line: str) -> Output:
    """Run `evenkeel LINE` in this process and return what it printed, without times."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = main(line.split())
        except SystemExit as exit_:
            code = exit_.code
    return Output(int(code or 0), TIMES.sub("…", out.getvalue()), TIMES.sub("…", err.getvalue()))


def _of_cluster(objects: list[dict], version: str) -> Iterator[str]:
    given = f"--cluster CLUSTER/cluster.json {version}"
    for form in ("text", "json"):
        yield f"pending -A {given} -o {form}"
        yield f"report -A {given} -o {form}"
        yield f"report -A --policy {POLICY.relative_to(ROOT)} {given} -o {form}"
        yield f"lint CLUSTER/workloads.json --cluster CLUSTER/cluster.json {version} -o {form}"
        yield f"admit -f CLUSTER/workloads.json {given} -o {form}"
    yield f"report -A {given} --by namespace"
    for workload in workloads(objects):
        of = f"{workload['kind'].lower()}/{workload['metadata']['name']} -n {workload['metadata']['namespace']}"
        for form in ("text", "json"):
            yield f"explain {of} {given} -o {form}"
            yield f"explain {of} {given} --policy {POLICY.relative_to(ROOT)} -o {form}"
            yield f"simulate {of} rollout scale=7 {given} --runs 10 -o {form}"
            yield f"simulate {of} lose=topology.kubernetes.io/zone=a drain=n1 {given} --runs 10 -o {form}"
    for pod in (obj for obj in objects if obj["kind"] == "Pod" and not obj["spec"].get("nodeName")):
        yield f"explain pod/{pod['metadata']['name']} -n {pod['metadata']['namespace']} {given}"


def _of_dump(objects: list[dict], version: str) -> Iterator[str]:
    """Yield the commands that read a dump, in JSON; the first of them writes it."""
    yield "dump --cluster CLUSTER/cluster.json -o CLUSTER/dump.gz"
    given = f"--cluster CLUSTER/dump.gz {version}"
    configured = f"{given} --scheduler-config CLUSTER/scheduler.yaml"
    yield f"pending -A {configured} -o json"
    yield f"report -A {configured} -o json"
    yield f"lint CLUSTER/workloads.json --cluster CLUSTER/dump.gz {version} -o json"
    yield f"admit -f CLUSTER/workloads.json {given} -o json"
    for workload in workloads(objects):
        of = f"{workload['kind'].lower()}/{workload['metadata']['name']} -n {workload['metadata']['namespace']}"
        yield f"explain {of} {configured} -o json"
        yield f"simulate {of} rollout scale=7 {configured} --runs 10 -o json"
    for pod in (obj for obj in objects if obj["kind"] == "Pod" and not obj["spec"].get("nodeName")):
        yield f"explain pod/{pod['metadata']['name']} -n {pod['metadata']['namespace']} {given} -o json"


def _of_examples_in_json() -> Iterator[str]:
    for name in ("web", "reject", "warn", "default"):
        yield f"admit -f docs/examples/{name}.yaml --policy docs/examples/install/policy.yaml -o json"
    yield "kinds -o json"


def _of_examples() -> Iterator[str]:
    forms = ("", " -o json")
    for form in forms:
        for folder in sorted((EXAMPLES / "scenarios").iterdir()):
            relative = folder.relative_to(ROOT)
            if (folder / "cluster.yaml").exists():
                yield f"explain -f {relative}/incoming.yaml --cluster {relative}/cluster.yaml{form}"
                yield f"report -A --cluster {relative}/cluster.yaml{form}"
            yield f"lint {relative}{form}"
        waiting = "--cluster docs/examples/waiting/cluster.yaml"
        yield f"pending -A {waiting}{form}"
        yield f"explain pod/web-7d4b9c-x2x5p -n shop {waiting}{form}"
        yield f"explain deployment/web -n shop {waiting}{form}"
        simulated = "--cluster docs/examples/simulate/cluster.yaml -n shop"
        yield f"simulate deployment/web rollout {simulated}{form}"
        yield f"simulate deployment/web scale=12 drain=a1 {simulated}{form}"
        yield f"simulate deployment/web drain=b1 --cluster docs/examples/simulate/budgets.yaml -n shop{form}"
        yield f"simulate -f docs/examples/simulate/nine.yaml rollout {simulated}{form}"
        yield f"simulate -f docs/examples/simulate/by-revision.yaml rollout {simulated}{form}"
        yield f"simulate -f docs/examples/web.yaml scale=9 --cluster docs/examples/simulate/full-zone.yaml{form}"
        yield f"report -A --cluster docs/examples/report/cluster.yaml --policy docs/examples/report/new.yaml{form}"
        yield (
            "report -A --cluster docs/examples/report/cluster.yaml --policy docs/examples/report/new.yaml "
            f"--compare docs/examples/report/old.yaml{form}"
        )
        yield f"lint docs/examples{form}"
        yield f"policy test docs/examples/policy.evenkeel-test.yaml{form}"
        yield f"policy test docs/examples/teams/policy.evenkeel-test.yaml{form}"
    for name in ("web", "reject", "warn", "default"):
        yield f"admit -f docs/examples/{name}.yaml --policy docs/examples/install/policy.yaml"
        yield f"lint --diff docs/examples/{name}.yaml"
    for form in ("sarif", "junit", "github"):
        yield f"lint docs/examples -o {form}"
    yield "policy check docs/examples/policy.yaml"
    yield "policy show -n shop --policy docs/examples/policy.yaml"
    yield "policy schema"
    yield "rules"
    yield "kinds"
    yield "manifests --service evenkeel/evenkeel --inject-ca-from evenkeel/evenkeel"
