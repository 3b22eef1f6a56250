"""Findings as text: one printable line each, for a terminal, an HTTP header or a log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from webhook.findings.finding import Finding
from webhook.objects.fields import FieldPath, path_text

WARNING_LIMIT, MOST_WARNINGS = 256, 5  # If all exceed 4,096 characters, the API server cuts each at 256.
LINE_LIMIT, MOST_LINES = 1_000, 100


def one_line(text: str, limit: int) -> str:
    """`text` with unprintable characters escaped, cut at `limit`; the API server drops a warning that has any."""
    if not text.isprintable():
        text = "".join(_shown(char) for char in text[: 2 * limit])
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _shown(char: str) -> str:
    return char if char.isprintable() else f"\\u{ord(char):04x}"


def short_path(path: FieldPath) -> str:
    """The end of a path: from the first list in it on, or only the last field if there is none."""
    first = next((i for i, part in enumerate(path) if isinstance(part, int)), len(path))
    return path_text(path[max(first - 1, 0) :])


def warning(finding: Finding) -> str:
    """One finding as a warning of at most 256 characters."""
    return one_line(f"{finding.rule}: {short_path(finding.path)}: {finding.message}", WARNING_LIMIT)


def warnings(findings: Sequence[Finding]) -> tuple[str, ...]:
    """At most five lines, the gravest first, and a line with the number of the others."""
    gravest = sorted(findings, key=lambda finding: finding.severity.rank)
    lines = list(dict.fromkeys(map(warning, gravest[:MOST_WARNINGS])))
    if more := len(findings) - MOST_WARNINGS:
        lines += [f"evenkeel: {more} more; all of them: evenkeel admit -f FILE -o json"] if more > 0 else []
    return tuple(lines)


def denial(findings: Sequence[Finding]) -> str:
    """The message of a denial: a line for each error, with what was found, what is wanted and the fix."""
    lines = [one_line(_denial_line(finding), LINE_LIMIT) for finding in findings[:MOST_LINES]]
    if more := findings[MOST_LINES:]:
        lines.append(f"and {len(more)} more")
    return "\n".join(lines)


def _denial_line(finding: Finding) -> str:
    return f"{finding}: found {finding.found}, wanted {finding.wanted}; {finding.fix}"


def causes(findings: Sequence[Finding]) -> list[dict[str, str]]:
    """The errors for programs, as metav1.StatusCause."""
    return [
        {
            "reason": finding.rule,
            "field": one_line(path_text(finding.path), LINE_LIMIT),
            "message": one_line(finding.message, LINE_LIMIT),
        }
        for finding in findings[:MOST_LINES]
    ]


def summary(findings: Iterable[Finding]) -> str:
    """All findings in one line, for an audit annotation."""
    return one_line("; ".join(f"{f.severity} {f.rule} {short_path(f.path)}" for f in findings), 4 * LINE_LIMIT)
