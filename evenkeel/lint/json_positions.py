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
    scanner, roots, at = _Scanner(text), list[Span](), skip_space(text, 0)
    while at < len(text):
        roots.append(scanner.value(at, wanted))
        at = skip_space(text, roots[-1].end)
    return tuple(roots)


class _Scanner:
    """Recurses twice for each level; `read_documents` has refused text that is nested too deep."""

    def __init__(self, text: str) -> None:
        self.text = text

    def value(self, at: int, wanted: Wanted | None, key: KeySpan | None = None) -> Span:
        first = self.text[at : at + 1]
        if first in ("{", "["):
            return self._collection(at, wanted, key, OBJECT if first == "{" else ARRAY)
        if first == '"':
            return Span(at, _JSON_STRING(self.text, at)[1], key=key)
        scalar = _JSON_SCALAR.match(self.text, at)
        if scalar is None:
            raise ValueError(f"no value at {at}")
        return Span(at, scalar.end(), key=key)

    def _collection(self, start: int, wanted: Wanted | None, key: KeySpan | None, shape: str) -> Span:
        span, count, closing = Span(start, start, shape, key=key), 0, "}" if shape == OBJECT else "]"
        at = skip_space(self.text, start + 1)
        while self.text[at : at + 1] != closing:
            if count:
                at = self._past(",", at)
            inner = self._key(at) if shape == OBJECT else None
            name = count if inner is None else inner.name
            at = at if inner is None else self._past(":", skip_space(self.text, inner.end))
            below = wanted_below(wanted, name)
            member = self.value(at, below, inner)
            if below is not None:
                span.members[name] = member
            at, count = skip_space(self.text, member.end), count + 1
        span.end = at + 1
        return span

    def _key(self, at: int) -> KeySpan:
        if self.text[at : at + 1] != '"':
            raise ValueError(f"no key at {at}")
        name, end = _JSON_STRING(self.text, at)
        return KeySpan(name, at, end)

    def _past(self, char: str, at: int) -> int:
        if self.text[at : at + 1] != char:
            raise ValueError(f"no {char} at {at}")
        return skip_space(self.text, at + 1)
