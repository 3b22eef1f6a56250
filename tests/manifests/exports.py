"""Policies that are exported, and what is asked of every export."""

from __future__ import annotations

from tests.support.build import policy
from webhook.manifests.acting import Export
from webhook.manifests.policies import CHECKS
from webhook.rules import RULES
from webhook.scheduler.features import LATEST

EVERY_RULE = {rule: {"severity": "error", **RULES[rule].example} for rule in CHECKS}
OVERRIDES = [
    {"name": "other", "schedulerName": "other", "enforcement": "Warn"},
    {"name": "tier", "podSelector": {"matchLabels": {"tier": "a"}}, "enforcement": "Audit"},
    {"name": "team", "namespaceSelector": {"matchLabels": {"team": "a"}}, "ownedObjects": "Deny"},
]
ENFORCED = {"rules": {**EVERY_RULE, "hard-constraint": {"severity": "error", "enforced": True}}}
POLICIES = {
    "built in": {},
    "every rule": {"rules": EVERY_RULE},
    "enforced": ENFORCED,
    "parts": {**ENFORCED, "overrides": OVERRIDES, "onError": "Deny"},
    "warnings": {"enforcement": "Warn", "rules": EVERY_RULE},
}


def export(name="built in", **fields):
    """The export of one of POLICIES, with other fields."""
    return Export(policy(**POLICIES[name]), LATEST, **fields)
