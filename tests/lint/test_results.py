"""The results of files add up."""

from __future__ import annotations

from collections import Counter

from evenkeel.lint.notes import PATCH, UNRENDERED_TEMPLATE, Note
from evenkeel.lint.results import JudgedFile, LintSummary, Problem
from tests.support.lint import MISSPELT, WEB, judged
from webhook.findings.finding import Severity, Skipped


def one(file, template):
    notes = [Note(file, 1, 1, why, why, "", "") for why in (*[UNRENDERED_TEMPLATE] * template, PATCH)]
    return JudgedFile(file, 2, 3, [], [Problem(file, 1, 1, "x")], {Skipped("a", "b"): None}, 4, notes)


def test_what_was_found_in_two_files_is_added_up():
    summary = LintSummary()
    for judgement in (one("a", 1), one("b", 2)):
        summary.add(judgement)

    assert (2, 6, 8) == (summary.files, summary.objects, summary.suppressed)
    assert ["a", "b"] == [problem.file for problem in summary.problems]
    assert [Skipped("a", "b")] == list(summary.skipped), "once for all files"
    assert ({UNRENDERED_TEMPLATE: 3}, {PATCH: 2}) == (summary.noted(UNRENDERED_TEMPLATE), summary.noted(PATCH))
    assert (0, []) == (summary.accepted, summary.repaired)


def test_findings_are_counted_by_severity():
    summary = LintSummary()
    soft = MISSPELT.format("").replace("DoNotSchedule", "ScheduleAnyway")
    summary.add(judged(WEB + soft + MISSPELT.format("").replace("Skew: 1", "Skew: 0")))

    expected = Counter(located.finding.severity for located in summary.found)
    assert expected == Counter({severity: summary.count(severity) for severity in Severity})
    assert 1 < len(expected)
