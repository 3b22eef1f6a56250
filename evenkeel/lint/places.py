"""The places of findings in a text, as people see them: lines and columns."""

from __future__ import annotations

from evenkeel.lint.chunks import Chunk, NumberedLines
from evenkeel.lint.results import Address, Located
from evenkeel.lint.spans import Span
from webhook.findings.finding import Finding
from webhook.kubernetes.fields import path_text
from webhook.kubernetes.references import ObjectRef


def placed(
    file: str,
    lines: NumberedLines,
    chunk: Chunk,
    root: Span,
    address: Address,
    finding: Finding,
    named: ObjectRef | None,
    identity: str,
) -> Located:
    """
    Return the finding at its field, from key to end, or at the nearest parent if it is absent.

    `root` is the span of its document in the chunk, and `address` that of its object.
    """
    path = (*address.path, *finding.path)
    spans_there = root.spans_to(path)
    span, absent = spans_there[-1], path[len(spans_there) - 1 :]
    start, end = (span.start, span.end) if span.key is None else (span.key.start, span.end)
    if absent:
        start = start if span.key is not None else _with_dash(chunk.text, start)
    if span.key is not None and "\n" in chunk.text[start:end]:
        end = span.key.end
    at = None if chunk.within else address
    located = in_lines(file, lines, *chunk.place(start, end), finding, named, identity, at)
    return located._replace(source=chunk.source, absent=path_text(absent)) if chunk.source or absent else located


def in_lines(
    file: str,
    lines: NumberedLines,
    start: int,
    end: int,
    finding: Finding,
    named: ObjectRef | None,
    identity: str,
    address: Address | None,
) -> Located:
    """Return the finding at the offsets from `start` to `end` of a text, as far as they are in one line."""
    line, column = lines.position(start)
    quoted = lines.line(line)
    last = min(column + max(end - start, 1), len(quoted.rstrip()) + 1)
    return Located(file, line, column, max(last, column + 1), quoted, finding, named, identity, address)


def _with_dash(text: str, start: int) -> int:
    """Return the offset of the dash before an item of a block list, or `start` itself."""
    line = text.rfind("\n", 0, start) + 1
    before = text[line:start].rstrip(" ")
    return line + len(before) - 1 if before.endswith("-") else start
