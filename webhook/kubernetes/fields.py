"""Field paths and field errors, as k8s.io/apimachinery has them, and the values at a path of raw JSON."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

FieldPath = tuple[str | int, ...]
Raw = Mapping[str, object]  # A JSON object, as the API server sends it.
IntOrPercent = int | str  # A percentage is a text such as `25%`.
INVALID = "FieldValueInvalid"
REQUIRED = "FieldValueRequired"
DUPLICATE = "FieldValueDuplicate"
FORBIDDEN = "FieldValueForbidden"
NOT_SUPPORTED = "FieldValueNotSupported"
TYPE_INVALID = "FieldValueTypeInvalid"
_PERCENT = re.compile("[0-9]{1,9}%")


class FieldError(NamedTuple):
    """One reason for a rejection: `type` as Kubernetes names it, `value` as it was found at `path`."""

    type: str
    path: FieldPath
    value: object
    detail: str


def path_text(path: FieldPath) -> str:
    """Return `("spec", "sets", 0, "name")` as `spec.sets[0].name`."""
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
    """Return the JSON object, or an empty one if the value is something else."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """Return the JSON array, or an empty one if the value is something else."""
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
    return [member if isinstance(member := value_at(value, path), dict) else {} for path in paths]


def as_text(value: object) -> str:
    """Return a JSON string, or "" for anything else."""
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
    """Return the names in a JSON pointer."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def integer(value: object) -> int | None:
    """Return the integer that kubectl sends for a value, None if it is none: YAML's 3.0 becomes 3 on the way."""
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
    return -(-product // 100) if up else product // 100


def with_value(value: object, path: FieldPath, new: object) -> object:
    """
    Return a copy of `value` with `new` at `path`; what lies beside the path is shared, not copied.

    An object that is missing on the way is made; an index beyond the end of an array raises IndexError.
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
    """Yield every text in raw JSON: the names and the values."""
    left = [value]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        left += children(value)
        left += value if isinstance(value, dict) else ()


def children(value: object) -> Collection[object]:
    """Return the values in a JSON object or array; any other value has none."""
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
