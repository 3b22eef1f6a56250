"""Paths into an object, and what stands at them."""

from __future__ import annotations

import pytest

from webhook.objects.fields import mappings_at, path_text, texts_in, value_at

PATHS = [
    (("spec", "topologySpreadConstraints", 0, "maxSkew"), "spec.topologySpreadConstraints[0].maxSkew"),
    (("spec", "sets", "*", "template"), "spec.sets[*].template"),
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


@pytest.mark.parametrize(("path", "value"), PLACES, ids=[path_text(path) or "the root" for path, _ in PLACES])
def test_a_path_leads_to_a_value_or_to_none(path, value):
    assert value == value_at(TREE, path)


def test_objects_at_several_paths_are_found_at_once():
    found = mappings_at(TREE, ("spec",), ("spec", "list", 0), ("spec", "text"), ("spec", "list", 1), ())

    assert [TREE["spec"], {"name": "a"}, {}, {}, TREE] == found


def test_texts_of_several_fields_are_found_at_once():
    assert ["abc", "", ""] == texts_in(TREE["spec"], "text", "list", "absent")
