"""Findings as text: one printable line each, for a terminal, an HTTP header or a log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from webhook.findings.finding import Finding
from webhook.objects.fields import FieldPath, path_text
from webhook.objects.reading import printable

HELP_LIMIT = 120
WARNING_LIMIT, MOST_WARNINGS = 256, 5  # If all exceed 4,096 characters, the API server cuts each at 256.
LINE_LIMIT, MOST_LINES = 1_000, 100
NAME_LIMIT, SUMMARY_LIMIT = 63, 4 * LINE_LIMIT


@dataclass(frozen=True, slots=True)
class Denial:
    """The message of a denial, a line for each error, and the same errors as metav1.StatusCause."""

    message: str
    causes: Sequence[Mapping[str, str]]


def one_line(text: str, limit: int) -> str:
    """`text` with unprintable characters escaped, cut at `limit`; the API server drops a warning that has any."""
    text = text[: limit + 1]  # What comes after is not shown, and may be long.
    if not text.isprintable():
        text = printable(text)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def short_path(path: FieldPath) -> str:
    """The end of a path: from the first list in it on, or only the last field if there is none."""
    first = next((i for i, part in enumerate(path) if isinstance(part, int)), len(path))
    return path_text(path[max(first - 1, 0) :])


def warning(finding: Finding) -> str:
    """Return one finding as a warning of at most 256 characters."""
    return _with_help(f"{finding.rule}: {short_path(finding.path)}: {finding.message}", finding, WARNING_LIMIT)


def _with_help(text: str, finding: Finding, limit: int) -> str:
    """Return `text` and the policy's help in one line; where there is no room for both, the end of `text` is cut."""
    said = f"; {finding.help}" if finding.help else ""
    return one_line(text, limit - len(said)) + said


def warnings(findings: Sequence[Finding]) -> tuple[str, ...]:
    """At most five lines, the gravest first, and a line with the number of the others."""
    gravest = sorted(findings, key=lambda finding: finding.severity.rank)
    lines = list(dict.fromkeys(map(warning, gravest[:MOST_WARNINGS])))
    if more := findings[MOST_WARNINGS:]:
        lines.append(f"evenkeel: {len(more)} more; all of them: evenkeel admit -f FILE -o json")
    return tuple(lines)


def line(finding: Finding, at: str = "") -> str:
    """`<full field path>: <what must hold> (<rule-id>)`; `at` is the path's text where that is known."""
    at = at or path_text(finding.path)
    return f"{at}: {finding.message} ({finding.rule})" if at else f"{finding.message} ({finding.rule})"


def in_full(finding: Finding, at: str = "", limit: int = LINE_LIMIT) -> str:
    """Return the line of a finding, then what was found, what is wanted, the fix and the policy's help."""
    text = f"{line(finding, at)}: found {finding.found}, wanted {finding.wanted}; {finding.fix}"
    return _with_help(text, finding, limit)


def denial(findings: Sequence[Finding]) -> Denial:
    """Return a denial for people and for programs; beyond MOST_LINES errors, how many more there are."""
    shown = [(finding, path_text(finding.path)) for finding in findings[:MOST_LINES]]
    lines = [in_full(finding, at) for finding, at in shown]
    if more := findings[MOST_LINES:]:
        lines.append(f"and {len(more)} more")
    return Denial("\n".join(lines), [_cause(finding, at) for finding, at in shown])


def _cause(finding: Finding, at: str) -> Mapping[str, str]:
    message = one_line(finding.message, LINE_LIMIT)
    return {"reason": finding.rule, "field": one_line(at, LINE_LIMIT), "message": message}


def summary(findings: Iterable[Finding]) -> str:
    """All findings in one line, for an audit annotation."""
    shown: list[str] = []
    length = 0
    for finding in findings:
        shown.append(f"{finding.severity} {finding.rule} {short_path(finding.path)}")
        length += len(shown[-1])
        if length > SUMMARY_LIMIT:  # What comes after is not shown.
            break
    return one_line("; ".join(shown), SUMMARY_LIMIT)


@dataclass(frozen=True, slots=True)
class Words:
    """All that goes back of the findings: a denial, warnings, and an audit annotation."""

    denial: Denial
    warnings: tuple[str, ...]
    summary: str


def worded(denying: Sequence[Finding], warning: Sequence[Finding], findings: Iterable[Finding]) -> Words:
    """What to say of `findings`, of which some deny and some warn."""
    return Words(denial(denying), warnings(warning), summary(findings))


def some(names: Iterable[str], most: int = 3) -> str:
    """The first names, in their order, and how many more there are: `a, b, c and 2 more`."""
    ordered = sorted(names)
    shown = ", ".join(one_line(name, NAME_LIMIT) for name in ordered[:most])
    return f"{shown} and {len(ordered) - most} more" if len(ordered) > most else shown
