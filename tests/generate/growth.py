"""The table of how each part grows, in docs/performance.md, from what tests/bench/growth.py measured."""

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
