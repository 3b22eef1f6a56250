"""
Draws a cluster with its Pods as dots, at one moment or at several: the pictures of the page on concepts.

    Frame: zones, their nodes, the Pods on them, lines of text below ──> SVG, and a sentence for who cannot see it
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

LINE, RADIUS, STEP, LETTER = 18, 7, 19, 6.5  # In pixels: of a line, of a dot, between dots, of a letter.
ALONE, BESIDE = 136, 70  # The width of a node that is alone in its zone, and of one that is not.
PADDING, GAP = 8, 18  # Around the nodes of a zone, and between frames.
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1f2328 }
.small { font-size: 11px } .bold { font-weight: 600 } .yes { fill: #1a7f37; font-weight: 600 } .no { fill: #b3261e }
.card { fill: #fff } .zone { fill: #f6f8fa; stroke: #8c959f } .node { fill: #fff; stroke: #8c959f }
.dot { fill: #0969da } .new { fill: #8250df } .letter { fill: #fff; font-weight: 600 }
.wait { fill: none; stroke: #bc4c00; stroke-width: 2; stroke-dasharray: 3 2 } .says { fill: #bc4c00; font-weight: 600 }
.left { fill: none; stroke: #57606a; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .yes { fill: #3fb950 } .no { fill: #ff8d85 }
.card { fill: #0d1117 } .zone { fill: #151b23; stroke: #656d76 } .node { fill: #0d1117; stroke: #656d76 }
.dot { fill: #4493f8 } .new { fill: #ab7df8 } .letter { fill: #0d1117 }
.wait { stroke: #f0883e } .says { fill: #f0883e } .left { stroke: #8b949e }
}
"""


class Dot(NamedTuple):
    """
    A Pod; `letter` stands in it, `note` beside it.

    `style` is `dot` for one that counts, `new` for one of the new revision, `left` for one that does not count.
    """

    style: str = "dot"
    letter: str = ""
    note: str = ""


class Box(NamedTuple):
    """A node; `note` is its taint, or that it is full."""

    name: str
    dots: tuple[Dot, ...] = ()
    note: str = ""


class Zone(NamedTuple):
    """The nodes of a zone; `name` is empty for nodes that are in none."""

    name: str
    nodes: tuple[Box, ...]


class Cell(NamedTuple):
    """A text, whose `style` is `yes`, `no` or empty."""

    text: str
    style: str = ""


class Line(NamedTuple):
    """A text below each zone or, `by_node`, below each node."""

    title: str
    cells: tuple[Cell, ...]
    by_node: bool = False


class Frame(NamedTuple):
    """A cluster at one moment; `waiting` Pods stand beside it, and below them what is said of them."""

    caption: str
    zones: tuple[Zone, ...]
    lines: tuple[Line, ...]
    waiting: int = 0
    says: str = ""


def sentence(frames: Sequence[Frame]) -> str:
    """What a picture shows: the Pods of each zone, and what the last line says of them."""
    return " ".join(_sentence(frame) for frame in frames)


def _sentence(frame: Frame) -> str:
    last, parts = frame.lines[-1], [frame.caption]
    for zone, cells in zip(frame.zones, _by_zone(frame, last), strict=True):
        names = [f"{node.name} " if last.by_node else "" for node in zone.nodes]
        told = ", ".join(f"{name}{cell.text}" for name, cell in zip(names, cells, strict=False))
        parts.append(f"{_title(zone).capitalize()}: {', '.join(dict.fromkeys((in_words(counting(zone)), told)))}")
    return ". ".join((*parts, ""))[:-1]


def counting(zone: Zone) -> int:
    """How many Pods are drawn as counting."""
    return sum(dot.style != "left" for node in zone.nodes for dot in node.dots)


def _by_zone(frame: Frame, line: Line) -> list[tuple[Cell, ...]]:
    """The cells of a line that are below each zone."""
    cells = iter(line.cells)
    return [tuple(next(cells) for _ in (zone.nodes if line.by_node else (zone,))) for zone in frame.zones]


def _title(zone: Zone) -> str:
    return f"zone {zone.name}" if zone.name else "no zone"


def svg(frames: Sequence[Frame]) -> str:
    """The frames, one below the other."""
    beside = [text for frame in frames for text in (frame.says, *(line.title for line in frame.lines))]
    left = 24 + round(LETTER * max(map(len, beside)))
    width = left + max(sum(map(_width, frame.zones)) for frame in frames) + 8
    tops, height = [], 8
    for frame in frames:
        tops.append(height)
        height += _tall(frame) + GAP
    height -= GAP // 2
    parts = [*_opened(width, height, sentence(frames))]
    for top, frame in zip(tops, frames, strict=True):
        parts += [f'<g transform="translate({left} {top})">', *_frame(frame, left), "</g>"]
    return "\n".join((*parts, "</svg>", ""))


def _width(zone: Zone) -> int:
    return _node_width(zone) * len(zone.nodes) + 2 * PADDING + 4


def _node_width(zone: Zone) -> int:
    return ALONE if len(zone.nodes) == 1 else BESIDE


def _rows(zone: Zone, node: Box) -> list[tuple[Dot, ...]]:
    """The dots of a node in rows: as many as have room, and one with a note by itself."""
    plain = [dot for dot in node.dots if not dot.note]
    many = (_node_width(zone) - 12) // STEP
    return [
        *(tuple(plain[at : at + many]) for at in range(0, len(plain), many)),
        *((dot,) for dot in node.dots if dot.note),
    ]


def _node_height(frame: Frame) -> int:
    rows = max(len(_rows(zone, node)) for zone in frame.zones for node in zone.nodes)
    return 30 + STEP * max(1, rows) + (16 if any(node.note for zone in frame.zones for node in zone.nodes) else 0)


def _tall(frame: Frame) -> int:
    """From the caption to the last line."""
    return 26 + 24 + _node_height(frame) + PADDING + LINE * len(frame.lines)


def _frame(frame: Frame, left: int) -> Iterator[str]:
    tall, x = _node_height(frame), 0
    yield _text_at(8 - left, 16, frame.caption, "bold", anchor="start")
    starts = []
    for zone in frame.zones:
        starts.append(x)
        yield from _zone(zone, x, tall)
        x += _width(zone)
    yield from _waiting(frame, left, 26 + (24 + tall) // 2)
    for number, line in enumerate(frame.lines):
        y = 26 + 24 + tall + PADDING + LINE * number + 14
        yield _text_at(-8, y, line.title, "small", anchor="end")
        for zone, start, cells in zip(frame.zones, starts, _by_zone(frame, line), strict=True):
            share = (_width(zone) - 4 - 2 * PADDING) // len(cells)
            for at, cell in enumerate(cells):
                yield _text_at(
                    start + 2 + PADDING + share * at + share // 2, y, cell.text, f"small {cell.style}".strip()
                )


def _zone(zone: Zone, x: int, tall: int) -> Iterator[str]:
    width = _width(zone)
    if zone.name:
        yield f'<rect class="zone" x="{x + 2}" y="26" width="{width - 4}" height="{tall + 24 + PADDING // 2}" rx="6"/>'
    yield _text_at(x + width // 2, 42, _title(zone), "bold" if zone.name else "small")
    for at, node in enumerate(zone.nodes):
        yield from _node(zone, node, x + 2 + PADDING + _node_width(zone) * at, tall)


def _node(zone: Zone, node: Box, x: int, tall: int) -> Iterator[str]:
    width = _node_width(zone)
    yield f'<rect class="node" x="{x + 2}" y="48" width="{width - 4}" height="{tall - 4}" rx="4"/>'
    yield _text_at(x + width // 2, 62, node.name, "small")
    for number, row in enumerate(_rows(zone, node)):
        y = 78 + STEP * number
        first = x + 16 if row[0].note else x + width // 2 - STEP * (len(row) - 1) // 2
        for at, dot in enumerate(row):
            yield from _dot(dot, first + STEP * at, y)
    if node.note:
        yield _text_at(x + width // 2, 48 + tall - 10, node.note, "small")


def _dot(dot: Dot, x: int, y: int) -> Iterator[str]:
    yield f'<circle class="{dot.style}" cx="{x}" cy="{y}" r="{RADIUS}"/>'
    if dot.letter:
        yield _text_at(x, y + 4, dot.letter, "small" if dot.style == "left" else "small letter")
    if dot.note:
        yield _text_at(x + RADIUS + 5, y + 4, dot.note, "small", anchor="start")


def _waiting(frame: Frame, left: int, middle: int) -> Iterator[str]:
    center = 8 - left // 2
    first = center - STEP * (frame.waiting - 1) // 2
    for at in range(frame.waiting):
        yield f'<circle class="wait" cx="{first + STEP * at}" cy="{middle}" r="{RADIUS}"/>'
    if frame.says:
        yield _text_at(center, middle + 24, frame.says, "small says")


def in_words(number: int) -> str:
    return f"{number} Pod{'' if number == 1 else 's'}"


def _opened(width: int, height: int, title: str) -> Iterator[str]:
    """The beginning of an SVG on a card of its own, with what it shows for who cannot see it."""
    size = f'width="{width}" height="{height}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}" role="img">'
    yield f"<title>{escape(title)}</title>"
    yield f"<style>{STYLE}</style>"
    yield f'<rect class="card" width="{width}" height="{height}" rx="8"/>'


def _text_at(x: int, y: int, text: str, style: str = "", anchor: str = "middle") -> str:
    kind = f' class="{style}"' if style else ""
    return f'<text{kind} x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'
