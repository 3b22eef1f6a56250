"""
What a JSON schema does not allow, in lines that a person can act on.

    raw JSON, schema ──jsonschema──> `path: found …, wanted …`
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from webhook.kubernetes.fields import FieldPath, as_mapping, path_text
from webhook.kubernetes.likeness import MEANT, meant
from webhook.kubernetes.reader import brief

if TYPE_CHECKING:
    from jsonschema import ValidationError

Schema = Mapping[str, object]
Hint = Callable[[object, Collection[object]], str]
MOST_KEYS_NAMED = 40  # If more are allowed, it has up to three suggestions, and the schema's description for the list.


def object_schema(required: tuple[str, ...] = (), /, **properties: Schema) -> dict[str, object]:
    """Make the schema of an object with these fields and no others."""
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def no_hint(_value: object, _allowed: Collection[object]) -> str:
    """Add nothing."""
    return ""


def complaints(
    raw: object,
    against: Schema,
    path: FieldPath = (),
    *,
    forms: Mapping[object, str] | None = None,
    hint: Hint = no_hint,
) -> Iterator[str]:
    """
    Yield a line for each thing in `raw`, the value at `path`, that the schema does not allow.

    `forms` has words for each `pattern` of the schema; `hint` adds to the message on a value that is not in an enum.
    """
    import jsonschema  # The import takes long, and most commands need no policy file.

    errors = jsonschema.Draft202012Validator(against).iter_errors(raw)
    lines = (
        line
        for error in sorted(errors, key=lambda error: [str(part) for part in error.absolute_path])
        for line in _reasons(error, (*path, *error.absolute_path), forms or {}, hint)
    )
    yield from dict.fromkeys(lines)  # without duplicates


def _reasons(error: ValidationError, path: FieldPath, forms: Mapping[object, str], hint: Hint) -> Iterator[str]:
    where = f"{_shown(path)}: " if path else ""
    wanted: Any = error.validator_value
    value: Any = error.instance
    if error.validator == "additionalProperties":
        fields = list(as_mapping(as_mapping(error.schema)["properties"]))
        for name in sorted(set(map(str, value)) - set(fields)):
            advice = meant(name, fields) or f"; known are {', '.join(fields)}"
            yield f"{_shown((*path, name))}: unknown field{advice}"
    elif error.validator == "required":
        missing = sorted(set(wanted) - set(value))
        yield f"{where}must have {', '.join(missing)}"
    elif error.validator == "const" and wanted is False:  # The description says why only false is allowed.
        yield f"{where}found {brief(value)}, wanted false: {as_mapping(error.schema)['description']}"
    elif error.validator in ("enum", "const"):
        allowed = wanted if isinstance(wanted, list) else [wanted]
        names = as_mapping(error.schema)["description"] if len(allowed) > MOST_KEYS_NAMED else " or ".join(allowed)
        yield f"{where}found {brief(value)}, wanted {names}{hint(value, allowed) or _near(value, allowed)}"
    elif error.validator == "type":
        yield f"{where}found {brief(value)}, wanted {_article(wanted)}"
    elif error.validator == "pattern":
        yield f"{where}found {brief(value)}, wanted {forms[wanted]}"
    elif error.validator == "minimum":
        yield f"{where}found {brief(value)}, wanted {wanted} or more"
    elif error.validator == "maximum":
        yield f"{where}found {brief(value)}, wanted {wanted} or less"
    elif error.validator in ("minItems", "minProperties"):
        yield f"{where}found {brief(value)}, wanted {_some_of(as_mapping(error.schema))}"
    elif error.validator == "minLength":
        yield f"{where}found {brief(value)}, wanted a string that is not empty"
    elif error.validator == "maxLength":
        yield f"{where}found {len(value)} characters, wanted at most {wanted}"
    else:
        yield f"{where}found {brief(value)}, wanted {error.validator} {wanted}"


def _near(value: object, allowed: Collection[object]) -> str:
    """Return `; did you mean …?` with the allowed values that are most like a text; "" if none is like it."""
    if not isinstance(value, str):
        return ""
    if len(allowed) <= MOST_KEYS_NAMED:
        return meant(value, map(str, allowed))
    near = get_close_matches(value[:100], map(str, allowed), 3, 0.5)
    return f"{MEANT}{' or '.join(near)}?" if near else ""


def _shown(path: FieldPath) -> str:
    """Return a path with its names cut and escaped as `brief` does it: they may be anything that YAML can hold."""
    return path_text(tuple(part if isinstance(part, int) else _escaped(part) for part in path))


def _escaped(name: str) -> str:
    return brief(name).removeprefix('"').removesuffix('"')


def _some_of(wanted: Schema) -> str:
    """Say what an empty object or array should have."""
    fields = as_mapping(wanted.get("properties"))
    return f"{' or '.join(fields)} in it" if fields else str(wanted.get("description", "at least one item"))


def _article(names: str | list[str]) -> str:
    if isinstance(names, list):
        return " or ".join(map(_article, names))
    return f"an {names}" if names[0] in "aeiou" else f"a {names}"
