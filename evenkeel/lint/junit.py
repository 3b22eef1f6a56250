"""The results of lint as JUnit XML: each file is a suite, each finding a failed case."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from evenkeel.lint.notes import Note, alike, together
from evenkeel.lint.results import LintSummary, Located
from webhook.findings.wording import LINE_LIMIT, in_full, one_line

DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'


def as_xml(summary: LintSummary, files: list[str]) -> str:
    """Return the XML document; each of `files` without a finding has one case that passed."""
    findings, problems = defaultdict[str, list[Located]](list), defaultdict[str, list[str]](list)
    for located in summary.found:
        findings[located.file].append(located)
    for problem in summary.problems:
        message = f"{problem.file}:{problem.line}:{problem.column}: {problem.message}"
        problems[problem.file].append(message)
    notes = defaultdict[str, list[Note]](list)
    for note in summary.notes:
        notes[note.file].append(note)
    cases = {
        file: [*map(_error, problems[file]), *map(_failure, findings[file]), *map(_skipped, alike(notes[file]))]
        for file in (*files, *findings)
    }
    total, errors = len(summary.found), len(summary.problems)
    skipped = sum(len(alike(noted)) for noted in notes.values())
    passed = sum(not inner for inner in cases.values())
    counts = f'failures="{total}" errors="{errors}" skipped="{skipped}"'
    return "\n".join(
        (
            DECLARATION,
            f'<testsuites name="evenkeel lint" tests="{total + errors + skipped + passed}" {counts}>',
            *(
                line
                for file, inner in cases.items()
                for line in _suite(file, inner, len(findings[file]), len(problems[file]))
            ),
            "</testsuites>",
        )
    )


def _suite(file: str, inner: list[str], failures: int, errors: int) -> Iterator[str]:
    counts = f'failures="{failures}" errors="{errors}" skipped="{len(inner) - failures - errors}"'
    yield f'  <testsuite name={attribute(file)} tests="{len(inner) or 1}" {counts}>'
    yield from inner or [f'    <testcase name="no findings" classname={attribute(file)}/>']
    yield "  </testsuite>"


def _failure(located: Located) -> str:
    finding = located.told
    name = f"{finding.rule}: {located.object}" if located.object is not None else finding.rule
    position = f"{located.file}:{located.line}:{located.column}"
    text = escape(_printable(f"{position}: {in_full(finding, limit=9 * LINE_LIMIT)}"))
    attributes = f"name={attribute(f'{name}, line {located.line}')} classname={attribute(located.file)}"
    kind = f"message={attribute(finding.message)} type={attribute(str(finding.severity))}"
    return f"    <testcase {attributes}><failure {kind}>{text}</failure></testcase>"


def _error(message: str) -> str:
    return f'    <testcase name="problem"><error message={attribute(message)}/></testcase>'


def _skipped(notes: list[Note]) -> str:
    message = notes[0].message if len(notes) == 1 else together(notes)
    return f'    <testcase name="not judged"><skipped message={attribute(message)}/></testcase>'


def attribute(text: str) -> str:
    """Return `text` in quotes, as XML has an attribute."""
    return quoteattr(_printable(text))


def _printable(text: str) -> str:
    """Return `text` with what XML cannot hold written as an escape: most control characters, and surrogates."""
    return one_line(text, 10 * LINE_LIMIT)
