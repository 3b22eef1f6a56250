"""The page on how each part grows, beside the benches, from what tests/bench/growth.py measured."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from tests.bench.growth import FACTORS, MEASURES, RESULTS
from tests.generate.markdown import table as markdown_table

WORSE = 4.8  # What the last two doublings may multiply by together; more is worse than linear.
PARTS = {
    "admission": "a review of a Deployment that a person applies",
    "admission of a Pod": "a review of a Pod that a ReplicaSet creates",
    "view": "an event of a watch",
    "memory": "the caches in memory",
    "explain": "`explain`, without reading the cluster",
    "simulate": "`simulate` of a scale and a rollout, without reading it",
    "lint": "`lint` of a file for each workload",
    "report": "`report -A` of a dump",
    "reading": "reading a dump",
}

INTRODUCTION = f"""\
# How evenkeel grows

One measure of a cluster grows to {FACTORS[-1]} times, and the others stay. The cluster has 200 nodes, 4,000 Pods
and 100 workloads with two constraints each; the workload in question has 20 replicas. This is how many times more
each part then takes, in calls of functions, or in bytes of memory. **Bold** is what grows faster than its measure:
after each event in a simulated rollout, the Deployment's controller counts all its Pods.

"""


def page() -> str:
    """Return the page, with its table."""
    return f"{INTRODUCTION}{table()}"


def table() -> str:
    """How many times more each part takes at the last factor, by measure; bold where it grows faster than that."""
    results = json.loads(RESULTS.read_text("utf-8"))
    rows = ((text, *(_cell(results[part].get(measure)) for measure in MEASURES)) for part, text in PARTS.items())
    measures = ("Pods" if measure == "pods" else measure for measure in MEASURES)
    return markdown_table((f"at {FACTORS[-1]} times as many", *measures), rows)


def _cell(measured: Mapping[str, Sequence[float]] | None) -> str:
    if measured is None:
        return "–"
    values = measured.get("calls", measured["figures"])  # Calls, which no other program changes, or memory.
    ratio = f"{values[-1] / values[0]:.1f}"
    return f"**{ratio}**" if values[-1] > WORSE * values[-3] else ratio
