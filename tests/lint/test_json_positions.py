"""In JSON every value that is wanted is found where it is written; what is not JSON is refused."""

from __future__ import annotations

import pytest

from evenkeel.lint.json_positions import root_spans
from evenkeel.lint.spans import ARRAY, OBJECT, SCALAR, wanted_of

TEXT = ' {"a": [1, {"b": "x\\"}"}], "c": null, "d": {}}\n'
FOUND = [
    ((), TEXT.strip(), None, OBJECT),
    (("a",), '[1, {"b": "x\\"}"}]', '"a"', ARRAY),
    (("a", 0), "1", None, SCALAR),
    (("a", 1, "b"), '"x\\"}"', '"b"', SCALAR),
    (("c",), "null", '"c"', SCALAR),
    (("d",), "{}", '"d"', OBJECT),
]


@pytest.mark.parametrize(("path", "value", "key", "shape"), FOUND, ids=str)
def test_a_value_is_found(path, value, key, shape):
    (root,) = root_spans(TEXT, wanted_of([path]))
    span = root.spans_to(path)[-1]

    assert (value, shape) == (TEXT[span.start : span.end], span.shape)
    assert key == (None if span.key is None else TEXT[span.key.start : span.key.end])


def test_each_value_of_a_stream_is_found():
    text = '{"a": 1}{"a": 2}\n null \n'

    assert ['{"a": 1}', '{"a": 2}', "null"] == [text[span.start : span.end] for span in root_spans(text, wanted_of([]))]


def test_only_what_is_wanted_is_kept():
    (root,) = root_spans(TEXT, wanted_of([("a", 1)]))

    assert (["a"], [1]) == ([*root.members], [*root.members["a"].members])
    assert ["b"] == [*root.members["a"].members[1].members]


NO_JSON = ["{", '{"a"}', '{"a": 1,}x', "{a: 1}", "[1 2]", "[1 22]", '{"a" 11}', "{} {", '{"a": }']


@pytest.mark.parametrize("text", NO_JSON)
def test_what_is_no_json_is_refused(text):
    with pytest.raises(ValueError):
        root_spans(text, wanted_of([()]))
