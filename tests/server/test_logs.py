"""A log line is one JSON object, short and in ASCII, whatever is in it; and only what may need a person is one."""

from __future__ import annotations

import json
import logging
import sys
from typing import NamedTuple

import pytest

from tests.support.admission_reviews import review
from webhook.server.logs import JsonLines, log


@pytest.mark.parametrize(
    "value", ["x" * 5_000_000, float("nan"), 10**4_000, json.loads("[" * 700 + "]" * 700)], ids=type
)
def test_whatever_is_in_a_field_a_line_stays_a_short_one(server, value):
    """And the answer is that of the review."""
    asked = review()
    asked["request"] |= {"uid": "field", "namespace": value, "name": value, "operation": "CREATE"}
    status, response = server.review("/validate", asked)
    line = server.log_file.read_text("utf-8").splitlines()[-1]

    assert (200, "field", False) == (status, response["uid"], response["allowed"])
    assert len(line) < 5_000
    assert "field" == json.loads(line, parse_constant=int)["uid"]
    assert 0 == server.metric("evenkeel_panics_total")


class Field(NamedTuple):
    """What a line holds of a value."""

    name: str
    value: object
    held: object


FIELDS = [
    Field("a text", "shop", "shop"),
    Field("a text as long as may be", "x" * 1_000, "x" * 1_000),
    Field("a longer one is cut", "x" * 1_001, "x" * 999 + "…"),
    Field("what would end the line or colour it", "\n\x1b[31m\u2028", "\n\x1b[31m\u2028"),
    Field("a list of texts", ["a", "b"], ["a", "b"]),
    Field("a longer list is cut", ["a"] * 101, ["a"] * 100),
    Field("texts in a list are cut, too", ["x" * 1_001], ["x" * 999 + "…"]),
    Field("a list of anything else", [1], "an array"),
    Field("a number", 1.5, 1.5),
    Field("the largest integer", 2**63 - 1, 2**63 - 1),
    Field("false is no number to leave out", False, False),
]


@pytest.mark.parametrize("case", FIELDS, ids=lambda case: case.name)
def test_what_a_line_holds_of_a_value(case, lines):
    log(logging.INFO, "told", value=case.value)

    (written,) = lines()
    line = json.loads(written)
    assert written.isascii() and written.isprintable()
    assert ("told", "info", case.held) == (line["message"], line["level"], line["value"])


@pytest.mark.parametrize(
    "value", [2**64, float("nan"), {"a": [{}] * 10_000}, [None]], ids=["long", "nan", "deep", "null"]
)
def test_what_no_line_can_hold_is_told_as_a_short_text(value, lines):
    log(logging.INFO, "told", value=value)

    (line,) = map(json.loads, lines())
    assert isinstance(line["value"], str)
    assert len(line["value"]) <= 1_000


def test_a_field_that_is_none_is_left_out(lines):
    log(logging.INFO, "told", uid=None, code=0)

    (line,) = map(json.loads, lines())
    assert {"time", "level", "message", "code"} == line.keys()
    assert line["time"].endswith("+00:00")


def test_an_exception_is_one_line():
    try:
        raise ValueError("a\nb")
    except ValueError:
        record = logging.LogRecord("evenkeel", logging.ERROR, "", 1, "it failed: %s", ("x",), sys.exc_info())
    line = JsonLines().format(record)

    assert 1 == len(line.splitlines())
    assert "it failed: x" == json.loads(line)["message"]
    assert "ValueError: a\nb" in json.loads(line)["exception"]


def test_below_its_level_nothing_is_written(lines):
    logging.getLogger("evenkeel").setLevel(logging.INFO)
    log(logging.DEBUG, "told")

    assert [] == lines()
