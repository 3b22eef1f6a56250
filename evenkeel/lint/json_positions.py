"""Where values are written in JSON text."""

from __future__ import annotations

import re
from json import JSONDecoder

from evenkeel.lint.spans import ARRAY, OBJECT, KeySpan, Span, Wanted, wanted_below
from webhook.kubernetes.scalars import skip_space

_JSON_STRING = JSONDecoder().raw_decode
_JSON_SCALAR = re.compile(r"[-+.0-9A-Za-z]+")


def root_spans(text: str, wanted: Wanted) -> tuple[Span, ...]:
    """Return the span of each value in `text`, with the members that are `wanted`; ValueError if it is not JSON."""
    scanner, roots, offset = _Scanner(text), list[Span](), skip_space(text, 0)
    while offset < len(text):
        roots.append(scanner.value(offset, wanted))
        offset = skip_space(text, roots[-1].end)
    return tuple(roots)


class _Scanner:
    """Recurses twice for each level; `read_documents` has refused text that is nested too deep."""

    def __init__(self, text: str) -> None:
        self.text = text

    def value(self, offset: int, wanted: Wanted | None, key: KeySpan | None = None) -> Span:
        first = self.text[offset : offset + 1]
        if first in ("{", "["):
            return self._collection(offset, wanted, key, OBJECT if first == "{" else ARRAY)
        if first == '"':
            return Span(offset, _JSON_STRING(self.text, offset)[1], key=key)
        scalar = _JSON_SCALAR.match(self.text, offset)
        if scalar is None:
            raise ValueError(f"no value at {offset}")
        return Span(offset, scalar.end(), key=key)

    def _collection(self, start: int, wanted: Wanted | None, key: KeySpan | None, shape: str) -> Span:
        span, count, closing = Span(start, start, shape, key=key), 0, "}" if shape == OBJECT else "]"
        offset = skip_space(self.text, start + 1)
        while self.text[offset : offset + 1] != closing:
            if count:
                offset = self._past(",", offset)
            member_key: KeySpan | None = None
            name: str | int = count
            if shape == OBJECT:
                member_key = self._key(offset)
                name = member_key.name
                offset = self._past(":", skip_space(self.text, member_key.end))
            below = wanted_below(wanted, name)
            member = self.value(offset, below, member_key)
            if below is not None:
                span.members[name] = member
            offset, count = skip_space(self.text, member.end), count + 1
        span.end = offset + 1
        return span

    def _key(self, offset: int) -> KeySpan:
        if self.text[offset : offset + 1] != '"':
            raise ValueError(f"no key at {offset}")
        name, end = _JSON_STRING(self.text, offset)
        return KeySpan(name, offset, end)

    def _past(self, char: str, offset: int) -> int:
        if self.text[offset : offset + 1] != char:
            raise ValueError(f"no {char} at {offset}")
        return skip_space(self.text, offset + 1)
