"""The results of lint as JSON; docs/lint.md documents the fields."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from evenkeel.lint.notes import KIND_NOT_JUDGED, Note
from evenkeel.lint.results import JudgedPlaces, LintSummary, Located, Problem
from evenkeel.terminal.json_forms import fields, finding_json, skipped_json
from webhook.findings.finding import Severity

VERSION = 1  # changes when programs that read the document have to change


def as_json(summary: LintSummary) -> str:
    """Render all results as one JSON document."""
    document = {
        "version": VERSION,
        "summary": {
            **fields(summary, "files", "objects"),
            **{str(severity): summary.count(severity) for severity in Severity if severity is not Severity.IGNORE},
            "problems": len(summary.problems),
            **fields(summary, "suppressed", "accepted", "before"),
            "repaired": len(summary.repaired),
            "places": fields(summary.places, *JudgedPlaces._fields),
            "passedOver": dict(
                sorted(Counter(note.why for note in summary.notes if note.why != KIND_NOT_JUDGED).items())
            ),
            "notJudged": [*_not_judged(summary)],
        },
        "findings": [*map(_finding, summary.found)],
        "problems": [*map(_problem, summary.problems)],
        "notes": [*map(_note, summary.notes)],
        "skipped": [*map(skipped_json, summary.skipped)],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def _not_judged(summary: LintSummary) -> Iterator[dict[str, object]]:
    for what, count in sorted(summary.noted(KIND_NOT_JUDGED).items()):
        api_version, _, kind = what.partition(" with constraints")[0].partition(" ")
        yield {"apiVersion": api_version, "kind": kind, "count": count}


def _note(note: Note) -> dict[str, object]:
    return {**fields(note, "file", "line", "column"), "reason": note.why, "message": note.message}


def _finding(located: Located) -> dict[str, object]:
    ref = located.object
    return {
        **fields(located, "file", "line", "column"),
        "source": located.source or None,
        "object": None
        if ref is None
        else {
            **fields(ref, "api_version", "kind"),
            "namespace": ref.namespace or None,
            "name": ref.name or None,
        },
        **finding_json(located.finding),
        "fixable": located.finding.edit is not None,
    }


def _problem(problem: Problem) -> dict[str, object]:
    return fields(problem, "file", "line", "column", "message")
