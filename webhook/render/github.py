"""What lint found as GitHub's workflow commands, which show as annotations on the changed lines."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Severity
from webhook.findings.wording import LINE_LIMIT, in_full, one_line
from webhook.lint.results import Located, Problem, Summary

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def as_commands(summary: Summary) -> str:
    """One command a line."""
    return "\n".join((*map(_problem, summary.problems), *map(_finding, summary.found), *_skipped(summary)))


def _problem(one: Problem) -> str:
    place = _place(one.file, line=one.line, col=one.column)
    return command("error", one.message, **place, title="evenkeel")


def _finding(one: Located) -> str:
    finding = one.finding
    place = _place(one.file, line=one.line, endLine=one.line, col=one.column, endColumn=one.end_column)
    title = f"{finding.rule}: {one.object}" if one.object is not None else finding.rule
    message = in_full(finding).removeprefix(": ")
    return command(_COMMANDS[finding.severity], message, **place, title=title)


def _place(file: str, **position: int) -> dict[str, object]:
    """Where to annotate; standard input is no file of the repository, and its lines lead nowhere."""
    return {} if file == "-" else {"file": file, **position}


def _skipped(summary: Summary) -> Iterator[str]:
    yield from (command("notice", one.reason, title=f"{one.rule} was skipped") for one in summary.skipped)


def command(name: str, message: str, **properties: object) -> str:
    """A workflow command, escaped as GitHub's runner unescapes it; a line end would begin another command."""
    written = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{name} {written}::{_data(message)}"


def _data(text: str) -> str:
    return one_line(text, LINE_LIMIT).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
