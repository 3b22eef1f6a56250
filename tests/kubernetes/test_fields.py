"""Paths into an object, and what stands at them."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from webhook.kubernetes.fields import (
    int_or_percent,
    mappings_at,
    path_text,
    pointer_parts,
    scaled,
    texts_at,
    value_at,
    with_value,
)

PATHS = [
    (("spec", "topologySpreadConstraints", 0, "maxSkew"), "spec.topologySpreadConstraints[0].maxSkew"),
    (("spec", "sets", "*", "template"), "spec.sets[*].template"),
    (("spec", "sets", "{*}", "template"), "spec.sets{*}.template"),
    ((2, 1), "[2][1]"),
    (("spec",), "spec"),
    ((), ""),
]


@pytest.mark.parametrize(("path", "text"), PATHS, ids=[text for _, text in PATHS])
def test_a_path_reads_as_kubernetes_prints_it(path, text):
    assert text == path_text(path)


TREE = {"spec": {"list": [{"name": "a"}, None], "text": "abc"}}
PLACES = [
    (("spec", "list", 0, "name"), "a"),
    (("spec", "list", 1, "name"), None),
    (("spec", "list", 2), None),
    (("spec", "text", 0), None),
    (("spec", 0), None),
    (("spec", "list", "name"), None),
    (("nowhere", "at", "all"), None),
    ((), TREE),
]


@pytest.mark.parametrize(("path", "value"), PLACES, ids=[str(path) for path, _ in PLACES])
def test_a_path_leads_to_a_value_or_to_none(path, value):
    assert value == value_at(TREE, path)


def test_a_pointer_has_escaped_names():
    assert ["a/b", "~1", "0"] == pointer_parts("/a~1b/~01/0")


class Put(NamedTuple):
    name: str
    value: object
    path: tuple
    found: object


PUT = [
    Put("nothing on the way: the value itself", {"a": 1}, (), "new"),
    Put("a member that is there", {"a": 1, "b": 2}, ("a",), {"a": "new", "b": 2}),
    Put("a member that is absent", {"b": 2}, ("a",), {"b": 2, "a": "new"}),
    Put("objects that are missing are made", {}, ("a", "b"), {"a": {"b": "new"}}),
    Put("null becomes an object", {"a": None}, ("a", "b"), {"a": {"b": "new"}}),
    Put("an item of an array", {"a": [1, {"b": 2}, 3]}, ("a", 1, "b"), {"a": [1, {"b": "new"}, 3]}),
]


@pytest.mark.parametrize("case", PUT, ids=lambda case: case.name)
def test_a_value_is_put_at_a_path(case):
    assert case.found == with_value(case.value, case.path, "new")


def test_the_original_stays_and_what_lies_beside_the_path_is_shared():
    given = {"a": [{"b": 1}, {"c": 2}], "d": {}}
    found = with_value(given, ("a", 0, "b"), 3)

    assert {"a": [{"b": 1}, {"c": 2}], "d": {}} == given
    assert given["a"][1] is found["a"][1]
    assert given["d"] is found["d"]


def test_a_value_is_not_put_beyond_the_end_of_an_array():
    with pytest.raises(IndexError):
        with_value({"a": []}, ("a", 0), 1)


def test_objects_at_several_paths_are_found_at_once():
    found = mappings_at(TREE, ("spec",), ("spec", "list", 0), ("spec", "text"), ("spec", "list", 1), ())

    assert [TREE["spec"], {"name": "a"}, {}, {}, TREE] == found


def test_texts_of_several_fields_are_found_at_once():
    assert ["abc", "", ""] == texts_at(TREE["spec"], "text", "list", "absent")


@pytest.mark.parametrize(
    ("written", "read"), [(2, 2), (3.0, 3), ("25%", "25%"), ("25", None), (True, None), (None, None)]
)
def test_a_number_or_a_percentage(written, read):
    assert read == int_or_percent(written)


@pytest.mark.parametrize(
    ("value", "up", "number"), [(3, True, 3), (-3, True, 0), ("25%", True, 3), ("25%", False, 2), ("0%", True, 0)]
)
def test_a_percentage_of_ten_is_rounded(value, up, number):
    assert number == scaled(value, 10, up=up)
