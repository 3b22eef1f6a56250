"""Scalars in YAML as kubectl reads them (sigs.k8s.io/yaml): numbers, booleans, null, strings; and the errors."""

from __future__ import annotations

import re
from math import isfinite
from typing import NamedTuple, Protocol, Self

import yaml

from webhook.kubernetes.reader import printable


class Mark(Protocol):
    """A position of the parser."""

    @property
    def index(self) -> int: ...


LONGEST_QUOTED = 100  # characters of a line
TAG = "tag:yaml.org,2002:"  # what `!!` stands for
_TEXT_TAGS = frozenset({"str", "binary", "timestamp", "merge", "value"})
_TYPES = {"int": (int,), "float": (int, float), "bool": (bool,), "null": (type(None),)}  # by tag
_YAML_INTEGER = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPACE = re.compile(r"[ \t\r\n]*")
_SIGNS = ("+", "-", ".")
# Plain scalars that are not strings, as YAML 1.1 has them: `y` or `Y`; `yes`, `Yes` or `YES`; `null`.
_WORDS: dict[str, object] = {
    **{spelt: value for word, value in (("y", True), ("n", False)) for spelt in (word, word.upper())},
    **{
        spelt: value
        for value, words in ((True, ("yes", "true", "on")), (False, ("no", "false", "off")))
        for word in words
        for spelt in (word, word.capitalize(), word.upper())
    },
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
}


class DocumentError(ValueError):
    """
    Text that is neither YAML nor JSON, or that no API server accepts; `index` is the offset of the fault in it.

    The message is one line, even if it quotes text that has several; as a string, the error also has its place.
    """

    def __init__(self, message: str, index: int | None = None, place: str = "", quoted: str = "") -> None:
        self.message = message = printable(message)
        self.index = index
        super().__init__(f"{place}{message}{f'; the line is {quoted}' if quoted else ''}")

    def quoting(self, text: str) -> Self:
        """
        Return the error with its place, if it is known, in the text: lines and columns count from 1.

        Lines are those of an editor: to YAML, U+2028 ends one, too.
        """
        if self.index is None:
            return self
        start = text.rfind("\n", 0, self.index) + 1
        number, column = text.count("\n", 0, start) + 1, self.index - start + 1
        line, _, _ = text[max(start, self.index - LONGEST_QUOTED // 2) :].partition("\n")
        quoted = printable(line.strip()[:LONGEST_QUOTED])
        return type(self)(self.message, self.index, f"line {number}, column {column}: ", quoted)


class SyntaxFault(DocumentError):
    """Text that is neither YAML nor JSON."""


class Repeated(NamedTuple):
    """A duplicate key of an object; kubectl takes the last of its values."""

    document: int | None  # from 0, empty documents not counted; None if the place of the key is not known
    path: tuple[str | int, ...]  # of the key in the document; () if its place is not known
    error: DocumentError


def resolve(text: str) -> object:
    """Return the value of a plain scalar; an integer beyond 64 bits and a date are read as kubectl reads them."""
    if text in _WORDS:
        return _WORDS[text]
    if not text or text[0] not in "-+.0123456789":
        return text
    digits = text.replace("_", "")
    if _YAML_INTEGER.fullmatch(digits) and len(digits) < 70:  # 64 bits in binary, with sign and prefix, are 67 digits.
        value = _integer(digits)
        if -(2**63) <= value < 2**64:
            return value
    if _FLOAT.fullmatch(digits) and isfinite(float(digits)):
        return float(digits)
    return text


def _integer(digits: str) -> int:
    unsigned = digits.lstrip("-+")
    octal = len(unsigned) > 1 and unsigned[0] == "0" and unsigned[1].isdigit()
    value = int(unsigned, 8 if octal else 0)  # Base 0 goes by the prefix, as `0x`, but refuses `017`.
    return -value if digits[0] == "-" else value


def scalar_value(event: yaml.ScalarEvent) -> object:
    """
    Return the value of a plain, quoted or tagged scalar.

    DocumentError if JSON cannot express the value, or the tag does not fit it.
    """
    if event.implicit[0]:  # plain
        if event.value[:1] in _SIGNS and event.value.lower().lstrip("+-") in (".nan", ".inf"):
            raise error_at(event.start_mark, f"{event.value} is no number that JSON has")
        return resolve(event.value)
    if event.tag is None or not event.tag.startswith(TAG) or event.tag.removeprefix(TAG) in _TEXT_TAGS:
        return event.value
    value = resolve(event.value)
    if type(value) not in _TYPES.get(event.tag.removeprefix(TAG), ()):
        raise error_at(event.start_mark, f'"{event.value[:40]}" cannot be {event.tag.replace(TAG, "!!")}')
    return value


def key_text(value: object, mark: Mark | None) -> str:
    """Return a key as text: JSON's keys are strings, so numbers and booleans are printed; DocumentError for others."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):  # A float in the precision of sigs.k8s.io/yaml, which prints a float32.
        return f"{value:.7g}" if isinstance(value, float) else str(value)
    raise error_at(mark, "a key must be a string")


def skip_space(text: str, start: int) -> int:
    """Return the offset of the first character from `start` on that is no white space of JSON."""
    space = _SPACE.match(text, start)
    return space.end() if space else start


def error_at(mark: Mark | None, message: str) -> DocumentError:
    return DocumentError(message, mark.index if mark is not None else None)
