"""Where values are written in JSON text."""

from __future__ import annotations

import re
from json import JSONDecoder

from webhook.documents.spans import ARRAY, OBJECT, Key, Span, Wanted, wanted_below

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = JSONDecoder().raw_decode
_SCALAR = re.compile(r"[-+.0-9A-Za-z]+")


def root_span(text: str, wanted: Wanted) -> Span:
    """The span of the root of `text`, with the members that are `wanted`; ValueError if it is not JSON."""
    found = _Scanner(text).value(_skip(text, 0), wanted)
    if _skip(text, found.end) != len(text):
        raise ValueError("more than one value")
    return found


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


class _Scanner:
    """Recurses once for each level; `read_documents` has refused text that is nested too deep."""

    def __init__(self, text: str) -> None:
        self.text = text

    def value(self, at: int, wanted: Wanted | None, key: Key | None = None) -> Span:
        first = self.text[at : at + 1]
        if first in ("{", "["):
            return self._collection(at, wanted, key, OBJECT if first == "{" else ARRAY)
        if first == '"':
            return Span(at, _STRING(self.text, at)[1], key=key)
        found = _SCALAR.match(self.text, at)
        if found is None:
            raise ValueError(f"no value at {at}")
        return Span(at, found.end(), key=key)

    def _collection(self, start: int, wanted: Wanted | None, key: Key | None, shape: str) -> Span:
        found, count, closing = Span(start, start, shape, key=key), 0, "}" if shape == OBJECT else "]"
        at = _skip(self.text, start + 1)
        while self.text[at : at + 1] != closing:
            if count:
                at = self._past(",", at)
            inner = self._key(at) if shape == OBJECT else None
            name = count if inner is None else inner.name
            at = at if inner is None else self._past(":", _skip(self.text, inner.end))
            below = wanted_below(wanted, name)
            member = self.value(at, below, inner)
            if below is not None:
                found.members[name] = member
            at, count = _skip(self.text, member.end), count + 1
        found.end = at + 1
        return found

    def _key(self, at: int) -> Key:
        if self.text[at : at + 1] != '"':
            raise ValueError(f"no key at {at}")
        name, end = _STRING(self.text, at)
        return Key(name, at, end)

    def _past(self, char: str, at: int) -> int:
        if self.text[at : at + 1] != char:
            raise ValueError(f"no {char} at {at}")
        return _skip(self.text, at + 1)
