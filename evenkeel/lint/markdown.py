"""
The results of lint as Markdown, for the summary of a step on GitHub.

    **1 error**

    | where | finding | fix |
    | --- | --- | --- |
    | web.yaml:12 | error: must select Pods: … (empty-selector) | write … |
"""

from __future__ import annotations

from collections.abc import Iterator

from evenkeel.lint import text as lint_text
from evenkeel.lint.results import LintSummary
from evenkeel.lint.text import notes, shown
from evenkeel.terminal.style import UNCOLOURED
from webhook.findings import wording
from webhook.findings.wording import LINE_LIMIT, one_line

MOST_CHARACTERS = 60_000  # GitHub refuses a comment of more than 65,536.
_MARKDOWN_MARKS = frozenset("&<>|`*_[]@\\~#!")


def as_markdown(summary: LintSummary) -> str:
    """Return how many findings there are, a table of them, how much was judged, and the notes."""
    counts, *places = lint_text.summary(summary, UNCOLOURED, 0)
    after = [
        "",
        *(f"{escaped(line)}  " for line in places),
        *(f"* {escaped(n)}" for n in notes(summary)),
    ]
    lines = [f"**{escaped(counts)}**"]
    if rows := [*_rows(summary)]:
        lines += ["", "| where | finding | fix |", "| --- | --- | --- |"]
        characters_left = MOST_CHARACTERS - sum(map(len, (*lines, *after)))
        for number, row in enumerate(rows):
            characters_left -= len(row) + 1
            if characters_left < 0:
                after[:0] = ["", f"{len(rows) - number} more are left out."]
                break
            lines.append(row)
    return "\n".join((*lines, *after))


def _rows(summary: LintSummary) -> Iterator[str]:
    for problem in summary.problems:
        yield _row(f"{shown(problem.file)}:{problem.line}", f"error: {problem.message}", "")
    for located in sorted(summary.found, key=lambda located: located.finding.severity.rank):
        finding = located.finding
        about = f", {located.object}" if located.object is not None else ""
        where = f"{shown(located.file)}:{located.line}{about}"
        yield _row(where, f"{finding.severity}: {wording.line(finding)}", finding.fix)


def _row(*cells: str) -> str:
    return f"| {' | '.join(map(escaped, cells))} |"


def escaped(text: str) -> str:
    """Return one line in which nothing is Markdown, HTML or a mention."""
    return "".join(f"&#{ord(char)};" if char in _MARKDOWN_MARKS else char for char in one_line(text, LINE_LIMIT))
