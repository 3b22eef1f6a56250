"""What kustomize changes in an object takes away the findings that rest on it, and no others."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pytest

from tests.support.build import constraint, workload
from webhook.findings.finding import Finding, Severity
from webhook.lint.patched_fields import (
    ADDED,
    ALL_PATCHED,
    NO_PATCH,
    RENAMED,
    PatchedFields,
    by_patch,
    by_path,
    holds_although,
    left_open,
    union,
)
from webhook.objects.workload import parse_workloads

FIELD = "topologySpreadConstraints"
ZONE = ("zone", "DoNotSchedule")


def template(**parts):
    return {"kind": "Deployment", "spec": {"template": parts}}


def labels(*keys):
    return PatchedFields(labels=frozenset(keys))


def fields(*names):
    return PatchedFields(fields=frozenset(names))


def constraints(*pairs):
    return PatchedFields(constraints=frozenset(pairs))


def of_constraints(*items):
    return template(spec={FIELD: list(items)})


ANY_LABELS, ANY_CONSTRAINTS = PatchedFields(labels=None), PatchedFields(constraints=None)
KEYS = {"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}


class Case(NamedTuple):
    name: str
    patch: object
    touches: PatchedFields


MERGES = [
    Case("nothing that rules look at", template(spec={"volumes": [{"name": "a"}]}), NO_PATCH),
    Case("labels of the Pods", template(metadata={"labels": {"app": "x", "tier": None}}), labels("app", "tier")),
    Case("all labels", template(metadata={"labels": None}), ANY_LABELS),
    Case("all labels, by a directive", template(metadata={"labels": {"$patch": "replace"}}), ANY_LABELS),
    Case("labels of the object alone", {"kind": "Deployment", "metadata": {"labels": {"a": "b"}}}, NO_PATCH),
    Case("labels of a Pod", {"kind": "Pod", "metadata": {"labels": {"a": "b"}}}, labels("a")),
    Case("the selector", {"kind": "Deployment", "spec": {"selector": {"matchLabels": {"a": "b"}}}}, labels("a")),
    Case("expressions", {"kind": "Deployment", "spec": {"selector": {"matchExpressions": []}}}, ANY_LABELS),
    Case("replicas", {"kind": "Deployment", "spec": {"replicas": 3}}, fields("replicas")),
    Case("containers", template(spec={"containers": []}), fields("containers")),
    Case("a constraint", of_constraints({**KEYS, "maxSkew": 2}), constraints(ZONE)),
    Case("a constraint that goes", of_constraints({**KEYS, "$patch": "delete"}), constraints(ZONE)),
    Case("constraints of a key", of_constraints({"topologyKey": "zone"}), ANY_CONSTRAINTS),
    Case("a key of a wrong type", of_constraints({**KEYS, "topologyKey": ["zone"]}), ANY_CONSTRAINTS),
    Case("all constraints", template(spec={FIELD: None}), ANY_CONSTRAINTS),
    Case("all constraints, by a directive", of_constraints(KEYS, {"$patch": "replace"}), ANY_CONSTRAINTS),
    Case(
        "the constraints of a kind that kustomize does not know",
        {**of_constraints(KEYS), "kind": "Rollout"},
        ANY_CONSTRAINTS,
    ),
    Case("all of the template", {"kind": "Deployment", "spec": {"template": None}}, ALL_PATCHED),
    Case("by a directive", template(spec={"$patch": "replace"}), ALL_PATCHED),
    Case("which rules are ignored", template(metadata={"annotations": {"evenkeel.dev/ignore": "x"}}), ALL_PATCHED),
    Case("no patch", "text", NO_PATCH),
    Case("a kind of a wrong type", {"kind": ["Pod"], "spec": {"replicas": 1}}, fields("replicas")),
]


def add(path, value=1, **more):
    return [{"op": "add", "path": path, "value": value, **more}]


TEMPLATE = "/spec/template"
OPERATIONS = [
    Case("a test", [{"op": "test", "path": f"{TEMPLATE}/spec"}], NO_PATCH),
    Case("nothing that rules look at", add(f"{TEMPLATE}/spec/volumes/-"), NO_PATCH),
    Case("a label", add(f"{TEMPLATE}/metadata/labels/a.b~1c", "x"), labels("a.b/c")),
    Case("all labels", add(f"{TEMPLATE}/metadata/labels", {"a": "b"}), ANY_LABELS),
    Case("the number of Pods", [{"op": "remove", "path": "/spec/replicas"}], fields("replicas")),
    Case("an image", add(f"{TEMPLATE}/spec/containers/0/image"), fields("containers")),
    Case("a constraint more", add(f"{TEMPLATE}/spec/{FIELD}/-", KEYS), constraints(ADDED)),
    Case("a field of a constraint", add(f"{TEMPLATE}/spec/{FIELD}/0/maxSkew"), ANY_CONSTRAINTS),
    Case("the spec of the Pods", add(f"{TEMPLATE}/spec", {}), ALL_PATCHED),
    Case("the schema of a CRD", add(f"/spec/versions/0/schema/openAPIV3Schema/properties/{FIELD}/items"), NO_PATCH),
    Case("what is moved away", [{"op": "move", "path": "/spec/x", "from": "/spec/replicas"}], fields("replicas")),
    Case("the whole", add(""), ALL_PATCHED),
    Case("no operation", ["text", {}], ALL_PATCHED),
]


@pytest.mark.parametrize("case", [*MERGES, *OPERATIONS], ids=lambda case: case.name)
def test_a_patch_touches(case):
    assert case.touches == by_patch(case.patch)


def test_what_any_touches_is_touched():
    assert NO_PATCH == union([])
    assert PatchedFields(frozenset("ab"), frozenset({ZONE}), frozenset("c")) == union(
        [labels("a"), labels("b"), constraints(ZONE), fields("c")]
    )
    assert ALL_PATCHED == union([ALL_PATCHED, labels("a"), constraints(ZONE)]) == labels("a") | ALL_PATCHED


def opened(touched, **spec):
    obj = workload("Deployment", constraint())
    obj["spec"] |= spec
    (found,) = parse_workloads(obj)
    return found, left_open(found, touched)


def test_labels_that_are_touched_may_have_any_value():
    before, after = opened(labels("app", "tier"))

    assert before.labels.keys() - {"app"} == after.labels.keys()
    assert {"app", "tier"} | before.addable == after.addable


def test_the_labels_of_a_job_that_is_touched_may_be_all_of_its_kind():
    (job,) = parse_workloads(workload("Job", constraint(), spec={"manualSelector": True}))

    assert not job.addable
    assert job.kind.addable == left_open(job, fields("manualSelector")).addable
    assert job.kind.addable == left_open(job, fields("completionMode")).addable


@pytest.mark.parametrize("touched", [RENAMED, fields("manualSelector"), ALL_PATCHED])
def test_a_job_whose_name_is_touched_is_not_known_by_it(touched):
    (job,) = parse_workloads(workload("Job", constraint()))

    assert job.given_labels
    assert not left_open(job, replace(touched, labels=frozenset())).given_labels
    assert RENAMED == by_path(["metadata", "name"])
    assert NO_PATCH == by_path(["spec", "template", "metadata", "name"])


def test_replicas_that_are_touched_may_be_one():
    _, after = opened(fields("replicas"), replicas=7)

    assert (1, None, False) == (after.replicas, after.most_pods, after.surges)


def test_where_the_pods_may_run_is_not_known():
    before, after = opened(fields("tolerations"))

    assert before.pod_spec is not None
    assert after.pod_spec is None


def test_what_is_not_touched_stays():
    before, after = opened(NO_PATCH)

    assert before == after


def finding(*path):
    return Finding("a-rule", Severity.ERROR, ("spec", FIELD, *path), "", "", "", "")


OBJECT = {"spec": {FIELD: [KEYS, {**KEYS, "topologyKey": "host", "labelSelector": {"matchLabels": {}}}]}}


@pytest.mark.parametrize(
    ("touched", "first", "second", "whole"),
    [
        (NO_PATCH, True, True, True),
        (constraints(ZONE), False, True, False),
        (constraints(ADDED), True, True, False),
        (ANY_CONSTRAINTS, False, False, False),
        (labels("app"), True, False, True),
        (ANY_LABELS, True, False, True),
        (fields("replicas"), True, True, True),
    ],
    ids=str,
)
def test_a_finding_holds_where_its_constraint_is_not_touched(touched, first, second, whole):
    """kustomize fills in the empty matchLabels of the second."""
    assert first is holds_although(touched, finding(0, "labelSelector"), OBJECT)
    assert second is holds_although(touched, finding(1, "labelSelector"), OBJECT)
    assert whole is holds_although(touched, finding(), OBJECT)
