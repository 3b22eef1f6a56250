"""Workloads in one file are held against each other, and no others are read twice."""

from __future__ import annotations

import json

import pytest

from tests.support.build import constraint, policy, workload
from tests.support.lint import terms
from webhook.lint import beside
from webhook.lint.beside import others_in
from webhook.lint.judging import judge
from webhook.objects.workload import parse_workloads
from webhook.scheduler.selectors import EVERYTHING

SPREAD = workload("StatefulSet", constraint(), name="db")
OTHER = workload("Deployment")


def text(*objects):
    return "".join(f"---\n{json.dumps(obj)}\n" for obj in objects)


def found(content, **fields):
    return [one.finding.rule for one in judge("a.yaml", content, terms(**fields)).found]


@pytest.mark.parametrize(
    "content",
    [
        text(OTHER, SPREAD),
        text(SPREAD, OTHER),
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [SPREAD, OTHER]}),
        text(SPREAD, "no object", OTHER),
        f"{text(SPREAD)}---\nkind: [\n{text(OTHER)}",
    ],
    ids=["before it", "after it", "in a list", "beyond a text", "beyond what cannot be read"],
)
def test_another_workload_of_the_file_is_seen(content):
    assert ["selector-matches-others"] == found(content)


def test_the_namespace_that_is_given_is_that_of_objects_without_one():
    nowhere = workload("StatefulSet", constraint(), name="db", namespace=None)

    assert ["selector-matches-others"] == found(text(nowhere, OTHER), namespace="shop")
    assert [] == found(text(nowhere, OTHER), namespace="default")


def test_a_kind_that_a_policy_describes_is_seen():
    fleet = {**OTHER, "apiVersion": "a.io/v1", "kind": "Fleet"}
    described = "{apiVersion: a.io/v1, kind: Fleet, resource: fleets, podTemplate: spec.template}"

    assert [] == found(text(SPREAD, fleet))
    assert ["selector-matches-others"] == found(text(SPREAD, fleet), policy=policy(f"workloads: [{described}]"))


@pytest.mark.parametrize(
    ("content", "times"),
    [(text(SPREAD), 0), (text(OTHER, OTHER), 0), (text(SPREAD, OTHER, {"kind": "Service"}), 2)],
    ids=["one workload", "no constraints", "both, but not the Service"],
)
def test_only_what_may_matter_is_read_twice(content, times, monkeypatch):
    read = []
    monkeypatch.setattr(beside, "read_documents", lambda text, _: read.append(text) or ())
    others_in(content, terms())

    assert times == len(read)


def test_what_is_kept_of_a_workload_is_small():
    (spread,) = parse_workloads(SPREAD)
    others = others_in(text(SPREAD, OTHER), terms())

    assert all(
        (other.pod_spec, other.raw_constraints, other.spec) == (None, None, {})
        for other in others.beside(spread, EVERYTHING)
    )
