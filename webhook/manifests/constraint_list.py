"""
CEL for the constraints in an object: how many values they have, and what Go reads of them in a custom resource.

The API server has checked the types of a built-in kind.  A custom resource may have any: a field of a wrong type reads
as if it were absent, as for the webhook.  See scheduler.constraint.
"""

from __future__ import annotations

from webhook.manifests.cel import bound

MATCH_LABELS = "c.?labelSelector.?matchLabels.orValue({})"
MATCH_EXPRESSIONS = "c.?labelSelector.?matchExpressions.orValue([])"
KEYS_TO_MATCH = "c.?matchLabelKeys.orValue([])"


def values_outside_expressions() -> str:
    """Return CEL for the number of values in `c`, but for those in matchExpressions; see admission.cost."""
    inside = (MATCH_LABELS, MATCH_EXPRESSIONS, KEYS_TO_MATCH, "c.?labelSelector.orValue({})")
    return " + ".join(("1 + c.size()", *(f"{each}.size()" for each in inside)))


def values_in_expressions() -> str:
    """Return CEL for the number of values in the matchExpressions of `c`."""
    return f"{MATCH_EXPRESSIONS}.map(e, e.size() + e.?values.orValue([]).size()).sum()"


def with_objects() -> str:
    """
    Return CEL for `c` of a custom resource with the objects and lists that these numbers need.

    What else is in it is left out: it is not read, and an unknown field is small.
    """
    labels, expressions, values = (
        "s.?matchLabels.orValue({})",
        "s.?matchExpressions.orValue([])",
        "e.?values.orValue([])",
    )
    expression = _object(values=_typed(values, "list", "[]"), key="''", operator="''")
    of_expressions = f"{_typed(expressions, 'list', '[]')}.map(e, type(e) == map ? {expression} : {{}})"
    selector = _object(matchLabels=_typed(labels, "map", "{}"), matchExpressions=of_expressions)
    fields = _object(
        labelSelector=bound("m.?labelSelector.orValue({})", "s", f"type(s) == map ? {selector} : {{}}"),
        matchLabelKeys=_typed("m.?matchLabelKeys.orValue([])", "list", "[]"),
    )
    return bound("type(c) == map ? c : {}", "m", fields)


def as_read() -> str:
    """Return CEL for `c` of a custom resource as Go reads it; it must have few values."""
    texts = "map(v, type(v) == string ? v : '')"
    labels = f"{_typed('s.?matchLabels.orValue({})', 'map', '{}')}.transformMap(k, v, type(v) == string ? v : '')"
    values = f"{_typed('e.?values.orValue([])', 'list', '[]')}.{texts}"
    expression = _object(key=_text("e", "key"), operator=_text("e", "operator"), values=values)
    expressions = _typed("s.?matchExpressions.orValue([])", "list", "[]")
    expressions += f".map(x, type(x) == map ? dyn(x) : dyn({{}})).map(e, {expression})"
    selector = _object(matchLabels=labels, matchExpressions=expressions)
    written = "m.?labelSelector.orValue(null)"
    read = bound(written, "s", f"type(s) == map ? dyn({selector}) : dyn({{}})")
    optional = {name: _optional(name, of) for name, of in _OPTIONAL.items()}
    optional["labelSelector"] = f"{written} == null ? optional.none() : optional.of(dyn({read}))"
    needed = _object(
        maxSkew=_typed("m.?maxSkew.orValue(0)", "int", "0"),
        topologyKey=_text("m", "topologyKey"),
        whenUnsatisfiable=_text("m", "whenUnsatisfiable"),
        matchLabelKeys=f"{_typed('m.?matchLabelKeys.orValue([])', 'list', '[]')}.{texts}",
    )
    fields = needed.removesuffix("}") + "".join(f", ?'{name}': {value}" for name, value in optional.items()) + "}"
    return bound("type(c) == map ? c : {}", "m", fields)


def _object(**fields: str) -> str:
    """Return CEL for an object, whose fields may have different types."""
    return "{" + ", ".join(f"'{name}': dyn({value})" for name, value in fields.items()) + "}"


_OPTIONAL = {"minDomains": "int", "nodeAffinityPolicy": "string", "nodeTaintsPolicy": "string"}


def _optional(name: str, of: str) -> str:
    value = f"m.?{name}"
    return f"type({value}.orValue(null)) == {of} ? {value} : optional.none()"


def _typed(value: str, of: str, otherwise: str) -> str:
    return bound(value, "y", f"type(y) == {of} ? y : {otherwise}")


def _text(root: str, name: str) -> str:
    return _typed(f"{root}.?{name}.orValue('')", "string", "''")
