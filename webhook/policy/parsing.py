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
from webhook.kubernetes.documents import read_documents
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
from webhook.policy.schema import BUILT_IN_NAME, complaints, schema
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

    Default constraints must be valid in the version that has these features.
    """
    try:
        documents = read_documents(text)
    except DocumentError as error:
        raise PolicyError([str(error)]) from error
    if len(documents) != 1 or not isinstance(documents[0], dict):
        value = brief(documents[0]) if len(documents) == 1 else f"{len(documents)} documents"
        raise PolicyError([f"found {value}, wanted one object"])
    return policy_of(documents[0], features)


def policy_of(raw: Mapping[str, object], features: Features = LATEST) -> Policy:
    """Return the policy in an object that is read already; see `parse_policy`."""
    if raw.get("kind") == SCHEDULER_CONFIGURATION_KIND:
        raw, notes, causes = translate(raw, features)
        if causes:
            raise PolicyError(causes)
        return replace(_checked(raw, features), notes=notes)
    return _checked(raw, features)


@cache
def built_in() -> Policy:
    """Return the policy that is in force where none is given."""
    return _policy({}, LATEST)


def _checked(raw: Mapping[str, object], features: Features) -> Policy:
    if wrong := tuple(complaints(raw, schema())):
        raise PolicyError(wrong)
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
    given = ((path, each) for path, each in policy.defaultings() if not each.built_in)
    of_defaults = (note for path, each in given for note in defaults.notes_on(each, path))
    notes = (*of_defaults, *enforcement.notes_on(policy))
    if not overrides:
        return replace(policy, notes=notes)

    return replace(policy, notes=(*notes, *override_reach.notes_on(policy)))


def _defaultings(raw: Mapping[str, object]) -> Iterator[tuple[FieldPath, object]]:
    """Yield what stands in `defaulting`, in the policy and in each override."""
    yield ("defaulting",), raw.get("defaulting")
    for i, item in enumerate(map(as_mapping, as_list(raw.get("overrides")))):
        yield ("overrides", i, "defaulting"), item.get("defaulting")


def _settings(raw: Mapping[str, object], base: RuleSettings, path: FieldPath, causes: list[str]) -> RuleSettings:
    """
    Return `base` with the changes in `raw`, the policy or an override: what it says nothing of stays as it is.

    A notice of the policy or the override is that of its errors, but for rules that have one of their own beside it.
    """
    settings, of_all, of_one = dict(base), _notice(raw, path, causes), set[str]()
    for rule_id, value in as_mapping(raw.get("rules")).items():
        at = (*path, "rules", rule_id)
        given = dict(as_mapping(value)) if isinstance(value, dict) else {"severity": value}
        old, rule = settings[rule_id], RULES[rule_id]
        if notice := _notice(given, at, causes):
            of_one.add(rule_id)
        given.pop("notice", None)
        is_given = old.given or "severity" in given
        severity, said = Severity(str(given.pop("severity", old.severity))), str(given.pop("help", old.help))
        enforced = given.pop("enforced", old.enforced) is True
        setting = rule.setting(severity, enforced, {**old.parameters, **integers(given)}, said)
        kept = old.notice if severity is old.severity else ""
        settings[rule_id] = replace(setting, notice=notice or kept, given=is_given)
        if notice and rule.advice:
            causes.append(f"{path_text((*at, 'notice'))}: {ADVICE_ONLY}; remove it")
        causes += _unprintable(said, (*at, "help"))
        if severity is not Severity.IGNORE and rule.lacks_parameters(settings[rule_id]):
            example = f"{{severity: {severity}, {rule.required[0]}: …}}"
            causes.append(f"{path_text(at)}: must have {' or '.join(rule.required)}; write {example}")
    for rule_id, setting in settings.items():
        if of_all and rule_id not in of_one and setting.severity is Severity.ERROR:
            settings[rule_id] = replace(setting, notice=of_all)
    return settings


def _notice(raw: Mapping[str, object], path: FieldPath, causes: list[str]) -> str:
    """Return what the `notice` in `raw` says to whoever is warned of what is to be denied; "" if there is none."""
    notice, at = as_mapping(raw.get("notice")), (*path, "notice")
    if not notice:
        return ""
    day = parse_day(notice.get("from"), (*at, "from"), causes)
    whom = ", ".join(str(notice[name]) for name in ("contact", "url") if name in notice)
    causes += _unprintable(whom, at)
    return "will be denied" + (f" from {day}" if day else "") + (f"; ask {whom}" if whom else "")


def _unprintable(said: str, path: FieldPath) -> Iterator[str]:
    if not said.isprintable():
        value = f"found {brief(said)}, wanted one line of characters that can be printed"
        yield f"{path_text(path)}: {value}"


def _overrides(raw: Mapping[str, object], base: RuleSettings, causes: list[str]) -> tuple[Override, ...]:
    """Return the overrides; what one does not set is that of the policy, which `raw` has whole."""
    overrides: dict[str, Override] = {}
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
            settings=_settings(item, base, path, causes),
            defaulting=parse_defaulting(item["defaulting"]) if "defaulting" in item else None,
            defaulting_mode=str(item.get("defaultingMode", raw["defaultingMode"])),
        )
        if override.name in overrides:
            causes.append(f"{path_text(path)}.name: found {brief(override.name)} twice, wanted a name of its own")
        overrides[override.name] = override
    return tuple(overrides.values())


def parse_day(raw: object, path: FieldPath, causes: list[str]) -> str:
    """Return a day such as 2027-01-31; "" if there is none, or the calendar has no such day."""
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

    template: FieldPath | None
    constraints: FieldPath | None
    labels: FieldPath | None
    replicas: FieldPath | None


def _kinds(raw: Mapping[str, object], causes: list[str]) -> tuple[Kind, ...]:
    items = [as_mapping(item) for item in as_list(raw.get("workloads"))]
    described = [item for item in items if BUILT_IN_NAME not in item]
    known_kinds = [
        _kind(item, f"workloads[{i}]", described, causes) for i, item in enumerate(items) if BUILT_IN_NAME not in item
    ]
    kinds = [kind for kind in known_kinds if kind is not None]
    return (*kinds, *_kinds_by_name(items, kinds, causes))


def _kinds_by_name(
    items: Sequence[Mapping[str, object]], described: Sequence[Kind], causes: list[str]
) -> Iterator[Kind]:
    """Yield the kinds that items of `workloads` name, without the places that others describe."""
    known = {(kind.api_version, kind.kind, kind.anchor) for kind in described}
    named: set[str] = set()
    for i, item in enumerate(items):
        if BUILT_IN_NAME not in item:
            continue

        name = str(item[BUILT_IN_NAME])
        if name in named:
            causes.append(f"workloads[{i}].{BUILT_IN_NAME}: found {brief(name)} twice, wanted it once")
        named.add(name)
        yield from (kind for kind in kinds_named(name) if (kind.api_version, kind.kind, kind.anchor) not in known)


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
    """Yield what is wrong with paths of which one leads to a Pod template or to constraints."""
    if places.labels is not None and places.template is not None:
        yield f"{where}.labels: goes only with constraints; a Pod template has its own labels, so remove this"
    anchor = places.template or places.constraints or ()
    for name, path in (("labels", places.labels), ("replicas", places.replicas)):
        lists = _lists(path or ())
        if lists != _lists(anchor)[: len(lists)]:
            yield f"{where}.{name}: must have [*] at the same places as {path_text(anchor)}"


def _repeated(where: str, raw: Mapping[str, object], described: Sequence[Mapping[str, object]]) -> Iterator[str]:
    """Yield an error for each place that is described twice, or of a kind that is built in."""
    api_version, kind = raw["apiVersion"], raw["kind"]
    if any((api_version, kind) == (known.api_version, known.kind) for known in KINDS if known.built_in):
        yield f"{where}: {api_version} {kind} is built in, so a policy cannot describe it; remove this item"
    same = [other for other in described if (other["apiVersion"], other["kind"]) == (api_version, kind)]
    for name in ("podTemplate", "constraints"):
        if name in raw and [other.get(name) for other in same].count(raw[name]) > 1:
            yield f"{where}.{name}: is given more than once for {api_version} {kind}; keep one"


def _path(raw: Mapping[str, object], name: str) -> FieldPath | None:
    text = raw.get(name)
    return parse_path(text) if isinstance(text, str) else None


def _lists(path: FieldPath) -> list[FieldPath]:
    """Return the lists that a path leads through."""
    return [path[:i] for i, part in enumerate(path) if part == EACH]
