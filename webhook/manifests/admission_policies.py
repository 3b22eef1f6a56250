"""
The ValidatingAdmissionPolicies that have the rules of a policy in CEL: the API server evaluates them by itself.

    evenkeel         what denies, with the binding [Deny]
    evenkeel-warn    what warns, with the binding [Warn]
    evenkeel-audit   what only the audit log is told, with the binding [Audit]

    rule(cel=…) ──parameters──> by each part of the policy ──> or the old object breaks it, too ──> a validation

The policy itself is part 0, and its overrides are parts 1, 2 and so on.  Only built-in kinds are judged: the API server
has checked the types of their fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from webhook.admission.request import CREATE, UPDATE
from webhook.findings.finding import TOLD, Severity
from webhook.findings.rule import Rule
from webhook.findings.wording import mark
from webhook.kubernetes.features import Features
from webhook.kubernetes.kinds import BUILT_IN_KINDS
from webhook.kubernetes.names import DEFAULT_SCHEDULER, NAMESPACE_NAME, SKIP_LABEL, SYSTEM_NAMESPACES
from webhook.kubernetes.references import ObjectRef
from webhook.manifests.cel import literal, matches
from webhook.manifests.cel_variables import of_new_object, of_object
from webhook.manifests.conditions import changed, has_constraints
from webhook.manifests.configurations import FAIL, IGNORE, NAME, Manifest, resource_rules
from webhook.manifests.policy_objects import deletion, matching, policy_and_binding
from webhook.policy.policy import AUDIT, DENY, WARN, InForce, Policy
from webhook.rules import RULES

POLICY_NAMES = {DENY: NAME, WARN: f"{NAME}-warn", AUDIT: f"{NAME}-audit"}

# In older versions all policies share the types of their variables, without a lock (kubernetes#135757).
VARIABLES_SINCE = 36
WHY_SINCE = "an older kube-apiserver can crash when a ValidatingAdmissionPolicy with variables changes under load"

_PINNED = "pinned-pod"
# Apart, because the constraints of a Pod do not change once it is created.
_POD, _OTHERS = [BUILT_IN_KINDS[0]], BUILT_IN_KINDS[1:]
_PLACEHOLDER = re.compile(r"\b(parameters|features)\.(\w+)")


def admission_policies(policy: Policy, features: Features, excluded: tuple[str, ...] = ()) -> tuple[Manifest, ...]:
    """A policy and its binding for each action that a rule leads to; none judges in the namespaces `excluded`."""
    judged_namespaces = [
        {"key": NAMESPACE_NAME, "operator": "NotIn", "values": [*dict.fromkeys((*SYSTEM_NAMESPACES, *excluded))]},
        {"key": SKIP_LABEL, "operator": "NotIn", "values": ["true"]},
    ]
    variables = [*of_object("object", ""), *of_new_object(), *of_object("oldObject", "old_")]
    variables += [(f"{prefix}part", _part(policy, prefix)) for prefix in ("", "old_") if policy.overrides]
    manifests: list[Manifest] = []
    for action, name in POLICY_NAMES.items():
        parts_by_rule = [(rule, _acting(policy, rule, action)) for rule in RULES.values() if rule.cel]
        if rules := [(rule, parts) for rule, parts in parts_by_rule if parts]:
            spec: Manifest = {
                "failurePolicy": FAIL if action == DENY and (policy.enforced or policy.on_error == DENY) else IGNORE,
                "matchConstraints": matching(
                    resourceRules=[*resource_rules(_POD, [CREATE]), *resource_rules(_OTHERS, [CREATE, UPDATE])]
                ),
                "matchConditions": [
                    *([has_constraints(BUILT_IN_KINDS)] if all(rule.needs_constraints for rule, _ in rules) else []),
                    changed(BUILT_IN_KINDS),
                ],
                "variables": [{"name": name, "expression": expression} for name, expression in variables],
                "validations": [_validation(policy, rule, parts, features) for rule, parts in rules],
            }
            judged = matching(namespaceSelector={"matchExpressions": judged_namespaces})
            manifests += policy_and_binding(name, spec, action, matchResources=judged)
    return tuple(manifests)


def _acting(policy: Policy, rule: Rule, action: str) -> dict[int, InForce]:
    """The parts of the policy, by number, in which a finding of the rule leads to this action."""
    return {number: part for number, part in enumerate(policy.in_force_by_part) if _action(part, rule) == action}


def _action(part: InForce, rule: Rule) -> str:
    """What a finding of the rule leads to; "" if nobody is told."""
    severity = part.settings[rule.id].severity
    if severity not in TOLD:
        return ""
    return part.enforcement if severity is Severity.ERROR or part.enforcement == AUDIT else WARN


def _validation(policy: Policy, rule: Rule, acting: Mapping[int, InForce], features: Features) -> Manifest:
    """The validation that a rule finds nothing, or that it finds something in the old object, too."""
    new_holds = {
        number: _unless_spared(part, rule, _holds(part, rule, features, "")) for number, part in acting.items()
    }
    telling = {number: part for number, part in enumerate(policy.in_force_by_part) if _action(part, rule)}
    old_holds = {number: _holds(part, rule, features, "old_") for number, part in telling.items()}
    broken_before = f"oldObject != null && !(variables.old_fits && {_by_part(old_holds, policy, 'old_')})"
    return {
        "expression": f"{_by_part(new_holds, policy, '')} || {broken_before}",
        "reason": "Forbidden",
        "message": f"{rule.title}{mark(rule.id)}",
    }


def _holds(part: InForce, rule: Rule, features: Features, prefix: str) -> str:
    """The rule's expression with its parameters, about the object or, with the prefix "old_", the old one."""
    setting = part.settings[rule.id]

    def value_of(match: re.Match[str]) -> str:
        source, name = match.groups()
        if source == "features":
            return literal(getattr(features, name))
        default = {"array": [], "boolean": False, "integer": 0}[str(rule.parameters[name]["type"])]
        return literal(setting.parameters.get(name, default))

    return _PLACEHOLDER.sub(value_of, rule.cel.replace("variables.", f"variables.{prefix}"))


def _unless_spared(part: InForce, rule: Rule, holds: str) -> str:
    """CEL for: the rule's expression holds, or the object is spared from the rule; see admission.ownership."""
    audits_owned, pinned = part.owned_objects != DENY, part.settings[_PINNED]
    if part.settings[rule.id].enforced:
        fits_and_holds = f"variables.fits && ({holds})"
        return f"variables.by_controller || {fits_and_holds}" if audits_owned else fits_and_holds
    spared = ["!variables.fits", f"'{rule.id}' in variables.ignored", *(["variables.owned"] if audits_owned else [])]
    # On a DaemonSet, pinned-pod silences other rules: see `one_per_field`.
    if rule.id != _PINNED and not rule.rejected_by_api_server and pinned.severity is not Severity.IGNORE:
        unless = "" if pinned.enforced else f" && !('{_PINNED}' in variables.ignored)"
        spared.append(f"request.kind.kind == 'DaemonSet'{unless}")
    return " || ".join((*spared, f"({holds})"))


def _by_part(expressions: Mapping[int, str], policy: Policy, prefix: str) -> str:
    """CEL for: the expression of the part in force holds; a part without an expression always holds."""
    if not policy.overrides:
        return f"({expressions[0]})" if expressions else "true"
    parts: dict[str, list[int]] = {}  # Numbers by expression: parts with the same one share it.
    for number, expression in expressions.items():
        parts.setdefault(expression, []).append(number)
    clauses = (f"(!(variables.{prefix}part in {numbers}) || ({expression}))" for expression, numbers in parts.items())
    return f"({' && '.join(clauses)})"


def _part(policy: Policy, prefix: str) -> str:
    """CEL for the number of the part that is in force: the first override whose conditions are met, or 0."""
    cases = ""
    for number, override in enumerate(policy.overrides, 1):
        conditions = []
        if override.namespace_selector is not None:
            conditions.append(matches(override.namespace_selector, "namespaceObject.metadata.?labels.orValue({})"))
        if override.pod_selector is not None:
            conditions.append(matches(override.pod_selector, f"variables.{prefix}labels"))
        if override.scheduler_name is not None:
            scheduler = f"variables.{prefix}spec.?schedulerName.orValue('{DEFAULT_SCHEDULER}')"
            conditions.append(f"{scheduler} == {literal(override.scheduler_name)}")
        cases += f"{' && '.join(conditions) or 'true'} ? {number} : "
    return f"{cases}0"


def unknowable(policy: Policy) -> Iterator[str]:
    """Yield a line for each override for which CEL cannot tell whether it applies."""
    for override in policy.overrides:
        keys = override.pod_selector.keys if override.pod_selector else frozenset[str]()
        if added := sorted(BUILT_IN_KINDS.addable & keys):
            reason = f"CEL cannot see the label {added[0]}, which a controller adds to Pods later"
            yield f"override {override.name}: podSelector: {reason}"


def notes(policy: Policy, manifests: tuple[Manifest, ...]) -> Iterator[str]:
    """Yield what is left out of the policy, and which policies of an earlier file are to be deleted."""
    active = [rule for rule in RULES.values() if any(_action(part, rule) for part in policy.in_force_by_part)]
    if without_cel := [rule.id for rule in active if not rule.cel]:
        yield f"left out, because only the webhook can check them: {', '.join(without_cel)}"
    if custom := sorted({kind.kind for kind in policy.kinds if kind.from_policy or kind.operator is not None}):
        yield f"left out, because only the webhook judges custom resources: {', '.join(custom)}"
    if policy.defaults:
        yield "left out, because only the webhook can give Pods constraints: defaulting"
    for override in policy.overrides:
        if override.until:
            yield f"override {override.name}: CEL cannot know the date; print the policies again after {override.until}"
    printed = {ObjectRef.of(manifest).name for manifest in manifests}
    if needless := [name for name in POLICY_NAMES.values() if name not in printed]:
        yield f"not needed: {', '.join(needless)}; to delete what an earlier policy left: {deletion(needless)}"
