"""Notes that are alike are one line, with the first files and what to do."""

from __future__ import annotations

from evenkeel.lint.notes import _NOTED, KIND_NOT_JUDGED, UNRENDERED_TEMPLATE, Note, alike, together
from tests.support import ROOT


def note(file, why=UNRENDERED_TEMPLATE, what="template", advice="do this"):
    return Note(file, 1, 1, why, what, "passed over", advice)


def test_notes_of_one_reason_with_one_advice_are_alike():
    notes = [
        note("a"),
        note("b", KIND_NOT_JUDGED, "v1 A"),
        note("c"),
        note("d", KIND_NOT_JUDGED, "v1 B"),
        note("e", advice="do that"),
    ]

    assert [["a", "c"], ["b"], ["d"], ["e"]] == [[one.file for one in group] for group in alike(notes)]


def test_few_files_are_named_each_once_and_of_many_the_first():
    assert "2 templates passed over: a; do this" == together([note("a"), note("a")])
    assert "7 templates passed over: a, b, c, d, e and 2 more; do this" == together([note(file) for file in "abcdefg"])
    assert "1 v1 A passed over: <stdin>; do this" == together([note("-", KIND_NOT_JUDGED, "v1 A")])


def test_each_reason_is_documented():
    page = " ".join((ROOT / "docs" / "lint.md").read_text().split())
    written = page.partition("the `reason` (")[2].partition(")")[0]

    assert {*_NOTED, KIND_NOT_JUDGED} == {reason.strip("`") for reason in written.split(", ")}
