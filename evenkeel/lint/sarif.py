"""The results of lint as SARIF 2.1.0, which code scanning services read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from evenkeel.lint.baseline import fingerprint
from evenkeel.lint.notes import Note, alike, together
from evenkeel.lint.results import LintSummary, Located, Problem
from webhook import __version__
from webhook.findings.finding import UNUSED_SUPPRESSION, Severity, Skipped
from webhook.findings.rule import Rule
from webhook.findings.wording import in_full
from webhook.rules import RULES

SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
SARIF_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note", Severity.IGNORE: "none"}
_IDS = [*RULES, UNUSED_SUPPRESSION]


def as_sarif(summary: LintSummary, exit_code: int, docs: str = "") -> str:
    """
    Return a log with one run; `exit_code` is that of the command.

    `docs` is the URL of the folder docs of evenkeel's repository; without it there are no links.
    """
    run = {
        "tool": {
            "driver": {
                "name": "evenkeel",
                "semanticVersion": __version__,
                **({"informationUri": f"{docs}/lint.md"} if docs else {}),
                "rules": [*(_rule(rule, docs) for rule in RULES.values()), _unused_suppression(docs)],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [*map(_result, summary.found)],
        "invocations": [
            {
                "executionSuccessful": exit_code != 2,
                "exitCode": exit_code,
                "toolExecutionNotifications": [
                    *map(_problem, summary.problems),
                    *map(_notes, alike(summary.notes)),
                    *map(_skipped, summary.skipped),
                ],
            }
        ],
    }
    return json.dumps({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(rule: Rule, docs: str) -> Mapping[str, object]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.rationale},
        "help": {"text": f"{rule.rationale}\n\nFix: {rule.fix}."},
        **_link(docs, f"rules.md#{rule.id}"),
        "defaultConfiguration": {"enabled": rule.severity is not Severity.IGNORE, "level": SARIF_LEVELS[rule.severity]},
    }


def _unused_suppression(docs: str) -> Mapping[str, object]:
    return {
        "id": UNUSED_SUPPRESSION,
        "shortDescription": {"text": "a comment, annotation or baseline entry suppresses no finding; remove it"},
        **_link(docs, f"lint.md#{UNUSED_SUPPRESSION}"),
        "defaultConfiguration": {"level": "warning"},
    }


def _link(docs: str, page: str) -> Mapping[str, object]:
    return {"helpUri": f"{docs}/{page}"} if docs else {}


def _result(located: Located) -> Mapping[str, object]:
    finding = located.told
    region = {
        "startLine": located.line,
        "startColumn": located.column,
        "endColumn": located.end_column,
        "snippet": {"text": located.quoted},
    }
    location: dict[str, object] = {"physicalLocation": {**_file(located.file), "region": region}}
    if located.object is not None:
        location["logicalLocations"] = [{"name": located.object.name, "fullyQualifiedName": str(located.object)}]
    return {
        "ruleId": finding.rule,
        "ruleIndex": _IDS.index(finding.rule),
        "level": SARIF_LEVELS[finding.severity],
        "message": {"text": in_full(finding)},
        "locations": [location],
        "partialFingerprints": {"evenkeel/v1": fingerprint(located)},
    }


def _file(file: str) -> Mapping[str, object]:
    """Return a URI reference, relative if the path is; characters beyond ASCII are escaped."""
    return {"artifactLocation": {"uri": quote(file.replace("\\", "/"))}}


def _problem(problem: Problem) -> Mapping[str, object]:
    return {"level": "error", "message": {"text": problem.message}, "locations": [_location(problem)]}


def _notes(notes: Sequence[Note]) -> Mapping[str, object]:
    """Return one notification for all notes that are alike, with the place of each."""
    text = notes[0].message if len(notes) == 1 else together(notes)
    return {"level": "note", "message": {"text": text}, "locations": [*map(_location, notes)]}


def _location(problem: Problem | Note) -> Mapping[str, object]:
    region = {"startLine": problem.line, "startColumn": problem.column}
    return {"physicalLocation": {**_file(problem.file), "region": region}}


def _skipped(skipped: Skipped) -> Mapping[str, object]:
    return {
        "level": "note",
        "message": {"text": f"{skipped.rule} was skipped: {skipped.reason}"},
        "associatedRule": {"id": skipped.rule, "index": _IDS.index(skipped.rule)},
    }
