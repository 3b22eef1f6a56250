"""The catalogue of rules for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable

from webhook.findings.rule import Rule
from webhook.objects.names import OUTPUT_API_VERSION


def as_json(rules: Iterable[Rule]) -> str:
    """Return the form `RuleList`."""
    return json.dumps({"apiVersion": OUTPUT_API_VERSION, "kind": "RuleList", "rules": [*map(_rule, rules)]}, indent=2)


def _rule(rule: Rule) -> dict[str, object]:
    return {
        "id": rule.id,
        "title": rule.title,
        "severity": str(rule.severity),
        "advice": rule.advice,
        "rationale": rule.rationale,
        "fix": rule.fix,
        "beside": rule.context,
        "bad": rule.bad,
        "good": rule.good,
        "parameters": {name: dict(schema) for name, schema in rule.parameters.items()},
        "required": list(rule.required),
        "cel": rule.cel,
        "yieldsTo": list(rule.yields_to),
    }
