"""A stock KubeSchedulerConfiguration read as a policy: each profile becomes an override by its schedulerName."""

from __future__ import annotations

from collections.abc import Mapping

from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import FieldPath, as_list, as_mapping
from webhook.kubernetes.names import DEFAULT_SCHEDULER
from webhook.kubernetes.reader import brief
from webhook.policy.defaults import defaulting_errors, notes_on, parse_defaulting
from webhook.policy.scheduler_configuration import CURRENT, FILTER, OLD, SCORE, checked, enabled, profiles_of
from webhook.policy.scheduler_configuration import POD_TOPOLOGY_SPREAD as PLUGIN
from webhook.policy.schema import DEFAULTING, POLICY_API_VERSION, POLICY_KIND, complaints
from webhook.spread.constraint import HARD
from webhook.spread.default_constraints import LIST, SYSTEM

NO_DEFAULTS: Mapping[str, object] = {"defaultingType": LIST, "defaultConstraints": []}


def translate(
    raw: Mapping[str, object], features: Features
) -> tuple[dict[str, object], tuple[str, ...], tuple[str, ...]]:
    """Return the policy as raw JSON, the notes on it, and every reason why it cannot be used."""
    version, causes = raw.get("apiVersion"), list[str]()
    raw = checked(raw, causes)
    notes = [f"apiVersion: {version} is no longer served; {CURRENT} has replaced it"] if version in OLD else []
    overrides = [_profile(profile, i, features, causes, notes) for i, profile in enumerate(profiles_of(raw))]
    policy: dict[str, object] = {
        "apiVersion": POLICY_API_VERSION,
        "kind": POLICY_KIND,
        "defaulting": NO_DEFAULTS,
        "overrides": overrides,
    }
    return policy, tuple(notes), tuple(causes)


def _profile(
    profile: Mapping[str, object], index: int, features: Features, causes: list[str], notes: list[str]
) -> dict[str, object]:
    path: FieldPath = ("profiles", index)
    name = profile.get("schedulerName")
    if name is not None and not isinstance(name, str):
        causes.append(f"profiles[{index}].schedulerName: found {brief(name)}, wanted a string")
    name = name or DEFAULT_SCHEDULER
    args: Mapping[str, object] = {}
    named = [as_mapping(config).get("name") for config in as_list(profile.get("pluginConfig"))]
    if named.count(PLUGIN) > 1:
        causes.append(f"profiles[{index}].pluginConfig: found {PLUGIN} twice, wanted it once")
    for i, config in enumerate(map(as_mapping, as_list(profile.get("pluginConfig")))):
        if config.get("name") == PLUGIN:
            given = config.get("args")
            args = {k: v for k, v in as_mapping(given).items() if k not in ("apiVersion", "kind")}
            at = (*path, "pluginConfig", i, "args")
            wrong = tuple(complaints(args if isinstance(given, dict | None) else given, DEFAULTING, at)) or tuple(
                defaulting_errors(args, at, features)
            )
            causes += wrong
            notes += () if wrong else notes_on(parse_defaulting(args), at)
    defaulting: Mapping[str, object] = {**args, "defaultingType": args.get("defaultingType") or SYSTEM}
    hard, soft = _runs(profile, FILTER), _runs(profile, SCORE)
    if not (hard and soft):
        kept = [
            constraint
            for constraint in map(as_mapping, as_list(args.get("defaultConstraints")))
            if _kept(constraint, hard, soft)
        ]
        system = defaulting["defaultingType"] == SYSTEM and soft
        defaulting = defaulting if system else {"defaultingType": LIST, "defaultConstraints": kept}
    return {"name": name, "schedulerName": name, "defaulting": defaulting}


def _kept(constraint: Mapping[str, object], hard: bool, soft: bool) -> bool:
    return hard if constraint.get("whenUnsatisfiable") == HARD else soft


def _runs(profile: Mapping[str, object], point: str) -> bool:
    """Return whether the plugin runs at an extension point."""
    return PLUGIN in enabled(profile, point, {PLUGIN: 0})
