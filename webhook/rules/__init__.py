"""Every rule, found by its file: one rule is one file beside this one, and adding the file is the whole change."""

from __future__ import annotations

import importlib
import pkgutil

from webhook.findings.rule import RULES, RuleSettings

for _module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")
WITHOUT_CONSTRAINTS = tuple(one for one in RULES.values() if not one.needs_constraints)
DEFAULT_SETTINGS: RuleSettings = {rule_id: one.setting() for rule_id, one in RULES.items()}

__all__ = ["DEFAULT_SETTINGS", "RULES", "WITHOUT_CONSTRAINTS"]
