"""A comment has all findings, the gravest first, and nothing in them is Markdown."""

from __future__ import annotations

from evenkeel.lint.markdown import MOST_CHARACTERS, as_markdown, escaped
from evenkeel.lint.results import JudgedPlaces, LintSummary
from tests.support.lint import KEYS, MISSPELT, WEB, judged, summary

SOFT = f"{WEB}{MISSPELT.format('')}".replace("DoNotSchedule", "ScheduleAnyway")


def test_findings_are_rows_the_gravest_first():
    lines = as_markdown(summary(**{"a.yaml": SOFT, "b.yaml": f"{WEB}{KEYS}"})).splitlines()

    assert ["**1 error, 1 warning**", "", "| where | finding | fix |"] == lines[:3]
    assert lines[4].startswith("| b.yaml:12, Deployment shop/web | error: spec.template")
    assert "(empty-selector) | write " in lines[4]
    assert lines[5].startswith("| a.yaml:13, Deployment shop/web | warning: ")
    assert ["* 6 rules need a cluster: --cluster live"] == lines[7:]


def test_where_all_is_well_there_is_no_table():
    assert "**no findings in 2 files, 3 objects**\n\njudged 1 of 2 places with constraints in full  " == as_markdown(
        LintSummary(files=2, objects=3, places=JudgedPlaces(2, 1))
    )


def test_nothing_in_a_manifest_is_markdown(everything):
    text = as_markdown(everything)

    assert all(line.isprintable() for line in text.split("\n"))
    assert "<x>" not in text
    assert {4} == {line.count("|") for line in text.splitlines() if line.startswith("|")}
    assert "&#91;a&#93;(b) &#64;c &#124;" == escaped("[a](b) @c |")


def test_a_comment_is_never_too_long_for_github():
    many = LintSummary(found=judged(f"{WEB}{KEYS}").found * 2_000)
    text = as_markdown(many)

    assert MOST_CHARACTERS / 2 < len(text) < MOST_CHARACTERS + 100
    assert " more are left out." in text
