"""
The policy, and what of it is in force for one Pod.

    Policy ──in_force(namespace, labels, schedulerName)──> InForce(settings, defaulting)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from webhook.findings.finding import Severity
from webhook.findings.rule import ADVICE, Rule, RuleSetting, RuleSettings
from webhook.findings.wording import LINE_LIMIT, one_line
from webhook.objects.kinds import Kinds
from webhook.objects.labels import Labels
from webhook.objects.names import NAMESPACE_NAME
from webhook.objects.workload import Workload
from webhook.policy.defaults import Defaulting
from webhook.rules import DEFAULT_SETTINGS, RULES, WITHOUT_CONSTRAINTS
from webhook.scheduler.default_constraints import LIST
from webhook.scheduler.selectors import Match, Selector


class PolicyError(ValueError):
    """A policy that cannot be used; one printable line for each cause, which names its path."""

    def __init__(self, causes: Iterable[str]) -> None:
        self.causes = tuple([one_line(cause, LINE_LIMIT) for cause in causes])
        super().__init__("\n".join(self.causes))


@dataclass(frozen=True, slots=True)
class Override:
    """What differs for the Pods that meet all of its conditions; one that is None is not checked."""

    name: str
    namespace_selector: Selector | None = None
    pod_selector: Selector | None = None
    scheduler_name: str | None = None
    settings: RuleSettings = field(default_factory=lambda: DEFAULT_SETTINGS)
    defaulting: Defaulting | None = None

    def matches(self, namespace: Match | Labels, workload: Workload) -> Match:
        """
        Whether it applies to the Pods of `workload`, in three values.

        `namespace` is the labels of their namespace, or whether `namespace_selector` matches where they are not known.
        """
        if self.scheduler_name is not None and self.scheduler_name != workload.scheduler_name:
            return Match.NO
        found = {Match.YES}
        if self.pod_selector is not None:
            known = workload.labels_known
            found.add(self.pod_selector.match(workload.labels, workload.addable if known else self.pod_selector.keys))
        if self.namespace_selector is not None:
            found.add(namespace if isinstance(namespace, Match) else self.namespace_selector.match(namespace))
        return Match.NO if Match.NO in found else Match.UNKNOWN if Match.UNKNOWN in found else Match.YES


@dataclass(frozen=True, slots=True)
class InForce:
    """
    The part of a policy that applies to one workload; `override` is the name of the one that matched, or None.

    It is not `certain` if labels that are not known yet decide whether an override applies.  `doubted` are the rules
    that such an override would change; `defaulting` is None if it would change that.
    """

    override: str | None
    settings: RuleSettings
    defaulting: Defaulting | None
    doubted: frozenset[str] = frozenset()
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Policy:
    """A valid policy; `notes` say what is valid but may not do what its author expects."""

    enforcement: str
    owned_objects: str
    early_answer: bool
    on_error: str
    watch_pods: bool
    defaulting: Defaulting
    settings: RuleSettings
    kinds: Kinds
    overrides: tuple[Override, ...]
    notes: tuple[str, ...]

    @property
    def enforced(self) -> tuple[str, ...]:
        """The rules that are enforced, in the policy or in any override, and deny."""
        if self.enforcement != "Deny":
            return ()
        return tuple(rule.id for rule in RULES.values() if any(map(is_enforced, self._each_setting(rule))))

    @property
    def defaults(self) -> bool:
        """Whether it has default constraints, in the policy or in any override."""
        every = (self.defaulting, *(override.defaulting for override in self.overrides))
        return any(
            defaulting is not None and defaulting.type == LIST and defaulting.constraints for defaulting in every
        )

    @property
    def judges_without_constraints(self) -> bool:
        """Whether any rule is run on workloads without constraints."""
        return any(setting.severity is not Severity.IGNORE for setting in self._each_setting(*WITHOUT_CONSTRAINTS))

    def _each_setting(self, *rules: Rule) -> Iterator[RuleSetting]:
        """Those of some rules in the policy and in each override."""
        for settings in (self.settings, *(override.settings for override in self.overrides)):
            yield from (settings[rule.id] for rule in rules)

    def with_severities(self, severities: Mapping[str, Severity]) -> Policy:
        """
        A copy with other severities, also in overrides.

        PolicyError if a rule cannot have its severity, or lacks a parameter that it needs.
        """
        causes = [
            f"{rule_id}: found {severity}, wanted {' or '.join(RULES[rule_id].severities)}: {ADVICE}"
            for rule_id, severity in severities.items()
            if severity not in RULES[rule_id].severities
        ]
        causes += (
            f"{rule_id}: must have {' or '.join(RULES[rule_id].required)}; give its parameters in a policy file"
            for rule_id, severity in severities.items()
            if severity is not Severity.IGNORE and RULES[rule_id].lacks_parameters(self.settings[rule_id])
        )
        if causes:
            raise PolicyError(causes)
        overrides = tuple(
            replace(override, settings=_changed(override.settings, severities)) for override in self.overrides
        )
        return replace(self, settings=_changed(self.settings, severities), overrides=overrides)

    def in_force(self, workload: Workload, namespace_labels: Labels | None) -> InForce:
        """The policy for the Pods of `workload`: the first override that matches, and only that one."""
        base = InForce(None, self.settings, self.defaulting)
        if not self.overrides:
            return base
        perhaps: list[Override] = []
        for override in self.overrides:
            match = override.matches(_namespace(workload, namespace_labels, override), workload)
            if match is Match.UNKNOWN:
                perhaps.append(override)
            elif match is Match.YES:
                base = InForce(override.name, override.settings, override.defaulting or self.defaulting)
                break
        if not perhaps:
            return base
        doubted = frozenset(
            rule for rule in RULES for override in perhaps if override.settings[rule] != base.settings[rule]
        )
        sure = all((override.defaulting or self.defaulting) == base.defaulting for override in perhaps)
        return InForce(base.override, base.settings, base.defaulting if sure else None, doubted, certain=False)


def _namespace(workload: Workload, labels: Labels | None, override: Override) -> Match | Labels:
    """The labels of the namespace, or where they are not known, whether the override matches its name alone."""
    if labels is not None:
        return labels
    if override.namespace_selector is None:
        return Match.UNKNOWN
    return override.namespace_selector.match({NAMESPACE_NAME: workload.namespace}, override.namespace_selector.keys)


def is_enforced(setting: RuleSetting) -> bool:
    """Whether the rule denies, whatever an annotation or an owner reference says."""
    return setting.enforced and setting.severity is Severity.ERROR


def _changed(settings: RuleSettings, severities: Mapping[str, Severity]) -> RuleSettings:
    return {**settings, **{rule: replace(settings[rule], severity=new) for rule, new in severities.items()}}
