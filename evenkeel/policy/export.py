"""A policy's default constraints in a KubeSchedulerConfiguration, and how those of another configuration differ."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from webhook.kubernetes.features import LATEST
from webhook.kubernetes.fields import path_text
from webhook.kubernetes.names import DEFAULT_SCHEDULER, SCHEDULER_CONFIGURATION_KIND
from webhook.policy.defaults import Defaulting
from webhook.policy.policy import Policy
from webhook.policy.scheduler_configuration import CURRENT
from webhook.policy.scheduler_configuration import POD_TOPOLOGY_SPREAD as PLUGIN
from webhook.spread.constraint import Constraint, parse_constraints
from webhook.spread.default_constraints import LIST, SYSTEM

WITHOUT_EFFECT = "matchLabelKeys"  # upstream: plugin.go:PodTopologySpread.buildDefaultConstraints (v1.37)


def configuration(policy: Policy) -> dict[str, object]:
    """Return a KubeSchedulerConfiguration with a profile for each schedulerName that the policy tells apart."""
    return {
        "apiVersion": CURRENT,
        "kind": SCHEDULER_CONFIGURATION_KIND,
        "profiles": [
            {"schedulerName": name, "pluginConfig": [{"name": PLUGIN, "args": _args(defaulting_of(policy, name))}]}
            for name in _names(policy)
        ],
    }


def defaulting_of(policy: Policy, scheduler_name: str) -> Defaulting:
    """Return what the Pods of a schedulerName get, but for those that an override selects."""
    for override in policy.overrides:
        if override.scheduler_name == scheduler_name and not override.selectors:
            return override.defaulting or policy.defaulting
    return policy.defaulting


def _names(policy: Policy) -> list[str]:
    scheduler_names = (override.scheduler_name for override in policy.overrides if not override.selectors)
    return list(dict.fromkeys((DEFAULT_SCHEDULER, *filter(None, scheduler_names))))


def _args(defaulting: Defaulting) -> dict[str, object]:
    """Return PodTopologySpreadArgs; a policy without default constraints leaves kube-scheduler its own."""
    if not defaulting.constraints:
        return {"defaultingType": SYSTEM}
    return {"defaultingType": LIST, "defaultConstraints": [*map(_effective, defaulting.constraints)]}


def _effective(constraint: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in constraint.items() if name != WITHOUT_EFFECT}


def losses(policy: Policy, day: str) -> Iterator[str]:
    """Yield notes on default constraints that kube-scheduler cannot be given, or would apply in another way."""
    if policy.defaulting.built_in:
        yield "defaulting: evenkeel leaves out a built-in constraint if nodes lack its key; kube-scheduler does not"
    in_force = policy.on(day)
    for i, override in enumerate(policy.overrides):
        if override not in in_force.overrides:
            continue
        profile_defaulting = defaulting_of(in_force, override.scheduler_name or DEFAULT_SCHEDULER)
        if override.selectors and (override.defaulting or policy.defaulting) != profile_defaulting:
            selected_by = " and ".join(override.selectors)
            yield f"overrides[{i}] ({override.name}): left out: kube-scheduler cannot select Pods by {selected_by}"
        elif override.until and override.defaulting:
            yield (
                f"overrides[{i}] ({override.name}): ends on {override.until}; a profile of kube-scheduler does not end"
            )
    for path, defaulting in policy.defaultings():
        for i, constraint in enumerate(defaulting.constraints):
            if constraint.get(WITHOUT_EFFECT):
                field = path_text((*path, "defaultConstraints", i, WITHOUT_EFFECT))
                yield f"{field}: left out: kube-scheduler ignores it in default constraints"


def differences(policy: Policy, scheduler: Policy) -> Iterator[str]:
    """Yield how the profiles of a KubeSchedulerConfiguration, read as a policy, differ from what `policy` gives."""
    profiles = {override.scheduler_name or DEFAULT_SCHEDULER: i for i, override in enumerate(scheduler.overrides)}
    for name in _names(policy):
        if name not in profiles:
            yield f"profiles: found none with schedulerName {name}, wanted one"
    for name, i in profiles.items():
        plugin = f"profiles[{i}] ({name}): {PLUGIN}"
        configured, wanted = defaulting_of(scheduler, name), defaulting_of(policy, name)
        wanted_type = _args(wanted)["defaultingType"]
        if configured.type != wanted_type:
            yield f"{plugin}: defaultingType: found {configured.type}, wanted {wanted_type}"
            continue
        if wanted.constraints and not configured.constraints:
            yield f"{plugin}: found disabled, or an empty list, wanted the plugin enabled, with defaultConstraints"
        configured_constraints, wanted_constraints = _by_meaning(configured), _by_meaning(wanted)
        for constraint, text in configured_constraints.items():
            if constraint not in wanted_constraints:
                yield f"{plugin}: defaultConstraints: found {text}, which the policy does not have"
        for constraint, text in wanted_constraints.items():
            if constraint not in configured_constraints:
                yield f"{plugin}: defaultConstraints: lacks {text}"


def _by_meaning(defaulting: Defaulting) -> dict[Constraint, str]:
    """Return the constraints, as they are written, by their meaning: with every default of the scheduler applied."""
    written = [_effective(constraint) for constraint in defaulting.constraints]
    return {parse_constraints([raw], {}, LATEST)[0]: json.dumps(raw, sort_keys=True) for raw in written}
