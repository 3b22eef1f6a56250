"""JSON for programs: its fields are those that docs/lint.md documents."""

from __future__ import annotations

import json
import re

from evenkeel.lint.as_json import as_json
from tests.support import ROOT
from tests.support.build import constraint, workload
from tests.support.lint import summary


def test_json():
    wrong = json.dumps(workload("StatefulSet", constraint(labelSelector={})), indent=1)
    document = json.loads(
        as_json(summary(**{"a.yaml": wrong, "b.yaml": "kind: {{ x", "c.yaml": "apiVersion: v1\nkind: ["}))
    )

    assert ["version", "summary", "findings", "problems", "notes", "skipped"] == list(document)
    assert {"files": 3, "objects": 1, "error": 1, "warning": 0, "problems": 1}.items() <= document["summary"].items()
    assert {"template": 1} == document["summary"]["passedOver"]
    assert {
        "file": "a.yaml",
        "line": 27,
        "column": 7,
        "source": None,
        "object": {"apiVersion": "apps/v1", "kind": "StatefulSet", "namespace": "shop", "name": "web"},
        "rule": "empty-selector",
        "severity": "error",
        "field": "spec.template.spec.topologySpreadConstraints[0].labelSelector",
        "message": "must select Pods: without labels to select, the constraint spreads nothing",
        "found": "{}",
        "wanted": "labels that the Pods carry",
        "fix": "write labelSelector: {matchLabels: {app: web}}",
        "fixable": True,
    } == document["findings"][0]
    assert [("c.yaml", 2, 8)] == [(one["file"], one["line"], one["column"]) for one in document["problems"]]


def test_what_was_not_judged_and_what_was_skipped_is_there(everything, skipping):
    (kind,) = json.loads(as_json(everything))["summary"]["notJudged"]
    skipped = json.loads(as_json(skipping))["skipped"]

    assert ("example.com/v1", 1) == (kind["apiVersion"], kind["count"])
    assert "empty-selector" in [one["rule"] for one in skipped]
    assert all(one["reason"] for one in skipped)


def test_a_finding_on_a_file_has_no_object():
    text = "{apiVersion: v1, kind: Pod, metadata: {name: a}}  # evenkeel: ignore[pinned-pod]"
    (finding,) = json.loads(as_json(summary(a=text)))["findings"]

    assert ("unused-suppression", None) == (finding["rule"], finding["object"])


def test_every_field_is_documented():
    page = (ROOT / "docs" / "lint.md").read_text("utf-8")
    document = json.loads(as_json(summary()))

    documented = {*re.findall(r"`(?:summary\.)?(\w+)`", page)}

    assert {*document, *document["summary"]} <= documented
