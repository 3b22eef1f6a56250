"""
Pieces of CEL, as text: literals, steps of paths, and what findings say of values.

Only what Kubernetes 1.35 has is used.  The keys of a map come in no order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from webhook.objects.fields import FieldPath
from webhook.scheduler.selectors import DOES_NOT_EXIST, EXISTS, NOT_IN, Requirement, Selector

IDENTIFIER = re.compile("[A-Za-z_][A-Za-z0-9_]*")
# The keywords of CEL, and the names that it reserves for other languages.
KEYWORDS = frozenset({"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in"})
KEYWORDS |= {"let", "loop", "namespace", "null", "package", "return", "true", "var", "void", "while"}
MOST_IN_ORDER = 20
_MOST_SORTED = 100  # To compare more texts with each other costs too much.
# What YAML reads as text without quotes; see findings.rule.in_yaml.
_PLAIN_TEXT, _NO_TEXT = "^[A-Za-z][-A-Za-z0-9_./]*$", "^(?i:true|false|yes|no|on|off|null|y|n)$"


def literal(value: object) -> str:
    """Return JSON as CEL, for which it will do; texts must be printable."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def at(root: str, path: FieldPath) -> str:
    """Return CEL for the optional value at `path`."""
    return root + "".join(map(_step, map(str, path))) if path else f"optional.of({root})"


def inside(root: str, path: FieldPath) -> str:
    """Return CEL for the value at `path`, `{}` if there is none, in an object of which any field may have any type."""
    steps = [f".map(o, dyn(type(o) == map ? {at('o', (name,))}.orValue({{}}) : {{}}))" for name in path]
    return f"[dyn({root})]{''.join(steps)}[0]"


def as_object(value: str) -> str:
    """Return CEL for the value if it is an object, or else for `{}`."""
    return bound(value, "m", "type(m) == map ? m : {}")


def _step(name: str) -> str:
    plain = IDENTIFIER.fullmatch(name) and name not in KEYWORDS
    return f".?{name}" if plain else f"[?{json.dumps(name)}]"


def all_of(*conditions: str) -> str:
    """Return CEL for: all of these hold; "" is left out, and nothing is `true`."""
    return " && ".join(filter(None, conditions)) or "true"


def any_of(conditions: Iterable[str]) -> str:
    """Return CEL for: any of these holds; nothing is `false`."""
    return " || ".join(f"({condition})" for condition in conditions) or "false"


def by_case(value: str, results: Mapping[str, Iterable[str]], otherwise: str) -> str:
    """Return CEL for the result among whose cases `value` is."""
    chosen = (f"{value} in {literal([*cases])} ? ({result}) : " for result, cases in results.items())
    return "".join(chosen) + otherwise


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


def bound(value: str, name: str, expression: str) -> str:
    """Return CEL for `expression`, in which `name` is `value`: that is what a map over one item does."""
    return f"[{value}].map({name}, {expression})[0]"


def shown(text: str, limit: int = 60) -> str:
    """Return CEL for a text in quotes, cut at `limit`; see objects.reading.brief.  What is cut off is not quoted."""
    return cut(f"strings.quote({begin(text, limit + 1)})", limit)


def cut(text: str, limit: int) -> str:
    """Return CEL for a text of at most `limit` characters."""
    return bound(text, "q", f"q.size() > {limit} ? q.substring(0, {limit - 1}) + '…' : q")


def begin(text: str, length: int) -> str:
    """Return CEL for the first characters of a text."""
    return bound(text, "b", f"b.size() > {length} ? b.substring(0, {length}) : b")


def in_order(texts: str, most: int = MOST_IN_ORDER) -> str:
    """Return CEL for the texts in order, each once, and only the first ones; of very many some may be there twice."""
    ordered = bound(f"({texts}).map(w, string(w))", "l", f"l.size() > {_MOST_SORTED} ? l.sort() : l.distinct().sort()")
    return bound(ordered, "s", f"s.size() > {most} ? s.slice(0, {most}) : s")


def groups_in_order(pairs: str) -> str:
    """Return CEL for the second texts of pairs in the order of the first ones, joined by commas, or many as is."""
    ordered = f"l.size() > {_MOST_SORTED} ? l.slice(0, {MOST_IN_ORDER}) : l.sortBy(p, p[0])"
    return bound(pairs, "l", f"({ordered}).map(p, p[1]).join(',')")


def labels_in_yaml(labels: str, keys: str = "") -> str:
    """Return CEL for a map of labels, or for these keys of it, as YAML in one line; see findings.rule.in_yaml."""
    key, value = yaml_text("n"), yaml_text(f"{labels}[n]")
    names = in_order(keys or f"{labels}.map(k, k)")
    return f"'{{' + {names}.map(n, {key} + ': ' + {value}).join(', ') + '}}'"


def yaml_text(text: str) -> str:
    """Return CEL for a text as YAML, in quotes if it may be read as something else."""
    plain = f"{text}.matches('{_PLAIN_TEXT}') && !{text}.matches('{_NO_TEXT}')"
    return f"({plain} ? {text} : strings.quote({text}))"
