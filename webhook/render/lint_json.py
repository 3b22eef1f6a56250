"""What lint found, for programs; docs/lint.md says what the fields mean."""

from __future__ import annotations

import json

from webhook.findings.finding import Severity
from webhook.lint.results import Located, Problem, Summary
from webhook.render.findings import finding_json, skipped_json

VERSION = 1  # of this form; it changes when a program that reads it would have to


def as_json(summary: Summary) -> str:
    """One JSON document."""
    document = {
        "version": VERSION,
        "summary": {
            "files": summary.files,
            "objects": summary.objects,
            **{str(severity): summary.count(severity) for severity in Severity if severity is not Severity.IGNORE},
            "problems": len(summary.problems),
            "suppressed": summary.suppressed,
            "accepted": summary.accepted,
            "repaired": summary.repaired,
            "passedOver": dict(sorted(summary.passed_over.items())),
            "notJudged": [
                {"apiVersion": api_version, "kind": kind, "count": count}
                for (api_version, kind), count in sorted(summary.unjudged.items())
            ],
        },
        "findings": [_finding(one) for one in summary.found],
        "problems": [_problem(one) for one in summary.problems],
        "skipped": [skipped_json(one) for one in summary.skipped],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def _finding(one: Located) -> dict[str, object]:
    named = one.object
    return {
        "file": one.file,
        "line": one.line,
        "column": one.column,
        "source": one.source or None,
        "object": None
        if named is None
        else {
            "apiVersion": named.api_version,
            "kind": named.kind,
            "namespace": named.namespace or None,
            "name": named.name or None,
        },
        **finding_json(one.finding),
        "fixable": one.finding.edit is not None,
    }


def _problem(one: Problem) -> dict[str, object]:
    return {"file": one.file, "line": one.line, "column": one.column, "message": one.message}
