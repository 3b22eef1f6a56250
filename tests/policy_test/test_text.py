"""The results of tests of a policy, for people and programs, and a test as a file."""

from __future__ import annotations

import json
from xml.etree import ElementTree

from evenkeel.admit.dry_run import dry_run
from evenkeel.policy_test.form import CaseResult, judge, parse_policy_test
from evenkeel.policy_test.text import FileResults, as_file, as_json, as_xml, diff, text
from tests.support.build import FEATURES, constraint, policy, workload
from webhook.admission.terms import Terms

EVIL = 'a\x1b[31m\n"<&'


def result(name, **expect):
    empty = workload("Deployment", constraint(labelSelector={}))
    return judge(name, expect, dry_run(empty, None, Terms(policy(), None, FEATURES)))


def results():
    failed = result(EVIL, outcome="warned", rules=["empty-selector"])
    return [FileResults("a.yaml", (result("fine", outcome="denied"), failed)), FileResults("b", problems=("b: cut",))]


def test_of_a_case_that_failed_the_text_has_the_difference_and_the_answer():
    lines = text(results()).splitlines()

    assert ["a.yaml", "  ok    fine", '  FAIL  a\\u001b[31m\\u000a"<&', "      --- expected"] == lines[:4]
    assert ["      -outcome: warned", "      +outcome: denied", "       rules:"] == lines[6:9]
    assert lines[11].startswith(
        '        Error from server (Forbidden): error when creating "a.yaml": admission webhook'
    )
    assert "2 cases in 1 file, 1 failed" == lines[-1]


def test_an_expected_rule_that_could_not_run_is_named_with_what_it_needs():
    empty = workload("Deployment", constraint(labelSelector={}))
    applied = dry_run(empty, None, Terms(policy(), None, FEATURES))
    failed = judge("a", {"rules": ["single-domain", "pinned-pod"]}, applied)

    assert [line for line in text([FileResults("f", (failed,))]).splitlines() if "did not run" in line] == [
        "          single-domain did not run: no node is known: give a cluster, or manifests of its nodes"
    ]


def test_where_nothing_failed_the_text_says_so():
    assert "1 case in 1 file, all passed" == text([FileResults("a", (result("x", rules=["empty-selector"]),))])[-28:]


def test_what_could_not_be_judged_is_counted():
    file = FileResults("f", (CaseResult("d", {}, {}, problem=f"f: {EVIL}"),))

    assert ["  error d", "1 case in 1 file, 1 could not be judged"] == text([file]).splitlines()[1:]


def test_json_has_all_cases_and_problems():
    document = json.loads(as_json(results()))
    counted = {"passed": 1, "failed": 1, "unusable": 0}

    assert {"files": 2, "cases": 2, **counted, "problems": 1} == document["summary"]
    assert ("evenkeel.dev/v1alpha1", "PolicyTestResults") == (document["apiVersion"], document["kind"])
    assert [True, False] == [case["passed"] for case in document["files"][0]["cases"]]
    assert ["b: cut"] == document["files"][1]["problems"]


def test_junit_is_xml_with_a_suite_for_each_file():
    root = ElementTree.fromstring(as_xml(results()))

    assert ("3", "1", "1") == (root.get("tests"), root.get("failures"), root.get("errors"))
    assert [("a.yaml", "2"), ("b", "1")] == [(suite.get("name"), suite.get("tests")) for suite in root]
    (failure,) = root.findall(".//failure")
    assert "not as expected: outcome" == failure.get("message")
    assert "-outcome: warned\n+outcome: denied" in failure.text
    assert ["b: cut"] == [error.get("message") for error in root.findall(".//error")]


def test_fields_in_another_order_are_no_difference():
    selector = {"b": "1", "a": "2"}
    one = result("a", exactly=[])._replace(
        expected={"defaults": [selector]}, found={"defaults": [{"a": "2", "b": "1"}]}
    )

    assert one.passed
    assert "" == diff(one)


def test_what_was_found_and_is_not_expected_is_named():
    more = CaseResult("a", {}, {"rules": ["empty-selector"]})
    failure = ElementTree.fromstring(as_xml([FileResults("f", (more,))])).find(".//failure")

    assert "--- expected\n+++ found\n@@ -0,0 +1,2 @@\n+rules:\n+- empty-selector" == diff(more).rstrip()
    assert "not as expected: rules" == failure.get("message")


def test_a_file_is_read_as_it_was_written():
    case = {"name": EVIL, "object": "a.yaml", "expect": {"rules": ["pinned-pod"], "warnings": [f"x: {'y ' * 200}"]}}
    written = as_file(f"about {EVIL}", {"policy": "1e3"}, [case])

    read = parse_policy_test(written)
    assert ("1e3", EVIL, case["expect"]) == (read.policy, read.cases[0].name, read.cases[0].expect)
    assert "rules: [pinned-pod]" in written
    assert all(line.isprintable() for line in written.splitlines())
