"""Where a value is written in a text, and which of the values of a document are wanted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from webhook.kubernetes.fields import FieldPath

OBJECT, ARRAY, SCALAR = "object", "array", "scalar"

Wanted = Mapping[str | int, "Wanted"]  # by key or index
EVERY_KEY: Wanted = {}  # everything below


class KeySpan(NamedTuple):
    """A key of an object; offsets in characters, `end` is the first beyond it."""

    name: str
    start: int
    end: int


@dataclass(slots=True)
class Span:
    """Where a value is written: offsets in characters, `end` is the first beyond it."""

    start: int
    end: int
    shape: str = SCALAR
    members: dict[str | int, Span] = field(default_factory=dict)  # those that were asked for, by key or index
    key: KeySpan | None = None
    flow: bool = True  # False for a collection in block style
    anchored: bool = False
    tagged: bool = False
    elsewhere: bool = False  # an alias or a merge brings it in: to change its text changes other values, too

    def spans_to(self, path: FieldPath) -> list[Span]:
        """Return this span, then one for each part of `path`; the list ends early where a member is absent."""
        spans = [self]
        for part in path:
            if part not in spans[-1].members:
                break
            spans.append(spans[-1].members[part])
        return spans


def wanted_of(paths: Iterable[FieldPath]) -> Wanted:
    """Return the members on `paths`, and everything below the end of each path."""
    by_first: dict[str | int, list[FieldPath]] = {}
    for path in paths:
        if not path:
            return EVERY_KEY
        by_first.setdefault(path[0], []).append(path[1:])
    return {first: wanted_of(rest) for first, rest in by_first.items()}


def wanted_below(wanted: Wanted | None, name: str | int) -> Wanted | None:
    """Return the wanted paths below the member `name`; None if the member itself is not wanted."""
    return wanted.get(name) if wanted else wanted
