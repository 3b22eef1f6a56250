"""
Where values are written in a text, found from the parser's events and only along the paths that are asked for.

    text, {("spec", "replicas")} ──> Span(members={"spec": Span(members={"replicas": Span(start, end, key…)})})
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from re import Match, Pattern
from typing import cast

import yaml

from evenkeel.lint import json_positions
from evenkeel.lint.spans import ARRAY, EVERY_KEY, OBJECT, KeySpan, Span, Wanted, wanted_below, wanted_of
from webhook.kubernetes.fields import FieldPath
from webhook.kubernetes.scalars import key_text, scalar_value
from webhook.kubernetes.yaml_events import events, received


def spans(text: str, paths: Iterable[FieldPath]) -> tuple[Span, ...]:
    """
    Return the span of the root of each document that `read_documents` finds in `text`, with members along `paths`.

    `read_documents` must have read the text without an error; a byte order mark must have been cut off.
    """
    wanted = wanted_of(paths)
    if text.lstrip()[:1] == "{":
        try:
            roots = json_positions.root_spans(text, wanted)
            return tuple(root for root in roots if not text.startswith("null", root.start))
        except ValueError:
            pass  # YAML may begin with a brace, too
    finders = received(text, lambda: _PositionFinder(wanted))
    return tuple(finder.root for finder in finders if finder.root is not None)


def comments(text: str, pattern: Pattern[str]) -> Iterator[Match[str]]:
    """Yield each match of `pattern`, which begins with `#`, in a comment of `text`, not in a scalar."""
    candidates = [
        match for match in pattern.finditer(text) if match.start() == 0 or text[match.start() - 1] in " \t\r\n"
    ]
    if not candidates:
        return
    scalars = [_extent(event) for event in events(text) if isinstance(event, yaml.ScalarEvent)]
    yield from (match for match in candidates if not any(start <= match.start() < end for start, end in scalars))


def _extent(event: yaml.Event) -> tuple[int, int]:
    """Return the start and end of an event, in characters; the parser sets both marks of every event."""
    start, end = cast(yaml.Mark, event.start_mark), cast(yaml.Mark, event.end_mark)
    return start.index, end.index


@dataclass(slots=True)
class _OpenNode:
    """An object or array that is not complete yet."""

    span: Span
    wanted: Wanted | None
    key: KeySpan | None = None  # of the value that comes next; None in an object where a key comes next
    merging: bool = False  # the key is a merge, <<
    count: int = 0  # values so far


class _PositionFinder:
    """Finds the spans of one document from the events of the parser."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.stack: list[_OpenNode] = []
        self.anchors: dict[str, Span] = {}
        self.keys: dict[str, object] = {}  # the values of the scalars that have an anchor
        self.root: Span | None = None  # known after the last event; None if the document is empty
        self.written_to = 0  # the end of the last scalar; the parser ends a block only after its comments

    def scalar(self, event: yaml.ScalarEvent) -> None:
        start, end = _extent(event)
        self.written_to = max(end, self.written_to)
        top = self.stack[-1] if self.stack else None
        if event.anchor is not None:
            self.keys[event.anchor] = scalar_value(event)
        if top is not None and top.span.shape == OBJECT and top.key is None:
            name = key_text(scalar_value(event), event.start_mark)
            top.key, top.merging = KeySpan(name, start, end), event.value == "<<" and event.implicit[0]
            if event.anchor is not None:
                self.anchors[event.anchor] = Span(start, end)
            return
        span = Span(start, end, tagged=event.tag is not None, anchored=event.anchor is not None)
        self._close(span, event.anchor)
        if not self.stack and scalar_value(event) is None:
            self.root = None

    def begin(self, event: yaml.CollectionStartEvent) -> None:
        start, _ = _extent(event)
        span = Span(
            start,
            start,
            OBJECT if isinstance(event, yaml.MappingStartEvent) else ARRAY,
            flow=bool(event.flow_style),
            tagged=event.tag is not None,
            anchored=event.anchor is not None,
        )
        # An alias further down may want any member of an anchored value.
        wanted = EVERY_KEY if event.anchor is not None else self._wanted_here()
        self.stack.append(_OpenNode(span, wanted))
        if event.anchor is not None:
            self.anchors[event.anchor] = span

    def end(self, event: yaml.CollectionEndEvent) -> None:
        node = self.stack.pop()
        if node.span.flow:
            self.written_to = _extent(event)[1]
        node.span.end = self.written_to
        self._close(node.span, None)

    def alias(self, event: yaml.AliasEvent) -> None:
        start, self.written_to = _extent(event)
        top = self.stack[-1] if self.stack else None
        if top is not None and top.span.shape == OBJECT and top.key is None:
            top.key = KeySpan(key_text(self.keys[cast(str, event.anchor)], event.start_mark), start, self.written_to)
            return
        anchored = self.anchors[cast(str, event.anchor)]
        self._close(replace(anchored, start=start, end=self.written_to, elsewhere=True), None)

    def _wanted_here(self) -> Wanted | None:
        if not self.stack:
            return self.wanted
        top = self.stack[-1]
        return EVERY_KEY if top.merging else wanted_below(top.wanted, self._name(top))

    def _name(self, top: _OpenNode) -> str | int:
        """Return the key, or the index, of the value that comes next."""
        return top.key.name if top.key is not None else top.count

    def _close(self, span: Span, anchor: str | None) -> None:
        if anchor is not None:
            self.anchors[anchor] = span
        if not self.stack:
            self.root = span
            return
        top = self.stack[-1]
        if top.merging:
            sources = [span] if span.shape == OBJECT else list(span.members.values())
            for source in reversed(sources):  # so that the first one wins
                top.span.members |= {name: replace(member, elsewhere=True) for name, member in source.members.items()}
        elif wanted_below(top.wanted, self._name(top)) is not None:
            top.span.members[self._name(top)] = replace(span, key=top.key)
        top.key, top.merging, top.count = None, False, top.count + 1
