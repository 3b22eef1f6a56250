"""Of an object that is not settled, only what holds in each reading of it is said."""

from __future__ import annotations

import pytest

from evenkeel.lint.kustomization import Change
from evenkeel.lint.open_fields import SETTLED, OpenFields
from tests.support.build import constraint, workload
from webhook.findings.finding import Edit, Finding, Severity
from webhook.kubernetes.workload import parse_workloads

OBJECT = workload("Deployment", constraint())
PATH = ("spec", "template", "spec", "topologySpreadConstraints", 0, "topologyKey")
FINDING = Finding("a-rule", Severity.ERROR, PATH, "", "", "", "", Edit(PATH, "x"))


def read(unsettled):
    return [*unsettled.readings(parse_workloads(OBJECT))]


def test_a_settled_object_is_read_once_as_it_stands():
    assert SETTLED.nothing
    assert not SETTLED.labels_unknown
    workloads = parse_workloads(OBJECT)
    ((same,),) = SETTLED.readings(workloads)
    assert same is workloads[0]
    assert FINDING == SETTLED.holding(FINDING, OBJECT)


def test_labels_that_are_not_known_are_there_and_then_are_not():
    templated = workload("Deployment", constraint(), labels={"app": "{{ .name }}"})
    (there,), (absent,) = OpenFields(template=True).readings(parse_workloads(templated))

    assert ("app" in there.addable, "app" in there.labels) == (True, False)
    assert ("app" in absent.addable, "app" in absent.labels) == (False, False)


def test_a_repair_is_offered_only_where_the_object_stands_as_it_will_be():
    for unsettled in (OpenFields(patch=True), OpenFields(change=Change.AROUND)):
        assert unsettled.labels_unknown
        assert FINDING._replace(edit=None) == unsettled.holding(FINDING, OBJECT)


@pytest.mark.parametrize(
    ("selector", "field", "holds"),
    [
        ({"matchLabels": {"a": "b"}}, ("labelSelector", "matchLabels"), False),
        ({"matchLabels": {}}, ("labelSelector",), False),
        ({"matchLabels": {}}, ("topologyKey",), True),
        ({"matchExpressions": []}, ("labelSelector", "matchExpressions"), True),
        ({}, ("labelSelector",), True),
    ],
)
def test_kustomize_changes_labels_of_selectors_that_are_written(selector, field, holds):
    obj = workload("Deployment", constraint(labelSelector=selector))
    finding = FINDING._replace(path=(*PATH[:-1], *field))

    assert holds == (OpenFields(change=Change.AROUND).holding(finding, obj) is not None)


def test_constraints_that_may_change_hold_nothing():
    missing = FINDING._replace(path=("spec", "template", "spec"))
    for unsettled in (OpenFields(change=Change.CONSTRAINTS), OpenFields(patch=True, change=Change.CONSTRAINTS)):
        assert [None, None] == [unsettled.holding(finding, OBJECT) for finding in (FINDING, missing)]


def test_of_a_patch_a_field_that_it_lacks_does_not_hold():
    absent = FINDING._replace(path=(*PATH[:-1], "minDomains"))

    assert None is OpenFields(patch=True).holding(absent, OBJECT)


def test_a_placeholder_hides_its_field():
    (templated,) = OBJECT["spec"]["template"]["spec"]["topologySpreadConstraints"]
    obj = workload("Deployment", {**templated, "topologyKey": "${KEY}"})

    assert None is OpenFields(template=True).holding(FINDING, obj)
    assert FINDING == OpenFields(template=True).holding(FINDING, OBJECT)
