"""The results of lint as GitHub's workflow commands, which GitHub shows as annotations on the changed lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from webhook.findings.finding import Severity
from webhook.findings.wording import LINE_LIMIT, in_full, one_line
from webhook.lint.notes import Note, alike, many, together
from webhook.lint.results import LintSummary, Located, Problem

MOST_ANNOTATIONS = 3  # of one sort
_WORKFLOW_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def as_commands(summary: LintSummary) -> str:
    """Return a workflow command in each line; "" if there is nothing to report."""
    notes = (line for notes in alike(summary.notes) for line in _notes(notes))
    return "\n".join((*map(_problem, summary.problems), *map(_finding, summary.found), *notes, *_skipped(summary)))


def _problem(problem: Problem) -> str:
    position = _position(problem.file, line=problem.line, col=problem.column)
    return command("error", problem.message, **position, title="evenkeel")


def _finding(located: Located) -> str:
    finding, line = located.finding, located.line
    position = _position(located.file, line=line, endLine=line, col=located.column, endColumn=located.end_column)
    title = f"{finding.rule}: {located.object}" if located.object is not None else finding.rule
    message = in_full(finding)
    return command(_WORKFLOW_COMMANDS[finding.severity], message, **position, title=title)


def _notes(notes: Sequence[Note]) -> Iterator[str]:
    """Yield a notice for each note, or one for all of them: GitHub shows ten of a step."""
    if len(notes) > MOST_ANNOTATIONS:
        yield command("notice", together(notes), title="evenkeel")
        return
    for note in notes:
        yield command("notice", note.message, **_position(note.file, line=note.line, col=note.column), title="evenkeel")


def _position(file: str, **position: int) -> dict[str, object]:
    """Return the properties that place an annotation; none for standard input, which is no file of the repository."""
    return {} if file == "-" else {"file": file, **position}


def _skipped(summary: LintSummary) -> Iterator[str]:
    """Yield one notice for all rules that were skipped for one reason."""
    rules = defaultdict[str, list[str]](list)
    for skipped in summary.skipped:
        rules[skipped.reason].append(skipped.rule)
    for reason, names in rules.items():
        yield command("notice", f"{', '.join(names)}: {reason}", title=f"{many(len(names), 'rule')} skipped")


def command(name: str, message: str, **properties: object) -> str:
    """Return a workflow command, escaped as GitHub's runner unescapes it, in one line: the next begins another."""
    written = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{name} {written}::{_data(message)}"


def _data(text: str) -> str:
    return one_line(text, LINE_LIMIT).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
