"""
JSON values built from the parser's events.

PyYAML's composer recurses on the C stack, once for each level of nesting: hostile text would end the process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import yaml

from webhook.kubernetes.fields import FieldPath
from webhook.kubernetes.scalars import TAG, Repeated, error_at, key_text, scalar_value
from webhook.kubernetes.yaml_events import received

DEEPEST = 400  # What walks through a document calls itself twice a level, and Python allows 1,000 calls.
NESTED_TOO_DEEP = f"nested more than {DEEPEST} levels deep"
MOST_ALIASED = 1_000_000  # what aliases may expand to: a value counts 1, and 1 more for every 64 characters
MOST_REPEATED = 100  # that are noted
_OBJECT_TAGS = frozenset({"map", "set", "omap"})
_ARRAY_TAGS = frozenset({"seq", "omap", "pairs"})


def build(text: str, repeated: list[Repeated] | None = None) -> Iterator[object]:
    """
    Yield the value of each document in YAML text; DocumentError or yaml.YAMLError if it cannot be read.

    A key that stands twice is added to `repeated`, and its last value kept; without such a list it is an error.
    """
    documents = 0

    def next_builder() -> _Builder:
        return _Builder(documents, repeated)

    for builder in received(text, next_builder):
        documents += builder.finished is not None
        yield builder.finished


@dataclass(slots=True)
class _OpenValue:
    """
    An object or array that is not complete yet; `key` is None where the next scalar is a key.

    `merged` are the keys whose values a merge brought.
    """

    value: dict[str, object] | list[object]
    anchor: str | None
    key: str | None = None
    merged: set[str] | None = None
    merging: bool = False
    weight: int = 1
    height: int = 1


class _Anchored(NamedTuple):
    """The value that an anchor names, how much it counts for MOST_ALIASED, and how many levels it nests."""

    value: object
    weight: int
    height: int


class _Builder:
    """Builds one document from its events; `finished` is its value after the last."""

    def __init__(self, number: int, repeated: list[Repeated] | None) -> None:
        self.number, self.repeated = number, repeated
        self.stack: list[_OpenValue] = []
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

    def _key(self, top: _OpenValue, event: yaml.ScalarEvent) -> None:
        top.merging = event.value == "<<" and event.implicit[0]
        value = scalar_value(event)
        if event.anchor is not None:
            self.anchors[event.anchor] = _Anchored(value, 1 + len(event.value) // 64, 0)
        top.key = value if isinstance(value, str) else key_text(value, event.start_mark)
        if top.key in top.value and not top.merging:
            self._twice(top, top.key, event)

    def _twice(self, top: _OpenValue, key: str, event: yaml.Event) -> None:
        """Refuse a key that is there already; one that a merge brought may be written again."""
        if top.merged is not None and key in top.merged:
            return
        error = error_at(event.start_mark, f'duplicate key "{key[:100]}"')
        if self.repeated is None or len(self.repeated) >= MOST_REPEATED:
            raise error
        self.repeated.append(Repeated(self.number, (*self._path(), key), error))

    def _path(self) -> FieldPath:
        """Return the path of the object or array that is open."""
        above = self.stack[:-1]
        return tuple([len(level.value) if isinstance(level.value, list) else cast(str, level.key) for level in above])

    def begin(self, event: yaml.CollectionStartEvent) -> None:
        if len(self.stack) >= DEEPEST:
            raise error_at(event.start_mark, NESTED_TOO_DEEP)
        if self._at_key():
            raise error_at(event.start_mark, "a key must be a string")
        own = _OBJECT_TAGS if isinstance(event, yaml.MappingStartEvent) else _ARRAY_TAGS
        if event.tag is not None and event.tag.startswith(TAG) and event.tag.removeprefix(TAG) not in own:
            raise error_at(event.start_mark, f"cannot be {event.tag.replace(TAG, '!!')}")
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        self.stack.append(_OpenValue({} if isinstance(event, yaml.MappingStartEvent) else [], event.anchor))

    def end(self, event: yaml.CollectionEndEvent) -> None:
        done = self.stack.pop()
        if done.anchor is not None:
            self.anchors[done.anchor] = _Anchored(done.value, done.weight, done.height)
        self._add(done.value, done.weight, done.height, event)

    def alias(self, event: yaml.AliasEvent) -> None:
        if event.anchor not in self.anchors:
            raise error_at(event.start_mark, f"found undefined alias {event.anchor}")
        named = self.anchors[event.anchor]
        if named is None:
            raise error_at(event.start_mark, f"alias {event.anchor} refers to a value that contains it")
        if self._at_key():
            top = self.stack[-1]
            top.key = key_text(named.value, event.start_mark)
            if top.key in top.value:
                self._twice(top, top.key, event)
            return
        self.aliased += named.weight
        if self.aliased > MOST_ALIASED or named.height + len(self.stack) > DEEPEST:
            raise error_at(event.start_mark, "aliases expand to too many values or levels")
        self._add(named.value, named.weight, named.height, event)

    def _at_key(self) -> bool:
        """Return whether the next value is a key."""
        return bool(self.stack) and isinstance(self.stack[-1].value, dict) and self.stack[-1].key is None

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
            self._merge(top, top.value, self._mergeable(value, event))
        elif top.key is not None:
            top.value[top.key] = value
            if top.merged is not None:
                top.merged.discard(top.key)
        top.key = None

    def _merge(self, top: _OpenValue, into: dict[str, object], sources: Sequence[Mapping[str, object]]) -> None:
        """
        Merge objects into this one, as kubectl does: of a key that several have the first counts, and it replaces an
        earlier one.
        """
        top.merging, top.merged = False, set() if top.merged is None else top.merged
        for source in reversed(sources):
            top.merged.update(key for key in source if key not in into)
            into.update(source)

    def _mergeable(self, value: object, event: yaml.Event) -> list[Mapping[str, object]]:
        objects: list[Mapping[str, object]] = value if isinstance(value, list) else [cast(dict[str, object], value)]
        if not all(isinstance(source, dict) for source in objects):
            raise error_at(event.start_mark, "<< must name an object, or an array of objects")
        self.aliased += sum(map(len, objects))
        return objects
