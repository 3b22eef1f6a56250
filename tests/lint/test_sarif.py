"""SARIF is valid by its schema, and what was not judged is kept apart from the results."""

from __future__ import annotations

import json
from functools import cache

import jsonschema
import pytest

from evenkeel.lint.sarif import as_sarif
from tests.support import DATA, ROOT
from tests.support.build import constraint, workload
from tests.support.lint import summary
from webhook.rules import RULES


@cache
def schema():
    return json.loads((DATA / "sarif-schema-2.1.0.json").read_text("utf-8"))


def log(found, code=0):
    document = json.loads(as_sarif(found, code))
    jsonschema.Draft4Validator(schema(), format_checker=jsonschema.FormatChecker()).validate(document)
    return document


def test_sarif_is_valid_and_keeps_what_was_not_judged_apart(everything):
    (one,) = log(everything, 2)["runs"]
    results = one["results"]

    assert ["empty-selector", "malformed-topology-key", "rollout-skew"] == sorted(r["ruleId"] for r in results)
    assert all(one["tool"]["driver"]["rules"][r["ruleIndex"]]["id"] == r["ruleId"] for r in results)
    assert {*RULES, "unused-suppression"} == {rule["id"] for rule in one["tool"]["driver"]["rules"]}
    assert {"note", "error"} == {result["level"] for result in results}
    region = results[-1]["locations"][0]["physicalLocation"]["region"]
    assert {"startLine", "startColumn", "endColumn", "snippet"} == set(region)
    invocation = one["invocations"][0]
    assert (2, False) == (invocation["exitCode"], invocation["executionSuccessful"])
    assert ["error", "note", "note"] == [note["level"] for note in invocation["toolExecutionNotifications"]]
    assert "a%20b%2Cc%25%C3%A9.yaml" in as_sarif(everything, 2)


def test_links_lead_to_headings_of_the_docs_and_there_are_none_where_these_are_not_known(everything):
    docs = "https://example.com/docs"
    (run,) = json.loads(as_sarif(everything, 2, docs))["runs"]
    pages = {rule["id"]: rule["helpUri"].removeprefix(f"{docs}/").split("#") for rule in run["tool"]["driver"]["rules"]}

    assert {*RULES, "unused-suppression"} == pages.keys()
    for rule, (page, heading) in pages.items():
        assert rule == heading
        assert f"# {heading}\n" in (ROOT / "docs" / page).read_text("utf-8")
    assert 'Uri": "http' not in as_sarif(everything, 2)


def test_notes_that_are_alike_are_one_with_all_their_places():
    (run,) = log(summary(**{f"{i}.yaml": "{{ a" for i in range(5)}))["runs"]
    (note,) = run["invocations"][0]["toolExecutionNotifications"]

    assert note["message"]["text"].startswith(
        "5 templates passed over: 0.yaml, 1.yaml, 2.yaml, 3.yaml, 4.yaml; render it"
    )
    assert [f"{i}.yaml" for i in range(5)] == [
        place["physicalLocation"]["artifactLocation"]["uri"] for place in note["locations"]
    ]


def test_the_schema_refuses_what_is_no_sarif(everything):
    document = log(everything)
    document["runs"][0]["results"][0]["level"] = "fatal"

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft4Validator(schema()).validate(document)


def test_rules_that_were_skipped_are_notes_and_no_results(skipping):
    (run,) = log(skipping)["runs"]
    notes = run["invocations"][0]["toolExecutionNotifications"]
    skipped = [note["associatedRule"]["id"] for note in notes]

    assert [] == run["results"]
    assert skipped == [one.rule for one in skipping.skipped]
    assert ("note", True, len(skipped)) == (notes[0]["level"], "empty-selector" in skipped, len(set(skipped)))


def test_a_fingerprint_stays_where_lines_move_and_differs_between_findings():
    def prints(first):
        found = summary(a=first, b=json.dumps(workload("StatefulSet", constraint(topologyKey="kubernetes.io/zone"))))
        return [one["partialFingerprints"]["evenkeel/v1"] for one in log(found)["runs"][0]["results"]]

    wrong = json.dumps(workload("StatefulSet", constraint(labelSelector={})))
    before, after = prints(wrong), prints(f"\n\n{wrong}")

    assert (before, 2) == (after, len(set(before)))
