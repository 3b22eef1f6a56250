"""
The policy, and the part of it that is in force for one workload.

    Policy ──on(day)──> Policy ──in_force(namespace, labels, schedulerName)──> InForce(settings, defaulting)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from webhook.findings.finding import Severity
from webhook.findings.rule import ADVICE_ONLY, RuleSetting, RuleSettings
from webhook.findings.wording import CausesError
from webhook.kubernetes.fields import FieldPath
from webhook.kubernetes.kinds import Kinds
from webhook.kubernetes.labels import Labels
from webhook.kubernetes.names import NAMESPACE_NAME
from webhook.kubernetes.workload import Workload
from webhook.policy.defaults import Defaulting, karpenter_notes, lacking_notes
from webhook.rules import DEFAULT_SETTINGS, RULES, WITHOUT_CONSTRAINTS
from webhook.spread.cluster_view import KARPENTER, ClusterView
from webhook.spread.selectors import DOES_NOT_EXIST, EQUALS, EVERYTHING, EXISTS, IN, NOT_IN, Match, Selector, any_of

DENY, WARN, AUDIT = "Deny", "Warn", "Audit"
APPLY = "Apply"  # of defaultingMode; the other is AUDIT
STATES = ENDED, ENDS_SOON = "ended", "ends-soon"  # of overrides that end


class PolicyError(CausesError):
    """A policy that cannot be used; each cause names its path."""


@dataclass(frozen=True, slots=True)
class Override:
    """What applies to the Pods that meet all of its conditions, in place of the policy's own settings."""

    name: str
    enforcement: str
    owned_objects: str
    # Conditions; None: not checked.
    namespace_selector: Selector | None = None
    pod_selector: Selector | None = None
    scheduler_name: str | None = None
    until: str = ""  # the last day on which it applies, such as 2027-01-31; "" if it has no end
    settings: RuleSettings = field(default_factory=lambda: DEFAULT_SETTINGS)
    defaulting: Defaulting | None = None  # None: the policy's
    defaulting_mode: str = APPLY

    @property
    def selectors(self) -> dict[str, Selector]:
        """The selectors that it has, by the names of their fields."""
        selectors = {"namespaceSelector": self.namespace_selector, "podSelector": self.pod_selector}
        return {name: selector for name, selector in selectors.items() if selector is not None}

    def covers(self, later: Override) -> bool:
        """Return whether it plainly matches all that `later` matches, on each day, so that `later` never applies."""
        if self.scheduler_name not in (None, later.scheduler_name):
            return False
        if self.until and not (later.until and later.until <= self.until):
            return False
        later_selectors = later.selectors
        return all(later_selectors.get(name, EVERYTHING).implies(own) for name, own in self.selectors.items())

    def matches(self, namespace: Match | Labels, workload: Workload) -> Match:
        """
        Return whether it applies to the Pods of `workload`.

        `namespace` is the labels of their namespace, or if they are not known, whether `namespace_selector` matches.
        """
        if self.scheduler_name is not None and self.scheduler_name != workload.scheduler_name:
            return Match.NO
        answers = {Match.YES}
        if self.pod_selector is not None:
            labels = {**workload.given_labels, **workload.labels}
            addable = workload.addable if workload.labels_known else self.pod_selector.keys
            answers.add(self.pod_selector.match(labels, addable))
        if self.namespace_selector is not None:
            answers.add(namespace if isinstance(namespace, Match) else self.namespace_selector.match(namespace))
        if Match.NO in answers:
            return Match.NO
        return Match.UNKNOWN if Match.UNKNOWN in answers else Match.YES


# A field of an override, and what it requires: a schedulerName, or the key, operator and value of a label.
Condition = tuple[str, ...]


def covered_by(overrides: Sequence[Override]) -> Mapping[int, int]:
    """
    Return the overrides that never apply, each with the first one that covers it, by their indices.

    There may be many, so not all pairs are compared.  An override that is covered requires all that the one that covers
    it requires.  So each is filed under its rarest requirement, and compared only with those that are filed under what
    it requires itself.
    """
    required = chain.from_iterable(_required(override) for override in overrides)
    shared_by = Counter(condition for alternatives in required for condition in alternatives)
    filed: dict[Condition, list[int]] = {}
    covered: dict[int, int] = {}
    for i, override in enumerate(overrides):
        earlier = {j for condition in _met(override) for j in filed.get(condition, ())}
        first = next((j for j in sorted(earlier) if overrides[j].covers(override)), None)
        if first is not None:
            covered[i] = first
        rarest = min(_required(override), key=lambda alternatives: shared_by[alternatives[0]], default=((),))
        for condition in rarest:
            filed.setdefault(condition, []).append(i)
    return covered


def _required(override: Override) -> Iterator[tuple[Condition, ...]]:
    """Yield what an override requires, each as alternatives: any override that it covers meets one of them."""
    if override.scheduler_name is not None:
        yield (("schedulerName", override.scheduler_name),)
    for name, selector in override.selectors.items():
        for key, operator, values in selector.requirements:
            if operator in (EQUALS, IN):
                yield tuple((name, key, IN, value) for value in values)
            elif operator == NOT_IN:
                yield (name, key, NOT_IN, values[0]), (name, key, NOT_IN)
            else:
                yield ((name, key, operator),)


def _met(override: Override) -> Iterator[Condition]:
    """Yield the conditions that an override meets: any that covers it is filed under one; see `Requirement.implies`."""
    yield ()  # An override that requires nothing covers all.
    if override.scheduler_name is not None:
        yield "schedulerName", override.scheduler_name
    for name, selector in override.selectors.items():
        for key, operator, values in selector.requirements:
            if operator in (EQUALS, IN):
                yield from ((name, key, IN, values[0]), (name, key, EXISTS), (name, key, NOT_IN))
            elif operator == NOT_IN:
                yield from ((name, key, NOT_IN, value) for value in values)
            else:
                yield name, key, operator
                if operator == DOES_NOT_EXIST:
                    yield name, key, NOT_IN


@dataclass(frozen=True, slots=True)
class InForce:
    """
    The part of a policy that applies to one workload.

    An override is in doubt if labels that are not known yet decide whether it applies.
    """

    override: str | None  # the name of the one that applies
    settings: RuleSettings
    defaulting: Defaulting | None  # None if an override in doubt would change it
    defaulting_mode: str  # AUDIT: Pods are not given the defaults
    enforcement: str  # the milder one if overrides are in doubt
    of_enforced: str  # the enforcement of enforced rules, which a doubt does not change
    owned_objects: str  # the milder one if overrides are in doubt
    doubted: frozenset[str] = frozenset()  # the rules that overrides in doubt would change
    certain: bool = True  # no override is in doubt
    errors: frozenset[str] = field(init=False, repr=False, compare=False)  # the rules of severity error

    def __post_init__(self) -> None:
        """Set `errors` from `settings`, also in a copy that `dataclasses.replace` makes."""
        errors = [rule for rule, setting in self.settings.items() if setting.severity is Severity.ERROR]
        object.__setattr__(self, "errors", frozenset(errors))

    @property
    def enforces(self) -> bool:
        """Whether any rule denies, whatever an annotation or an owner reference says."""
        return self.of_enforced == DENY and any(map(is_enforced, self.settings.values()))


@dataclass(frozen=True, slots=True)
class Policy:
    """A valid policy."""

    enforcement: str
    owned_objects: str
    early_answer: bool
    on_error: str
    help: str  # a line for whoever is warned or denied, or ""
    defaulting: Defaulting
    settings: RuleSettings
    kinds: Kinds
    overrides: tuple[Override, ...]
    notes: tuple[str, ...]  # what is valid, but may not do what its author expects
    defaulting_mode: str = APPLY
    scheduler_api: str = ""  # the apiVersion of the KubeSchedulerConfiguration that it was read from
    # What is in force if no override matches, and then if each of the overrides does.
    in_force_by_part: tuple[InForce, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Set `in_force_by_part` from the other fields, also in a copy that `dataclasses.replace` makes."""
        by_part = [
            InForce(
                override=part.name if isinstance(part, Override) else None,
                settings=part.settings,
                defaulting=part.defaulting or self.defaulting,
                defaulting_mode=part.defaulting_mode,
                enforcement=part.enforcement,
                of_enforced=part.enforcement,
                owned_objects=part.owned_objects,
            )
            for part in self.parts
        ]
        object.__setattr__(self, "in_force_by_part", tuple(by_part))

    @property
    def enforced(self) -> tuple[str, ...]:
        """The rules that are enforced, in the policy or in any override, and deny."""
        denying = [part.settings for part in self.parts if part.enforcement == DENY]
        return tuple(rule for rule in RULES if any(is_enforced(settings[rule]) for settings in denying))

    @property
    def parts(self) -> tuple[Override | Policy, ...]:
        """All that may apply to a workload: the policy itself, and each override."""
        return (self, *self.overrides)

    def on(self, day: str) -> Policy:
        """Return the policy of a day, in UTC, such as 2027-01-31: without the overrides that have ended."""
        overrides = tuple([override for override in self.overrides if not override.until or day <= override.until])
        return self if len(overrides) == len(self.overrides) else replace(self, overrides=overrides)

    @property
    def defaults(self) -> bool:
        """Whether it has default constraints, itself or in any override."""
        return any(defaulting.gives for _, defaulting in self.defaultings())

    @property
    def defaulted_namespaces(self) -> Selector:
        """A selector that matches every namespace in which Pods may get default constraints."""
        if self.defaulting.gives:
            return EVERYTHING
        return any_of(
            override.selectors.get("namespaceSelector", EVERYTHING)
            for override in self.overrides
            if override.defaulting is not None and override.defaulting.gives
        )

    def defaultings(self) -> Iterator[tuple[FieldPath, Defaulting]]:
        """Yield each `defaulting`, of the policy and of overrides that have one, with its path."""
        yield ("defaulting",), self.defaulting
        for i, override in enumerate(self.overrides):
            if override.defaulting is not None:
                yield ("overrides", i, "defaulting"), override.defaulting

    def notes_on(self, snapshot: ClusterView) -> Iterator[str]:
        """Yield what the defaults do in a cluster whose nodes lack a topology key, or are made by Karpenter."""
        for path, defaulting in self.defaultings():
            yield from lacking_notes(defaulting, path, snapshot.nodes)
        if KARPENTER in snapshot.node_makers(snapshot.nodes.all):
            yield from self.karpenter_notes()

    def karpenter_notes(self) -> Iterator[str]:
        """Yield what Karpenter does with the soft constraints that the policy gives."""
        for path, defaulting in self.defaultings():
            yield from karpenter_notes(defaulting, path)

    @property
    def judges_without_constraints(self) -> bool:
        """Whether the webhook, which knows no Pods, runs any rule on workloads without constraints."""
        return any(
            part.settings[rule.id].severity is not Severity.IGNORE
            for part in self.parts
            for rule in WITHOUT_CONSTRAINTS
        )

    def gives(self, rule_id: str) -> bool:
        """Return whether it sets the severity of a rule, itself or in any override."""
        return any(part.settings[rule_id].given for part in self.parts)

    def with_severities(self, severities: Mapping[str, Severity]) -> Policy:
        """
        Return a copy with other severities, also in overrides.

        PolicyError if a rule cannot have its severity, or lacks a parameter that it needs.
        """
        causes = [
            f"{rule_id}: found {severity}, wanted {' or '.join(RULES[rule_id].severities)}: {ADVICE_ONLY}"
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
        """Return the policy for the Pods of `workload`: the first override that matches, and only that one."""
        applies = self.in_force_by_part[0]
        in_doubt: list[Override] = []
        for override, in_force in zip(self.overrides, self.in_force_by_part[1:], strict=True):
            match = override.matches(_namespace(workload.namespace, namespace_labels, override), workload)
            if match is Match.UNKNOWN:
                in_doubt.append(override)
            elif match is Match.YES:
                applies = in_force
                break
        if not in_doubt:
            return applies
        same_defaulting = all(
            (override.defaulting or self.defaulting, override.defaulting_mode)
            == (applies.defaulting, applies.defaulting_mode)
            for override in in_doubt
        )
        same_owned_objects = all(override.owned_objects == applies.owned_objects for override in in_doubt)
        doubted = [rule for rule in RULES for override in in_doubt if override.settings[rule] != applies.settings[rule]]
        return replace(
            applies,
            defaulting=applies.defaulting if same_defaulting else None,
            enforcement=mildest((applies, *in_doubt)),
            owned_objects=applies.owned_objects if same_owned_objects else AUDIT,
            doubted=frozenset(doubted),
            certain=False,
        )

    def possible(self, namespace: str, labels: Labels | None) -> Mapping[str, Policy]:
        """
        Return the policies that may apply in a namespace; just one, "", if its labels are known.

        If they are not, there is one for each override in doubt, by its name: the policy in which that is the first to
        match the labels.  In the policy "" none of them does.
        """
        in_doubt = {
            override.name: override
            for override in self.overrides
            if _namespace(namespace, labels, override) is Match.UNKNOWN
        }
        covered = covered_by(tuple(in_doubt.values()))
        by_override: dict[str, Policy] = {}
        for i, (name, assumed) in enumerate(in_doubt.items()):
            if i not in covered:
                overrides = [
                    override for override in self.overrides if override is assumed or override.name not in in_doubt
                ]
                overrides[overrides.index(assumed)] = replace(assumed, namespace_selector=None)
                by_override[name] = replace(self, overrides=tuple(overrides))
        certain = tuple([override for override in self.overrides if override.name not in in_doubt])
        return {**by_override, "": replace(self, overrides=certain) if in_doubt else self}


def _namespace(namespace: str, labels: Labels | None, override: Override) -> Match | Labels:
    """Return the labels of a namespace; if they are not known, whether the override matches by the name alone."""
    if labels is not None:
        return labels
    if override.namespace_selector is None:
        return Match.YES
    return override.namespace_selector.match({NAMESPACE_NAME: namespace}, override.namespace_selector.keys)


def mildest(parts: Sequence[Policy | Override | InForce]) -> str:
    """Return the enforcement if any of the parts may apply: that of the first, but Warn for Deny if not all deny."""
    denies_in_doubt = parts[0].enforcement == DENY and any(part.enforcement != DENY for part in parts)
    return WARN if denies_in_doubt else parts[0].enforcement


def is_enforced(setting: RuleSetting) -> bool:
    """Return whether the rule denies, whatever an annotation or an owner reference says."""
    return setting.enforced and setting.severity is Severity.ERROR


def _changed(settings: RuleSettings, severities: Mapping[str, Severity]) -> RuleSettings:
    changed = {rule: replace(settings[rule], severity=new, given=True) for rule, new in severities.items()}
    return {**settings, **changed}
