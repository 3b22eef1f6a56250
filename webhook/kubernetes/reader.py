"""Raw JSON, read as Go decodes it into an API type: a field of a wrong type is an error with its path."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from webhook.kubernetes.fields import TYPE_INVALID, FieldError, FieldPath, integer

_plain = json.JSONEncoder(ensure_ascii=False).encode


class Reader:
    """
    Reads values, and collects in `errors` one for each that has the wrong type.  Null reads as absent.

    The path of a value is `path` followed by `field`.  They come apart, since only an error, which is rare, joins them.
    """

    def __init__(self) -> None:
        self.errors: list[FieldError] = []

    def integer(self, value: object, path: FieldPath, *field: str | int) -> int | None:
        """Return an int32, or None if it is null, has a wrong type or is out of range."""
        if value is None:
            return None
        number = integer(value)
        if number is not None and -(2**31) <= number < 2**31:
            return number
        self._wrong(value, (*path, *field), "a 32-bit integer")
        return None

    def string(self, value: object, path: FieldPath, *field: str | int) -> str | None:
        """Return a string, or None if it is null or has a wrong type."""
        if value is None or isinstance(value, str):
            return value
        self._wrong(value, (*path, *field), "a string")
        return None

    def strings(self, value: object, path: FieldPath, *field: str | int) -> tuple[str, ...]:
        """Return an array of strings; a null element is ""."""
        if value is None:
            return ()
        items = self.array(value, (*path, *field))
        return tuple(
            [
                text if isinstance(text, str) else self.string(text, path, *field, i) or ""
                for i, text in enumerate(items)
            ]
        )

    def string_map(self, value: object, path: FieldPath) -> Mapping[str, str]:
        """Return an object whose values are strings; a null value is ""."""
        return {key: self.string(item, path, key) or "" for key, item in self.mapping(value, path).items()}

    def mappings(self, value: object, path: FieldPath) -> Iterator[tuple[Mapping[str, object], FieldPath]]:
        """Yield each object of an array, with its path; a null element is an empty object."""
        for i, item in enumerate(self.array(value, path)):
            item_path = (*path, i)
            yield self.mapping(item, item_path), item_path

    def mapping(self, value: object, path: FieldPath) -> Mapping[str, object]:
        """Return an object, or an empty one if it is null or has a wrong type."""
        if isinstance(value, dict):
            return value
        if value is not None:
            self._wrong(value, path, "an object")
        return {}

    def array(self, value: object, path: FieldPath) -> list[object]:
        """Return an array, or an empty one if it is null or has a wrong type."""
        if isinstance(value, list):
            return value
        if value is not None:
            self._wrong(value, path, "an array")
        return []

    def _wrong(self, value: object, path: FieldPath, wanted: str) -> None:
        self.errors.append(FieldError(TYPE_INVALID, path, value, f"must be {wanted}"))


def brief(value: object, limit: int = 60) -> str:
    """
    Return a value as JSON in one line of at most `limit` characters, cut at the end.

    An object that is not empty, an array of anything but strings, and a very large number are only named.
    """
    # Long values are cut before they are encoded: a value from a request may have megabytes.
    if isinstance(value, str):
        value = value[: limit + 1]
    elif isinstance(value, dict):
        return "an object" if value else "{}"
    elif isinstance(value, list) and not all(isinstance(item, str) for item in value[:20]):
        return "an array"
    elif isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 128:
        return "a very large number"
    elif isinstance(value, list):
        value = [item[: limit + 1] for item in value[:20]]
    text = _plain(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def printable(text: str) -> str:
    """Return `text` with unprintable characters escaped, so that it ends no line and controls no terminal."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(char: str) -> str:
    return char if char.isprintable() else f"\\u{ord(char):04x}"
