"""The results of lint as GitHub's workflow commands, which GitHub shows as annotations on the changed lines."""

from __future__ import annotations

from evenkeel.lint import text as lint_text
from evenkeel.lint.results import LintSummary, Located, Problem
from webhook.findings.finding import Severity
from webhook.findings.wording import LINE_LIMIT, in_full, one_line

MOST_ANNOTATIONS = 10  # that GitHub shows of a step
_WORKFLOW_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def as_commands(summary: LintSummary) -> str:
    """
    Return a workflow command for each of the problems and the gravest findings, as many as GitHub shows, and a line for
    each of the others; "" if there are none.
    """
    problems, most_findings = summary.problems[:MOST_ANNOTATIONS], max(MOST_ANNOTATIONS - len(summary.problems), 0)
    findings = sorted(summary.found, key=lambda located: located.finding.severity.rank)
    others = lint_text.concise(summary.problems[MOST_ANNOTATIONS:], findings[most_findings:])
    return "\n".join((*map(_problem, problems), *map(_finding, findings[:most_findings]), *filter(None, [others])))


def _problem(problem: Problem) -> str:
    position = _position(problem.file, line=problem.line, col=problem.column)
    return command("error", problem.message, **position, title="evenkeel")


def _finding(located: Located) -> str:
    finding, line = located.told, located.line
    position = _position(located.file, line=line, endLine=line, col=located.column, endColumn=located.end_column)
    title = f"{finding.rule}: {located.object}" if located.object is not None else finding.rule
    message = in_full(finding)
    return command(_WORKFLOW_COMMANDS[finding.severity], message, **position, title=title)


def _position(file: str, **position: int) -> dict[str, object]:
    """Return the properties that place an annotation; none for standard input, which is no file of the repository."""
    return {} if file == "-" else {"file": file, **position}


def command(name: str, message: str, **properties: object) -> str:
    """Return a workflow command, escaped as GitHub's runner unescapes it, in one line: the next begins another."""
    written = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{name} {written}::{_data(message)}"


def _data(text: str) -> str:
    return one_line(text, LINE_LIMIT).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
