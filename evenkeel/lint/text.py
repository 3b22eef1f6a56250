"""
The results of lint as text: each line quoted with carets under the field, a summary at the end.

    error: spec.topologySpreadConstraints[0].labelSelector: must select Pods: … (empty-selector)
      --> web.yaml:12:7  Pod shop/web
       |
    12 |       labelSelector: {}
       |       ^^^^^^^^^^^^^^^^^
       = select the labels of the Pods that are to be spread

    1 error; 1 fixable with --fix
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from evenkeel.lint.notes import alike, together
from evenkeel.lint.results import PROBLEM, JudgedFile, LintSummary, Located, Problem
from evenkeel.terminal.output import not_run
from evenkeel.terminal.style import Look, Style
from webhook.findings import wording
from webhook.findings.finding import Finding, Severity
from webhook.findings.wording import LINE_LIMIT, number_of, one_line

LONGEST_QUOTED = 160  # characters of a line
KEPT_BEFORE = 80  # characters before the carets, of a longer line


def file(judged: JudgedFile, style: Style) -> str:
    """Return the problems and findings of one file; "" if there are none."""
    problems = (_problem(problem, style) for problem in judged.problems)
    return "\n".join(f"{block}\n" for block in (*problems, *(_finding(located, style) for located in judged.found)))


def concise(problems: Iterable[Problem], findings: Iterable[Located]) -> str:
    """Return a line for each problem and finding, with its place; "" if there are none."""
    lines = [(problem.file, problem.line, problem.column, f"error {problem.message}") for problem in problems]
    lines += (
        (located.file, located.line, located.column, f"{located.finding.severity} {wording.concise(located.finding)}")
        for located in findings
    )
    placed = (f"{shown(file)}:{line}:{column}: {text}" for file, line, column, text in lines)
    return "\n".join(one_line(line, LINE_LIMIT) for line in placed)


def shown(file: str) -> str:
    """Return the name of a file as people are told it."""
    return "<stdin>" if file == "-" else one_line(file, LINE_LIMIT)


def _problem(problem: Problem, style: Style) -> str:
    title = f"{style(Look.ERROR, 'error')}: {one_line(problem.message, LINE_LIMIT)}"
    where = f"{shown(problem.file)}:{problem.line}:{problem.column}"
    if not problem.quoted:
        return f"{title}\n  {style(Look.FAINT, '-->')} {where}"
    quote = _quote(problem.quoted, problem.column, problem.column + 1)
    return "\n".join((title, *_frame(where, problem.line, quote, "", Look.ERROR, (), style)))


def _finding(located: Located, style: Style) -> str:
    finding, severity = located.told, str(located.finding.severity)
    about = (str(located.object or ""), f"from {located.source}" if located.source else "")
    where = "  ".join((f"{shown(located.file)}:{located.line}:{located.column}", *filter(None, about)))
    quote = _quote(located.quoted, located.column, located.end_column)
    value = "" if _is_seen(finding, quote.marked) else f"found {one_line(finding.found, LINE_LIMIT)}"
    advice = (finding.fix, finding.help) if finding.help else (finding.fix,)
    title = f"{style(severity, severity)}: {one_line(wording.line(finding), LINE_LIMIT)}"
    return "\n".join((title, *_frame(where, located.line, quote, value, severity, advice, style)))


def _is_seen(finding: Finding, marked: str) -> bool:
    """Return whether the message or what is marked shows the value found; a selector is told in another form."""
    field, _, selector = marked.partition(":")
    is_selector = field.strip('"') == "labelSelector" and finding.path[-1:] == ("labelSelector",)
    is_shown = finding.found.strip('"') in marked or (is_selector and bool(selector.strip()))
    return is_shown or wording.is_told(finding)


class _Quote(NamedTuple):
    """A line, cut around what is marked in it."""

    line: str
    before: str  # blanks, as wide as what stands before the carets
    marked: str

    @property
    def carets(self) -> str:
        return "^" * max(_width(self.marked), 1)


def _quote(line: str, column: int, end_column: int) -> _Quote:
    cut = max(column - 1 - KEPT_BEFORE, 0) if len(line) > LONGEST_QUOTED else 0
    shown_line = "".join(char if char.isprintable() else " " for char in line[cut : cut + LONGEST_QUOTED])
    start = column - 1 - cut
    return _Quote(shown_line.rstrip(), " " * _width(shown_line[:start]), shown_line[start : end_column - 1 - cut])


def _frame(
    where: str, line: int, quote: _Quote, value: str, look: str, advice: Iterable[str], style: Style
) -> Iterator[str]:
    """Yield the place, the quoted line, the carets with the `value` beside them, and the advice."""
    width = max(len(str(line)), 2)
    blank = " " * width
    carets = f"{style(Look.FAINT, f'{blank} |')} {quote.before}{style(look, quote.carets)}"
    yield f"{blank}{style(Look.FAINT, '-->')} {one_line(where, LINE_LIMIT)}"
    yield style(Look.FAINT, f"{blank} |")
    yield f"{style(Look.FAINT, f'{line:>{width}} |')} {quote.line}"
    yield f"{carets} {value}" if value else carets
    yield from (f"{style(Look.FAINT, f'{blank} =')} {one_line(text, LINE_LIMIT)}" for text in advice)


def _width(text: str) -> int:
    """Return the width of `text` in columns of a terminal."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def summary(summary: LintSummary, style: Style, repairable: int) -> Iterator[str]:
    """Yield the last lines: how many findings, of which --fix would repair `repairable`, and how much was judged."""
    yield counts(summary, style, repairable)
    total, in_full, _ = summary.places
    if in_full < total:
        yield f"judged {in_full} of {number_of(total, 'place')} with constraints in full"


def counts(summary: LintSummary, style: Style, repairable: int) -> str:
    """Return how many findings and problems there are; --fix would repair `repairable`."""
    if not summary.found and not summary.problems:
        judged = f"{number_of(summary.files, 'file')}, {number_of(summary.objects, 'object')}"
        return f"{style(Look.GOOD, 'no findings')} in {judged}"
    parts = [
        style(str(severity), number_of(count, str(severity), "info" if severity is Severity.INFO else ""))
        for severity in Severity
        if (count := summary.count(severity))
    ]
    if summary.problems:
        parts.append(style(Look.ERROR, number_of(len(summary.problems), PROBLEM)))
    return f"{', '.join(parts)}{f'; {repairable} fixable with --fix' if repairable else ''}"


NO_FILES = "there is no YAML or JSON file, or .gitignore or --exclude leaves all out"


def nothing_to_judge(summary: LintSummary) -> str:
    """Return why nothing was judged, and what to do, in one line."""
    files = number_of(summary.files, "file")
    reason = f"{files} with no Kubernetes object and no constraint" if summary.files else NO_FILES
    noted = "; ".join(together(notes) for notes in alike(summary.notes))
    return one_line(f"judged nothing: {reason}; {noted or 'name the files'}, or give --allow-none", LINE_LIMIT)


def notes(summary: LintSummary) -> Iterator[str]:
    """
    Yield what else a person should know: what was repaired, suppressed, accepted, or not judged.

    Skipped rules are left out if nothing was found and all was judged.
    """
    if not summary.files:
        yield f"judged nothing: {NO_FILES}; name the files"
    if summary.repaired:
        yield f"{number_of(len(summary.repaired), 'finding')} repaired"
        yield from filter(None, dict.fromkeys(summary.repaired))
    if summary.suppressed:
        yield f"{number_of(summary.suppressed, 'finding')} suppressed by comments or annotations"
    if summary.accepted:
        yield f"{number_of(summary.accepted, 'finding')} accepted by the baseline"
    if summary.before:
        yield f"{number_of(summary.before, 'finding')} not counted: they were there before the change"
    yield from (one_line(together(notes), LINE_LIMIT) for notes in alike(summary.notes))
    if not (summary.found or summary.problems or summary.notes or summary.places.in_full < summary.places.total):
        return
    yield from not_run(summary.skipped)
