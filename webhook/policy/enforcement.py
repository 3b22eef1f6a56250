"""Where the rules of a policy do not hold, and where nobody sees what it denies."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.evaluation import unknown_of
from webhook.findings.finding import Severity
from webhook.findings.rule import RuleSetting
from webhook.findings.wording import some
from webhook.kubernetes.fields import path_text
from webhook.kubernetes.kinds import Kind
from webhook.kubernetes.names import SKIP_LABEL
from webhook.policy.policy import DENY, Policy, is_enforced
from webhook.rules import RULES

MIN_REPLICAS = "minReplicas"  # The parameter of rules that spare workloads with fewer replicas.
UNSEEN = (
    "ownedObjects: Deny: if its Pods are denied, a Deployment or Job gets none, and whoever applied it sees no error; "
    "to see each denial: kubectl get events"
)


def notes_on(policy: Policy) -> Iterator[str]:
    """
    Yield a line for each way past an enforced rule that the policy leaves open, with what closes it.

    Further lines say where denials of what controllers create can be seen, which rules deny nothing although they are
    marked enforced, and which cannot judge a kind of `workloads`.
    """
    yield from _denying_unseen(policy)
    yield from _denying_nothing(policy)
    yield from _not_judging(policy)
    rules = ", ".join(policy.enforced)
    if not rules:
        return
    yield (
        f"{rules}: enforced, but by default every object passes while the webhook does not answer; to deny also then: "
        "evenkeel manifests --failure-policy-enforced Fail, or failurePolicyEnforced: Fail in "
        "the chart"
    )
    yield (
        f"{rules}: enforced, but not in a namespace with the label {SKIP_LABEL}: true; "
        "to let only some users set the label: evenkeel manifests --skip-label-user or --skip-label-group"
    )
    for path, setting in _counting_replicas(policy):
        replicas = setting.parameters[MIN_REPLICAS]
        if is_enforced(setting) and isinstance(replicas, int) and replicas > 1:
            yield (
                f"{path}.{MIN_REPLICAS}: the {replicas} replicas are counted when an object is applied, and "
                "later scaling is not judged; with minReplicas: 1 nobody can avoid the rule by scaling, but Jobs and "
                "single Pods need constraints, too"
            )
    for i, override in enumerate(policy.overrides):
        if changed := _changed_by_anyone(policy, i):
            what = "these labels" if override.pod_selector is not None else "this schedulerName"
            yield (
                f"overrides[{i}]: changes {', '.join(changed)}, enforced elsewhere, and anyone can set {what}; "
                "add a namespaceSelector"
            )


def _denying_unseen(policy: Policy) -> Iterator[str]:
    """Yield a line if the policy denies objects that a controller creates, or else one for each override that does."""
    policy_denies, *overrides_deny = [part.enforcement == part.owned_objects == DENY for part in policy.parts]
    if policy_denies:
        yield UNSEEN
    else:
        yield from (f"overrides[{i}]: {UNSEEN}" for i, denies in enumerate(overrides_deny) if denies)


def _denying_nothing(policy: Policy) -> Iterator[str]:
    """Yield a line for rules that are marked enforced, and deny nothing."""
    marked = [rule for rule, setting in policy.settings.items() if setting.enforced]
    if marked and policy.enforcement != DENY:
        yield (
            f"enforcement: {policy.enforcement} denies nothing, although these are marked enforced: "
            f"{', '.join(marked)}; write enforcement: {DENY}"
        )
    for i, override in enumerate(policy.overrides):
        own = [rule for rule, setting in override.settings.items() if setting.enforced and rule not in marked]
        if own and override.enforcement != DENY:
            denies = f"{override.enforcement} denies nothing, although these are marked enforced: {', '.join(own)}"
            yield f"overrides[{i}].enforcement: {denies}; write Deny here"
    for rule in marked:
        if (severity := policy.settings[rule].severity) is not Severity.ERROR:
            yield f"rules.{rule}: enforced, but with severity {severity} it denies nothing; write severity: error"


def _not_judging(policy: Policy) -> Iterator[str]:
    """Yield a line for rules that the policy sets and that cannot judge a kind that it describes, with the reason."""
    settings = [(rule, part.settings[rule]) for part in policy.parts for rule in RULES]
    chosen = {
        rule
        for rule, setting in settings
        if (setting.given or setting.enforced) and setting.severity is not Severity.IGNORE
    }
    places: dict[str, set[str]] = {}  # of each kind
    unjudged: dict[tuple[str, str], dict[str, set[str]]] = {}  # by kind and reason: the places, by the rule
    for kind in (kind for kind in policy.kinds if kind.from_policy):
        place, unknown = path_text(kind.anchor), unknown_of(kind)
        places.setdefault(_name(kind), set()).add(place)
        for rule in sorted(chosen):
            if reasons := [unknown[need] for need in RULES[rule].needs if need in unknown]:
                unjudged.setdefault((_name(kind), reasons[0]), {}).setdefault(rule, set()).add(place)
    for (name, why), rules in unjudged.items():
        everywhere = [rule for rule, unjudged_places in rules.items() if unjudged_places == places[name]]
        if everywhere:
            yield f"workloads: {', '.join(everywhere)} cannot judge {name}: {why}"
        for rule in rules.keys() - everywhere:
            yield f"workloads: {rule} cannot judge {some(rules[rule])} of {name}: {why}"


def _name(kind: Kind) -> str:
    return kind.kind if kind.operator is None else kind.operator.name


def _counting_replicas(policy: Policy) -> Iterator[tuple[str, RuleSetting]]:
    """Yield the settings of enforced rules that count replicas, also others in overrides, each with its path."""
    for rule in policy.enforced:
        setting = policy.settings[rule]
        if MIN_REPLICAS in setting.parameters:
            yield f"rules.{rule}", setting
            for i, override in enumerate(policy.overrides):
                if override.settings[rule] != setting:
                    yield f"overrides[{i}].rules.{rule}", override.settings[rule]


def _changed_by_anyone(policy: Policy, i: int) -> list[str]:
    """
    Return the rules that override `i` changes, and that are enforced on the same Pods while it does not match them.

    Empty if it has a namespaceSelector: then a developer does not decide whether it matches.
    """
    override = policy.overrides[i]
    if override.namespace_selector is not None:
        return []
    # Only the first override that matches counts: this one replaces the policy itself and all later ones.
    replaced = [policy.settings] if policy.enforcement == DENY else []
    replaced += [later.settings for later in policy.overrides[i + 1 :] if later.enforcement == DENY]
    changed = []
    for rule in policy.enforced:
        denying = [settings[rule] for settings in replaced if is_enforced(settings[rule])]
        if override.enforcement == DENY:  # Otherwise it denies nothing, and so changes them all.
            denying = [setting for setting in denying if setting != override.settings[rule]]
        if denying:
            changed.append(rule)
    return changed
