"""
Parses the text of a policy and checks it.

    text ──YAML──> raw ──schema──> raw of the right form ──what no schema can check──> Policy
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from webhook.findings.finding import Severity
from webhook.findings.rule import ADVICE_ONLY, RuleSettings
from webhook.kubernetes.documents import read_documents, read_one
from webhook.kubernetes.features import LATEST, Features
from webhook.kubernetes.fields import FieldPath, as_list, as_mapping, path_text
from webhook.kubernetes.kinds import EACH, KINDS, Kind, Kinds, parse_path
from webhook.kubernetes.labels import label_key_errors
from webhook.kubernetes.names import SCHEDULER_CONFIGURATION_KIND
from webhook.kubernetes.operators import kinds_named
from webhook.kubernetes.reader import Reader, brief
from webhook.kubernetes.scalars import DocumentError
from webhook.kubernetes.times import days_at
from webhook.policy import defaults, enforcement, override_reach
from webhook.policy.defaults import defaulting_errors, integers, parse_defaulting
from webhook.policy.policy import Override, Policy, PolicyError
from webhook.policy.schema import BUILT_IN_NAME, POLICY_KIND, complaints, schema
from webhook.policy.translation import translate
from webhook.rules import DEFAULT_SETTINGS, RULES
from webhook.spread.constraint import read_selector
from webhook.spread.selectors import Selector, as_selector
from webhook.spread.validation import in_one_line, selector_errors

BUILT_IN = """\
apiVersion: config.evenkeel.dev/v1alpha1
kind: SpreadPolicy
enforcement: Deny
ownedObjects: Audit
earlyAnswer: false
onError: Allow
defaulting:
  defaultingType: List
  defaultConstraints:
  - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}
  - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}
defaultingMode: Apply
"""


def parse_policy(text: str, features: Features = LATEST) -> Policy:
    """
    Return the policy in `text`, a SpreadPolicy or a KubeSchedulerConfiguration; PolicyError names every cause.

    Its default constraints must be valid in the Kubernetes version that has these features.
    """
    try:
        return policy_of(read_one(text, "policy", POLICY_KIND, SCHEDULER_CONFIGURATION_KIND), features)
    except DocumentError as error:
        raise PolicyError([str(error)]) from error


def policy_of(raw: Mapping[str, object], features: Features = LATEST) -> Policy:
    """Return the policy in an object; see `parse_policy`."""
    if raw.get("kind") == SCHEDULER_CONFIGURATION_KIND:
        translated, notes, causes = translate(raw, features)
        if causes:
            raise PolicyError(causes)
        return replace(_checked(translated, features), notes=notes, scheduler_api=str(raw["apiVersion"]))
    return _checked(raw, features)


@cache
def built_in() -> Policy:
    """Return the policy that is in force if none is given."""
    return _policy({}, LATEST)


def _checked(raw: Mapping[str, object], features: Features) -> Policy:
    if causes := tuple(complaints(raw, schema())):
        raise PolicyError(causes)
    return _policy(raw, features)


def _policy(raw: Mapping[str, object], features: Features) -> Policy:
    causes = [*_unprintable(str(raw.get("help", "")), ("help",))]
    base = {**as_mapping(read_documents(BUILT_IN)[0]), **raw}
    settings = _settings(raw, DEFAULT_SETTINGS, (), causes)
    for path, defaulting in _defaultings(raw):
        causes += defaulting_errors(defaulting, path, features)
    overrides, kinds = _overrides(base, settings, causes), _kinds(raw, causes)
    if causes:
        raise PolicyError(causes)
    defaulting = parse_defaulting(base["defaulting"])._replace(built_in="defaulting" not in raw)
    policy = Policy(
        enforcement=str(base["enforcement"]),
        owned_objects=str(base["ownedObjects"]),
        early_answer=base["earlyAnswer"] is True,
        on_error=str(base["onError"]),
        help=str(raw.get("help", "")),
        defaulting=defaulting,
        settings=settings,
        kinds=Kinds((*KINDS, *kinds)),
        overrides=overrides,
        notes=(),
        defaulting_mode=str(base["defaultingMode"]),
    )
    notes = [
        note
        for path, defaulting in policy.defaultings()
        if not defaulting.built_in
        for note in defaults.notes_on(defaulting, path)
    ]
    notes += enforcement.notes_on(policy)
    if overrides:
        notes += override_reach.notes_on(policy)
    return replace(policy, notes=tuple(notes))


def _defaultings(raw: Mapping[str, object]) -> Iterator[tuple[FieldPath, object]]:
    """Yield the value of `defaulting` in the policy and in each override, with its path; None if it is absent."""
    yield ("defaulting",), raw.get("defaulting")
    for i, item in enumerate(map(as_mapping, as_list(raw.get("overrides")))):
        yield ("overrides", i, "defaulting"), item.get("defaulting")


def _settings(
    raw: Mapping[str, object], base: RuleSettings, path: FieldPath, causes: list[str], notice_of_policy: str = ""
) -> RuleSettings:
    """
    Return `base` with the changes that `raw` makes, which is the policy or an override.

    A notice of the policy or the override is for all of its errors, except rules that it gives a notice of their own.
    The notice of the policy is also for what only an override makes an error.
    """
    settings, common_notice = dict(base), _notice(raw, path, causes)
    with_own_notice: set[str] = set()
    for rule_id, value in as_mapping(raw.get("rules")).items():
        rule_path = (*path, "rules", rule_id)
        given = dict(as_mapping(value)) if isinstance(value, dict) else {"severity": value}
        old, rule = settings[rule_id], RULES[rule_id]
        if own_notice := _notice(given, rule_path, causes):
            with_own_notice.add(rule_id)
        is_given = old.given or "severity" in given
        # Once all other fields are popped, the parameters of the rule remain.
        given.pop("notice", None)
        severity, said = Severity(str(given.pop("severity", old.severity))), str(given.pop("help", old.help))
        enforced = given.pop("enforced", old.enforced) is True
        setting = rule.setting(severity, enforced, {**old.parameters, **integers(given)}, said)
        old_notice = old.notice if severity is old.severity else ""
        settings[rule_id] = replace(setting, notice=own_notice or old_notice, given=is_given)
        if own_notice and rule.advice:
            causes.append(f"{path_text((*rule_path, 'notice'))}: {ADVICE_ONLY}; remove it")
        causes += _unprintable(said, (*rule_path, "help"))
        if severity is not Severity.IGNORE and rule.lacks_parameters(settings[rule_id]):
            example = f"{{severity: {severity}, {rule.required[0]}: …}}"
            causes.append(f"{path_text(rule_path)}: must have {' or '.join(rule.required)}; write {example}")
    for rule_id, setting in settings.items():
        if rule_id not in with_own_notice and setting.severity is Severity.ERROR:
            settings[rule_id] = replace(setting, notice=common_notice or setting.notice or notice_of_policy)
    return settings


def _notice(raw: Mapping[str, object], path: FieldPath, causes: list[str]) -> str:
    """Return the `notice` in `raw` in words, for whoever is warned; "" if there is none."""
    notice, notice_path = as_mapping(raw.get("notice")), (*path, "notice")
    if not notice:
        return ""
    day = parse_day(notice.get("from"), (*notice_path, "from"), causes)
    whom = ", ".join(str(notice[name]) for name in ("contact", "url") if name in notice)
    causes += _unprintable(whom, notice_path)
    return "will be denied" + (f" from {day}" if day else "") + (f"; ask {whom}" if whom else "")


def _unprintable(said: str, path: FieldPath) -> Iterator[str]:
    if not said.isprintable():
        value = f"found {brief(said)}, wanted one line of characters that can be printed"
        yield f"{path_text(path)}: {value}"


def _overrides(raw: Mapping[str, object], base: RuleSettings, causes: list[str]) -> tuple[Override, ...]:
    """Return the overrides; `raw` is the policy with its defaults filled in, and has what an override does not set."""
    overrides: dict[str, Override] = {}
    notice = _notice(raw, (), [])  # What is wrong with it is said where the policy's own settings are read.
    for i, item in enumerate(map(as_mapping, as_list(raw.get("overrides")))):
        path: FieldPath = ("overrides", i)
        if not item.keys() & {"namespaceSelector", "podSelector", "schedulerName"}:
            causes.append(f"{path_text(path)}: must have namespaceSelector, podSelector or schedulerName")
        name = item.get("schedulerName")
        override = Override(
            name=str(item["name"]),
            enforcement=str(item.get("enforcement", raw["enforcement"])),
            owned_objects=str(item.get("ownedObjects", raw["ownedObjects"])),
            namespace_selector=_selector(item, (*path, "namespaceSelector"), causes),
            pod_selector=_selector(item, (*path, "podSelector"), causes),
            scheduler_name=name if isinstance(name, str) else None,
            until=parse_day(item.get("until"), (*path, "until"), causes),
            settings=_settings(item, base, path, causes, notice),
            defaulting=parse_defaulting(item["defaulting"]) if "defaulting" in item else None,
            defaulting_mode=str(item.get("defaultingMode", raw["defaultingMode"])),
        )
        if override.name in overrides:
            causes.append(f"{path_text(path)}.name: found {brief(override.name)} twice, wanted a name of its own")
        overrides[override.name] = override
    return tuple(overrides.values())


def parse_day(raw: object, path: FieldPath, causes: list[str]) -> str:
    """Return a day such as 2027-01-31; "" if there is none.  A day that does not exist is one of the `causes`."""
    if raw is None:
        return ""
    if days_at(str(raw)) is None:
        causes.append(f"{path_text(path)}: found {brief(raw)}, wanted a date of the calendar")
    return str(raw)


def _selector(raw: Mapping[str, object], path: FieldPath, causes: list[str]) -> Selector | None:
    reader = Reader()
    selector = read_selector(reader, raw.get(str(path[-1])), path)
    if selector is None:
        return None
    errors = [*reader.errors, *(() if reader.errors else selector_errors(selector, path))]
    causes += map(in_one_line, errors)
    return None if errors else as_selector(selector)


class _Places(NamedTuple):
    """The paths in one item of `workloads`."""

    template: FieldPath | None  # either this or `constraints`
    constraints: FieldPath | None
    labels: FieldPath | None
    replicas: FieldPath | None


def _kinds(raw: Mapping[str, object], causes: list[str]) -> tuple[Kind, ...]:
    items = [as_mapping(item) for item in as_list(raw.get("workloads"))]
    described = [item for item in items if BUILT_IN_NAME not in item]
    described_kinds = [
        _kind(item, f"workloads[{i}]", described, causes) for i, item in enumerate(items) if BUILT_IN_NAME not in item
    ]
    kinds = [kind for kind in described_kinds if kind is not None]
    return (*kinds, *_kinds_by_name(items, kinds, causes))


def _kinds_by_name(
    items: Sequence[Mapping[str, object]], described: Sequence[Kind], causes: list[str]
) -> Iterator[Kind]:
    """Yield the kinds that items of `workloads` name, without the places that other items describe."""
    described_places = {(kind.api_version, kind.kind, kind.anchor) for kind in described}
    named: set[str] = set()
    for i, item in enumerate(items):
        if BUILT_IN_NAME not in item:
            continue
        name = str(item[BUILT_IN_NAME])
        if name in named:
            causes.append(f"workloads[{i}].{BUILT_IN_NAME}: found {brief(name)} twice, wanted it once")
        named.add(name)
        for kind in kinds_named(name):
            if (kind.api_version, kind.kind, kind.anchor) not in described_places:
                yield kind


def _kind(
    raw: Mapping[str, object], where: str, described: Sequence[Mapping[str, object]], causes: list[str]
) -> Kind | None:
    """Parse one item of `workloads`; None where it does not say what to look at."""
    places = _Places(*[_path(raw, name) for name in ("podTemplate", "constraints", "labels", "replicas")])
    if (places.template is None) == (places.constraints is None):
        causes.append(f"{where}: must have either podTemplate or constraints")
        return None
    added = [str(key) for key in as_list(raw.get("addedLabels"))]
    causes += _place_errors(where, places)
    causes += _repeated(where, raw, described)
    causes += (f"{where}.addedLabels: found {brief(key)}, wanted label keys" for key in added if label_key_errors(key))
    return Kind(
        str(raw["apiVersion"]),
        str(raw["kind"]),
        str(raw["resource"]),
        template=places.template,
        replicas=places.replicas,
        added_labels=tuple(added),
        revision_key=next((key for key in added if key.endswith("-hash")), None),
        constraints=places.constraints,
        labels=places.labels,
        built_in=False,
        from_policy=True,
    )


def _place_errors(where: str, places: _Places) -> Iterator[str]:
    """Yield what is wrong with the paths beside the one to the Pod template or the constraints."""
    if places.labels is not None and places.template is not None:
        yield f"{where}.labels: goes only with constraints; a Pod template has its own labels, so remove this"
    anchor = places.template or places.constraints or ()
    for name, path in (("labels", places.labels), ("replicas", places.replicas)):
        lists = _lists(path or ())
        if lists != _lists(anchor)[: len(lists)]:  # which item of a list would be meant?
            yield f"{where}.{name}: must have [*] at the same places as {path_text(anchor)}"


def _repeated(where: str, raw: Mapping[str, object], described: Sequence[Mapping[str, object]]) -> Iterator[str]:
    """Yield an error for each place that is described twice, or of a kind that is built in."""
    api_version, kind = raw["apiVersion"], raw["kind"]
    if any((api_version, kind) == (own.api_version, own.kind) for own in KINDS if own.built_in):
        yield f"{where}: {api_version} {kind} is built in, so a policy cannot describe it; remove this item"
    same = [other for other in described if (other["apiVersion"], other["kind"]) == (api_version, kind)]
    for name in ("podTemplate", "constraints"):
        if name in raw and [other.get(name) for other in same].count(raw[name]) > 1:
            yield f"{where}.{name}: is given more than once for {api_version} {kind}; keep one"


def _path(raw: Mapping[str, object], name: str) -> FieldPath | None:
    text = raw.get(name)
    return parse_path(text) if isinstance(text, str) else None


def _lists(path: FieldPath) -> list[FieldPath]:
    """Return the path of each list that a path leads through."""
    return [path[:i] for i, part in enumerate(path) if part == EACH]
