"""
What commands print for the examples in forms that no page shows, compared as text with one file for each command.

After an intended change `make docs` writes them again: read the difference in git.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from tests.generate.commands import output
from tests.support import ROOT

FOLDER = Path(__file__).parent
EXAMPLES = "docs/examples"
POLICY = f"--policy {EXAMPLES}/install/policy.yaml"
SCENARIOS = "tests/data/scenarios"
ZONES = f"{SCENARIOS}/12-zone-against-node"
WAITING = f"--cluster {EXAMPLES}/waiting/cluster.yaml"
SIMULATED = f"--cluster {EXAMPLES}/simulate/cluster.yaml -n shop"
REPORTED = f"--cluster {EXAMPLES}/report/cluster.yaml --policy {EXAMPLES}/report/new.yaml"
FILES = " ".join(f"{EXAMPLES}/{name}.yaml" for name in ("web", "reject", "warn", "default"))
# FOLDER is a temporary one, which holds a scheduler's configuration.
COMMANDS = {
    "admit": [
        *[f"admit -f {file} {POLICY} -o json" for file in FILES.split()],
        f"admit -f {ZONES}/incoming.yaml --cluster {ZONES}/cluster.yaml --kubernetes-version 1.33",
    ],
    "explain": [
        f"explain -f {ZONES}/incoming.yaml --cluster {ZONES}/cluster.yaml -o json",
        f"explain deployment/web -n shop {WAITING} -o json",
        f"explain pod/web-7d4b9c-x2x5p -n shop {WAITING} --scheduler-config FOLDER/scheduler.yaml",
        f"dump {WAITING} -o FOLDER/dump.gz",
        "explain pod/web-7d4b9c-x2x5p -n shop --cluster FOLDER/dump.gz --kubernetes-version 1.33",
        f"explain deployment/web -n shop --cluster {EXAMPLES}/waiting/neighbours.yaml --kubernetes-version 1.30",
        f"explain pod/db-1 -n shop --cluster {EXAMPLES}/waiting/claims.yaml",
        f"explain pod/web-3 -n shop --cluster {EXAMPLES}/waiting/taints.yaml",
        f"explain pod/web-5d8f-k2x7p -n shop --cluster {EXAMPLES}/waiting/placeholders.yaml",
    ],
    "lint": [
        f"lint {SCENARIOS}",
        *[f"lint {FILES} -o {form}" for form in ("json", "sarif", "junit", "github")],
        f"lint --diff {FILES}",
        f"lint {ZONES}/incoming.yaml --cluster {ZONES}/cluster.yaml",
    ],
    "manifests": ["manifests --service evenkeel/evenkeel --inject-ca-from evenkeel/evenkeel"],
    "pending": [f"pending -A {WAITING} -o json", f"pending -A --cluster {EXAMPLES}/waiting/taints.yaml"],
    "policy": [
        f"policy check {EXAMPLES}/policy.yaml",
        f"policy show -n shop --policy {EXAMPLES}/policy.yaml -o json",
        f"policy test {EXAMPLES}/policy.evenkeel-test.yaml -o json",
    ],
    "report": [
        f"report -A {REPORTED} -o json",
        f"report -A {REPORTED} --compare {EXAMPLES}/report/old.yaml -o json",
        f"report -A {WAITING}",
    ],
    "simulate": [
        f"simulate deployment/web rollout {SIMULATED} -o json",
        f"simulate deployment/web scale=12 drain=a1 {SIMULATED}",
        f"simulate deployment/web drain=b1 --cluster {EXAMPLES}/simulate/budgets.yaml -n shop -o json",
        f"simulate -A lose=topology.kubernetes.io/zone=a --cluster {EXAMPLES}/simulate/whole.yaml -o json",
    ],
}
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
_TIMES = re.compile(
    r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?| \d\d:\d\d)?|\b\d+ ?(?:d|h|min|s)(?: at least)?\b"
)


def printed(name: str) -> str:
    """Return what the commands of this name print, each below its own line, without times."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "scheduler.yaml").write_text(SCHEDULER, "utf-8")
        blocks = [
            f"$ evenkeel {line}\n{output(f'evenkeel {line}'.replace('FOLDER', folder))}" for line in COMMANDS[name]
        ]
        return _TIMES.sub("…", "\n".join(blocks).replace(folder, "FOLDER"))


OUTPUTS = {f"{(FOLDER / name).relative_to(ROOT)}.txt": name for name in COMMANDS}
