"""
Draws an example: its nodes by zone, the Pods on them, and what `evenkeel explain` says of each Pod to be placed.

    cluster, explanations ──> a column for each Node, a Row for each sum and verdict ──> SVG
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import NamedTuple

from tests.support.build import HOSTNAME, ZONE

COLUMN, LINE, CHIP, LETTER = 136, 20, 38, 7  # Widths and heights, in pixels.
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1f2328 }
.small { font-size: 11px } .bold { font-weight: 600 } .yes { fill: #1a7f37; font-weight: 600 } .no { fill: #b3261e }
.zone { fill: #f6f8fa; stroke: #8c959f } .node { fill: #fff; stroke: #8c959f } .pod { fill: #ddf4ff; stroke: #0969da }
.gone { fill: none; stroke: #8c959f; stroke-dasharray: 3 2 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .yes { fill: #3fb950 } .no { fill: #ff8d85 }
.zone { fill: #151b23; stroke: #656d76 } .node { fill: #0d1117; stroke: #656d76 }
.pod { fill: #10233f; stroke: #4493f8 }
}
"""
CARD_STYLE = """
.card { fill: #fff }
@media (prefers-color-scheme: dark) { .card { fill: #0d1117 } }
"""


class Cell(NamedTuple):
    """A text over some columns, from the first on."""

    first: int
    columns: int
    text: str
    style: str = ""


class Row(NamedTuple):
    title: str
    cells: tuple[Cell, ...]


class Node(NamedTuple):
    """`pods` are texts, and whether they count; `notes` are its taints, and that it is cordoned."""

    name: str
    labels: Mapping[str, str]
    pods: tuple[tuple[str, bool], ...]
    notes: tuple[str, ...]


def drawing(objects: Sequence[Mapping], explanations: Mapping[str, Mapping]) -> str:
    """An SVG of a cluster, and under it what an Explanation in JSON says of each Pod, by the Pods' names."""
    nodes = sorted(_nodes(objects), key=lambda node: (ZONE not in node.labels, node.labels.get(ZONE, ""), node.name))
    rows = [row for name, one in explanations.items() for row in _rows(nodes, name, one, len(explanations))]
    return _svg(nodes, rows)


def _nodes(objects: Sequence[Mapping]) -> Iterator[Node]:
    pods = [one for one in objects if one["kind"] == "Pod" and one["spec"].get("nodeName")]
    for one in (one for one in objects if one["kind"] == "Node"):
        metadata, spec = one["metadata"], one.get("spec", {})
        there = tuple(_pod(pod) for pod in pods if pod["spec"]["nodeName"] == metadata["name"])
        taints = [f"{taint['key']}={taint.get('value', '')}" for taint in spec.get("taints", ())]
        cordoned = ["cordoned"] if spec.get("unschedulable") else []
        own = [f"{key}: {value}" for key, value in metadata["labels"].items() if key not in (ZONE, HOSTNAME)]
        yield Node(metadata["name"], metadata["labels"], there, (*own, *taints, *cordoned))


def _pod(pod: Mapping) -> tuple[str, bool]:
    metadata, phase = pod["metadata"], pod.get("status", {}).get("phase", "")
    app = metadata["labels"].get("app", metadata["name"])
    if metadata["namespace"] != "shop":
        return f"{metadata['namespace']}/{app}", False
    if "deletionTimestamp" in metadata:
        return f"{app}, being deleted", False
    return (f"{app}, {phase}", False) if phase in ("Succeeded", "Failed") else (app, True)


def _rows(nodes: Sequence[Node], name: str, explained: Mapping, number: int) -> Iterator[Row]:
    """For each constraint the sum, or the Pods, of each domain, and then which nodes fit; of many Pods only that."""
    title = "" if number == 1 else f"{name}: "
    if number <= 2:
        for one in explained["constraints"]:
            key = one["topologyKey"].rpartition("/")[2]
            yield Row(f"{title}{key}, maxSkew {one['maxSkew']}", tuple(_cells(nodes, one)))
    scored = any(not one["hard"] for one in explained["constraints"])
    verdicts = [explained["nodes"][node.name] for node in nodes]
    yield Row(f"{title}fits", tuple(_verdict(at, one, scored) for at, one in enumerate(verdicts)))


def _cells(nodes: Sequence[Node], constraint: Mapping) -> Iterator[Cell]:
    domains = {domain["value"]: domain for domain in constraint["domains"]}
    at = 0
    for value, those in groupby(nodes, key=lambda node: node.labels.get(constraint["topologyKey"])):
        columns = len([*those])
        yield Cell(at, columns, "no label", "no") if value is None else _sum(at, columns, domains[value], constraint)
        at += columns


def _sum(at: int, columns: int, domain: Mapping, constraint: Mapping) -> Cell:
    itself, minimum = constraint["selfMatchNum"], constraint["minMatchNum"]
    text = f"{domain['matchNum']} + {itself} - {minimum} = {domain['skew']}"
    if not domain["eligible"]:
        return Cell(at, columns, "not counted")
    if not constraint["hard"]:
        return Cell(at, columns, in_words(domain["matchNum"]))
    if domain["passes"]:
        return Cell(at, columns, text)
    return Cell(at, columns, f"{text} > {constraint['maxSkew']}", "no")


def _verdict(at: int, found: Mapping, scored: bool) -> Cell:
    if not found["feasible"]:
        return Cell(at, 1, "no", "no")
    return Cell(at, 1, f"yes, score {found['score']}" if scored and found["score"] is not None else "yes", "yes")


def _svg(nodes: Sequence[Node], rows: Sequence[Row]) -> str:
    left = 16 + LETTER * max((len(row.title) for row in rows), default=0)
    lines = max(len(_chips(node)) for node in nodes) + max(len(node.notes) for node in nodes)
    tall = 30 + LINE * max(1, lines)
    width, height = left + COLUMN * len(nodes) + 4, 58 + tall + LINE * len(rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f"<style>{STYLE}</style>",
        f'<g transform="translate({left})">',
        *_zones(nodes, tall),
        *(part for at, node in enumerate(nodes) for part in _node(at, node, tall)),
        *(part for at, row in enumerate(rows) for part in _row(row, 60 + tall + LINE * at)),
        "</g>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _zones(nodes: Sequence[Node], tall: int) -> Iterator[str]:
    at = 0
    for zone, those in groupby(nodes, key=lambda node: node.labels.get(ZONE)):
        columns = len([*those])
        if zone is not None:
            left, width = COLUMN * at, COLUMN * columns
            yield f'<rect class="zone" x="{left + 2}" y="4" width="{width - 4}" height="{tall + 36}" rx="6"/>'
            yield text_at(left + width // 2, 20, zone if zone.startswith("zone") else f"zone {zone}", "bold")
        else:
            yield text_at(COLUMN * at + COLUMN * columns // 2, 20, "no zone", "small")
        at += columns


def _node(at: int, node: Node, tall: int) -> Iterator[str]:
    left, top = COLUMN * at, 28
    yield f'<rect class="node" x="{left + 8}" y="{top}" width="{COLUMN - 16}" height="{tall + 4}" rx="4"/>'
    yield text_at(left + COLUMN // 2, top + 16, node.name)
    for line, chips in enumerate(_chips(node)):
        wide = CHIP if len(chips) > 1 or len(chips[0][0]) < 5 else COLUMN - 18
        first = left + COLUMN // 2 - (wide * len(chips)) // 2
        for number, (text, counts) in enumerate(chips):
            x, y = first + wide * number, top + 24 + LINE * line
            kind = "pod" if counts else "gone"
            yield f'<rect class="{kind}" x="{x + 2}" y="{y}" width="{wide - 4}" height="16" rx="3"/>'
            yield text_at(x + wide // 2, y + 12, text, "small")
    for line, note in enumerate(reversed(node.notes)):
        yield text_at(left + COLUMN // 2, top + tall - 4 - LINE * line, note, "small")


def _chips(node: Node) -> list[list[tuple[str, bool]]]:
    """The Pods of a node in lines: three that count to a line, one of the others."""
    counted = [pod for pod in node.pods if pod[1]]
    return [*(counted[at : at + 3] for at in range(0, len(counted), 3)), *([pod] for pod in node.pods if not pod[1])]


def _row(row: Row, y: int) -> Iterator[str]:
    yield f'<text class="small" x="-8" y="{y}" text-anchor="end">{escape(row.title)}</text>'
    for cell in row.cells:
        middle = COLUMN * cell.first + COLUMN * cell.columns // 2
        yield text_at(middle, y, cell.text, f"small {cell.style}".strip())


def in_words(number: int) -> str:
    return f"{number} Pod{'' if number == 1 else 's'}"


def opened(width: int, height: int, title: str, style: str) -> Iterator[str]:
    """The beginning of an SVG on a card of its own, with what it shows for who cannot see it."""
    size = f'width="{width}" height="{height}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}" role="img">'
    yield f"<title>{escape(title)}</title>"
    yield f"<style>{STYLE}{CARD_STYLE}{style}</style>"
    yield f'<rect class="card" width="{width}" height="{height}" rx="8"/>'


def text_at(x: int, y: int, text: str, style: str = "", anchor: str = "middle") -> str:
    kind = f' class="{style}"' if style else ""
    return f'<text{kind} x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'
