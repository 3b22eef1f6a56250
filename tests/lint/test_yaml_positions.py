"""Every value is found where it is written: its key, its own text, and whether an alias brought it in."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.lint.yaml_positions import comments, spans
from webhook.kubernetes.documents import read_documents


class Case(NamedTuple):
    name: str
    text: str
    path: tuple
    key: str | None
    value: str
    elsewhere: bool = False


CASES = [
    Case("a member", "a: 1\nb: {c: two}\n", ("b", "c"), "c", "two"),
    Case(
        "an object in a block, without the comment after it",
        "a:\n  b: 1\n  c: 2 # x\n# y\nd: 3",
        ("a",),
        "a",
        "b: 1\n  c: 2",
    ),
    Case("an item", "a:\n- x: 1\n- x: 2\n  y: 3\n\nb: 4", ("a", 1), None, "x: 2\n  y: 3"),
    Case("an item of an item", "a: [[1, 2], [3]]", ("a", 1, 0), None, "3"),
    Case("a quoted key", "'a b': \"x y\"", ("a b",), "'a b'", '"x y"'),
    Case("a key that is a number", "1: x", ("1",), "1", "x"),
    Case("nothing", "a:\nb: 1", ("a",), "a", ""),
    Case("null, in a flow", "{a: null}", ("a",), "a", "null"),
    Case("letters of more than one byte", "é: 1\nä: ö", ("ä",), "ä", "ö"),
    Case("lines that end as on Windows", "a: 1\r\nb:\r\n  c: 2\r\n", ("b", "c"), "c", "2"),
    Case("text in a block", "a: |\n  x\n  y\nb: 1", ("a",), "a", "|\n  x\n  y\n"),
    Case("an alias", "a: &x {b: 1}\nc: *x", ("c",), "c", "*x", elsewhere=True),
    Case("a member of what an alias names", "a: &x {b: 1}\nc: *x", ("c", "b"), "b", "1"),
    Case("a merge", "a: &x {b: 1}\nc: {<<: *x, d: 2}", ("c", "b"), "b", "1", elsewhere=True),
    Case("what is written wins over a merge", "a: &x {b: 1}\nc: {<<: *x, b: 2}", ("c", "b"), "b", "2"),
    Case("a merge after it wins", "a: &x {b: 1}\nc: {b: 2, <<: *x}", ("c", "b"), "b", "1", elsewhere=True),
    Case("an alias as a key", "a: &app web\nb:\n  *app : {c: 1}", ("b", "web", "c"), "c", "1"),
    Case("the key that is an alias", "a: &app web\nb:\n  *app : 2", ("b", "web"), "*app", "2"),
    Case("IPv6 in a list", "a: [fd00::, fe80::]", ("a", 1), None, "fe80::"),
    Case("of a key that stands twice, the last", "a: 1\na: 2", ("a",), "a", "2"),
    Case("of several merges the first wins", "x: {<<: [{a: 1}, {a: 2}]}", ("x", "a"), "a", "1", elsewhere=True),
    Case("JSON", '{\n\t"a": [{"b": "\\ud83d\\ude00"}, {"b": 2}]}', ("a", 1, "b"), '"b"', "2"),
    Case("JSON, an object", '{"a": [{"b": 1}]}', ("a", 0), None, '{"b": 1}'),
    Case("YAML that begins with a brace", "{a: {b: c}}", ("a", "b"), "b", "c"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_value_is_found(case):
    (root,) = spans(case.text, [case.path])
    found = root.spans_to(case.path)

    assert len(case.path) + 1 == len(found)
    key, span = found[-1].key, found[-1]
    assert case.key == (None if key is None else case.text[key.start : key.end])
    assert (case.value, case.elsewhere) == (case.text[span.start : span.end], span.elsewhere)


def test_what_has_a_tag_or_an_anchor_is_marked():
    names = "abcdef"
    text = "a: !!str x\nb: &b x\nc: x\nd: !!map {x: 1}\ne: &e [x]\nf: [x]\n"
    (root,) = spans(text, [(name,) for name in names])
    tag, anchor, neither = (True, False), (False, True), (False, False)

    assert [tag, anchor, neither] * 2 == [(root.members[name].tagged, root.members[name].anchored) for name in names]


def test_each_object_of_a_stream_of_json_has_a_root():
    text = '{"a": 1}\nnull\n{"b": 2}'

    assert [["a"], ["b"]] == [[*root.members] for root in spans(text, [()])]
    assert 2 == len(read_documents(text))


def test_what_is_absent_is_looked_for_in_vain_and_its_parent_found():
    (root,) = spans("a:\n  b: 1", [("a", "c", "d")])

    assert 2 == len(root.spans_to(("a", "c", "d")))


def test_only_what_is_asked_for_is_kept():
    (root,) = spans("a: {b: 1, c: 2}\nd: {e: 1}", [("a", "b")])

    assert (["a"], ["b"]) == (list(root.members), list(root.members["a"].members))


def test_each_document_has_a_root_and_empty_ones_have_none():
    text = "a: 1\n---\n---\n# x\n---\nb: 2\n"

    assert len(read_documents(text)) == len(spans(text, [()])) == 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


def paths_in(value, path=()):
    yield path, value
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in members:
        yield from paths_in(member, (*path, name))


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=3), st.sampled_from([None, 2, "\t"]))
def test_in_any_json_the_text_of_every_value_is_that_value(document, indent):
    text = json.dumps(document, indent=indent)
    (root,) = spans(text, [()])

    for path, value in paths_in(document):
        span = root.spans_to(path)[-1]
        assert value == json.loads(text[span.start : span.end])


MARK = re.compile(r"# mark(\d)")


def test_a_comment_is_told_from_text_that_looks_like_one():
    text = "a: 1 # mark1\nb: '# mark2'\nc: |\n  # mark3\nd: x# mark4\n# mark5\ne: \"x\n  # mark6\"\nf: {} # mark7"

    assert ["1", "5", "7"] == [match[1] for match in comments(text, MARK)]
