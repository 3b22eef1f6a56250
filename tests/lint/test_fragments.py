"""Constraints outside an object are found in JSON patches, values and texts; what holds anywhere is said of them."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from evenkeel.lint.fragments import Fragment, TextWithin, findings_on, fragments_in
from evenkeel.lint.kustomization import Change
from evenkeel.lint.open_fields import OpenFields
from tests.support.lint import terms
from webhook.kubernetes.fields import path_text, value_at

FIELD = "topologySpreadConstraints"
AT, CRD = f"/spec/template/spec/{FIELD}", "/spec/versions/0/schema/openAPIV3Schema"
GOOD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}


class Case(NamedTuple):
    name: str
    document: object
    finds: list[str]


def found(document, unsettled=None):
    fragments = [one for one in fragments_in(document, every_text=False) if isinstance(one, Fragment)]
    placed = [
        placed
        for fragment in fragments
        for _, placed in findings_on(fragment, terms(), unsettled or OpenFields(patch=True), terms().judging)
    ]
    assert all(value_at(document, one.path) is not None for one in placed)
    assert all(one.edit is None for one in placed)
    return [f"{path_text(one.path)} {one.rule}" for one in placed]


def values(**fields):
    return {"web": {FIELD: [fields]}}


def patch(path, value, op="add"):
    return [{"op": "test", "path": "/kind", "value": "x"}, {"op": op, "path": path, "value": value}]


AT_WEB = "web.topologySpreadConstraints"
IN_PLACE_OF_A_LIST = f"{AT_WEB} invalid-constraint"


def at_field(value):
    return {"web": {FIELD: value}}


VALUES = [
    Case("an object", at_field(GOOD), [IN_PLACE_OF_A_LIST]),
    Case(
        "a wrong object",
        at_field(GOOD | {"maxSkew": 0}),
        [f"{AT_WEB}.maxSkew invalid-constraint", IN_PLACE_OF_A_LIST],
    ),
    Case("an object with a field of the chart", at_field(GOOD | {"enabled": True}), []),
    Case("part of an object", at_field({"maxSkew": 1}), []),
    Case("a wrong part of one", at_field({"maxSkew": 0, "enabled": True}), [f"{AT_WEB}.maxSkew invalid-constraint"]),
    Case(
        "knobs that are not set",
        at_field({"enabled": False, "maxSkew": 1, "topologyKey": "", "whenUnsatisfiable": ""}),
        [],
    ),
    Case("fields that are not set", at_field({"maxSkew": 1, "topologyKey": "", "whenUnsatisfiable": ""}), []),
    Case("fields by name that are not set", at_field({"host": {"topologyKey": "", "nodeTaintsPolicy": ""}}), []),
    Case("knobs that are off", at_field({"enabled": False, "maxSkew": 0, "whenUnsatisfiable": "None"}), []),
    Case(
        "knobs of which a template chooses",
        at_field({"soft": True, "minDomains": 0, "topologyKey": "kubernetes.io/zone", "labelSelector": {"x": 1}}),
        [],
    ),
    Case(
        "a typo beside knobs",
        at_field({"enabled": True, "whenUnsatisfiable": "DoNotScedule", "nodeAffinityPolicy": "Honr", "maxSkew": 1}),
        [f"{AT_WEB}.nodeAffinityPolicy invalid-constraint", f"{AT_WEB}.whenUnsatisfiable invalid-constraint"],
    ),
    Case(
        "an object in one",
        at_field({"enabled": True, "maxSkew": 1, "zone": {"maxSkew": 0, "deep": {"nodeTaintsPolicy": "Honr"}}}),
        [
            f"{AT_WEB}.zone.maxSkew invalid-constraint",
            f"{AT_WEB}.zone.deep.nodeTaintsPolicy invalid-constraint",
        ],
    ),
    Case(
        "a list in one", at_field(GOOD | {"more": [{"maxSkew": 0}]}), [f"{AT_WEB}.more[0].maxSkew invalid-constraint"]
    ),
    Case(
        "an object in a list", values(maxSkew=1, zone={"maxSkew": 0}), [f"{AT_WEB}[0].zone.maxSkew invalid-constraint"]
    ),
    Case("lists in a list", at_field([[{"maxSkew": 0}]]), [f"{AT_WEB}[0][0].maxSkew invalid-constraint"]),
    Case(
        "labels like fields",
        at_field({"labelSelector": {"matchLabels": {"maxSkew": "0", "whenUnsatisfiable": "no"}}}),
        [],
    ),
    Case(
        "another field", at_field({"nodeAffinityPolicy": "Honr"}), [f"{AT_WEB}.nodeAffinityPolicy invalid-constraint"]
    ),
    Case("a typo of a field", at_field({"maxSkews": 0, "topologyKey": "zone"}), [f"{AT_WEB}.maxSkews unknown-field"]),
    Case("a key that is not set in a list", values(topologyKey=""), [f"{AT_WEB}[0].topologyKey invalid-constraint"]),
    Case("objects by name", at_field({"zone": GOOD, "host": GOOD | {"topologyKey": "host"}}), []),
    Case(
        "a wrong one of them",
        at_field({"zone": GOOD, "host": {"topologyKey": "kubernetes.io/zone", "whenUnsatisfiable": "DoNotScedule"}}),
        [f"{AT_WEB}.host.topologyKey misspelt-topology-key", f"{AT_WEB}.host.whenUnsatisfiable invalid-constraint"],
    ),
    Case(
        "lists by name",
        at_field({"api": [GOOD], "jobs": {"nightly": [GOOD | {"maxSkew": 0}]}}),
        [f"{AT_WEB}.jobs.nightly[0].maxSkew invalid-constraint"],
    ),
    Case("settings of the chart", at_field({"enabled": True, "namespaces": ["a"], "weights": {"a": 1}}), []),
    Case("a complete one that is good", values(**GOOD), []),
    Case("a number", values(maxSkew=0), ["web.topologySpreadConstraints[0].maxSkew invalid-constraint"]),
    Case("a number that a template may read", values(maxSkew="0"), []),
    Case("a key", values(topologyKey="a b"), ["web.topologySpreadConstraints[0].topologyKey malformed-topology-key"]),
    Case(
        "a key that is nearly one",
        values(topologyKey="kubernetes.io/zone"),
        ["web.topologySpreadConstraints[0].topologyKey misspelt-topology-key"],
    ),
    Case(
        "an action",
        values(whenUnsatisfiable="Never"),
        ["web.topologySpreadConstraints[0].whenUnsatisfiable invalid-constraint"],
    ),
    Case(
        "a number of domains", values(minDomains=0), ["web.topologySpreadConstraints[0].minDomains invalid-constraint"]
    ),
    Case("one that may be hard", values(minDomains=2), []),
    Case(
        "one that is soft",
        values(minDomains=2, whenUnsatisfiable="ScheduleAnyway"),
        ["web.topologySpreadConstraints[0].minDomains invalid-constraint"],
    ),
    Case(
        "a policy",
        values(nodeTaintsPolicy="honour", nodeAffinityPolicy=False),
        ["web.topologySpreadConstraints[0].nodeTaintsPolicy invalid-constraint"],
    ),
    Case(
        "a selector",
        values(labelSelector={"matchLabels": {"a": "b c"}, "matchExpressions": [{"key": "a", "operator": "in"}, "a"]}),
        [
            "web.topologySpreadConstraints[0].labelSelector.matchExpressions[0].operator invalid-constraint",
            "web.topologySpreadConstraints[0].labelSelector.matchLabels invalid-constraint",
        ],
    ),
    Case(
        "labels that a template may write as texts",
        values(labelSelector={"matchLabels": {"a": True}, "matchExpressions": [{"key": 1, "operator": "In"}]}),
        [],
    ),
    Case("keys beside a selector that a template may write", values(matchLabelKeys=["a"]), []),
    Case(
        "a pair that is there twice",
        {FIELD: [GOOD, {**GOOD, "labelSelector": {"matchLabels": {"a": "b"}}}]},
        ["topologySpreadConstraints[0] invalid-constraint"],
    ),
    Case("a pair that a template may choose from", {FIELD: [GOOD, {**GOOD, "enabled": False}]}, []),
    Case("a pair of which a template may fill in a part", {FIELD: [GOOD, {"topologyKey": "zone"}]}, []),
    Case(
        "fields that are nearly the API's",
        values(matchLabelKey=["a"], labelSelector={"matchLabel": {"a": "b"}, "matchExpressions": []}),
        [
            "web.topologySpreadConstraints[0].labelSelector.matchLabel unknown-field",
            "web.topologySpreadConstraints[0].matchLabelKey unknown-field",
        ],
    ),
    Case("a field of the chart's own that is nearly one", values(topologyKeys=["zone", "rack"], maxSkews="1"), []),
    Case("fields of the chart's own", values(enabled=True, labelSelector=1, matchLabelKeys="x", topologyKey=None), []),
    Case("what is no constraint", {FIELD: ["a", 1, None]}, []),
    Case(
        "a path of helm-unittest",
        {"set": {f"web.{FIELD}": [{"maxSkew": 0}], f"db.{FIELD}": {"zone": {"a": {"maxSkew": 0}}}}},
        [f"set.web.{FIELD}[0].maxSkew invalid-constraint", f"set.db.{FIELD}.zone.a.maxSkew invalid-constraint"],
    ),
]
PATCHES = [
    Case("a whole list", patch(AT, [{**GOOD, "maxSkew": 0}]), ["[1].value[0].maxSkew invalid-constraint"]),
    Case("one more", patch(f"{AT}/-", {**GOOD, "minDomains": 0}), ["[1].value.minDomains invalid-constraint"]),
    Case(
        "another in its place",
        patch(f"{AT}/0", {"topologyKey": "a b"}),
        ["[1].value.topologyKey malformed-topology-key"],
    ),
    Case("a field", patch(f"{AT}/1/maxSkew", 0), ["[1].value invalid-constraint"]),
    Case(
        "a field deep in a list",
        patch(AT, [{**GOOD, "labelSelector": {"matchLabels": {"a b": "c"}}, "matchLabelKeys": ["a b"]}]),
        [
            "[1].value[0].labelSelector.matchLabels invalid-constraint",
            "[1].value[0].matchLabelKeys[0] invalid-constraint",
        ],
    ),
    Case("a field that is replaced", patch(f"{AT}/1/maxSkew", "1", "replace"), ["[1].value invalid-constraint"]),
    Case("a field within", patch(f"{AT}/1/labelSelector/matchLabels", {"a b": "c"}), ["[1].value invalid-constraint"]),
    Case("an item of a field", patch(f"{AT}/1/matchLabelKeys/-", "a b"), []),
    Case("an unknown field", patch(f"{AT}/-", {"matchLabelKey": ["a"]}), ["[1].value.matchLabelKey unknown-field"]),
    Case(
        "what is above",
        patch("/spec", {"x": {FIELD: [{"maxSkew": 0}]}}),
        ["[1].value.x.topologySpreadConstraints[0].maxSkew invalid-constraint"],
    ),
    Case("what goes", [{"op": "remove", "path": f"{AT}/0/maxSkew", "value": 0}], []),
    Case("what is nothing", patch(f"{AT}/0/maxSkew", None), []),
    Case("a good number", patch(f"{AT}/0/maxSkew", 3), []),
    Case("deep below", patch(AT + "/0" + "/a" * 5_000, 0), []),
    Case("a field of a CRD's schema", patch(f"{CRD}/properties/{FIELD}/items/properties/maxSkew", {"minimum": 1}), []),
    Case("a whole schema", patch(CRD, {"properties": {"x": {"default": values(maxSkew=0)}}}, "replace"), []),
    Case("a schema within one", patch(f"/properties/{FIELD}/items", {"maxSkew": 0}), []),
    Case("no operations", [{"op": 1, "path": AT, "value": [{"maxSkew": 0}]}], []),
]


@pytest.mark.parametrize("case", [*VALUES, *PATCHES], ids=lambda case: case.name)
def test_it_is_said_of(case):
    assert case.finds == found(case.document)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ({"nodeTaintsPolicy": "Honor"}, 1),
        ({"labelSelector": {"matchLabels": {"a": "b"}}}, 1),
        ({"matchLabelKeys": ["a"]}, 1),
        ({"maxSkew": 1, "zone": {"minDomains": 2}, "host": {"enabled": True}}, 2),
        ([GOOD, {**GOOD, "more": GOOD}], 2),
        ({"zone": {"maxSkew": {"type": "integer"}, "labelSelector": {"properties": {"matchLabels": {}}}}}, 0),
        ({"enabled": True}, 0),
    ],
)
def test_each_object_and_list_with_fields_of_a_constraint_counts(value, number):
    assert number == len([*fragments_in(at_field(value), every_text=False)])


def test_operations_are_judged_beside_what_is_none():
    broken = [1, {"op": "add"}, {"op": 1, "path": AT}, {"op": "add", "path": f"{AT}/0/maxSkew", "value": 0}]

    assert ["[3].value invalid-constraint"] == found(broken)


def test_a_later_patch_may_change_what_a_patch_says():
    zero = patch(f"{AT}/0/maxSkew", 0)

    assert [] == found(zero, OpenFields(patch=True, change=Change.CONSTRAINTS))
    assert found(zero) == found(zero, OpenFields(patch=True, change=Change.AROUND)) != []


def test_texts_are_those_at_the_field_or_all_that_name_it():
    document = {"a": {FIELD: "- maxSkew: 0"}, "b": [f"{FIELD}: []", "c"]}
    at_field, other = TextWithin(("a", FIELD), "- maxSkew: 0"), TextWithin(("b", 0), f"{FIELD}: []")

    assert [at_field] == [*fragments_in(document, every_text=False)]
    assert {at_field, other} == {*fragments_in(document, every_text=True)}
