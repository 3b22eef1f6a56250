"""Splits a text where its YAML documents begin, and finds lines in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from evenkeel.lint.helm_templates import has_placeholders, without_comments
from evenkeel.lint.spans import Span
from webhook.kubernetes.kinds import FIELD

# The beginning of a line that is not ---, empty or a comment.
_CONTENT = re.compile(r"^(?!---|[ \t]*(?:#|\r?$))", re.MULTILINE)
_HELM_SOURCE = re.compile(r"^# Source: (\S+)\r?$", re.MULTILINE)


@dataclass(frozen=True)
class Chunk:
    """A part of a text that can be parsed on its own: a document, or one that stands within a scalar."""

    text: str
    start: int  # offset in characters in the whole text; within a scalar, that of its key, or else of the scalar
    stop: int | None = None  # the end of that key or scalar; None for a document
    # Within a scalar: the offset of each line in `text` and in the whole text; () if the scalar is no literal block.
    lines: tuple[tuple[int, int], ...] = ()

    @property
    def within(self) -> bool:
        """Whether it stands within a scalar."""
        return self.stop is not None

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Return the offsets in the whole text for those in the chunk."""
        if self.stop is None:
            return self.start + start, self.start + end
        return (self._place(start), self._place(end)) if self.lines else (self.start, self.stop)

    def _place(self, offset: int) -> int:
        line_start, start_in_whole = self.lines[bisect_right(self.lines, offset, key=lambda line: line[0]) - 1]
        return start_in_whole + offset - line_start

    @cached_property
    def source(self) -> str:
        """The template that it was rendered from, as `helm template` writes it in a comment; "" if there is none."""
        match = _HELM_SOURCE.search(self.text)
        return match[1] if match else ""

    @property
    def begin(self) -> int:
        """The offset in `text` of the first line that is no comment; 0 if there is none."""
        match = _CONTENT.search(self.text)
        return match.start() if match else 0

    @cached_property
    def has_placeholders(self) -> bool:
        return has_placeholders(self.text)

    @cached_property
    def may_have_constraints(self) -> bool:
        return FIELD in self.text and FIELD in without_comments(self.text)

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def inside(self, scalar: Span, value: str) -> Chunk:
        """Return the text of a scalar in the chunk, in its lines if it is a literal block."""
        marked = scalar.key or scalar
        start, stop = self.place(marked.start, marked.end)
        texts = value.split("\n")
        written = self.text[scalar.start : scalar.end].split("\n")
        starts = [*accumulate((len(line) + 1 for line in written), initial=scalar.start)]
        lines, start_in_value = list[tuple[int, int]](), 0
        for text, line, line_start in zip(texts, written[1:], starts[1:], strict=False):
            if not line.rstrip("\r").endswith(text):  # indentation is all that a literal block adds
                return Chunk(value, start, stop)
            offset = line_start + len(line.rstrip("\r")) - len(text)
            lines.append((start_in_value, self.place(offset, offset)[0]))
            start_in_value += len(text) + 1
        is_literal = written[0].startswith("|") and len(texts) - len(lines) <= 1
        return Chunk(value, start, stop, tuple(lines) if is_literal else ())

    def part(self, chunk: Chunk) -> Chunk:
        """Return a chunk of the text of this one, which stands within a scalar, at its place."""
        lines = tuple((line - chunk.start, place) for line, place in self.lines if chunk.start <= line < chunk.end)
        return Chunk(chunk.text, self.start, self.stop, lines)


def chunks(text: str) -> Iterator[Chunk]:
    """
    Yield the documents of `text`, each on its own, so that a syntax error in one does not affect the others.

    In YAML, a line begins with `---` only where a document begins, even in a block scalar.  A directive precedes that
    line and belongs to the document after it, so a text with a directive is not split.
    """
    begin = 1 if text.startswith("\ufeff") else 0
    cuts = [] if text.startswith("%") or "\n%" in text else [*_boundaries(text, begin)]
    for start, end in zip([begin, *cuts], [*cuts, len(text)], strict=True):
        if start < end:
            yield Chunk(text[start:end], start)


def _boundaries(text: str, begin: int) -> Iterator[int]:
    """Yield the offset of each line that is `---`, or `---` and white space; faster than a regular expression."""
    if text.startswith("---", begin) and not text[begin + 3 : begin + 4].strip():
        yield begin
    line_end = text.find("\n---", begin)
    while line_end >= 0:
        if not text[line_end + 4 : line_end + 5].strip():
            yield line_end + 1
        line_end = text.find("\n---", line_end + 1)


class NumberedLines:
    """The lines of a text, numbered as in an editor."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def position(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset; both count from 1."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    @property
    def count(self) -> int:
        return len(self.starts)

    def line(self, number: int) -> str:
        """Return the text of a line, without its line end; `number` counts from 1."""
        start = self.starts[number - 1]
        end = self.starts[number] if number < len(self.starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")
