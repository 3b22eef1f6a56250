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
    ref: ObjectRef | None,
    identity: str,
) -> Located:
    """
    Return the finding at its field, from the key to the end of the value, or at the nearest parent if it is absent.

    `root` is the span of the document in the chunk.
    """
    path = (*address.path, *finding.path)
    path_spans = root.spans_to(path)
    span, absent = path_spans[-1], path[len(path_spans) - 1 :]
    start, end = span.start if span.key is None else span.key.start, span.end
    if absent and span.key is None:
        start = _with_dash(chunk.text, start)
    if span.key is not None and "\n" in chunk.text[start:end]:
        end = span.key.end
    object_address = None if chunk.within else address  # a text within a scalar cannot be repaired
    located = in_lines(file, lines, *chunk.place(start, end), finding, ref, identity, object_address)
    return located._replace(source=chunk.source, absent=path_text(absent)) if chunk.source or absent else located


def in_lines(
    file: str,
    lines: NumberedLines,
    start: int,
    end: int,
    finding: Finding,
    ref: ObjectRef | None,
    identity: str,
    address: Address | None,
) -> Located:
    """Return the finding at these offsets of the whole text, up to the end of the first line."""
    line, column = lines.position(start)
    quoted = lines.line(line)
    last = min(column + max(end - start, 1), len(quoted.rstrip()) + 1)
    return Located(file, line, column, max(last, column + 1), quoted, finding, ref, identity, address)


def _with_dash(text: str, start: int) -> int:
    """Return the offset of the dash before an item of a block list, or `start` itself."""
    line = text.rfind("\n", 0, start) + 1
    before = text[line:start].rstrip(" ")
    return line + len(before) - 1 if before.endswith("-") else start
