"""A baseline accepts the findings it lists, wherever their lines are, and nothing new."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from evenkeel.lint.baseline import (
    Baseline,
    BaselineError,
    acceptable,
    baseline_text,
    fingerprint,
    read_baseline,
    unused_entry,
)
from evenkeel.lint.results import Problem
from tests.support.lint import KEYS, WEB, judged
from webhook.findings.finding import Severity

WRONG = f"{WEB}{KEYS}"


def baseline(*texts, file="a.yaml"):
    """The baseline of the findings in texts, all of them in one file."""
    return read_baseline(baseline_text((file, located) for text in texts for located in judged(text).found))


def test_what_is_written_is_read_again():
    text = baseline_text([("ä.yaml", located) for located in judged(WRONG).found])
    (entry,) = read_baseline(text).entries["ä.yaml"]

    assert ("ä.yaml", "Deployment shop/web", "empty-selector", 2) == (entry.file, entry.object, entry.rule, entry.line)
    assert text.splitlines()[1] == entry.quoted
    assert {"version": 1, "findings": []} == json.loads(baseline_text([]))


def test_one_finding_a_line_in_order():
    found = judged(WRONG).found
    lines = baseline_text([("b.yaml", *found), ("a.yaml", *found)]).splitlines()

    assert ["a.yaml", "b.yaml"] == [json.loads(line.rstrip(","))["file"] for line in lines[1:-1]]


def test_a_finding_is_accepted_where_its_line_has_moved():
    accepted = baseline(WRONG).accept("a.yaml", judged(f"# more\n\n{WRONG}").found)

    assert ([], 1, []) == (accepted.new, accepted.count, accepted.unused)


def test_an_entry_accepts_one_finding():
    accepted = baseline(WRONG).accept("a.yaml", judged(f"{WRONG}---\n{WRONG}").found)

    assert (1, 1) == (len(accepted.new), accepted.count)


def test_a_problem_is_accepted_where_its_line_has_moved():
    refused = baseline_text([("a.yaml", judged("apiVersion: v1\nkind: [").problems[0])])
    accepted = read_baseline(refused).accept("a.yaml", [], judged("\n\napiVersion: v1\nkind: [").problems)
    (entry,) = read_baseline(refused).accept("a.yaml", [], judged("apiVersion: v1\nkind: *x").problems).unused

    assert ([], 1, []) == (accepted.problems, accepted.count, accepted.unused)
    message = unused_entry(entry, "base.json", Severity.WARNING).finding.message
    assert "this entry accepts nothing: a.yaml no longer has a problem" == message


def test_only_a_problem_that_lasts_can_be_accepted():
    lasts = Problem("a.yaml", 1, 1, "is too large")

    assert [lasts] == acceptable([], [lasts._replace(lasting=False), lasts])


def test_an_entry_is_for_its_file_only():
    accepted = baseline(WRONG).accept("b.yaml", judged(WRONG).found)

    assert (1, 0, []) == (len(accepted.new), accepted.count, accepted.unused)


def test_an_entry_that_accepts_nothing_is_a_finding_at_its_line():
    (entry,) = baseline(WRONG).accept("a.yaml", []).unused
    located = unused_entry(entry, "base.json", Severity.WARNING)

    assert ("base.json", 2, 3) == (located.file, located.line, located.column)
    assert (
        "this entry accepts nothing: a.yaml no longer has empty-selector on Deployment shop/web"
        == located.finding.message
    )
    assert located.quoted[located.column - 1 : located.end_column - 1] == entry.quoted.strip()


def test_a_fingerprint_is_of_object_rule_and_field():
    def prints(text):
        return [fingerprint(located) for located in judged(text).found]

    assert prints(WRONG) == prints(f"\n{WRONG}")
    assert prints(WRONG) != prints(WRONG.replace("name: web, n", "name: db, n"))
    assert prints(WRONG) != prints(WRONG.replace("topologyKey: zone", "topologyKey: rack"))


class Broken(NamedTuple):
    text: str
    found: str


BROKEN = [
    Broken("", "is not JSON: "),
    Broken("[" * 100_000, "is not JSON: "),
    Broken("[]", "version: found null, wanted 1"),
    Broken('{"version": 2}', "version: found 2, wanted 1"),
    Broken('{"version": 1, "findings": [{"file": "a"}]}', "findings[0]: must have file, object, rule, id, each of"),
    Broken('{"version": 1, "findings": [1]}', "findings[0]: must have "),
]


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.found)
def test_what_is_no_baseline_is_refused(case):
    with pytest.raises(BaselineError) as caught:
        read_baseline(case.text)

    assert str(caught.value).startswith(case.found)


def test_an_empty_baseline_accepts_nothing():
    assert 1 == len(Baseline().accept("a.yaml", judged(WRONG).found).new)


def test_two_entries_that_are_alike_accept_two_findings_and_one_of_three_is_left():
    twice = baseline(WRONG, WRONG, WRONG)
    accepted = twice.accept("a.yaml", judged(f"{WRONG}---\n{WRONG}").found)

    assert ([], 2, 1) == (accepted.new, accepted.count, len(accepted.unused))


def test_what_was_there_before_the_change_is_accepted_with_its_problems_and_entries():
    bad = "apiVersion: v1\nkind: ["
    before = Baseline().accept("a.yaml", judged(WRONG).found, judged(bad).problems)
    now = Baseline().accept("a.yaml", judged(f"{WRONG}---\n{WRONG}").found, judged(bad).problems * 2)
    since = now.since(before)

    assert (1, 1, 2) == (len(since.new), len(since.problems), since.before)


def test_an_entry_that_accepted_nothing_before_the_change_either_is_not_told():
    found, accepting = judged(WRONG).found, baseline(WRONG)
    before, now = accepting.accept("a.yaml", []), accepting.accept("a.yaml", [])

    assert (1, []) == (len(now.unused), now.since(before).unused)
    assert now.unused == now.since(accepting.accept("a.yaml", found)).unused
