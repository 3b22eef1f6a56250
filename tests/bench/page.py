"""The page on which benches write what they measure, each between marks of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tests.support.kubernetes_source import MissingError

PAGE = Path(__file__).with_name("results.md")


def fill(marker: str, lines: Iterable[str], head: Sequence[str] = ()) -> None:
    """Print each line as soon as it is measured, and then put them, below the head, between the marks of that name."""
    block = list(head)
    for line in lines:
        print(line, flush=True)
        block.append(line)
    between = re.compile(rf"(<!-- {marker} -->\n).*?(<!-- /{marker} -->)", re.DOTALL)
    text = PAGE.read_text("utf-8")
    PAGE.write_text(between.sub(lambda marks: "\n".join((marks[1] + block[0], *block[1:], marks[2])), text), "utf-8")


def as_far_as_possible(lines: Iterable[str]) -> Iterator[str]:
    """The lines, and where a program is missing a last one that says so."""
    try:
        yield from lines
    except MissingError as error:
        yield f"Not measured: {error}"
