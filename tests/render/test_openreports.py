"""Findings as objects for a cluster."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.report.test_impact import EMPTY
from tests.support.build import constraint, honoring
from tests.support.reporting import ZONES, deployment, made_by, pods, report
from webhook.render import openreports
from webhook.render.openreports import dumped, objects, same

BAD = deployment(EMPTY, constraint(topologyKey="rack"), uid="u1")
SPREAD = honoring(labelSelector={"matchLabels": {"app": "good"}}, matchLabelKeys=["pod-template-hash"])
GOOD = deployment(SPREAD, name="good", uid="u2")


def of(*given, seconds=1_700_000_000):
    return objects(report(*ZONES, *given), seconds)


def test_a_workload_with_findings_owns_an_object():
    (found,) = of(*BAD, *GOOD, *pods("a1")).items
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u1"}

    assert ("openreports.io/v1alpha1", "Report", "evenkeel") == (found["apiVersion"], found["kind"], found["source"])
    assert ("evenkeel-u1", "shop", [owner]) == tuple(
        found["metadata"][name] for name in ("name", "namespace", "ownerReferences")
    )
    assert {**owner, "namespace": "shop"} == found["scope"]


def test_a_result_for_each_finding():
    (found,) = of(*BAD).items
    results = {one["policy"]: one for one in found["results"]}
    wrong = results["empty-selector"]

    assert ("fail", "high", "warn", "medium") == (
        wrong["result"],
        wrong["severity"],
        results["unknown-topology-key"]["result"],
        results["unknown-topology-key"]["severity"],
    )
    assert ("skip", "info") == (results["rollout-skew"]["result"], results["rollout-skew"]["severity"])
    assert ["empty-selector"] == [name for name, one in results.items() if one["scored"]]
    assert "spec.template.spec.topologySpreadConstraints[0].labelSelector" == wrong["properties"]["field"]
    assert {"seconds": 1_700_000_000, "nanos": 0} == wrong["timestamp"]
    severities = Counter(one["severity"] for one in results.values())
    summary = {"pass": 0, "fail": 1, "warn": severities["medium"], "error": 0, "skip": severities["info"]}
    assert summary == found["summary"]


@pytest.mark.parametrize(
    "given",
    [GOOD, [made_by("Cluster/db", "db-1", "a1", api_version="example.com/v1")], deployment(EMPTY)],
    ids=["without findings", "not known", "without a uid"],
)
def test_what_has_no_object(given):
    assert () == of(*given).items


def test_the_number_of_results_is_bounded(monkeypatch):
    several = [one for i in range(3) for one in deployment(EMPTY, name=f"w{i}", uid=f"u{i}")]
    every = sum(len(one["results"]) for one in of(*several).items)
    monkeypatch.setattr(openreports, "MOST_RESULTS", every - 1)
    found = of(*several)

    assert (every - 1, 1) == (sum(len(one["results"]) for one in found.items), found.left_out)


def test_objects_are_the_same_whenever_they_were_found():
    (now,), (later,), (other,) = (of(*BAD).items, of(*BAD, seconds=7).items, of(*deployment(EMPTY, uid="u1")).items)

    assert same(now, later)
    assert same(now, {**later, "metadata": {"resourceVersion": "5"}})
    assert not same(now, other)


def test_what_kubectl_applies():
    found = json.loads(dumped(of(*BAD)))

    assert ("v1", "List", 1) == (found["apiVersion"], found["kind"], len(found["items"]))
