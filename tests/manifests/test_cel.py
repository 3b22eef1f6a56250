"""Pieces of CEL: what they are as text; what they do is shown by an API server, in tests/e2e/test_policy_engine.py."""

from __future__ import annotations

import pytest

from webhook.manifests.cel import all_of, at, begin, literal, matches
from webhook.spread.selectors import NOTHING, Requirement, Selector


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('a "quoted" \\ text', '"a \\"quoted\\" \\\\ text"'),
        ("zöne", '"zöne"'),
        (["a", 1, True, None], '["a",1,true,null]'),
        ({"a": []}, '{"a":[]}'),
    ],
)
def test_json_is_a_literal(value, text):
    assert text == literal(value)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), "optional.of(o)"),
        (("spec", "template"), "o.?spec.?template"),
        (("spec", "namespace", "a-b"), 'o.?spec[?"namespace"][?"a-b"]'),
    ],
)
def test_every_step_of_a_path_is_optional(path, text):
    assert text == at("o", path)


def test_conditions():
    assert ("a && b", "true") == (all_of("a", "", "b"), all_of("", ""))


def test_the_begin_of_a_text():
    assert "[t].map(b, b.size() > 60 ? b.substring(0, 60) : b)[0]" == begin("t", 60)


@pytest.mark.parametrize(
    ("requirement", "text"),
    [
        (("a", "In", ("x", "y")), '("a" in l && l["a"] in ["x","y"])'),
        (("a", "=", ("x",)), '("a" in l && l["a"] in ["x"])'),
        (("a", "NotIn", ("x",)), '!("a" in l && l["a"] in ["x"])'),
        (("a", "Exists", ()), '"a" in l'),
        (("a", "DoesNotExist", ()), '!("a" in l)'),
    ],
)
def test_a_selector_asks_about_labels_that_may_be_absent(requirement, text):
    assert text == matches(Selector((Requirement(*requirement),)), "l")


def test_selectors_of_all_and_of_none():
    assert ("true", "false") == (matches(Selector(), "l"), matches(NOTHING, "l"))
