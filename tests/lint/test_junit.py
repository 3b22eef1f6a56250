"""JUnit's XML: a suite for each file, in which what passed passes."""

from __future__ import annotations

import json
from xml.etree import ElementTree

from evenkeel.lint.junit import as_xml
from tests.support.build import constraint, workload
from tests.support.lint import summary

FILES = ["a b,c%é.yaml", "bad.yaml", "crd.yaml", "fine.yaml", "info.yaml", "t.yaml"]


def test_junit_is_xml_in_which_what_passed_passes(everything):
    root = ElementTree.fromstring(as_xml(everything, FILES))
    suites = {suite.get("name"): suite for suite in root}

    assert set(FILES) == set(suites)
    assert ("3", "1") == (root.get("failures"), root.get("errors"))
    assert int(root.get("tests")) == len(root.findall(".//testcase"))
    assert [] == suites["fine.yaml"].findall(".//failure")
    assert 1 == len(suites["bad.yaml"].findall(".//error"))


def test_a_suite_counts_its_cases(everything):
    for suite in ElementTree.fromstring(as_xml(everything, FILES)):
        counted = [len(suite.findall(f".//{kind}")) for kind in ("testcase", "failure", "error", "skipped")]
        assert counted == [int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")]


def test_a_failure_says_where_and_what():
    found = summary(**{"a.yaml": json.dumps(workload("StatefulSet", constraint(labelSelector={})), indent=1)})
    (case,) = ElementTree.fromstring(as_xml(found, ["a.yaml"])).findall(".//testcase")

    assert ("empty-selector: StatefulSet shop/web, line 27", "a.yaml") == (case.get("name"), case.get("classname"))
    assert "error" == case[0].get("type")
    assert case[0].text.startswith("a.yaml:27:7: spec.template.spec.topologySpreadConstraints[0].labelSelector: ")


def test_what_was_not_judged_is_skipped():
    found = summary(**{"a.yaml": "{{ a\n---\n{{ b", "b.yaml": "a: 1"})
    root = ElementTree.fromstring(as_xml(found, ["a.yaml", "b.yaml"]))
    (skipped,) = root.findall(".//skipped")

    assert ("2", "1", "0") == (root.get("tests"), root.get("skipped"), root.get("failures"))
    assert skipped.get("message").startswith("2 templates passed over: a.yaml; render it first")


def test_a_finding_on_a_file_has_no_field():
    found = summary(a="{apiVersion: v1, kind: Pod, metadata: {name: a}}  # evenkeel: ignore[pinned-pod]")
    (failure,) = ElementTree.fromstring(as_xml(found, ["a"])).findall(".//failure")

    said = "it finds nothing here; remove it (unused-suppression)"
    assert failure.text.startswith(f"a:1:51: this comment suppresses no finding of pinned-pod: {said}")


def test_a_finding_on_a_file_that_was_not_given_has_a_suite():
    """A baseline, say."""
    found = summary(base=json.dumps(workload("StatefulSet", constraint(labelSelector={}))))

    assert ["base"] == [suite.get("name") for suite in ElementTree.fromstring(as_xml(found, []))]
