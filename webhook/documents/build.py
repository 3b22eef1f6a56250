"""
JSON values built from the parser's events.

PyYAML's composer recurses on the C stack, once for each level of nesting: hostile text would end the process.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

import yaml

from webhook.documents.events import received
from webhook.documents.scalars import TAG, error_at, scalar_value

DEEPEST = 500
TOO_DEEP = f"nested more than {DEEPEST} levels deep"
MOST_ALIASED = 1_000_000  # what aliases may expand to: a value counts 1, and 1 more for every 64 characters
_OBJECT_TAGS = frozenset({"map", "set", "omap"})
_ARRAY_TAGS = frozenset({"seq", "omap", "pairs"})


def build(text: str) -> Iterator[object]:
    """The value of each document in YAML text; DocumentError or yaml.YAMLError if it cannot be read."""
    for builder in received(text, _Builder):
        yield builder.finished


@dataclass(slots=True)
class _Open:
    """An object or array that is not complete yet; `key` is None where the next scalar is a key."""

    value: dict[str, object] | list[object]
    anchor: str | None
    key: str | None = None
    merged: tuple[Mapping[str, object], ...] = ()
    merging: bool = False
    weight: int = 1
    height: int = 1


@dataclass(frozen=True, slots=True)
class _Anchored:
    """The value that an anchor names, how much it counts for MOST_ALIASED, and how many levels it nests."""

    value: object
    weight: int
    height: int


class _Builder:
    """Builds one document from its events; `finished` is its value after the last."""

    def __init__(self) -> None:
        self.stack: list[_Open] = []
        self.anchors: dict[str, _Anchored | None] = {}
        self.aliased = 0
        self.finished: object = None

    def scalar(self, event: yaml.ScalarEvent) -> None:
        top = self.stack[-1] if self.stack else None
        if top is not None and isinstance(top.value, dict) and top.key is None:
            self._key(top, event)
            return
        value, weight = scalar_value(event), 1 + len(event.value) // 64
        if event.anchor is not None:
            self.anchors[event.anchor] = _Anchored(value, weight, 0)
        self._add(value, weight, 0, event)

    def _key(self, top: _Open, event: yaml.ScalarEvent) -> None:
        top.merging = event.value == "<<" and event.implicit[0]
        value = scalar_value(event)
        top.key = value if isinstance(value, str) else json.dumps(value)
        if top.key in top.value and not top.merging:
            raise error_at(event.start_mark, f'duplicate key "{top.key}"')
        if event.anchor is not None:
            self.anchors[event.anchor] = _Anchored(top.key, 1, 0)

    def begin(self, event: yaml.CollectionStartEvent) -> None:
        if len(self.stack) >= DEEPEST:
            raise error_at(event.start_mark, TOO_DEEP)
        self._refuse_as_key(event)
        own = _OBJECT_TAGS if isinstance(event, yaml.MappingStartEvent) else _ARRAY_TAGS
        if event.tag is not None and event.tag.startswith(TAG) and event.tag.removeprefix(TAG) not in own:
            raise error_at(event.start_mark, f"cannot be {event.tag.replace(TAG, '!!')}")
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        self.stack.append(_Open({} if isinstance(event, yaml.MappingStartEvent) else [], event.anchor))

    def end(self, event: yaml.CollectionEndEvent) -> None:
        done = self.stack.pop()
        if done.merged and isinstance(done.value, dict):
            done.value = {**_first(done.merged), **done.value}
        if done.anchor is not None:
            self.anchors[done.anchor] = _Anchored(done.value, done.weight, done.height)
        self._add(done.value, done.weight, done.height, event)

    def alias(self, event: yaml.AliasEvent) -> None:
        if event.anchor not in self.anchors:
            raise error_at(event.start_mark, f"found undefined alias {event.anchor}")
        named = self.anchors[event.anchor]
        if named is None:
            raise error_at(event.start_mark, f"alias {event.anchor} refers to a value that contains it")
        self._refuse_as_key(event)
        self.aliased += named.weight
        if self.aliased > MOST_ALIASED or named.height + len(self.stack) > DEEPEST:
            raise error_at(event.start_mark, "aliases expand to too many values or levels")
        self._add(named.value, named.weight, named.height, event)

    def _refuse_as_key(self, event: yaml.Event) -> None:
        if self.stack and isinstance(self.stack[-1].value, dict) and self.stack[-1].key is None:
            raise error_at(event.start_mark, "a key must be a string")

    def _add(self, value: object, weight: int, height: int, event: yaml.Event) -> None:
        if not self.stack:
            self.finished = value
            return
        top = self.stack[-1]
        top.weight += weight
        if height >= top.height:
            top.height = height + 1
        if isinstance(top.value, list):
            top.value.append(value)
            return
        if top.merging:
            top.merged += tuple(self._mergeable(value, event))
            top.merging = False
        elif top.key is not None:
            top.value[top.key] = value
        top.key = None

    def _mergeable(self, value: object, event: yaml.Event) -> list[Mapping[str, object]]:
        found: list[Mapping[str, object]] = value if isinstance(value, list) else [cast(dict[str, object], value)]
        if not all(isinstance(source, dict) for source in found):
            raise error_at(event.start_mark, "<< must name an object, or an array of objects")
        self.aliased += sum(map(len, found))
        return found


def _first(merged: Iterable[Mapping[str, object]]) -> dict[str, object]:
    """The members of several objects; of a key that several have, the value in the first."""
    found: dict[str, object] = {}
    for source in merged:
        for key, value in source.items():
            found.setdefault(key, value)
    return found
