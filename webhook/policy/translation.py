"""A stock KubeSchedulerConfiguration read as a policy: each profile becomes an override by its schedulerName."""

from __future__ import annotations

from collections.abc import Mapping

from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import FieldPath, as_list, as_mapping
from webhook.kubernetes.names import DEFAULT_SCHEDULER
from webhook.kubernetes.reader import brief
from webhook.policy.defaults import defaulting_errors, notes_on, parse_defaulting
from webhook.policy.scheduler_configuration import FILTER, SCORE, checked, enabled, profiles_of, unserved
from webhook.policy.scheduler_configuration import POD_TOPOLOGY_SPREAD as PLUGIN
from webhook.policy.schema import DEFAULTING, POLICY_API_VERSION, POLICY_KIND, complaints
from webhook.spread.constraint import HARD
from webhook.spread.default_constraints import LIST, SYSTEM

NO_DEFAULTS: Mapping[str, object] = {"defaultingType": LIST, "defaultConstraints": []}


def translate(
    raw: Mapping[str, object], features: Features
) -> tuple[dict[str, object], tuple[str, ...], tuple[str, ...]]:
    """Return the policy as raw JSON, the notes on it, and every reason why it cannot be used."""
    causes = list[str]()
    raw = checked(raw, causes)
    notes = [*filter(None, [unserved(str(raw.get("apiVersion")), features)])]
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
    configs = [as_mapping(config) for config in as_list(profile.get("pluginConfig"))]
    if [config.get("name") for config in configs].count(PLUGIN) > 1:
        causes.append(f"profiles[{index}].pluginConfig: found {PLUGIN} twice, wanted it once")
    for i, config in enumerate(configs):
        if config.get("name") == PLUGIN:
            raw_args = config.get("args")
            args = {
                field: value for field, value in as_mapping(raw_args).items() if field not in ("apiVersion", "kind")
            }
            args_path = (*path, "pluginConfig", i, "args")
            errors = tuple(complaints(args if isinstance(raw_args, dict | None) else raw_args, DEFAULTING, args_path))
            if not errors:  # The next check takes only args of the right form.
                errors = tuple(defaulting_errors(args, args_path, features))
            causes += errors
            if not errors:
                notes += notes_on(parse_defaulting(args), args_path)
    defaulting: Mapping[str, object] = {**args, "defaultingType": args.get("defaultingType") or SYSTEM}
    filters, scores = _runs(profile, FILTER), _runs(profile, SCORE)
    if not (filters and scores):
        # Without the plugin at Filter, hard constraints have no effect, and without it at Score, soft ones.
        effective = [
            constraint
            for constraint in map(as_mapping, as_list(args.get("defaultConstraints")))
            if (filters if constraint.get("whenUnsatisfiable") == HARD else scores)
        ]
        if defaulting["defaultingType"] != SYSTEM or not scores:  # All constraints of System are soft.
            defaulting = {"defaultingType": LIST, "defaultConstraints": effective}
    return {"name": name, "schedulerName": name, "defaulting": defaulting}


def _runs(profile: Mapping[str, object], point: str) -> bool:
    """Return whether PodTopologySpread runs at an extension point."""
    return PLUGIN in enabled(profile, point, {PLUGIN: 0})
