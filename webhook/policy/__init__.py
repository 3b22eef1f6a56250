"""
The policy: parsed and checked from text, and what of it is in force for one Pod.

    text ──parse──> Policy ──in_force(namespace, labels, schedulerName)──> InForce(settings, defaulting)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from webhook.documents import DocumentError, read
from webhook.policy import scheduler_configuration
from webhook.policy.defaults import Defaulting, defaulting_errors, integers, notes_on, parse_defaulting
from webhook.policy.schema import complaints, schema
from webhook.rules import DEFAULT_SETTINGS, RULES, WITHOUT_CONSTRAINTS, Rule, Setting, Settings, Severity
from webhook.scheduler.constraint import read_selector, selector_errors
from webhook.scheduler.fields import FieldPath, as_list, as_mapping, label_key_errors, path_text
from webhook.scheduler.reading import Reader, brief
from webhook.scheduler.selectors import Labels, Match, Selector, as_selector
from webhook.scheduler.spread import LIST
from webhook.workload import EACH, KINDS, Kind, Workload

NAMESPACE_NAME = "kubernetes.io/metadata.name"
BUILT_IN = """\
apiVersion: config.evenkeel.dev/v1alpha1
kind: SpreadPolicy
enforcement: Deny
ownedObjects: Audit
earlyAnswer: false
onError: Allow
watchPods: false
defaulting:
  defaultingType: List
  defaultConstraints:
  - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}
  - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}
"""


class PolicyError(ValueError):
    """A policy that cannot be used; one line for each cause, which names its path."""

    def __init__(self, causes: Iterable[str]) -> None:
        self.causes = tuple(causes)
        super().__init__("\n".join(self.causes))


@dataclass(frozen=True, slots=True)
class Override:
    """What differs for some Pods; a condition that is None is not asked."""

    name: str
    namespace_selector: Selector | None = None
    pod_selector: Selector | None = None
    scheduler_name: str | None = None
    settings: Settings = field(default_factory=lambda: DEFAULT_SETTINGS)
    defaulting: Defaulting | None = None

    def matches(self, namespace: Match | Labels, workload: Workload) -> Match:
        """Whether this is for the Pods of `workload`, in three values."""
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
    What a policy says of one workload.

    `doubted` are the rules that an override would change which applies or not by labels that are not known yet;
    `defaulting` is None where that is in doubt.
    """

    override: str | None
    settings: Settings
    defaulting: Defaulting | None
    doubted: frozenset[str] = frozenset()
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy whose every part is valid; `notes` is what is worth a second thought."""

    enforcement: str
    owned_objects: str
    early_answer: bool
    on_error: str
    watch_pods: bool
    defaulting: Defaulting
    settings: Settings
    kinds: tuple[Kind, ...]
    overrides: tuple[Override, ...]
    notes: tuple[str, ...]

    @property
    def enforces(self) -> bool:
        """Whether any rule that denies is enforced for anybody."""
        return any(one.enforced and one.severity is Severity.ERROR for one in self._each_setting())

    @property
    def defaults(self) -> bool:
        """Whether any Pod is given constraints."""
        every = (self.defaulting, *(one.defaulting for one in self.overrides))
        return any(one is not None and one.type == LIST and one.constraints for one in every)

    @property
    def judges_without_constraints(self) -> bool:
        """Whether any rule looks at what has no constraint at all."""
        return any(one.severity is not Severity.IGNORE for one in self._each_setting(*WITHOUT_CONSTRAINTS))

    def _each_setting(self, *rules: Rule) -> Iterator[Setting]:
        """Those of some rules, or of all, in the policy and in each override."""
        for settings in (self.settings, *(one.settings for one in self.overrides)):
            yield from (settings[rule.id] for rule in rules or RULES.values())

    def with_severities(self, severities: Mapping[str, Severity]) -> Policy:
        """This policy with other severities, for everybody; PolicyError where a rule lacks what it must be told."""
        causes = tuple(
            f"{rule_id}: must have {' or '.join(RULES[rule_id].required)}; give its parameters in a policy file"
            for rule_id, severity in severities.items()
            if severity is not Severity.IGNORE and _lacks_parameters(self.settings[rule_id], RULES[rule_id])
        )
        if causes:
            raise PolicyError(causes)
        overrides = tuple(replace(one, settings=_changed(one.settings, severities)) for one in self.overrides)
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
        doubted = frozenset(rule for rule in RULES for one in perhaps if one.settings[rule] != base.settings[rule])
        sure = all((one.defaulting or self.defaulting) == base.defaulting for one in perhaps)
        return InForce(base.override, base.settings, base.defaulting if sure else None, doubted, certain=False)


def _namespace(workload: Workload, labels: Labels | None, override: Override) -> Match | Labels:
    """The labels of the namespace; of one that is not known, only the name label is certain."""
    if labels is not None:
        return labels
    if override.namespace_selector is None:
        return Match.UNKNOWN
    return override.namespace_selector.match({NAMESPACE_NAME: workload.namespace}, override.namespace_selector.keys)


def parse(text: str) -> Policy:
    """The policy in `text`, a SpreadPolicy or a KubeSchedulerConfiguration; PolicyError names every cause."""
    try:
        documents = read(text)
    except DocumentError as error:
        raise PolicyError([str(error)]) from error
    if len(documents) != 1 or not isinstance(documents[0], dict):
        found = brief(documents[0]) if len(documents) == 1 else f"{len(documents)} documents"
        raise PolicyError([f"found {found}, wanted one object"])
    raw = documents[0]
    if raw.get("kind") == scheduler_configuration.KIND:
        raw, notes, causes = scheduler_configuration.translate(raw)
        if causes:
            raise PolicyError(causes)
        return replace(_checked(raw), notes=notes)
    return _checked(raw)


@cache
def built_in() -> Policy:
    """The policy that is in force where none is given."""
    return _policy(as_mapping(read(BUILT_IN)[0]))


def _checked(raw: Mapping[str, object]) -> Policy:
    if wrong := tuple(complaints(raw, schema())):
        raise PolicyError(wrong)
    return _policy(raw)


def _policy(raw: Mapping[str, object]) -> Policy:
    causes: list[str] = []
    settings = _settings(raw.get("rules"), DEFAULT_SETTINGS, ("rules",), causes)
    causes += defaulting_errors(raw.get("defaulting"), ("defaulting",))
    overrides, kinds = _overrides(raw, settings, causes), _kinds(raw, causes)
    if causes:
        raise PolicyError(causes)
    base = {**as_mapping(read(BUILT_IN)[0]), **raw}
    defaulting = parse_defaulting(base["defaulting"])
    found: list[tuple[FieldPath, Defaulting]] = [(("defaulting",), defaulting)] if "defaulting" in raw else []
    found += [(("overrides", i, "defaulting"), o.defaulting) for i, o in enumerate(overrides) if o.defaulting]
    return Policy(
        enforcement=str(base["enforcement"]),
        owned_objects=str(base["ownedObjects"]),
        early_answer=base["earlyAnswer"] is True,
        on_error=str(base["onError"]),
        watch_pods=base["watchPods"] is True,
        defaulting=defaulting,
        settings=settings,
        kinds=(*KINDS, *kinds),
        overrides=overrides,
        notes=tuple(note for path, one in found for note in notes_on(one, path)),
    )


def _settings(raw: object, base: Settings, path: FieldPath, causes: list[str]) -> Settings:
    """`base` with what `raw` says of single rules: each field of a rule that it does not name stays."""
    settings = dict(base)
    for rule_id, value in as_mapping(raw).items():
        given = dict(as_mapping(value)) if isinstance(value, dict) else {"severity": value}
        old, rule = settings[rule_id], RULES[rule_id]
        severity = Severity(str(given.pop("severity", old.severity)))
        enforced = given.pop("enforced", old.enforced) is True
        settings[rule_id] = rule.setting(severity, enforced, {**old.parameters, **integers(given)})
        if severity is not Severity.IGNORE and _lacks_parameters(settings[rule_id], rule):
            example = f"{{severity: {severity}, {rule.required[0]}: …}}"
            causes.append(f"{path_text((*path, rule_id))}: must have {' or '.join(rule.required)}; write {example}")
    return settings


def _lacks_parameters(setting: Setting, rule: Rule) -> bool:
    return bool(rule.required) and not any(setting.parameters.get(name) for name in rule.required)


def _changed(settings: Settings, severities: Mapping[str, Severity]) -> Settings:
    return {**settings, **{rule: replace(settings[rule], severity=new) for rule, new in severities.items()}}


def _overrides(raw: Mapping[str, object], base: Settings, causes: list[str]) -> tuple[Override, ...]:
    found: list[Override] = []
    for i, one in enumerate(map(as_mapping, as_list(raw.get("overrides")))):
        path: FieldPath = ("overrides", i)
        if not one.keys() & {"namespaceSelector", "podSelector", "schedulerName"}:
            causes.append(f"{path_text(path)}: must have namespaceSelector, podSelector or schedulerName")
        causes += defaulting_errors(one.get("defaulting"), (*path, "defaulting"))
        name = one.get("schedulerName")
        override = Override(
            name=str(one["name"]),
            namespace_selector=_selector(one, (*path, "namespaceSelector"), causes),
            pod_selector=_selector(one, (*path, "podSelector"), causes),
            scheduler_name=name if isinstance(name, str) else None,
            settings=_settings(one.get("rules"), base, (*path, "rules"), causes),
            defaulting=parse_defaulting(one["defaulting"]) if "defaulting" in one else None,
        )
        if override.name in {other.name for other in found}:
            causes.append(f"{path_text(path)}.name: found {brief(override.name)} twice, wanted a name of its own")
        found.append(override)
    return tuple(found)


def _selector(raw: Mapping[str, object], path: FieldPath, causes: list[str]) -> Selector | None:
    reader = Reader()
    selector = read_selector(reader, raw.get(str(path[-1])), path)
    if selector is None:
        return None
    errors = [*reader.errors, *(() if reader.errors else selector_errors(selector, path))]
    causes += (f"{path_text(error.path)}: found {brief(error.value)}, {error.detail}" for error in errors)
    return None if errors else as_selector(selector)


def _kinds(raw: Mapping[str, object], causes: list[str]) -> tuple[Kind, ...]:
    found: list[Kind] = []
    for i, one in enumerate(map(as_mapping, as_list(raw.get("workloads")))):
        where, template, constraints = f"workloads[{i}]", _path(one, "podTemplate"), _path(one, "constraints")
        labels, replicas = _path(one, "labels"), _path(one, "replicas")
        anchor = template or constraints
        if anchor is None or (template is not None and constraints is not None):
            causes.append(f"{where}: must have either podTemplate or constraints")
            continue
        if labels is not None and template is not None:
            causes.append(f"{where}.labels: goes with constraints; a Pod template has its labels in it")
        for name, other in (("labels", labels), ("replicas", replicas)):
            if other is not None and other.count(EACH) and _lists(other) != _lists(anchor)[: other.count(EACH)]:
                causes.append(f"{where}.{name}: must lead through the same lists as {path_text(anchor)}")
        causes += _repeated(where, one, raw)
        causes += (
            f"{where}.addedLabels: found {brief(key)}, wanted label keys"
            for key in as_list(one.get("addedLabels"))
            if label_key_errors(str(key))
        )
        added = tuple(str(key) for key in as_list(one.get("addedLabels")))
        found.append(
            Kind(
                str(one["apiVersion"]),
                str(one["kind"]),
                str(one["resource"]),
                template=template,
                replicas=replicas,
                added_labels=added,
                revision_key=next((key for key in added if key.endswith("-hash")), None),
                constraints=constraints,
                labels=labels,
                built_in=False,
                from_policy=True,
            )
        )
    return tuple(found)


def _repeated(where: str, one: Mapping[str, object], raw: Mapping[str, object]) -> Iterator[str]:
    """A place in a kind is described once; those built in are known better here than a policy can say."""
    of = (one["apiVersion"], one["kind"])
    if any(of == (kind.api_version, kind.kind) for kind in KINDS if kind.built_in):
        yield f"{where}: {of[0]} {of[1]} is built in, and cannot be described anew"
    same = [other for other in map(as_mapping, as_list(raw["workloads"])) if (other["apiVersion"], other["kind"]) == of]
    for name in ("podTemplate", "constraints"):
        if name in one and [other.get(name) for other in same].count(one[name]) > 1:
            yield f"{where}.{name}: stands more than once for {of[0]} {of[1]}"


def _path(raw: Mapping[str, object], name: str) -> FieldPath | None:
    """`spec.sets[*].template` as `("spec", "sets", "*", "template")`."""
    text = raw.get(name)
    return tuple(text.replace("[*]", f".{EACH}").split(".")) if isinstance(text, str) else None


def _lists(path: FieldPath) -> list[FieldPath]:
    """The lists that a path leads through."""
    return [path[:i] for i, part in enumerate(path) if part == EACH]
