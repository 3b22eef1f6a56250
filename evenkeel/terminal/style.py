"""How text looks on a terminal: few colours, which say nothing that the words do not say, and who decides on them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from webhook.findings.wording import LINE_LIMIT, one_line

GAP = "   "  # between columns
PART_LIMIT = 8 * LINE_LIMIT


class Look(StrEnum):
    """What a part of a text is.  The first three are named like severities, so that these are looks, too."""

    ERROR = "error"  # denied, refused, or not placed
    WARNING = "warning"
    INFO = "info"
    NAME = "name"  # also a title
    FAINT = "faint"  # an aside
    GOOD = "good"


PALETTE: Mapping[str, str] = {
    Look.ERROR: "1;31",
    Look.WARNING: "1;33",
    Look.INFO: "1;36",
    Look.NAME: "1",
    Look.FAINT: "2",
    Look.GOOD: "1;32",
}


class Styled(str):
    """A part of a line that has a look of its own."""

    look: str

    def __new__(cls, look: str, text: str) -> Styled:
        """Return the text, with its look, "" for none."""
        part = super().__new__(cls, text)
        part.look = look
        return part


TextLine = str | tuple[str, ...]  # a line, or its parts


class Style(NamedTuple):
    """Colours text with ANSI escapes, or leaves it as it is."""

    coloured: bool

    def __call__(self, look: str, text: str) -> str:
        return f"\x1b[{PALETTE[look]}m{text}\x1b[0m" if self.coloured and look and text else text

    def lines(self, lines: Iterable[TextLine]) -> str:
        """Return lines as text.  Parts are made printable and cut, as what files say must not control a terminal."""
        return "\n".join("".join(map(self._part, (line,) if isinstance(line, str) else line)) for line in lines)

    def _part(self, part: str) -> str:
        return self(look_of(part), one_line(part, PART_LIMIT))


UNCOLOURED = Style(False)


def look_of(part: str) -> str:
    return part.look if isinstance(part, Styled) else ""


def restyled(part: str, text: str) -> Styled:
    """Return another text with the look of a part."""
    return Styled(look_of(part), text)


def columns(cells: Sequence[str], widths: Sequence[int], sides: Iterable[str]) -> tuple[str, ...]:
    """Return the parts of a row of a table: each cell left (`<`) or right (`>`) in its column, no blanks at the end."""
    padded = [restyled(cell, f"{cell:{side}{width}}") for cell, width, side in zip(cells, widths, sides, strict=False)]
    while padded and not padded[-1].strip():
        padded.pop()
    if padded:
        padded[-1] = restyled(padded[-1], padded[-1].rstrip())
    return tuple([part for cell in padded for part in (GAP, cell)][1:])


def add_color_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="when to colour text; auto: only on a terminal, unless FORCE_COLOR or NO_COLOR is set "
        "(default: %(default)s)",
    )


def style_of(color: str) -> Style:
    """Return the style of standard output, for the value of --color."""
    if color != "auto":
        return Style(color == "always")
    if os.environ.get("FORCE_COLOR"):
        return Style(True)
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return Style(sys.stdout is not None and sys.stdout.isatty() and not plain)
