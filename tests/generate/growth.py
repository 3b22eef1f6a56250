"""The pictures and tables of docs/growth.md: how each part grows, from what tests/bench/growth.py measured."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import floor, log2
from typing import NamedTuple

from tests.bench.growth import FACTORS, MEASURES, RESULTS, Size
from tests.generate.drawing import opened
from tests.generate.markdown import table

FOLDER = "growth"  # Below docs.
ENDS = ("at first", f"at {FACTORS[-1]}×")
SHOWN = {"pods": "Pods"}  # How a measure is written where not as it is called.
WORSE = 4.8  # What the last two doublings may multiply by together; more is worse than linear.
# Why a part grows faster than what doubles, by part and measure.
ROLLOUT = "In a simulated rollout the Deployment's controller counts all its Pods after each event."
REASONS = {("explain", "replicas"): ROLLOUT, ("simulate", "replicas"): ROLLOUT}
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM, LETTERS = 560, 300, 44, 14, 150, 40, 15  # In pixels.
MORE_STYLE = """
.grid { stroke: #d0d7de } .linear { stroke: #8c959f; stroke-dasharray: 4 4; fill: none }
.line { fill: none; stroke-width: 2 } .c0 { stroke: #0969da } .c1 { stroke: #bc4c00 } .c2 { stroke: #1a7f37 }
.c3 { stroke: #8250df } .c4 { stroke: #bf3989 } circle { stroke-width: 1 }
.f0 { fill: #0969da } .f1 { fill: #bc4c00 } .f2 { fill: #1a7f37 } .f3 { fill: #8250df } .f4 { fill: #bf3989 }
@media (prefers-color-scheme: dark) {
.grid { stroke: #30363d } .linear { stroke: #8b949e }
.c0 { stroke: #4493f8 } .c1 { stroke: #f0883e } .c2 { stroke: #3fb950 } .c3 { stroke: #ab7df8 } .c4 { stroke: #f778ba }
.f0 { fill: #4493f8 } .f1 { fill: #f0883e } .f2 { fill: #3fb950 } .f3 { fill: #ab7df8 } .f4 { fill: #f778ba }
}
"""


class Part(NamedTuple):
    """What a picture is of: its file, its title, and the unit of its figures."""

    file: str
    title: str
    unit: str


PARTS = {
    "admission": Part("admission", "A review of a Deployment that a person applies", "µs"),
    "admission of a Pod": Part("admission-of-a-pod", "A review of a Pod that a ReplicaSet creates", "µs"),
    "view": Part("view", "An event of a watch", "µs"),
    "memory": Part("memory", "The caches in memory", "MB"),
    "explain": Part("explain", "evenkeel explain", "ms"),
    "simulate": Part("simulate", "evenkeel simulate", "ms"),
    "lint": Part("lint", "evenkeel lint", "ms"),
    "report": Part("report", "evenkeel report", "ms"),
    "reading": Part("reading", "Reading a dump", "ms"),
}


def measured(name: str) -> dict[str, dict[str, list[float]]]:
    """What was measured of a part, by measure: figures and calls, each for all factors."""
    return json.loads(RESULTS.read_text("utf-8"))[name]


def ratios(its: Mapping[str, Sequence[float]]) -> list[float]:
    """How it grows: by calls, which no other program changes, or by memory, of which there are no calls."""
    values = its.get("calls", its["figures"])
    return [value / values[0] for value in values]


def worse(its: Mapping[str, Sequence[float]]) -> bool:
    """Whether it grows faster than what doubles."""
    return ratios(its)[-1] > WORSE * ratios(its)[-3]


def block(name: str) -> str:
    """A part on its page: its picture, its table, and what grows faster than linear."""
    part = PARTS[name]
    head = (
        "what doubles",
        "from, to",
        *(f"{factor}×" for factor in FACTORS[1:]),
        *(f"{one}, {part.unit}" for one in ENDS),
    )
    rows = []
    for measure, its in measured(name).items():
        first, figures = getattr(Size(), measure), its["figures"]
        grown = (f"{ratio:.1f}" for ratio in ratios(its)[1:])
        ends = (f"{figure:,g}" for figure in (figures[0], figures[-1]))
        rows.append((shown(measure), f"{first:,}, {FACTORS[-1] * first:,}", *grown, *ends))
    faster = [f"{shown(measure)}. {REASONS[name, measure]}" for measure, its in measured(name).items() if worse(its)]
    shows = f"![{told(name)}]({FOLDER}/{part.file}.svg)"
    return "\n".join((shows, "", table(head, rows), f"Faster than linear: {' '.join(faster) or 'nothing.'}", ""))


def shown(measure: str) -> str:
    return SHOWN.get(measure, measure)


def told(name: str) -> str:
    """What a picture shows, for who cannot see it."""
    ends = [f"{shown(measure)} {ratios(its)[-1]:.1f}" for measure, its in measured(name).items()]
    return f"{PARTS[name].title}: how many times more at {FACTORS[-1]} times as many {', '.join(ends)}."


def picture(name: str) -> str:
    """An SVG: a line for each measure, both axes by doublings; the dashed line is linear growth."""
    its = {measure: ratios(values) for measure, values in measured(name).items()}
    scale = Scale(
        2 ** floor(log2(min(0.5, *map(min, its.values())))),  # Also what shrinks is seen.
        max(FACTORS[-1], *map(max, its.values())),
    )
    parts = [
        *opened(WIDTH, HEIGHT, told(name), MORE_STYLE),
        *_axes(scale),
        f'<path class="linear" d="{_path(FACTORS, scale)}"/>',
        *_lines(its, scale),
    ]
    return "\n".join((*parts, "</svg>", ""))


class Scale(NamedTuple):
    """What is at the bottom of a picture, and at its top."""

    bottom: float
    top: float

    def y(self, ratio: float) -> float:
        share = log2(ratio / self.bottom) / log2(self.top / self.bottom)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def _x(factor: float) -> float:
    return LEFT + log2(factor) / log2(FACTORS[-1]) * (WIDTH - LEFT - RIGHT)


def _path(values: Sequence[float], scale: Scale) -> str:
    points = [f"{_x(factor):.1f} {scale.y(value):.1f}" for factor, value in zip(FACTORS, values, strict=True)]
    return f"M{' L'.join(points)}"


def _axes(scale: Scale) -> Iterator[str]:
    for factor in FACTORS:
        x = _x(factor)
        yield f'<path class="grid" d="M{x:.1f} {TOP} V{HEIGHT - BOTTOM}"/>'
        yield f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{factor}×</text>'
    for doublings in range(floor(log2(scale.top)) + 1):
        y = scale.y(2**doublings)
        yield f'<path class="grid" d="M{LEFT} {y:.1f} H{WIDTH - RIGHT}"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{2**doublings}×</text>'


def _lines(its: Mapping[str, Sequence[float]], scale: Scale) -> Iterator[str]:
    """The lines, and at the end of each its name; names that would cover each other move apart."""
    labels = sorted([(scale.y(values[-1]), measure) for measure, values in its.items()])
    at = {}
    lowest = -float(LETTERS)
    for y, measure in labels:
        lowest = at[measure] = max(y, lowest + LETTERS)
    over = max(0.0, lowest - (HEIGHT - BOTTOM))
    for measure, values in its.items():
        number = MEASURES.index(measure)
        yield f'<path class="line c{number}" d="{_path(values, scale)}"/>'
        for factor, value in zip(FACTORS, values, strict=True):
            yield f'<circle class="c{number} f{number}" cx="{_x(factor):.1f}" cy="{scale.y(value):.1f}" r="2.5"/>'
        text = f"{shown(measure)} {values[-1]:.1f}×"
        yield f'<text class="f{number} bold" x="{WIDTH - RIGHT + 10}" y="{at[measure] - over + 4:.1f}">{text}</text>'
    yield f'<text class="small" x="{WIDTH - RIGHT + 34}" y="{HEIGHT - BOTTOM + 18}">dashed: linear</text>'


DRAWINGS = {f"docs/{FOLDER}/{part.file}.svg": name for name, part in PARTS.items()}
