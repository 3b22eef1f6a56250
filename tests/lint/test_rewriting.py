"""A value is set by the smallest change to the text; where that is not safe there is none."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from evenkeel.lint.rewriting import Replacement, Text, with_changes
from evenkeel.lint.yaml_positions import spans
from webhook.kubernetes.documents import read_documents
from webhook.kubernetes.fields import value_at, with_value


class Case(NamedTuple):
    name: str
    before: str
    path: tuple
    new: object
    after: str | None
    json: bool = False


BELOW, BESIDE = {"e": {"b": {"c": 1}}, "d": 2}, {"e": {"f": 0, "b": {"c": 1}}, "d": 2}
CASES = [
    Case("a scalar", "a: 1 # x\nb: 2\n", ("a",), "c", "a: c # x\nb: 2\n"),
    Case("a text that reads as a number is quoted", "a: b\n", ("a",), "1", 'a: "1"\n'),
    Case("single quotes stay", "a: 'b'\n", ("a",), "c", "a: 'c'\n"),
    Case("single quotes give way to one in the value", "a: 'b'\n", ("a",), "c'd", 'a: "c\'d"\n'),
    Case("an object in a block", "a:\n  b: 1\n  c: 2\n", ("a",), {"d": "e"}, "a:\n  d: e\n"),
    Case("an empty object grows into a block", "a: {}\n", ("a",), {"b": {"c": "d"}}, "a:\n  b:\n    c: d\n"),
    Case("an empty object in a flow stays in it", "{a: {}}\n", ("a",), {"b": "c"}, "{a: {b: c}}\n"),
    Case("only the member that differs", "a: {b: 1, c: x}\n", ("a",), {"b": 1, "c": "z"}, "a: {b: 1, c: z}\n"),
    Case(
        "the name of a member", "a:\n  b: &x 1 # c\n  d: 2\n", ("a",), {"z": 1, "d": 2}, "a:\n  z: &x 1 # c\n  d: 2\n"
    ),
    Case("a name in quotes", "a: {'b': 1}\n", ("a",), {"z": 1}, "a: {'z': 1}\n"),
    Case("a name in JSON", '{"a": {"b": [1]}}', ("a",), {"z": [1]}, '{"a": {"z": [1]}}', json=True),
    Case("a name and a value", "a:\n  b: 1\n  d: 2\n", ("a",), {"z": 3, "d": 2}, "a:\n  z: 3\n  d: 2\n"),
    Case("the name of a merged member", "a: &x {b: c}\nd: {<<: *x, e: f}\n", ("d",), {"z": "c", "e": "f"}, None),
    Case(
        "below a new one",
        "a:\n- b: # x\n    c: 1\n  d: 2\n",
        ("a", 0),
        BELOW,
        "a:\n- e:\n    b: # x\n      c: 1\n  d: 2\n",
    ),
    Case("below a new one, in a flow", "a: [{b: {c: 1}, d: 2}]\n", ("a", 0), BELOW, "a: [{e: {b: {c: 1}}, d: 2}]\n"),
    Case(
        "below a new one, in JSON",
        '{"a": [{"b": {"c": 1}, "d": 2}]}',
        ("a", 0),
        BELOW,
        '{"a": [{"e": {"b": {"c": 1}}, "d": 2}]}',
        json=True,
    ),
    Case(
        "below an empty one",
        "a:\n- e:\n  b:\n    c: 1 # x\n  d: 2\n",
        ("a", 0),
        BELOW,
        "a:\n- e:\n    b:\n      c: 1 # x\n  d: 2\n",
    ),
    Case(
        "below an empty one, in a flow",
        "a: [{d: 2, b: {c: 1}, e: {}}]\n",
        ("a", 0),
        BELOW,
        "a: [{d: 2, e: {b: {c: 1}}}]\n",
    ),
    Case(
        "below an empty one with a comment",
        "a:\n- d: 2\n  e: {} # x\n  b: {c: 1}\n",
        ("a", 0),
        BELOW,
        "a:\n- d: 2\n  e: {b: {c: 1}} # x\n",
    ),
    Case("both have a comment", "a:\n- d: 2\n  e: {} # x\n  b: {c: 1} # y\n", ("a", 0), BELOW, None),
    Case(
        "below another one",
        "a:\n  e:\n    f: 0\n  b:\n    c: 1\n  d: 2\n",
        ("a",),
        BESIDE,
        "a:\n  e:\n    f: 0\n    b:\n      c: 1\n  d: 2\n",
    ),
    Case(
        "below another one, in a flow",
        "a: {b: {c: 1}, e: {f: 0}, d: 2}\n",
        ("a",),
        BESIDE,
        "a: {e: {f: 0, b: {c: 1}}, d: 2}\n",
    ),
    Case("below one that others share", "a: {b: {c: 1}, e: &x {f: 0}, d: 2}\ng: *x\n", ("a",), BESIDE, None),
    Case("by another name", "a:\n  bb:\n    c: 1\n  d: 2\n", ("a",), BELOW, "a:\n  e:\n    b:\n      c: 1\n  d: 2\n"),
    Case("a member less", "a:\n  b: 1\n  # of d\n  d: 2\n", ("a",), {"d": 2}, "a:\n  # of d\n  d: 2\n"),
    Case("the last one less", "a:\n  d: 2\n  b: 1", ("a",), {"d": 2}, "a:\n  d: 2\n"),
    Case("the last one less, in a flow", "a: {d: 2, b: 1}\n", ("a",), {"d": 2}, "a: {d: 2}\n"),
    Case("one less with a comment", "a:\n  b: 1 # x\n  d: 2\n", ("a",), {"d": 2}, None),
    Case("an item more, in a flow", "a: [b]\n", ("a",), ["b", "c"], "a: [b, c]\n"),
    Case("an item more, in a block", "a:\n  - b # x\nd: 1\n", ("a",), ["b", "c"], "a:\n  - b # x\n  - c\nd: 1\n"),
    Case("a member that is absent", "a:\n  b: 1\nd: 2\n", ("a", "c"), ["e"], "a:\n  b: 1\n  c: [e]\nd: 2\n"),
    Case("line ends of Windows", "a:\r\n  b: 1\r\n", ("a", "c"), {"d": "e"}, "a:\r\n  b: 1\r\n  c:\r\n    d: e\r\n"),
    Case("a member in JSON", '{"a": {"b": 1}}', ("a", "c"), "d", '{"a": {"b": 1, "c": "d"}}', json=True),
    Case("a comment would be lost", "a:\n  b: 1 # x\n  c: 2\n", ("a",), {"d": "e"}, None),
    Case("a block scalar", "a: |\n  b\n", ("a",), "c", None),
    Case("an anchor", "a: &x b\nc: *x\n", ("a",), "d", None),
    Case("an alias", "a: &x b\nc: *x\n", ("c",), "d", None),
    Case("a tag", "a: !!str b\n", ("a",), "c", None),
    Case("a merged member", "a: &x {b: c}\nd: {<<: *x}\n", ("d", "b"), "e", None),
    Case("two members that are absent", "a: {b: 1}\n", ("a", "c", "d"), "e", None),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_value_is_set(case):
    (document,), (root,) = read_documents(case.before), spans(case.before, [case.path[:-1]])
    change = Text(case.before, case.json).change(root, case.path, value_at(document, case.path), case.new)
    after = None if change is None else with_changes(case.before, [change])

    assert case.after == after
    assert after is None or (with_value(document, case.path, case.new),) == read_documents(after)


def test_changes_are_made_in_any_order():
    changes = [Replacement(4, 5, "y"), Replacement(0, 1, "xx"), Replacement(2, 2, "-")]

    assert "xxb-cdy" == with_changes("abcde", changes)
    assert "abcde" == with_changes("abcde", [])
