"""What lint found as SARIF 2.1.0, which code scanning services read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from urllib.parse import quote

from webhook import __version__
from webhook.findings.finding import Severity, Skipped
from webhook.findings.rule import Rule
from webhook.lint.baseline import fingerprint
from webhook.lint.results import UNUSED_SUPPRESSION, Located, Problem, Summary
from webhook.rules import RULES

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
SITE = "https://evenkeel.dev"
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note", Severity.IGNORE: "none"}
_IDS = [*RULES, UNUSED_SUPPRESSION]


def as_sarif(summary: Summary, exit_code: int) -> str:
    """One log with one run."""
    run = {
        "tool": {
            "driver": {
                "name": "evenkeel",
                "semanticVersion": __version__,
                "informationUri": SITE,
                "rules": [*map(_rule, RULES.values()), _unused_suppression()],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(one) for one in summary.found],
        "invocations": [
            {
                "executionSuccessful": not summary.problems,
                "exitCode": exit_code,
                "toolExecutionNotifications": [
                    *map(_unreadable, summary.problems),
                    *map(_skipped, summary.skipped),
                ],
            }
        ],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(rule: Rule) -> Mapping[str, object]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.rationale},
        "help": {"text": f"{rule.rationale}\n\nWay out: {rule.fix}."},
        "helpUri": f"{SITE}/rules#{rule.id}",
        "defaultConfiguration": {"enabled": rule.severity is not Severity.IGNORE, "level": LEVELS[rule.severity]},
    }


def _unused_suppression() -> Mapping[str, object]:
    return {
        "id": UNUSED_SUPPRESSION,
        "shortDescription": {"text": "a comment, an annotation or a baseline's entry silences nothing"},
        "helpUri": f"{SITE}/lint#{UNUSED_SUPPRESSION}",
        "defaultConfiguration": {"level": "warning"},
    }


def _result(one: Located) -> Mapping[str, object]:
    finding = one.finding
    region = {
        "startLine": one.line,
        "startColumn": one.column,
        "endColumn": one.end_column,
        "snippet": {"text": one.quoted},
    }
    location: dict[str, object] = {"physicalLocation": {**_file(one.file), "region": region}}
    if one.object is not None:
        location["logicalLocations"] = [{"name": one.object.name, "fullyQualifiedName": str(one.object)}]
    said = f"{finding.message}: found {finding.found}, wanted {finding.wanted}. Way out: {finding.fix}."
    return {
        "ruleId": finding.rule,
        "ruleIndex": _IDS.index(finding.rule),
        "level": LEVELS[finding.severity],
        "message": {"text": said},
        "locations": [location],
        "partialFingerprints": {"evenkeel/v1": fingerprint(one)},
    }


def _file(file: str) -> Mapping[str, object]:
    """A relative path is left to whoever shows it; what is beyond ASCII is escaped."""
    return {"artifactLocation": {"uri": quote(file.replace("\\", "/"))}}


def _unreadable(one: Problem) -> Mapping[str, object]:
    region = {"startLine": one.line, "startColumn": one.column}
    place = {"physicalLocation": {**_file(one.file), "region": region}}
    return {"level": "error", "message": {"text": one.message}, "locations": [place]}


def _skipped(one: Skipped) -> Mapping[str, object]:
    return {
        "level": "note",
        "message": {"text": f"{one.rule} was skipped: {one.reason}"},
        "associatedRule": {"id": one.rule, "index": _IDS.index(one.rule)},
    }
