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
    """Return JSON as CEL, for which it will do; texts must be printable."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def at(root: str, path: FieldPath) -> str:
    """Return CEL for the optional value at `path`."""
    return root + "".join(map(_step, map(str, path))) if path else f"optional.of({root})"


def _step(name: str) -> str:
    plain = IDENTIFIER.fullmatch(name) and name not in KEYWORDS
    return f".?{name}" if plain else f"[?{json.dumps(name)}]"


def all_of(*conditions: str) -> str:
    """Return CEL for: all of these hold; "" is left out, and nothing is `true`."""
    return " && ".join(filter(None, conditions)) or "true"


def matches(selector: Selector, labels: str) -> str:
    """Return CEL for: the selector matches the map `labels`."""
    if selector.matches_nothing:
        return "false"
    return all_of(*(_meets(requirement, labels) for requirement in selector.requirements))


def _meets(requirement: Requirement, labels: str) -> str:
    key = literal(requirement.key)
    there = f"{key} in {labels}"
    if requirement.operator in (EXISTS, DOES_NOT_EXIST):
        return there if requirement.operator == EXISTS else f"!({there})"
    among = f"({there} && {labels}[{key}] in {literal([*requirement.values])})"
    return f"!{among}" if requirement.operator == NOT_IN else among


def begin(text: str, length: int) -> str:
    """Return CEL for the first characters of a text."""
    return f"[{text}].map(b, b.size() > {length} ? b.substring(0, {length}) : b)[0]"
