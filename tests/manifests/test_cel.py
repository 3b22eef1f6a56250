"""Pieces of CEL: what they are as text; what they do is shown by an API server, in tests/e2e/test_policy_engine.py."""

from __future__ import annotations

import pytest

from webhook.manifests.cel import all_of, any_of, at, by_case, cut, literal, matches, yaml_text
from webhook.scheduler.selectors import NOTHING, Requirement, Selector


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
    assert ("(a || b) || (c)", "false") == (any_of(["a || b", "c"]), any_of([]))


def test_cases():
    assert 'v in ["a","b"] ? (1) : v in ["c"] ? (2) : 3' == by_case("v", {"1": ["a", "b"], "2": ["c"]}, "3")


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


def test_a_text_is_cut_where_the_webhook_cuts_it():
    assert "[t].map(q, q.size() > 60 ? q.substring(0, 59) + '…' : q)[0]" == cut("t", 60)


def test_a_text_is_quoted_where_yaml_reads_it_otherwise():
    assert yaml_text("t").endswith("? t : strings.quote(t))")
