"""Field paths and field errors, as k8s.io/apimachinery has them, and the values at a path of raw JSON."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

FieldPath = tuple[str | int, ...]
Raw = Mapping[str, object]  # a JSON object, as the API server sends it
IntOrPercent = int | str  # a number, or a percentage such as `25%`
INVALID = "FieldValueInvalid"
REQUIRED = "FieldValueRequired"
DUPLICATE = "FieldValueDuplicate"
FORBIDDEN = "FieldValueForbidden"
NOT_SUPPORTED = "FieldValueNotSupported"
TYPE_INVALID = "FieldValueTypeInvalid"
_PERCENT = re.compile("[0-9]{1,9}%")


class FieldError(NamedTuple):
    """One reason for a rejection."""

    type: str  # one of the names above, which are Kubernetes' own
    path: FieldPath
    value: object  # what was found at the path
    detail: str


def path_text(path: FieldPath) -> str:
    """Print `("spec", "sets", 0, "name")` as `spec.sets[0].name`."""
    text = ""
    for part in path:
        if isinstance(part, int) or part == "*":
            text += f"[{part}]"
        elif part == "{*}":
            text += part
        else:
            text += f".{part}" if text else part
    return text


def as_mapping(value: object) -> Mapping[str, object]:
    """Return `value`, or an empty object if it is something else."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """Return `value`, or an empty array if it is something else."""
    return value if isinstance(value, list) else []


def value_at(value: object, path: FieldPath) -> object:
    """Return the value at `path` in raw JSON, or None if there is none."""
    for part in path:
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return None
    return value


def mappings_at(value: object, *paths: FieldPath) -> list[Mapping[str, object]]:
    """Return the JSON object at each of the paths, or an empty one if the value there is something else."""
    return [as_mapping(value_at(value, path)) for path in paths]


def as_text(value: object) -> str:
    """Return `value`, or "" if it is not a string."""
    return value if isinstance(value, str) else ""


def texts_at(value: object, *paths: str) -> list[str]:
    """Return the JSON string at each path, such as `metadata.name`, or "" if the value there is something else."""
    texts = []
    for path in paths:
        member = value
        for name in _names(path):
            member = member.get(name) if isinstance(member, dict) else None
        texts.append(member if isinstance(member, str) else "")
    return texts


@cache
def _names(path: str) -> Sequence[str]:
    return path.split(".")


def pointer_parts(pointer: str) -> list[str]:
    """Return the names in a JSON pointer: `/a~1b/c` has `a/b` and `c`."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def integer(value: object) -> int | None:
    """Return the integer that kubectl sends for a value, None for anything else: it sends YAML's 3.0 as 3."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def int_or_percent(value: object) -> IntOrPercent | None:
    """Return a number, or a percentage such as `25%`; None for anything else."""
    if isinstance(value, str):
        return value if _PERCENT.fullmatch(value) else None
    return integer(value)


def scaled(value: IntOrPercent, total: int, *, up: bool) -> int:
    """
    Return a number, or so many percent of `total`, rounded up or down.

    upstream: intstr.go:GetScaledValueFromIntOrPercent (v1.37)
    """
    if isinstance(value, int):
        return max(0, value)
    product = total * int(value[:-1])
    return -(-product // 100) if up else product // 100  # `-(-a // b)` rounds up


def with_value(value: object, path: FieldPath, new: object) -> object:
    """
    Return a copy of `value` with `new` at `path`; everything off the path is shared with `value`, not copied.

    Missing objects on the path are added; an index beyond the end of an array raises IndexError.
    """
    if not path:
        return new
    part, rest = path[0], path[1:]
    if isinstance(part, int):
        items = [*as_list(value)]
        items[part] = with_value(items[part], rest, new)
        return items
    members = as_mapping(value)
    return {**members, part: with_value(members.get(part), rest, new)}


def texts_within(value: object) -> Iterator[str]:
    """Yield every string in raw JSON: the names of fields, and the values."""
    unvisited = [value]
    while unvisited:
        value = unvisited.pop()
        if isinstance(value, str):
            yield value
        unvisited += children(value)
        if isinstance(value, dict):
            unvisited += value.keys()


def children(value: object) -> Collection[object]:
    """Return the values in a JSON object or array; any other value has none."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
