"""Whatever a body holds, it is read as the json module reads it, and takes no more memory than is allowed."""

from __future__ import annotations

import json
import sys
import tracemalloc
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.properties.judging import fuzz
from webhook.admission.request import VALIDATE, AdmissionRequest
from webhook.kubernetes.kinds import KINDS
from webhook.server import wire

NUMBERS = (
    *map(str, (-(2**63) - 1, -(2**63), 2**63, 2**64 - 1, 2**64, 10**29)),
    *("9" * digits for digits in (3_999, 4_000, 4_299, 4_300, 4_301, 10_000)),
    *(["-0", "-0.0", "0e0", "1E+5", "1e400", "-1e400", "1e-400", "4.9e-324", "1.7976931348623159e308"]),
    "9" * 400 + ".5",
)
NEAR_NUMBERS = (
    "01",
    "1.",
    ".5",
    "+1",
    "--1",
    "0x1",
    "1_0",
    "1e",
    "-",
    "NaN",
    "-NaN",
    "Infinity",
    "-Infinity",
    "nan",
    "inf",
)
WORDS = ("true", "false", "null", "tru", "nulll", "None", "")
ESCAPED = (r"\ud800", r"\udc00\ud800", r"\ud83d\ude00", r"\uD83Dx", r"\ud83d\u0041", r"\u0000", r"\\u0041", r"\/\b\f")
ODD = (r"\x", r"\u12g4", r"\u12", "\\", "\t", "\n", "\0", "\x1f", "\x7f", "\u2028", "\ufeff", "\ud800", "é世😀", '"')
SPACES = st.sampled_from(("", "", "", " ", "\r\n\t", "\f", "\xa0"))

numbers = (
    st.sampled_from((*NUMBERS, *NEAR_NUMBERS))
    | st.integers().map(str)
    | st.floats().map(repr)
    | st.from_regex(r"-?[0-9]{1,25}(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)
)
strings = (
    st.text().map(json.dumps)
    | st.text().map(lambda text: json.dumps(text, ensure_ascii=False))
    | st.lists(st.sampled_from((*ESCAPED, *ODD, "a"))).map(lambda parts: f'"{"".join(parts)}"')
)
proper = st.text(st.characters(exclude_categories=["Cs"]))
keys = st.sampled_from(('"a"', '"b"', r'"\u0061"', '""', "a", "1")) | strings


def lists(values):
    return st.builds("{1}[{0}]{1}".format, st.lists(values).map(",".join), SPACES)


def objects(values):
    member = st.builds("{0}:{2}{1}".format, keys, values, SPACES)
    return st.builds("{1}{{{0}}}{1}".format, st.lists(member).map(",".join), SPACES)


texts = st.recursive(numbers | strings | st.sampled_from(WORDS), lambda values: lists(values) | objects(values))
deep = st.builds(
    lambda levels, unit, inside: unit[0] * levels + inside + unit[1] * levels,
    st.sampled_from((1, 500, 700, 1_100, 5_000)),
    st.sampled_from((("[", "]"), ('{"a":', "}"), ("[[],", "]"))),
    numbers | strings,
)


@st.composite
def damaged(draw):
    """A text that is cut, or in which something stands that does not belong there."""
    text = draw(texts | deep)
    cut = draw(st.integers(0, len(text)))
    return text[:cut] + draw(st.sampled_from(("", "", ",", "]", "}", ":", '"', "\\", "\x00", "\ufeff", "//", "\ud83d")))


def bodies():
    encoded = (texts | deep | damaged()).map(lambda text: text.encode("utf-8", "surrogatepass"))
    return encoded | encoded.map(b"\xef\xbb\xbf".__add__) | st.binary(max_size=20)


TOO_DEEP = ("RecursionError",)


def outcome(read, body):
    """The value as text, which tells 1 from 1.0 and keeps the order; or the error."""
    try:
        value = read(body)
    except RecursionError:
        return TOO_DEEP
    except ValueError as error:
        return type(error).__name__, str(error)
    return repr(value)


def as_json(body):
    """What json.loads makes of a body; a number of 4,000 digits or more is a float if it has one that int refuses."""
    text = body.decode("utf-8")
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        return json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < 4_000 else float(digits))


@fuzz
@given(bodies())
@example(b'{"a":1,"b":2,"a":3}')
@example(b'{"a":[NaN,1e400,' + b"9" * 5_000 + b',1E400],"\\ud800":"\\udfff"}')
def test_a_body_is_read_as_json_reads_it(body):
    """The same value, or the same error; what is nested too deep is found out before what else is wrong."""
    found, wanted = outcome(wire.parse, body), outcome(as_json, body)

    assert wanted == found or (found == TOO_DEEP and isinstance(wanted, tuple))


@fuzz
@given(bodies())
def test_a_large_body_is_read_as_json_reads_it_or_refused(body):
    """Refused where only json can read it, for json takes many times as much memory."""
    large = body + b" " * wire.RETRIED
    found = outcome(wire.parse, large)

    assert isinstance(found, tuple) or outcome(as_json, large) == found


values = st.recursive(st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | proper, st.lists)


@fuzz
@given(values, st.booleans())
def test_a_large_body_that_an_api_server_can_send_is_read(value, ascii_only):
    body = json.dumps({"x": value}, ensure_ascii=ascii_only).encode() + b" " * wire.RETRIED

    assert outcome(as_json, body) == outcome(wire.parse, body) == repr({"x": value})


@pytest.mark.parametrize("levels", [900, 1_100, 100_000, 5_000_000])
@pytest.mark.parametrize(("begin", "end"), [("[", "]"), ('{"a":', "}")])
def test_no_depth_is_more_than_an_error(levels, begin, end):
    try:
        wire.parse((begin * levels + "0" + end * levels).encode())
    except RecursionError:
        assert levels > 900


KIND = {
    "brackets": lambda n: b"[" + b"[]," * n + b"0]",
    "lists of one": lambda n: b"[" + b"[0]," * n + b"0]",
    "deep lists": lambda n: b"[" + (b"[" * 500 + b"]" * 500 + b",") * (n // 500) + b"0]",
    "objects": lambda n: b"[" + b'{"a":0},' * n + b"0]",
    "deep objects": lambda n: b"[" + (b'{"a":' * 500 + b"0" + b"}" * 500 + b",") * (n // 500) + b"0]",
    "numbers": lambda n: b"[" + b"300," * n + b"0]",
    "long numbers": lambda n: b"[" + b"9" * 38 + (b"," + b"9" * 38) * n + b"]",
    "floats": lambda n: b"[" + b"0.5," * n + b"0]",
    "short strings": lambda n: b"[" + b'"ab",' * n + b"0]",
    "short strings with an emoji": lambda n: b"[" + '"ab😀",'.encode() * n + b"0]",
    "keys": lambda n: b"{" + b",".join(b'"%d":0' % i for i in range(n)) + b"}",
    "keys with an emoji": lambda n: b"{" + b",".join(f'"{i}😀":"😀"'.encode() for i in range(n)) + b"}",
    "objects with a key of their own": lambda n: b"[" + b",".join(b'{"%d":"x"}' % i for i in range(n)) + b"]",
    "one string": lambda n: b'["' + b"x" * 50 * n + b'"]',
    "one string of escapes": lambda n: b'["' + b"\\n" * 50 * n + b'"]',
    "one string with an accent": lambda n: b'["' + b"x" * 50 * n + 'é"]'.encode(),
    "one string with an emoji": lambda n: b'["' + b"x" * 50 * n + '😀"]'.encode(),
    "one string that widens": lambda n: b'["' + b"x" * 50 * n + r'\né世😀"]'.encode(),
    "one string that is escaped": lambda n: b'["' + b"\\u003c" * 50 * n + '😀"]'.encode(),
    "escaped backslashes": lambda n: b'["' + b"\\\\u" * 50 * n + '😀"]'.encode(),
    "not UTF-8 at its end": lambda n: b'["' + b"x" * 50 * n + b'\xff"]',
}


@pytest.mark.parametrize("kind", KIND)
@pytest.mark.alone
def test_no_review_takes_more_memory_than_is_allowed(kind, monkeypatch):
    """The largest that is read, of what takes most."""
    monkeypatch.setattr(wire, "MOST_BYTES", wire.MOST_BYTES >> 4)
    monkeypatch.setattr(wire, "MOST_JSON_VALUES", wire.MOST_JSON_VALUES >> 4)
    sizes = [int(1_000 * 1.1**step) for step in range(80)]
    makes = KIND[kind]
    unread = next(at for at, size in enumerate(sizes) if wire._too_much(makes(size)))
    body = makes(sizes[unread - 1])
    tracemalloc.start()
    try:
        kept = parsed(body)
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    del kept

    assert taken < wire.MOST_BYTES


def parsed(body):
    with suppress(ValueError):
        return wire.parse(body)


def test_keys_that_never_come_again_leave_nothing_behind():
    """The parser remembers keys, but only some."""
    wire.parse(b"{}")
    tracemalloc.start()
    try:
        for turn in range(20):
            wire.parse(b"{" + b",".join(b'"key-%d-%d":0' % (turn, i) for i in range(10_000)) + b"}")
        left = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()

    assert left < 200_000


def test_a_review_that_only_json_can_read_is_answered_under_its_uid_at_any_size():
    review = b'{"request":{"uid":"r1"},"x":%b' + b" " * wire.RETRIED + b"}"
    unread = AdmissionRequest("r1", VALIDATE, unread="a number that is too large to be read")

    assert unread == wire.read(review % b"1e400", VALIDATE, KINDS)
    assert unread == wire.read(review % (b"9" * sys.get_int_max_str_digits() + b"9"), VALIDATE, KINDS)
    for odd in (b"NaN", rb'"\ud800"', b'"\xff"', b"["):
        assert "r1" == wire.read(review % odd, VALIDATE, KINDS).uid
