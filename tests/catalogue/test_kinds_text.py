"""The kinds of operators as text and as JSON."""

from __future__ import annotations

import json

import pytest

from evenkeel.catalogue.kinds_text import as_json, text
from webhook.kubernetes.kinds import GivenLabel
from webhook.kubernetes.operators import ConstraintPlace

SPREAD = ("spec", "sets", "*", "topologySpreadConstraints")
FLEET = ("fleet", "a.io", ("v1", "v2"), "Fleet", "fleets")
READ = ("a/b", "0123456789ab", "api/types.go")


def place(path=SPREAD, fills=frozenset(), sets=frozenset(), own=frozenset(), read=READ, gives=(), replicas=None):
    return ConstraintPlace(*FLEET, path, fills, sets, own, replicas, gives, (), *read)


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (place(), "spec.sets[*].topologySpreadConstraints: keeps them as they are"),
        (place(fills=frozenset({"maxSkew", "labelSelector"})), "…: fills in labelSelector, maxSkew"),
        (place(sets=frozenset({"maxSkew"})), "…: sets maxSkew itself, whatever the object says"),
        (place(fills=None), "…: not known"),
        (place(own=frozenset({"mine"})), "…: keeps them as they are; adds to the selector for mine"),
        (place(replicas=("spec", "size")), "…: keeps them as they are; replicas at spec.size"),
        (place(path=("spec", "{*}", "template"), fills=None), "spec{*}.template: a Pod template; not known"),
    ],
    ids=["keeps", "fills", "sets", "unknown", "own", "replicas", "template"],
)
def test_what_is_said_of_a_place(one, said):
    head, line = text([one]).splitlines()

    assert "fleet  a.io/v1,v2 Fleet" == head
    assert f"  {said.replace('…', 'spec.sets[*].topologySpreadConstraints')}" == line


def test_the_labels_of_its_pods_are_said():
    labels = (GivenLabel("a.io/fleet"), GivenLabel("app", "web", True, item="front"))
    (kind,) = json.loads(as_json([place(gives=labels)]))["kinds"]
    first, second = kind["places"][0]["labels"]

    assert text([place(gives=labels)]).endswith("keeps them as they are; gives a.io/fleet=NAME, app?=web at front")
    assert {"key": "a.io/fleet", "value": "NAME", "unlessGiven": False, "item": None} == first
    assert {"key": "app", "value": "web", "unlessGiven": True, "item": "front"} == second


def test_the_versions_of_a_kind_and_of_a_place_are_said():
    newer = place(path=("spec", "template"))._replace(versions=("v3",))

    head, first, second = text([place(), newer]).splitlines()
    assert "fleet  a.io/v1,v2,v3 Fleet" == head
    assert first.startswith("  spec.sets[*].topologySpreadConstraints (v1,v2): ")
    assert second.startswith("  spec.template (v3): ")


def test_the_places_of_a_kind_are_together():
    assert 3 == len(text([place(), place(path=("spec", "template"))]).splitlines())


def test_for_programs():
    (kind,) = json.loads(as_json([place(), place(path=("a", "b"), fills=None, read=("a/b", "", "c"))]))["kinds"]
    first, second = kind.pop("places")

    named = {"name": "fleet", "apiVersions": ["a.io/v1", "a.io/v2"], "kind": "Fleet", "resource": "fleets"}
    assert named == kind
    assert {
        "constraints": "spec.sets[*].topologySpreadConstraints",
        "apiVersions": ["a.io/v1", "a.io/v2"],
        "labels": [],
        "fills": [],
        "sets": [],
        "ownFields": [],
        "replicas": None,
        "source": {"repository": "a/b", "commit": "0123456789ab", "path": "api/types.go"},
    } == first
    assert ("a.b", None, None) == (second["podTemplate"], second["fills"], second["source"]["commit"])
