"""What docs/metrics.md says of metrics and alerts, from the registry and from the file of rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import yaml

from tests.generate.chart import FOLDER
from webhook.admission.defaulting import REASONS
from webhook.cluster.live import LOOKUP_KINDS, LOOKUP_RESULTS
from webhook.cluster.watched import WATCHED
from webhook.serving.metrics import ClusterMetrics, Metrics

MOST_SHOWN = 7
RULES = yaml.safe_load((FOLDER / "files" / "alerts.yaml").read_text("utf-8"))["groups"][0]["rules"]


class Family(NamedTuple):
    """One metric: its name as it is scraped, the names of its samples, and the values of each label."""

    name: str
    type: str
    help: str
    samples: frozenset[str]
    labels: dict[str, list[str]]


def families() -> list[Family]:
    """All that a server exposes that watches a cluster."""
    metrics = Metrics()
    kinds = tuple(one.kind for one in WATCHED)
    ClusterMetrics(metrics, kinds, (LOOKUP_KINDS, LOOKUP_RESULTS), lambda: dict.fromkeys(kinds, (False, 0.0)))
    return [
        Family(
            family.name + "_total" * (family.type == "counter"),
            family.type,
            family.documentation,
            frozenset(sample.name for sample in family.samples),
            _labels(family.samples),
        )
        for family in metrics.registry.collect()
    ]


def _labels(samples) -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for sample in samples:
        for name, value in sample.labels.items():
            found.setdefault(name, {})[value] = None
    return {name: list(values) for name, values in found.items()}


def table() -> str:
    rows = (f"| `{one.name}` | {one.type} | {_shown(one)} | {one.help} |" for one in families())
    return "\n".join(("| metric | type | labels | description |", "| --- | --- | --- | --- |", *rows, ""))


def _shown(family: Family) -> str:
    return "; ".join(_values(name, values) for name, values in family.labels.items() if name != "le") or "–"


def _values(name: str, values: list[str]) -> str:
    return f"`{name}`: {', '.join(values) if len(values) <= MOST_SHOWN else f'one of {len(values)}'}"


def reasons() -> str:
    rows = (f"| `{reason}` | {text} |" for reason, text in REASONS.items())
    return "\n".join(("| reason | why |", "| --- | --- |", *rows, ""))


def alerts() -> str:
    return "\n".join(("| alert | severity | what it says | what to do |", "| --- | --- | --- | --- |", *_alerts(), ""))


def _alerts() -> Iterator[str]:
    for rule in RULES:
        said = rule["annotations"]
        summary = re.sub(r"{{ \$labels\.(\w+) }}", lambda label: label[1].upper(), said["summary"])
        summary = re.sub(r"{{ \$value( \| \w+)? }}", "…", summary)
        yield f"| {rule['alert']} | {rule['labels']['severity']} | {summary} | {said['runbook']} |"
