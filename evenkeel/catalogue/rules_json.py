"""The catalogue of rules for programs."""

from __future__ import annotations

from collections.abc import Iterable

from evenkeel.terminal.json_forms import dumped, fields, form
from webhook.findings.rule import Rule


def as_json(rules: Iterable[Rule]) -> str:
    """Return the form `RuleList`."""
    return dumped(form("RuleList", {"rules": [*map(_rule, rules)]}))


def _rule(rule: Rule) -> dict[str, object]:
    return {
        **fields(rule, "id", "title", "severity", "advice", "rationale", "fix"),
        "beside": rule.context,
        **fields(rule, "bad", "good"),
        "parameters": {name: dict(schema) for name, schema in rule.parameters.items()},
        **fields(rule, "required", "cel", "yields_to"),
    }
