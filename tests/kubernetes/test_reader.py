"""Raw JSON is read as Go decodes it, and a value is shown in one short line."""

from __future__ import annotations

import pytest

from webhook.kubernetes.fields import path_text
from webhook.kubernetes.reader import Reader, brief, printable

READ = [
    ("integer", 5, 5),
    ("integer", 5.0, 5),
    ("integer", None, None),
    ("string", "x", "x"),
    ("string", None, None),
    ("strings", ["a", None], ("a", "")),
    ("strings", None, ()),
]


@pytest.mark.parametrize(("method", "value", "found"), READ, ids=str)
def test_what_has_the_right_type_is_read_without_an_error(method, value, found):
    reader = Reader()

    assert found == getattr(reader, method)(value, ("spec",), "field")
    assert [] == reader.errors


WRONG = [
    ("integer", 2**31, None, "spec.field", "must be a 32-bit integer"),
    ("integer", True, None, "spec.field", "must be a 32-bit integer"),
    ("integer", 1.5, None, "spec.field", "must be a 32-bit integer"),
    ("string", 5, None, "spec.field", "must be a string"),
    ("strings", "a", (), "spec.field", "must be an array"),
    ("strings", ["a", 5], ("a", ""), "spec.field[1]", "must be a string"),
]


@pytest.mark.parametrize(("method", "value", "found", "path", "detail"), WRONG, ids=str)
def test_a_wrong_type_is_noted_with_its_path(method, value, found, path, detail):
    reader = Reader()

    assert found == getattr(reader, method)(value, ("spec",), "field")
    assert [(path, detail)] == [(path_text(error.path), error.detail) for error in reader.errors]


def test_objects_and_arrays_are_read_with_their_paths():
    reader = Reader()

    assert {"a": "x", "b": ""} == reader.string_map({"a": "x", "b": None}, ("labels",))
    assert [({"a": 1}, ("list", 0)), ({}, ("list", 1))] == list(reader.mappings([{"a": 1}, None], ("list",)))
    assert ({}, []) == (reader.mapping("x", ("object",)), reader.array({}, ("array",)))
    assert ["object", "array"] == [path_text(error.path) for error in reader.errors]


SHOWN = [
    ("text", '"text"'),
    (None, "null"),
    (True, "true"),
    ({}, "{}"),
    ({"a": 1}, "an object"),
    (["a"], '["a"]'),
    ([1], "an array"),
    (2**200, "a very large number"),
    ("a\nb\x1b", '"a\\nb\\u001b"'),
    ("x" * 1000, f'"{"x" * 58}…'),
]


@pytest.mark.parametrize(("value", "text"), SHOWN, ids=[text[:20] for _, text in SHOWN])
def test_a_value_is_shown_in_one_short_line(value, text):
    assert text == brief(value)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("web é 世", "web é 世"),
        ("a\nb\x1b[31m", "a\\u000ab\\u001b[31m"),
        ("\u202e\u2028\ud800", "\\u202e\\u2028\\ud800"),
    ],
)
def test_what_is_not_printable_is_escaped(text, shown):
    assert shown == printable(text)
