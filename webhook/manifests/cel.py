"""Pieces of CEL, as text: literals, steps of paths, and selectors."""

from __future__ import annotations

import json
import re

from webhook.kubernetes.fields import FieldPath
from webhook.spread.selectors import DOES_NOT_EXIST, EXISTS, NOT_IN, Requirement, Selector

IDENTIFIER = re.compile("[A-Za-z_][A-Za-z0-9_]*")
# The keywords of CEL, and the names that it reserves for other languages.
KEYWORDS = frozenset({"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in"})
KEYWORDS |= {"let", "loop", "namespace", "null", "package", "return", "true", "var", "void", "while"}


def literal(value: object) -> str:
    """A value as JSON, which is also CEL; texts must be printable."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def at(root: str, path: FieldPath) -> str:
    """CEL for the optional value at `path`."""
    return root + "".join(map(_step, map(str, path))) if path else f"optional.of({root})"


def _step(name: str) -> str:
    is_identifier = IDENTIFIER.fullmatch(name) and name not in KEYWORDS
    return f".?{name}" if is_identifier else f"[?{json.dumps(name)}]"


def all_of(*conditions: str) -> str:
    """CEL for: all of these hold; "" is left out, and without any it is `true`."""
    return " && ".join(filter(None, conditions)) or "true"


def matches(selector: Selector, labels: str) -> str:
    """CEL for: the selector matches the map `labels`."""
    if selector.matches_nothing:
        return "false"
    return all_of(*(_meets(requirement, labels) for requirement in selector.requirements))


def _meets(requirement: Requirement, labels: str) -> str:
    key = literal(requirement.key)
    has_key = f"{key} in {labels}"
    if requirement.operator in (EXISTS, DOES_NOT_EXIST):
        return has_key if requirement.operator == EXISTS else f"!({has_key})"
    has_value = f"({has_key} && {labels}[{key}] in {literal([*requirement.values])})"
    return f"!{has_value}" if requirement.operator == NOT_IN else has_value


def begin(text: str, length: int) -> str:
    """CEL for the first characters of a text; `map` over a list of one binds a name, so that the text is read once."""
    return f"[{text}].map(b, b.size() > {length} ? b.substring(0, {length}) : b)[0]"
