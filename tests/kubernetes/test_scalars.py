"""A scalar is read as kubectl reads it: measured on sigs.k8s.io/yaml v1.6.0."""

from __future__ import annotations

import pytest

from tests.support.documents import Case, assert_read, assert_refused

SCALARS = [
    Case("a key that is no string", "1: a\ntrue: b\n1.5: c", [{"1": "a", "true": "b", "1.5": "c"}]),
    Case("a date", "a: 2024-01-01\nb: 2024-01-01T00:00:00Z", [{"a": "2024-01-01", "b": "2024-01-01T00:00:00Z"}]),
    Case("a date as a key", "2024-01-01: a", [{"2024-01-01": "a"}]),
    Case("a bare off", "a: off\nb: 'off'", [{"a": False, "b": "off"}]),
    Case("numbers with a point", "a: 1.0\nb: .5", [{"a": 1.0, "b": 0.5}]),
    Case("a time of day is no number of seconds", "a: 12:30:45", [{"a": "12:30:45"}]),
    Case("an equals sign", "a: =", [{"a": "="}]),
    Case("words for true", "[y, Yes, on, TRUE]", [[True, True, True, True]]),
    Case("words for false", "[N, no, Off, false]", [[False, False, False, False]]),
    Case("words that are text", "[nO, yep, 'no', Nil]", [["nO", "yep", "no", "Nil"]]),
    Case("words for nothing", "[~, null, Null, ]", [[None, None, None]]),
    Case("numbers to another base", "[017, 0o17, 0x1F, 0b11, 1_000, -0x1]", [[15, 15, 31, 3, 1000, -1]]),
    Case("the ends of 64 bits", f"[{-(2**63)}, {2**64 - 1}]", [[-(2**63), 2**64 - 1]]),
    Case("a number beyond 64 bits", "a: 18446744073709551616", [{"a": 18446744073709551616.0}]),
    Case("tags that make text", "[!!str 1, !!timestamp 2024-01-01]", [["1", "2024-01-01"]]),
    Case("an exponent without a point", "a: 1e3", [{"a": 1000.0}]),
    Case("digits that make no number", f"a: {'9' * 400}", [{"a": "9" * 400}]),
]


@pytest.mark.parametrize("case", SCALARS, ids=lambda case: case.name)
def test_a_scalar_is_read(case):
    assert_read(case)


REFUSED = [
    Case("a number that JSON does not have, in YAML", "a: .inf", ""),
    Case("a word called a whole number", "a: !!int x", ""),
    Case("nothing called a whole number", "a: !!int ''", ""),
    Case("nothing called a number", "a: !!float ''", ""),
    Case("a word called true or false", "a: !!bool x", ""),
    Case("a text of two lines called a list", '!!omap "a\\nb"', r'line 1, column 1: "a\u000ab" cannot be !!omap'),
    Case("a tag with a line end", "!!%0Ax 1", r'line 1, column 1: "1" cannot be !!\u000ax'),
    Case("a key of two lines twice", '"a\\nb": 1\n"a\\nb": 2', r'line 2, column 1: duplicate key "a\u000ab"'),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_text_is_refused_in_one_line_that_says_where(case):
    assert_refused(case)
