"""A stock KubeSchedulerConfiguration read as a policy: each profile becomes an override by its schedulerName."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.policy.defaults import defaulting_errors, notes_on, parse_defaulting
from webhook.policy.schema import API_VERSION, DEFAULTING, complaints
from webhook.policy.schema import KIND as POLICY_KIND
from webhook.scheduler.constraint import HARD
from webhook.scheduler.fields import FieldPath, as_list, as_mapping
from webhook.scheduler.reading import brief
from webhook.scheduler.spread import LIST, SYSTEM

KIND, PLUGIN = "KubeSchedulerConfiguration", "PodTopologySpread"
GROUP = "kubescheduler.config.k8s.io"
CURRENT, OLD = f"{GROUP}/v1", tuple(f"{GROUP}/v1beta{number}" for number in (1, 2, 3))
NONE: Mapping[str, object] = {"defaultingType": LIST, "defaultConstraints": []}


def translate(raw: Mapping[str, object]) -> tuple[dict[str, object], tuple[str, ...], tuple[str, ...]]:
    """The policy as raw JSON, notes, and the causes why it cannot be read."""
    version, causes = raw.get("apiVersion"), list[str]()
    if version not in (CURRENT, *OLD):
        causes.append(f"apiVersion: found {brief(version)}, wanted {CURRENT} or {', '.join(OLD)}")
    profiles = raw.get("profiles")
    if profiles is not None and not isinstance(profiles, list):
        causes.append(f"profiles: found {brief(profiles)}, wanted an array")
    notes = [f"apiVersion: {version} is no longer served; {CURRENT} has replaced it"] if version in OLD else []
    overrides = [_profile(one, i, causes, notes) for i, one in enumerate(as_list(profiles) or [{}])]
    names = [str(one["name"]) for one in overrides]
    causes += (
        f"profiles[{i}].schedulerName: found {brief(name)} twice, wanted a name of its own"
        for i, name in enumerate(names)
        if name in names[:i]
    )
    policy: dict[str, object] = {
        "apiVersion": API_VERSION,
        "kind": POLICY_KIND,
        "defaulting": NONE,
        "overrides": overrides,
    }
    return policy, tuple(notes), tuple(causes)


def _profile(raw: object, index: int, causes: list[str], notes: list[str]) -> dict[str, object]:
    path: FieldPath = ("profiles", index)
    if not isinstance(raw, dict):
        causes.append(f"profiles[{index}]: found {brief(raw)}, wanted an object")
    profile = as_mapping(raw)
    name = profile.get("schedulerName")
    if name is not None and (not isinstance(name, str) or not name):
        causes.append(f"profiles[{index}].schedulerName: found {brief(name)}, wanted a string that is not empty")
    name = name or "default-scheduler"
    args: Mapping[str, object] = {}
    for i, one in enumerate(map(as_mapping, as_list(profile.get("pluginConfig")))):
        if one.get("name") == PLUGIN:
            given = one.get("args")
            args = {k: v for k, v in as_mapping(given).items() if k not in ("apiVersion", "kind")}
            at = (*path, "pluginConfig", i, "args")
            wrong = tuple(complaints(args if isinstance(given, dict | None) else given, DEFAULTING, at)) or tuple(
                defaulting_errors(args, at)
            )
            causes += wrong
            notes += () if wrong else notes_on(parse_defaulting(args), at)
    defaulting: Mapping[str, object] = {"defaultingType": SYSTEM, **args}
    hard, soft = _enabled(profile, "filter"), _enabled(profile, "score")
    if not (hard and soft):
        kept = [one for one in map(as_mapping, as_list(args.get("defaultConstraints"))) if _kept(one, hard, soft)]
        system = defaulting["defaultingType"] == SYSTEM and soft
        defaulting = defaulting if system else {"defaultingType": LIST, "defaultConstraints": kept}
    return {"name": name, "schedulerName": name, "defaulting": defaulting}


def _kept(constraint: Mapping[str, object], hard: bool, soft: bool) -> bool:
    return hard if constraint.get("whenUnsatisfiable") == HARD else soft


def _enabled(profile: Mapping[str, object], point: str) -> bool:
    """Whether the plugin runs at an extension point, after what the profile disables and enables again."""
    plugins = as_mapping(profile.get("plugins"))
    enabled = True
    for name in ("multiPoint", point):
        if not {PLUGIN, "*"}.isdisjoint(_names(plugins, name, "disabled")):
            enabled = False
        if PLUGIN in _names(plugins, name, "enabled"):
            enabled = True
    return enabled


def _names(plugins: Mapping[str, object], point: str, what: str) -> Iterator[str]:
    listed = as_list(as_mapping(plugins.get(point)).get(what))
    return (str(as_mapping(one).get("name")) for one in listed)
