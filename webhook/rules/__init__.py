"""Every rule, one per file of this folder; a new file is imported without being listed anywhere."""

from __future__ import annotations

import importlib
import pkgutil

from webhook.findings.rule import RULES, RuleSettings

for _module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")
# Sort RULES by id: a file that imports another registers its rule after that one.
for _rule_id in sorted(RULES):
    RULES[_rule_id] = RULES.pop(_rule_id)
# What the webhook, which knows no other Pods, runs on workloads without constraints.
WITHOUT_CONSTRAINTS = tuple(rule for rule in RULES.values() if not rule.needs_constraints and not rule.looks_beside)
DEFAULT_SETTINGS: RuleSettings = {rule_id: rule.setting() for rule_id, rule in RULES.items()}

__all__ = ["DEFAULT_SETTINGS", "RULES", "WITHOUT_CONSTRAINTS"]
