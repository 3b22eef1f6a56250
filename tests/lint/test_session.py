"""A session judges files, repairs them if it is asked to, applies the baseline, and adds everything up."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest

from evenkeel.lint import file_writing, repair
from evenkeel.lint.baseline import Baseline, read_baseline
from evenkeel.lint.files import FileReader
from evenkeel.lint.session import Rewrite, Session
from evenkeel.lint.walk import NotFound
from tests.support.build import constraint, honoring, policy, workload
from tests.support.lint import MISSPELT, WEB, terms
from webhook.findings.finding import Severity
from webhook.rules.missing_min_domains import ROLLOUTS_STOP

WRONG = WEB + MISSPELT.format("")
RIGHT = WRONG.replace("kubernetes.io/zone", "topology.kubernetes.io/zone")


def session(baseline=None, baseline_file="base.json", by=None, **options):
    return Session(by or terms(), FileReader(), baseline or Baseline(), baseline_file, **options)


def rules(outcome):
    return [located.finding.rule for located in outcome.judged.found]


def listed():
    """The baseline that was written."""
    return read_baseline(Path("base.json").read_text())


def test_the_outcomes_come_in_order_and_are_added_up(tree):
    tree(b=WRONG, a=RIGHT)
    run = session()
    wrong, right = run.judge(["b", "a"])

    assert (["misspelt-topology-key"], []) == (rules(wrong), rules(right))
    assert (None, None) == (wrong.rewrite, right.rewrite)
    assert (2, 2, 1, 1) == (run.summary.files, run.summary.objects, len(run.summary.found), run.repairable)


def test_a_path_that_is_not_found_is_a_problem():
    run = session()
    outcome = run.not_found(NotFound("x.yaml", "no such file or folder"))

    assert ["no such file or folder"] == [problem.message for problem in outcome.judged.problems]
    assert 1 == len(run.summary.problems)


def test_a_repair_is_written_and_what_is_left_is_reported(tree):
    path = tree(a=WRONG)
    run = session(repairs=True, writes=True)
    (outcome,) = run.judge(["a"])

    assert (Rewrite(WRONG, RIGHT), []) == (outcome.rewrite, rules(outcome))
    assert (RIGHT, 1, 0) == ((path / "a").read_text(), len(run.summary.repaired), run.repairable)


def test_what_else_comes_of_a_repair_is_kept_for_the_notes(tree):
    path = tree(a=json.dumps(workload("StatefulSet", honoring())))
    asked = policy(rules={"missing-min-domains": {"severity": "warning", "minDomains": 3}})
    run = session(by=terms(policy=asked), repairs=True, writes=True)
    (outcome,) = run.judge(["a"])

    assert ([], [ROLLOUTS_STOP]) == (rules(outcome), run.summary.repaired)
    assert '"minDomains": 3' in (path / "a").read_text()


ROLLING = workload("Deployment", honoring(), constraint(topologyKey="rack"))


def test_an_info_is_not_repaired(tree):
    tree(a=json.dumps(ROLLING))
    run = session(repairs=True, writes=True)
    (outcome,) = run.judge(["a"])

    assert (["rollout-skew"], 0, 0) == (rules(outcome), len(run.summary.repaired), run.repairable)


def test_standard_input_is_repaired_to_be_shown(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(WRONG.encode())))
    run = session(repairs=True, writes=True)
    (outcome,) = run.judge(["-"])

    assert (Rewrite(WRONG, RIGHT), ["misspelt-topology-key"]) == (outcome.rewrite, rules(outcome))


def test_a_repair_that_is_not_to_be_written_is_shown_and_the_finding_stays(tree):
    path = tree(a=WRONG)
    run = session(repairs=True)
    (outcome,) = run.judge(["a"])

    assert (Rewrite(WRONG, RIGHT), ["misspelt-topology-key"]) == (outcome.rewrite, rules(outcome))
    assert (WRONG, 0, 1) == ((path / "a").read_text(), len(run.summary.repaired), run.repairable)


FAILURES = {"repair.repair": KeyError("x"), "writing.write_over": OSError(13, "Permission denied")}


def test_what_a_repaired_selector_counts_in_another_file_is_reported_in_the_same_run(tree):
    wrong = workload("StatefulSet", honoring(labelSelector={"matchLabels": {"app": "db"}}))
    tree(a=json.dumps(wrong), b=json.dumps(workload("CronJob", name="job")))
    run = session(repairs=True, writes=True)
    outcome, _ = run.judge(["a", "b"])

    assert (["selector-matches-others"], 1) == (rules(outcome), len(run.summary.repaired))


@pytest.mark.parametrize("function", FAILURES)
def test_a_repair_that_fails_is_a_problem_and_the_finding_stays(tree, monkeypatch, function):
    def broken(*_):
        raise FAILURES[function]

    tree(a=WRONG)
    owner, _, name = function.partition(".")
    monkeypatch.setattr({"repair": repair, "writing": file_writing}[owner], name, broken)
    run = session(repairs=True, writes=True)
    (outcome,) = run.judge(["a"])

    assert (["misspelt-topology-key"], 0) == (rules(outcome), len(run.summary.repaired))
    assert [True] == [one.message.startswith("cannot be repaired: ") for one in outcome.judged.problems]


def test_a_baseline_is_written_and_accepts_what_it_lists_from_any_folder(tree, monkeypatch):
    path = tree(**{"a": WRONG})
    first = session()
    [*first.judge(["a"])]
    first.write_baseline()
    (path / "x").mkdir()
    monkeypatch.chdir(path / "x")
    again = session(read_baseline((path / "base.json").read_text()), "../base.json", repairs=True, writes=True)
    (outcome,) = again.judge(["../a"])

    assert ([], 1, None) == (rules(outcome), again.summary.accepted, outcome.rewrite)
    assert WRONG == (path / "a").read_text()
    assert again.unused_entries() is None


def test_a_baseline_that_cannot_be_written_is_an_error(tree):
    tree()

    with pytest.raises(OSError):
        session(baseline_file="nowhere/base.json").write_baseline()


def test_entries_that_accept_nothing_are_findings_of_the_baseline_which_is_no_file_of_manifests(tree):
    path = tree(a=WRONG)
    first = session()
    [*first.judge(["a"])]
    first.write_baseline()
    (path / "a").write_text(RIGHT)
    run = session(listed())
    [*run.judge(["a"])]
    outcome = run.unused_entries()

    assert ("base.json", ["unused-suppression"]) == (outcome.judged.file, rules(outcome))
    assert (1, 1) == (run.summary.files, len(run.summary.found))


def test_entries_of_rules_that_did_not_run_and_of_files_that_cannot_be_read_are_left_out(tree):
    path = tree(a=WRONG)
    first = session()
    [*first.judge(["a"])]
    first.write_baseline()
    off = terms().policy.with_severities({"misspelt-topology-key": Severity.IGNORE})
    for by, text in (
        (terms(policy=off), WRONG),
        (terms(), "apiVersion: v1\nkind: ["),
        (terms(unused=Severity.IGNORE), RIGHT),
    ):
        (path / "a").write_text(text)
        run = session(listed(), by=by)
        [*run.judge(["a"])]

        assert run.unused_entries() is None


def test_standard_input_without_a_document_is_a_problem(monkeypatch):
    reader = FileReader()
    monkeypatch.setattr(reader, "content", lambda file: b"")
    run = Session(terms(), reader, Baseline())
    (outcome,) = run.judge(["-"])

    assert ["contains no document; did the command before the pipe fail?"] == [
        problem.message for problem in outcome.judged.problems
    ]


def test_standard_input_keeps_its_name_in_a_baseline(tree, monkeypatch):
    tree()
    reader = FileReader()
    monkeypatch.setattr(reader, "content", lambda file: WRONG.encode())
    run = Session(terms(), reader, Baseline(), "base.json")
    [*run.judge(["-"])]
    run.write_baseline()

    assert ["-"] == [one["file"] for one in json.loads(Path("base.json").read_text())["findings"]]
    assert ["base.json"] == os.listdir()
