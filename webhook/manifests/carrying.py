"""What policies of the API server cannot do of what a policy asks for, and what they do otherwise than the webhook."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.findings.finding import TOLD
from webhook.findings.wording import LINE_LIMIT
from webhook.manifests.acting import Export
from webhook.manifests.admission_policies import POLICY_NAMES
from webhook.manifests.conditions import MOST_ITEMS_READ
from webhook.manifests.configurations import Manifest
from webhook.manifests.kinds import cel_name, why_not
from webhook.manifests.policies import CHECKS
from webhook.manifests.policy_objects import deletion
from webhook.manifests.rule_variables import refuses_large
from webhook.objects.references import ObjectRef
from webhook.policy.parsing import built_in
from webhook.policy.policy import DENY
from webhook.rules import RULES
from webhook.rules.missing_constraints import MISSING

INVALID_CONSTRAINT, MALFORMED_KEY = "invalid-constraint", "malformed-topology-key"
_TYPES_LEFT = f"{INVALID_CONSTRAINT}: the types and the label selectors of custom resources"
_WHY_NO_DEFAULTS = "a MutatingAdmissionPolicy looks up no Services and no controllers, which give the selector"


def not_carried(export: Export) -> tuple[str, ...]:
    """Return a line for each thing in the policy file that only a webhook does: where it stands, and why CEL cannot."""
    return (*_of_rules(export), *_of_overrides(export), *_of_kinds(export), *_of_fields(export))


def unanswerable(export: Export) -> Iterator[str]:
    """Yield a line for each condition of an override that CEL cannot judge, so that the part in force is not known."""
    added = {key for kind in export.kinds for key in kind.addable}
    for where, override in zip(_places(export)[1:], export.policy.overrides, strict=True):
        if keys := sorted(added & (override.pod_selector.keys if override.pod_selector else set())):
            yield f"{where}podSelector: CEL cannot see the label {keys[0]}, which a controller adds to Pods later"


def _of_rules(export: Export) -> Iterator[str]:
    for where, part in zip(_places(export), export.parts, strict=True):
        for rule, setting in part.settings.items():
            lost = rule not in CHECKS and setting.given and setting.severity in TOLD
            if lost and (part is export.parts[0] or setting != export.parts[0].settings[rule]):
                yield f"{where}rules.{rule}: the API server cannot check it: {RULES[rule].cel.why_not}"


def _places(export: Export) -> list[str]:
    """Return what stands before the path of a field, for each part; an override has its name, which is its own."""
    return ["", *(f"override {override.name}: " for override in export.policy.overrides)]


def _of_overrides(export: Export) -> Iterator[str]:
    for where, override in zip(_places(export)[1:], export.policy.overrides, strict=True):
        if override.until:
            yield f"{where}until: CEL cannot know the date"


def _of_kinds(export: Export) -> Iterator[str]:
    asked = {cel_name(kind): kind for kind in export.policy.kinds if kind.from_policy or kind.operator is not None}
    for name, kind in asked.items():
        if reason := why_not(kind, export.policy):
            yield f"workloads: {name.removeprefix('/')}: {reason}"


def _of_fields(export: Export) -> Iterator[str]:
    policy = export.policy
    own = [policy.defaulting, *(override.defaulting for override in policy.overrides)]
    for where, defaulting in zip(_places(export), own, strict=True):
        if defaulting is not None and defaulting.gives and defaulting != built_in().defaulting:
            yield f"{where}defaulting: only a webhook can give Pods constraints; {_WHY_NO_DEFAULTS}"
    if policy.early_answer:
        yield "earlyAnswer: the API server evaluates its policies only after its own validation"


def notes(export: Export, policies: Sequence[Manifest]) -> Iterator[str]:
    """Yield what the policies do otherwise than the webhook, what is not judged first, and which are not needed."""
    yield from _unjudged(export)
    if refuses_large(export):
        yield (
            "onError: if an object is too large to judge, the API server refuses it with 403, "
            "and the webhook would refuse it with 500"
        )
    if policies:
        yield f"messages differ from the webhook's: {'; '.join(_of_messages(export))}"
    else:
        nothing = "CEL can express no rule that this policy denies by"
        yield f"no ValidatingAdmissionPolicy is printed: {nothing}, and no rule that it warns by, so nothing judges"
    written = {ObjectRef.of(manifest).name for manifest in policies}
    if needless := [name for name in POLICY_NAMES.values() if name not in written]:
        yield (
            f"not needed: {', '.join(needless)}; if the cluster still has them, they still judge; "
            f"to delete them: {deletion(needless)}"
        )


def _unjudged(export: Export) -> Iterator[str]:
    if left := [rule for rule in RULES if rule not in CHECKS and _is_on(export, rule)]:
        yield f"not checked: {', '.join(left)}: nobody sees their findings; for the reason, see evenkeel rules ID"
    if _is_on(export, INVALID_CONSTRAINT):
        yield f"not checked: {_TYPES_LEFT}"
    if export.policy.defaults:
        yield f"Pods get no default constraints: {_WHY_NO_DEFAULTS}"
    if any(part.owned_objects != DENY for part in export.parts):
        yield (
            "objects that a controller owns: no audit log has their findings, unless the rule is enforced; "
            f"an object with more than {MOST_ITEMS_READ} ownerReferences counts as owned"
        )


def _of_messages(export: Export) -> Iterator[str]:
    yield "of several findings that deny, only the first is shown"
    if _is_on(export, MALFORMED_KEY):
        yield f"the fix of {MALFORMED_KEY} does not suggest the key that was probably meant"
    if _is_on(export, MISSING):
        yield f"the fix of {MISSING} offers a constraint only if no other rule could object to that constraint"
    if any(setting.notice for part in export.parts for setting in part.settings.values()):
        yield "notice is not shown"
    yield "a message with a line break is replaced by the title of the rule"
    yield "on an update, another finding of the same rule may be shown"
    yield f"lines of more than {LINE_LIMIT:,} characters are not shortened"


def _is_on(export: Export, rule: str) -> bool:
    return any(part.settings[rule].severity in TOLD for part in export.parts)
