"""
The results of lint as text: each line quoted with carets under the field, a summary at the end.

    error: spec.topologySpreadConstraints[0].labelSelector: must select Pods: … (empty-selector)
      --> web.yaml:12:7  Pod shop/web
       |
    12 |       labelSelector: {}
       |       ^^^^^^^^^^^^^^^^^ found {}, wanted labels that the Pods carry
       = select the labels of the Pods that are to be spread
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator

from evenkeel.lint.notes import alike, together
from evenkeel.lint.results import JudgedFile, LintSummary, Located, Problem
from evenkeel.terminal.style import Look, Style
from webhook.findings import wording
from webhook.findings.finding import Finding, Severity
from webhook.findings.wording import LINE_LIMIT, number_of, one_line

LONGEST_QUOTED = 160  # characters of a line
KEPT_BEFORE = 80  # characters before the carets, of a longer line


def file(judged: JudgedFile, style: Style) -> str:
    """Return the problems and findings of one file below its name; "" if there are none."""
    problems = (_problem(problem, style) for problem in judged.problems)
    blocks = [*problems, *(_finding(located, style) for located in judged.found)]
    heading = style(Look.NAME, shown(judged.file))
    return "\n".join((heading, *(f"{block}\n" for block in blocks))) if blocks else ""


def concise(problems: Iterable[Problem], findings: Iterable[Located]) -> str:
    """Return a line for each problem and finding, with its place; "" if there are none."""
    lines = [(problem.file, problem.line, problem.column, f"problem {problem.message}") for problem in problems]
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
    where = f"{shown(problem.file)}:{problem.line}:{problem.column}"
    return (
        f"{style(Look.ERROR, 'error')}: {one_line(problem.message, LINE_LIMIT)}\n  {style(Look.FAINT, '-->')} {where}"
    )


def _finding(located: Located, style: Style) -> str:
    finding, line, severity = located.told, located.line, str(located.finding.severity)
    width = max(len(str(line)), 2)
    blank, message = " " * width, wording.line(finding)
    about = (str(located.object or ""), f"from {located.source}" if located.source else "")
    where = "  ".join((f"{shown(located.file)}:{line}:{located.column}", *filter(None, about)))
    quoted, before, carets = _quoted(located)
    values = f"found {finding.found}, wanted {finding.wanted}"
    return "\n".join(
        (
            f"{style(severity, severity)}: {one_line(message, LINE_LIMIT)}",
            f"{blank}{style(Look.FAINT, '-->')} {one_line(where, LINE_LIMIT)}",
            style(Look.FAINT, f"{blank} |"),
            f"{style(Look.FAINT, f'{line:>{width}} |')} {quoted}",
            f"{style(Look.FAINT, f'{blank} |')} {before}{style(severity, carets)} {one_line(values, LINE_LIMIT)}",
            *(f"{style(Look.FAINT, f'{blank} =')} {one_line(text, LINE_LIMIT)}" for text in _advice(finding)),
        )
    )


def _advice(finding: Finding) -> tuple[str, ...]:
    """Return the fix, and the policy's help."""
    return (finding.fix, finding.help) if finding.help else (finding.fix,)


def _quoted(located: Located) -> tuple[str, str, str]:
    """Return the line, the spaces before the carets, and the carets; a long line is cut around the carets."""
    cut = max(located.column - 1 - KEPT_BEFORE, 0) if len(located.quoted) > LONGEST_QUOTED else 0
    line = "".join(char if char.isprintable() else " " for char in located.quoted[cut : cut + LONGEST_QUOTED])
    start = located.column - 1 - cut
    carets = "^" * max(_width(line[start : located.end_column - 1 - cut]), 1)
    return line.rstrip(), " " * _width(line[:start]), carets


def _width(text: str) -> int:
    """Return the width of `text` in columns of a terminal."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def summary(summary: LintSummary, style: Style, repairable: int) -> str:
    """Return the last lines: how many findings, of which --fix would repair `repairable`, and how much was judged."""
    return "\n".join((counts(summary, style, repairable), *judged_places(summary)))


def judged_places(summary: LintSummary) -> Iterator[str]:
    """Yield a line that says how many of the places with constraints were judged, none if there are no such places."""
    total, in_full, without_labels = summary.places
    if total:
        unlabelled = f", and {without_labels} without the labels of their Pods" if without_labels else ""
        yield f"judged {in_full} of {number_of(total, 'place')} with constraints in full{unlabelled}"


def counts(summary: LintSummary, style: Style, repairable: int) -> str:
    """Return how many findings and problems there are, and in how many files; --fix would repair `repairable`."""
    judged = f"{number_of(summary.files, 'file')}, {number_of(summary.objects, 'object')}"
    if not summary.found and not summary.problems:
        return f"{style(Look.GOOD, 'no findings')} in {judged}"
    parts = [
        style(str(severity), number_of(count, str(severity)) if severity is not Severity.INFO else f"{count} info")
        for severity in Severity
        if (count := summary.count(severity))
    ]
    if summary.problems:
        parts.append(style(Look.ERROR, number_of(len(summary.problems), "problem")))
    files = {*(located.file for located in summary.found), *(problem.file for problem in summary.problems)}
    hint = f"; --fix repairs {repairable} of them" if repairable else ""
    return f"{', '.join(parts)} in {len(files)} of {judged}{hint}"


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
    reasons: dict[str, list[str]] = {}
    for skipped in summary.skipped:
        reasons.setdefault(skipped.reason, []).append(skipped.rule)
    yield from (f"skipped {', '.join(sorted(rules))}: {reason}" for reason, rules in reasons.items())
