"""
JSON values built from the parser's events, without recursion.

PyYAML's composer recurses on the C stack, once for each level of nesting: hostile text would crash the process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import yaml

from webhook.kubernetes.fields import FieldPath
from webhook.kubernetes.scalars import TAG, Repeated, error_at, key_text, scalar_value
from webhook.kubernetes.yaml_events import received

DEEPEST = 400  # levels; code that walks through a document makes two nested calls a level, and Python allows 1,000
NESTED_TOO_DEEP = f"nested more than {DEEPEST} levels deep"
MOST_ALIASED = 1_000_000  # the sum of weights that aliases may expand to: see `_weight`
MOST_REPEATED = 100  # duplicate keys that are collected; the next one is an error
_OBJECT_TAGS = frozenset({"map", "set", "omap"})
_ARRAY_TAGS = frozenset({"seq", "omap", "pairs"})


def build(text: str, repeated: list[Repeated] | None = None) -> Iterator[object]:
    """
    Yield the value of each document in YAML text; DocumentError or yaml.YAMLError if it cannot be read.

    A duplicate key is added to `repeated`, and its last value counts; without such a list it is an error.
    """
    index = 0  # of the next document, empty ones not counted

    def next_builder() -> _Builder:
        return _Builder(index, repeated)

    for builder in received(text, next_builder):
        if builder.finished is not None:
            index += 1
        yield builder.finished


@dataclass(slots=True)
class _OpenValue:
    """An object or array that is not complete yet."""

    value: dict[str, object] | list[object]
    anchor: str | None
    key: str | None = None  # the key whose value comes next; None where the next scalar is a key
    merged: set[str] | None = None  # keys whose values came from a merge (`<<`)
    merging: bool = False  # whether `key` is `<<`
    weight: int = 1
    height: int = 1


class _Anchored(NamedTuple):
    """The value that an anchor names."""

    value: object
    weight: int  # what an alias of it adds towards MOST_ALIASED
    height: int  # levels of nesting in it; 0 for a scalar


class _Builder:
    """Builds one document from its events."""

    def __init__(self, index: int, repeated: list[Repeated] | None) -> None:
        self.index, self.repeated = index, repeated
        self.stack: list[_OpenValue] = []
        self.anchors: dict[str, _Anchored | None] = {}  # None while the value is not complete
        self.aliased = 0  # the weight of all aliases so far
        self.finished: object = None  # the document's value, once it is complete

    def scalar(self, event: yaml.ScalarEvent) -> None:
        top = self.stack[-1] if self.stack else None
        if top is not None and isinstance(top.value, dict) and top.key is None:
            self._key(top, event)
            return
        value, weight = scalar_value(event), _weight(event)
        if event.anchor is not None:
            self.anchors[event.anchor] = _Anchored(value, weight, 0)
        self._add(value, weight, 0, event)

    def _key(self, top: _OpenValue, event: yaml.ScalarEvent) -> None:
        top.merging = event.value == "<<" and event.implicit[0]  # A quoted "<<" is a key like any other.
        value = scalar_value(event)
        if event.anchor is not None:
            self.anchors[event.anchor] = _Anchored(value, _weight(event), 0)
        top.key = value if isinstance(value, str) else key_text(value, event.start_mark)
        if top.key in top.value and not top.merging:
            self._duplicate_key(top, top.key, event)

    def _duplicate_key(self, top: _OpenValue, key: str, event: yaml.Event) -> None:
        """Collect or refuse a duplicate key; one that came from a merge may be written again."""
        if top.merged is not None and key in top.merged:
            return
        error = error_at(event.start_mark, f'duplicate key "{key[:100]}"')
        if self.repeated is None or len(self.repeated) >= MOST_REPEATED:
            raise error
        self.repeated.append(Repeated(self.index, (*self._path(), key), error))

    def _path(self) -> FieldPath:
        """Return the path of the innermost open object or array: a part for each one around it."""
        outer = self.stack[:-1]
        return tuple([len(level.value) if isinstance(level.value, list) else cast(str, level.key) for level in outer])

    def begin(self, event: yaml.CollectionStartEvent) -> None:
        if len(self.stack) >= DEEPEST:
            raise error_at(event.start_mark, NESTED_TOO_DEEP)
        if self._at_key():
            raise error_at(event.start_mark, "a key must be a string")
        fitting_tags = _OBJECT_TAGS if isinstance(event, yaml.MappingStartEvent) else _ARRAY_TAGS
        if event.tag is not None and event.tag.startswith(TAG) and event.tag.removeprefix(TAG) not in fitting_tags:
            raise error_at(event.start_mark, f"cannot be {event.tag.replace(TAG, '!!')}")
        if event.anchor is not None:
            self.anchors[event.anchor] = None  # An alias to it before its end is an error.
        self.stack.append(_OpenValue({} if isinstance(event, yaml.MappingStartEvent) else [], event.anchor))

    def end(self, event: yaml.CollectionEndEvent) -> None:
        closed = self.stack.pop()
        if closed.anchor is not None:
            self.anchors[closed.anchor] = _Anchored(closed.value, closed.weight, closed.height)
        self._add(closed.value, closed.weight, closed.height, event)

    def alias(self, event: yaml.AliasEvent) -> None:
        if event.anchor not in self.anchors:
            raise error_at(event.start_mark, f"found undefined alias {event.anchor}")
        anchored = self.anchors[event.anchor]
        if anchored is None:
            raise error_at(event.start_mark, f"alias {event.anchor} refers to a value that contains it")
        if self._at_key():
            top = self.stack[-1]
            top.key = key_text(anchored.value, event.start_mark)
            if top.key in top.value:
                self._duplicate_key(top, top.key, event)
            return
        self.aliased += anchored.weight
        if self.aliased > MOST_ALIASED or anchored.height + len(self.stack) > DEEPEST:
            raise error_at(event.start_mark, "aliases expand to too many values or levels")
        self._add(anchored.value, anchored.weight, anchored.height, event)

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
        Merge objects into the open one, as kubectl does.

        Of several sources with the same key the first counts, and replaces what was written before the merge.
        """
        top.merging = False
        if top.merged is None:
            top.merged = set()
        for source in reversed(sources):
            top.merged.update(key for key in source if key not in into)
            into.update(source)

    def _mergeable(self, value: object, event: yaml.Event) -> list[Mapping[str, object]]:
        objects: list[Mapping[str, object]] = value if isinstance(value, list) else [cast(dict[str, object], value)]
        if not all(isinstance(source, dict) for source in objects):
            raise error_at(event.start_mark, "<< must name an object, or an array of objects")
        self.aliased += sum(map(len, objects))  # A merge copies the members, as an alias alone does not.
        return objects


def _weight(event: yaml.ScalarEvent) -> int:
    """Return what a scalar counts towards MOST_ALIASED: 1, and 1 more for every 64 characters."""
    return 1 + len(event.value) // 64
