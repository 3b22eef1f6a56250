"""
Where in a text each value stands: offsets, found from the parser's events and only along the paths that are asked for.

    text, {("spec", "replicas")} ──> Place(members={"spec": Place(members={"replicas": Place(start, end, key…)})})
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from re import Match, Pattern
from typing import cast

import yaml

from webhook.documents import json_positions
from webhook.documents.build import events
from webhook.documents.scalars import scalar_value
from webhook.documents.spans import ARRAY, EVERYTHING, OBJECT, Key, Path, Span, Wanted, along, wanted_of


def spans(text: str, paths: Iterable[Path]) -> tuple[Span, ...]:
    """
    The root of each document that `webhook.documents.read` finds in `text`, with what lies along `paths` and below.

    The text must be one that can be read, and have no byte order mark.
    """
    wanted = wanted_of(paths)
    if text.lstrip()[:1] == "{":
        try:
            return (json_positions.span(text, wanted),)
        except ValueError:
            pass  # YAML may begin with a brace, too
    return tuple(_documents(text, wanted))


def comments(text: str, pattern: Pattern[str]) -> Iterator[Match[str]]:
    """Each match of `pattern`, which begins with `#`, in a comment; YAML's parser tells what is none."""
    found = [match for match in pattern.finditer(text) if match.start() == 0 or text[match.start() - 1] in " \t\r\n"]
    if not found:
        return
    scalars = [_span(event) for event in events(text) if isinstance(event, yaml.ScalarEvent)]
    yield from (one for one in found if not any(start <= one.start() < end for start, end in scalars))


def _span(event: yaml.Event) -> tuple[int, int]:
    """From where to where it is written; every event of the parser has both marks."""
    start, end = cast(yaml.Mark, event.start_mark), cast(yaml.Mark, event.end_mark)
    return start.index, end.index


@dataclass(slots=True)
class _Open:
    """An object or array whose end has not come yet; `key` is None where a key is due."""

    place: Span
    wanted: Wanted | None
    key: Key | None = None
    merging: bool = False
    count: int = 0
    merged: list[Span] = field(default_factory=list)


def _documents(text: str, wanted: Wanted) -> Iterator[Span]:
    finder = _Finder(wanted)
    for event in events(text):
        if isinstance(event, yaml.ScalarEvent):
            finder.scalar(event)
        elif isinstance(event, yaml.CollectionStartEvent):
            finder.begin(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            finder.end(event)
        elif isinstance(event, yaml.AliasEvent):
            finder.alias(event)
        elif isinstance(event, yaml.DocumentEndEvent):
            if finder.root is not None:
                yield finder.root
            finder = _Finder(wanted)


class _Finder:
    """Finds the places of one document; `root` holds it when it ends, None if it is empty."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.stack: list[_Open] = []
        self.anchors: dict[str, Span] = {}
        self.root: Span | None = None
        self.written_to = 0  # the end of what was last written: a block's own end lies beyond its comments

    def scalar(self, event: yaml.ScalarEvent) -> None:
        start, end = _span(event)
        self.written_to = max(end, self.written_to)
        top = self.stack[-1] if self.stack else None
        if top is not None and top.place.shape == OBJECT and top.key is None:
            value = scalar_value(event)
            name = value if isinstance(value, str) else json.dumps(value)
            top.key, top.merging = Key(name, start, end), event.value == "<<" and event.implicit[0]
            return
        place = Span(start, end, tagged=event.tag is not None, anchored=event.anchor is not None)
        self._close(place, event.anchor)
        if not self.stack and scalar_value(event) is None:
            self.root = None

    def begin(self, event: yaml.CollectionStartEvent) -> None:
        start, _ = _span(event)
        place = Span(
            start,
            start,
            OBJECT if isinstance(event, yaml.MappingStartEvent) else ARRAY,
            flow=bool(event.flow_style),
            tagged=event.tag is not None,
            anchored=event.anchor is not None,
        )
        wanted = EVERYTHING if event.anchor is not None else self._wanted_here()
        self.stack.append(_Open(place, wanted))
        if event.anchor is not None:
            self.anchors[event.anchor] = place

    def end(self, event: yaml.CollectionEndEvent) -> None:
        done = self.stack.pop()
        done.place.end = self.written_to = _span(event)[1] if done.place.flow else self.written_to
        for one in done.merged:
            for name, member in one.members.items():
                done.place.members.setdefault(name, replace(member, elsewhere=True))
        self._close(done.place, None)

    def alias(self, event: yaml.AliasEvent) -> None:
        start, self.written_to = _span(event)
        named = self.anchors[cast(str, event.anchor)]
        self._close(replace(named, start=start, end=self.written_to, elsewhere=True), None)

    def _wanted_here(self) -> Wanted | None:
        if not self.stack:
            return self.wanted
        top = self.stack[-1]
        return EVERYTHING if top.merging else along(top.wanted, self._name(top))

    def _name(self, top: _Open) -> str | int:
        """The key, or the index, of the value that comes next."""
        return top.key.name if top.key is not None else top.count

    def _close(self, place: Span, anchor: str | None) -> None:
        if anchor is not None:
            self.anchors[anchor] = place
        if not self.stack:
            self.root = place
            return
        top = self.stack[-1]
        if top.merging:
            top.merged += [place] if place.shape == OBJECT else list(place.members.values())
        elif along(top.wanted, self._name(top)) is not None:
            top.place.members[self._name(top)] = replace(place, key=top.key)
        top.key, top.merging, top.count = None, False, top.count + 1
