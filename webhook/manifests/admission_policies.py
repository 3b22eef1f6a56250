"""
The ValidatingAdmissionPolicies that have the rules of a policy in CEL: the API server evaluates them by itself.

    evenkeel         what denies, in the order of the fields, with the binding [Deny]
    evenkeel-warn    what warns, with the binding [Warn]
    evenkeel-audit   what only the audit log is told, with the binding [Audit]

Each has a variable for the items of each check, and a validation that there are none.  Variables are evaluated when
they are asked for, and once.  The first ones bound the size of the object, so that no expression costs too much.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from webhook.admission.request import CREATE, UPDATE
from webhook.manifests.acting import Acting, Export, acting_checks
from webhook.manifests.conditions import NOT_OWNED, changed, has_constraints, malformed
from webhook.manifests.configurations import NAME, Manifest, resource_rules
from webhook.manifests.policy_objects import policy_and_binding
from webhook.manifests.rule_variables import refuses_large, validations, variables
from webhook.objects.names import NAMESPACE_NAME, SKIP_LABEL
from webhook.policy.policy import AUDIT, DENY, WARN
from webhook.rules import RULES

POLICY_NAMES = {DENY: NAME, WARN: f"{NAME}-warn", AUDIT: f"{NAME}-audit"}

# Before, all policies shared the types of their variables, without a lock (kubernetes#135757).
VARIABLES_SINCE = 36
WHY_SINCE = "an older kube-apiserver can crash when a ValidatingAdmissionPolicy with variables changes under load"

_VARIABLE = re.compile(r"variables\.(\w+)")


def admission_policies(export: Export) -> tuple[Manifest, ...]:
    """Return the policies, each followed by its binding; none for what no rule does."""
    checks = {action: acting_checks(export, action) for action in POLICY_NAMES}
    matching = _judged_namespaces(export)
    return tuple(
        manifest
        for action, acting in checks.items()
        if acting or (action == DENY and refuses_large(export))
        for manifest in policy_and_binding(
            POLICY_NAMES[action], _spec(export, action, acting), action, matchResources=matching
        )
    )


def _spec(export: Export, action: str, acting: Sequence[Acting]) -> Manifest:
    every = dict(variables(export, action, acting))
    asked = [*validations(export, action, acting)]
    used = _used(every, (str(text) for validation in asked for text in validation.values()))
    return {
        "failurePolicy": "Fail" if action == DENY and _refuses(export, acting) else "Ignore",
        "matchConstraints": {"resourceRules": _resource_rules(export)},
        "matchConditions": _conditions(export, action, acting),
        "variables": [{"name": name, "expression": every[name]} for name in every if name in used],
        "validations": asked,
    }


def _refuses(export: Export, acting: Sequence[Acting]) -> bool:
    """Return whether an object is refused that cannot be evaluated: where a rule is enforced, or onError is Deny."""
    return export.policy.on_error == DENY or _enforces(export, acting)


def _enforces(export: Export, acting: Sequence[Acting]) -> bool:
    return any(each.parts & export.enforcing(each.rule) for each in acting)


def _conditions(export: Export, action: str, acting: Sequence[Acting]) -> list[Manifest]:
    """
    Return the matchConditions; they cannot ask about the namespace, which they do not know.

    One that fails denies the object, so a custom resource about which they cannot ask is judged.
    """
    needs = all(RULES[each.rule].needs_constraints for each in acting)
    audits = all(part.owned_objects != DENY for part in export.parts)
    large = action == DENY and refuses_large(export)  # whoever owns it
    only_audited = audits and not large and not _enforces(export, acting)
    asked = [*([has_constraints(export.kinds)] if needs else []), changed(export.kinds)]
    if wrong := malformed(export.kinds):
        asked = [{**each, "expression": f"{wrong} || {each['expression']}"} for each in asked]
    return [dict(condition) for condition in (*asked, *([NOT_OWNED] if only_audited else []))]


def _resource_rules(export: Export) -> list[Mapping[str, object]]:
    """Return which requests are judged: the constraints of a Pod do not change after it is created."""
    pods = [kind for kind in export.kinds if kind.template == ()]
    others = [kind for kind in export.kinds if kind.template != ()]
    return [*resource_rules(pods, [CREATE]), *resource_rules(others, [CREATE, UPDATE])]


def _judged_namespaces(export: Export) -> Manifest:
    judged = [
        {"key": NAMESPACE_NAME, "operator": "NotIn", "values": [*dict.fromkeys(export.excluded)]},
        {"key": SKIP_LABEL, "operator": "NotIn", "values": ["true"]},
    ]
    return {"namespaceSelector": {"matchExpressions": judged}}


def _used(every: Mapping[str, str], expressions: Iterable[str]) -> set[str]:
    """
    Return the names of the variables that expressions ask for, and those that these ask for in turn.

    Texts of the policy file, such as `help`, may have what looks like a variable.
    """
    used: set[str] = set()
    left = {name for text in expressions for name in _VARIABLE.findall(text)} & {*every}
    while left:
        used.add(name := left.pop())
        left |= ({*_VARIABLE.findall(every[name])} & {*every}) - used
    return used
