"""Field paths and field errors, as k8s.io/apimachinery has them, and the values at a path of raw JSON."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

FieldPath = tuple[str | int, ...]
INVALID = "FieldValueInvalid"
REQUIRED = "FieldValueRequired"
DUPLICATE = "FieldValueDuplicate"
FORBIDDEN = "FieldValueForbidden"
NOT_SUPPORTED = "FieldValueNotSupported"
TYPE_INVALID = "FieldValueTypeInvalid"


@dataclass(frozen=True, slots=True)
class FieldError:
    """One reason for a rejection: `type` as Kubernetes names it, `value` as it was found at `path`."""

    type: str
    path: FieldPath
    value: object
    detail: str


def path_text(path: FieldPath) -> str:
    """`("spec", "sets", 0, "name")` as `spec.sets[0].name`."""
    text = ""
    for part in path:
        if isinstance(part, int) or part == "*":
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def as_mapping(value: object) -> Mapping[str, object]:
    """The JSON object, or an empty one if the value is something else."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """The JSON array, or an empty one if the value is something else."""
    return value if isinstance(value, list) else []


def text_of(value: object) -> str:
    """The JSON string, or an empty one if the value is something else."""
    return value if isinstance(value, str) else ""


def value_at(value: object, path: FieldPath) -> object:
    """The value at `path` in raw JSON, or None if there is none."""
    for part in path:
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return None
    return value


def mappings_at(value: object, *paths: FieldPath) -> list[Mapping[str, object]]:
    """The JSON object at each of the paths, or an empty one if the value there is something else."""
    return [found if isinstance(found := value_at(value, path), dict) else {} for path in paths]


def texts_in(value: Mapping[str, object], *names: str) -> list[str]:
    """The JSON string in each field of an object, or an empty one if the value there is something else."""
    return [text if isinstance(text := value.get(name), str) else "" for name in names]


def children(value: object) -> Collection[object]:
    """The values in a JSON object or array; any other value has none."""
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
