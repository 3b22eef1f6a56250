"""Changes to an input, drawn from a generator of random numbers: to a JSON value within it, or to its bytes."""

from __future__ import annotations

import json
from contextlib import suppress
from random import Random
from typing import Any

from tests.support.strategies import LABEL_KEYS, TOKENS, TOPOLOGY_KEYS

DEEP = "deep"  # Stands for a value that is nested deeper than the json module writes.
LEVELS = (10, 100, 300, 480, 500, 900, 950, *range(960, 1_004, 4), 1_100, 5_000)
NESTING = (("[", "]"), ('{"a":', "}"), ("[null,", "]"), ('{"template":', "}"), ('{"matchLabels":', "}"))
HOSTILE: tuple[Any, ...] = (
    *[DEEP] * 6,
    *(None, True, False, 0, 1, -1, 2**31, -(2**63), 2**64, 10**400, 0.5, 1e308, "", "a", "1", "\ud800", "\x00", "a\nb"),
    *("\u202e\u2028\x85\x1b[31m", "x" * 64, "x" * 300, "é" * 5_000, [], {}, [None], [[]], [{}], {"": None}, {"a": 1}),
    *(["a", 1], [{}] * 101, [""] * 300, dict.fromkeys(map(str, range(300)), ""), "true", "null", "Honor", "In", "9e9"),
    *(*LABEL_KEYS, *TOPOLOGY_KEYS),
)
NUMBERS = ("1e400", "NaN", "-0", "1e-400", "9" * 5_000, "Infinity", "0.1e1")
WORDS = (*TOKENS, *NUMBERS, '"', "\\", "\\ud800", "\\u0000", " ", ":", ",", "\r\n", "\r\n\r\n", "0\r\n\r\n", "HTTP/1.1")
BYTES = (
    *(word.encode("utf-8", "surrogatepass") for word in WORDS),
    *(b"\xff", b"\xed\xa0\x80", b"\x1f\x8b\x08", b"Transfer-Encoding: chunked\r\n", b"Content-Length: 5\r\n"),
)


def changed(given: bytes, other: bytes, random: Random) -> bytes:
    """`given` with something else in it, perhaps from `other`; its first line, a number, stays a number."""
    head, _, body = given.partition(b"\n")
    if random.random() < 0.1:
        head = b"%d" % random.randrange(1 << 20)
    if random.random() < 0.6 and (text := _within(body, random)) is not None:
        return head + b"\n" + text
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        body = _bytes(body, other.partition(b"\n")[2], random)
    return head + b"\n" + body


def _within(body: bytes, random: Random) -> bytes | None:
    """The body with its JSON changed; of several lines of JSON one of them."""
    lines = body.split(b"\n")
    at = random.randrange(len(lines))
    with suppress(ValueError, RecursionError):
        value = json.loads(lines[at])
        for _ in range(random.choice((1, 1, 2, 3))):
            value = damaged(value, random)
        text = json.dumps(value, ensure_ascii=random.random() < 0.7).replace(f'"{DEEP}"', _nested(random))
        lines[at] = text.encode("utf-8", "surrogatepass")
        return b"\n".join(lines)
    return None


def _nested(random: Random) -> str:
    (begin, end), levels = random.choice(NESTING), random.choice(LEVELS)
    return begin * levels + random.choice(("1", "null", '"x"', "{}")) + end * levels


def damaged(value: Any, random: Random) -> Any:
    """A JSON value with one thing replaced, dropped, doubled or renamed; what lies beside the way there is shared."""
    if not isinstance(value, dict | list) or not value or random.random() < 0.05:
        return random.choice(HOSTILE)
    at = random.choice(tuple(value)) if isinstance(value, dict) else random.randrange(len(value))
    changed = value.copy()
    if isinstance(value[at], dict | list) and random.random() < 0.9:
        changed[at] = damaged(value[at], random)
        return changed
    match random.randrange(4):
        case 0:
            del changed[at]
        case 1 if isinstance(value, list):
            changed.insert(at, random.choice(value))
        case 1:
            changed[random.choice((*map(str, value), "metadata", "spec", "name", ""))] = value[at]
        case _:
            changed[at] = random.choice(HOSTILE)
    return changed


def _bytes(body: bytes, other: bytes, random: Random) -> bytes:
    start = random.randint(0, len(body))
    end = min(len(body), start + random.choice((0, 0, 1, 4, 16, 200)))
    match random.randrange(5):
        case 0:
            return body[:start] + body[end:]
        case 1:
            return body[:end] + body[start:]
        case 2:
            return body[:start] + other[random.randint(0, len(other)) :][: random.choice((4, 40, 4_000))] + body[end:]
        case 3:
            return body[:start] + bytes(random.randrange(256) for _ in range(end - start)) + body[end:]
        case _:
            return body[:start] + random.choice(BYTES) + body[end:]
