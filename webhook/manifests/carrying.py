"""What policies of the API server cannot do of what a policy asks for, and what they do otherwise than the webhook."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import TOLD
from webhook.findings.wording import LINE_LIMIT
from webhook.manifests.acting import Export
from webhook.manifests.kinds import cel_name, why_not
from webhook.manifests.policies import CHECKS
from webhook.manifests.rule_variables import refuses_large
from webhook.policy.parsing import built_in
from webhook.policy.policy import DENY
from webhook.rules import RULES
from webhook.rules.missing_constraints import MISSING
from webhook.scheduler.default_constraints import LIST

_WHY_NO_DEFAULTS = "a MutatingAdmissionPolicy may not write labelSelector"


def not_carried(export: Export) -> tuple[str, ...]:
    """
    Return a line for each thing in the policy file that would be lost: where it stands, and why CEL cannot do it.

    Beside a webhook that is only what keeps CEL from knowing which part of the policy is in force.
    """
    if export.beside_webhook:
        return tuple(_of_labels(export))
    return (*_of_rules(export), *_of_labels(export), *_of_overrides(export), *_of_kinds(export), *_of_fields(export))


def _of_rules(export: Export) -> Iterator[str]:
    for where, part in zip(_places(export), export.parts, strict=True):
        for rule, setting in part.settings.items():
            lost = rule not in CHECKS and setting.given and setting.severity in TOLD
            if lost and (part is export.parts[0] or setting != export.parts[0].settings[rule]):
                yield f"{where}rules.{rule}: CEL cannot check it: {RULES[rule].cel.why_not}"


def _places(export: Export) -> list[str]:
    """Return what stands before the path of a field, for each part; an override has its name, which is its own."""
    return ["", *(f"override {override.name}: " for override in export.policy.overrides)]


def _of_labels(export: Export) -> Iterator[str]:
    added = {key for kind in export.kinds for key in kind.addable}
    for where, override in zip(_places(export)[1:], export.policy.overrides, strict=True):
        if keys := sorted(added & (override.pod_selector.keys if override.pod_selector else set())):
            yield f"{where}podSelector: only a controller gives Pods {keys[0]}, not the workload"


def _of_overrides(export: Export) -> Iterator[str]:
    for where, override in zip(_places(export)[1:], export.policy.overrides, strict=True):
        if override.until:
            yield f"{where}until: CEL has no clock"


def _of_kinds(export: Export) -> Iterator[str]:
    asked = {cel_name(kind): kind for kind in export.policy.kinds if kind.from_policy or kind.operator is not None}
    for name, kind in asked.items():
        if reason := why_not(kind, export.policy):
            yield f"workloads: {name.removeprefix('/')}: {reason}"


def _of_fields(export: Export) -> Iterator[str]:
    policy = export.policy
    own = [policy.defaulting, *(override.defaulting for override in policy.overrides)]
    for where, defaulting in zip(_places(export), own, strict=True):
        gives = defaulting is not None and defaulting.type == LIST and defaulting.constraints
        if gives and defaulting != built_in().defaulting:
            yield f"{where}defaulting: only a webhook gives Pods constraints; {_WHY_NO_DEFAULTS}"
    if policy.early_answer:
        yield "earlyAnswer: the API server asks its policies after it has validated an object itself"


def differences(export: Export) -> Iterator[str]:
    """Yield a line for each thing that the policies do otherwise than the webhook."""
    if export.policy.defaults and not export.beside_webhook:
        yield f"Pods are given no default constraints; {_WHY_NO_DEFAULTS}"
    yield "of several findings that deny, an object is told the first one only"
    if left := [rule for rule in RULES if rule not in CHECKS and _is_on(export, rule)]:
        yield f"not checked: {', '.join(left)}; evenkeel rules ID says why"
    if any(part.owned_objects != DENY for part in export.parts):
        yield "what is found in objects that a controller owns goes to no audit log, unless a rule is enforced"
    if _is_on(export, "malformed-topology-key"):
        yield "malformed-topology-key: the fix does not name the key that was probably meant"
    if _is_on(export, "invalid-constraint"):
        yield "invalid-constraint: the types and the label selectors of a custom resource are left to its schema"
    if _is_on(export, MISSING):
        yield f"{MISSING}: the fix offers a constraint only where no other rule could find fault with it anywhere"
    if any(setting.notice for part in export.parts for setting in part.settings.values()):
        yield "notice: no warning says from when on a rule denies"
    if refuses_large(export):
        yield "onError: an object that is too large to judge is refused with 403, and not with 500"
    yield "a text with a line end is not told: the message is the title of the rule then"
    yield (
        "an update of an object with several findings of one rule may be told another of them; "
        f"lines of more than {LINE_LIMIT:,} characters are not shortened"
    )


def _is_on(export: Export, rule: str) -> bool:
    return any(part.settings[rule].severity in TOLD for part in export.parts)
