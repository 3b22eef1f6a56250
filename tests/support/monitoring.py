"""Rules and dashboards of the chart: what they ask for, whether it is there, and when an alert fires, by promtool."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests.support import ROOT

FILES = ROOT / "charts" / "evenkeel" / "files"
PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="needs promtool: apt install prometheus")
SELECTOR = re.compile(r"\b((?:evenkeel|apiserver)_\w+)(?:{([^}]*)})?")
MATCHER = re.compile(r'(\w+)(?:=~?|!=|!~)"([^"]*)"')
Known = Mapping[str, Mapping[str, Collection[str] | None]]


class Family(NamedTuple):
    """One metric: its name as it is scraped, the names of its samples, and the values of each label."""

    name: str
    type: str
    help: str
    samples: frozenset[str]
    labels: dict[str, list[str]]


def described(collected) -> list[Family]:
    """The families that prometheus_client collects, or parses."""
    return [
        Family(
            family.name + "_total" * (family.type == "counter"),
            family.type,
            family.documentation,
            frozenset(sample.name for sample in family.samples),
            _labels(family.samples),
        )
        for family in collected
    ]


def _labels(samples) -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for sample in samples:
        for name, value in sample.labels.items():
            found.setdefault(name, {})[value] = None
    return {name: list(values) for name, values in found.items()}


def known(families: Iterable[Family]) -> Known:
    """The labels of each sample, with their values."""
    return {sample: family.labels for family in families for sample in family.samples}


def alerts_of(file: str) -> list[dict]:
    """The rules in one of the chart's files."""
    return yaml.safe_load((FILES / file).read_text("utf-8"))["groups"][0]["rules"]


def dashboard_of(file: str) -> dict:
    return json.loads((FILES / file).read_text("utf-8"))


def targets_of(dashboard: dict) -> dict[str, dict]:
    """What each panel asks for, by its title."""
    return {f"{panel['title']} {one['refId']}": one for panel in dashboard["panels"] for one in panel["targets"]}


def queries_of(alerts: list[dict], dashboard: dict) -> dict[str, str]:
    shown = {title: target["expr"] for title, target in targets_of(dashboard).items()}
    return {rule["alert"]: rule["expr"] for rule in alerts} | shown


def metrics_of(query: str) -> list[str]:
    """The samples that a query asks for."""
    return [name for name, _ in SELECTOR.findall(query)]


def unknown(query: str, there: Known, variables: Collection[str] = ()) -> list[str]:
    """
    What a query asks for that is not there: metrics, labels and values; `there` has None where any value goes.

    `variables` are those of the dashboard, which stand for values.
    """
    asked = SELECTOR.findall(query)
    labels = set().union(*(there.get(name, ()) for name, _ in asked))
    grouped = {label for by in re.findall(r"by \(([^)]*)\)", query) for label in by.split(", ")}
    found = [name for name, _ in asked if name not in there] + sorted(grouped - labels)
    for name, inside in asked:
        for label, value in MATCHER.findall(inside):
            values = there.get(name, {}).get(label, ())
            if value not in variables and values is not None and not set(value.split("|")) <= set(values):
                found.append(f'{name}{{{label}="{value}"}}')
    return found if asked else ["a query of no metric"]


def fires(file: str, alert: str, series: Mapping[str, str], tmp_path: Path) -> None:
    """Assert that an alert fires alone in the 45th minute of `series`, or none if it is empty."""
    samples = [{"labels": f'{{alertname="{alert}"}}', "value": 1}] if alert else []
    counted = 'count by (alertname) (ALERTS{alertstate="firing"})'
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [{"expr": counted, "eval_time": "45m", "exp_samples": samples}],
    }
    (tmp_path / "test.yaml").write_text(json.dumps({"rule_files": [str(FILES / file)], "tests": [test]}))
    _promtool("test", "rules", str(tmp_path / "test.yaml"))


def reads(file: str, queries: Iterable[str], tmp_path: Path) -> None:
    """Assert that promtool reads a file of rules, and these queries."""
    rules = [{"record": f"a:{n}", "expr": text.replace("$__rate_interval", "5m")} for n, text in enumerate(queries)]
    (tmp_path / "queries.yaml").write_text(json.dumps({"groups": [{"name": "queries", "rules": rules}]}))
    _promtool("check", "rules", str(FILES / file), str(tmp_path / "queries.yaml"))


def _promtool(*args: str) -> None:
    done = subprocess.run([PROMTOOL, *args], capture_output=True, text=True)
    assert 0 == done.returncode, done.stdout + done.stderr
