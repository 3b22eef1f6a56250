"""A place in a text, and which places of a document are wanted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

Path = tuple[str | int, ...]
OBJECT, ARRAY, SCALAR = "object", "array", "scalar"

Wanted = Mapping[str | int, "Wanted"]
EVERYTHING: Wanted = {}


class Key(NamedTuple):
    """A key of an object, and from where to where it is written."""

    name: str
    start: int
    end: int


@dataclass(slots=True)
class Span:
    """
    From where to where a value is written, counted in characters; `members` are those that were asked for.

    What an alias or a merge brings in stands `elsewhere`, and whoever changes it there changes more than this.
    """

    start: int
    end: int
    shape: str = SCALAR
    members: dict[str | int, Span] = field(default_factory=dict)
    key: Key | None = None
    flow: bool = True
    anchored: bool = False
    tagged: bool = False
    elsewhere: bool = False

    def at(self, path: Path) -> list[Span]:
        """The places on the way to `path`, from this one on; what is absent ends it."""
        way = [self]
        for part in path:
            if part not in way[-1].members:
                break
            way.append(way[-1].members[part])
        return way


def wanted_of(paths: Iterable[Path]) -> Wanted:
    """What lies along `paths`, by the names that come first; everything below what they lead to."""
    by_first: dict[str | int, list[Path]] = {}
    for path in paths:
        if not path:
            return EVERYTHING
        by_first.setdefault(path[0], []).append(path[1:])
    return {first: wanted_of(rest) for first, rest in by_first.items()}


def along(wanted: Wanted | None, name: str | int) -> Wanted | None:
    """What is wanted of the member `name`; None if nothing is, not even itself."""
    return wanted.get(name) if wanted else wanted
