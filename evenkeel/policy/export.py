"""A policy's default constraints as configurations of kube-scheduler and Karpenter, and how copies of these differ."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from webhook.kubernetes.documents import read_documents
from webhook.kubernetes.features import LATEST
from webhook.kubernetes.fields import as_mapping, path_text
from webhook.kubernetes.json_schema import complaints, object_schema
from webhook.kubernetes.names import DEFAULT_SCHEDULER, HOSTNAME, SCHEDULER_CONFIGURATION_KIND
from webhook.kubernetes.reader import brief
from webhook.kubernetes.scalars import DocumentError
from webhook.policy.defaults import KARPENTER_MAX_SKEW, Defaulting, parse_defaulting
from webhook.policy.policy import Policy
from webhook.policy.scheduler_configuration import CURRENT, without_nulls
from webhook.policy.scheduler_configuration import POD_TOPOLOGY_SPREAD as PLUGIN
from webhook.policy.schema import DEFAULTING
from webhook.spread.constraint import SOFT, Constraint, parse_constraints
from webhook.spread.default_constraints import LIST, SYSTEM, validate_args
from webhook.spread.validation import in_one_line

KUBE_SCHEDULER, KARPENTER = "kube-scheduler", "karpenter"  # The programs that read a copy.
NAMES = {KUBE_SCHEDULER: "kube-scheduler", KARPENTER: "Karpenter"}
WITHOUT_EFFECT = "matchLabelKeys"  # upstream: plugin.go:PodTopologySpread.buildDefaultConstraints (v1.37)
SPREAD, CONSTRAINTS = "podTopologySpread", "defaultConstraints"
# upstream: options.go:SchedulerConfiguration (karpenter v1.15.0)
_OF_KARPENTER = object_schema(
    **{SPREAD: object_schema(**{CONSTRAINTS: as_mapping(as_mapping(DEFAULTING["properties"])[CONSTRAINTS])})}
)


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


def karpenter_configuration(policy: Policy) -> dict[str, object]:
    """
    Return what Karpenter reads with --scheduler-config: the default constraints of all Pods.

    Soft ones on nodes have a maxSkew with which Karpenter starts few nodes: it treats them as required.
    """
    defaulting = defaulting_of(policy, DEFAULT_SCHEDULER)
    return {SPREAD: {CONSTRAINTS: [*map(_for_karpenter, map(_effective, defaulting.constraints))]}}


def _for_karpenter(constraint: dict[str, object]) -> dict[str, object]:
    return {**constraint, "maxSkew": KARPENTER_MAX_SKEW} if _is_raised(constraint) else constraint


def _is_raised(constraint: Mapping[str, object]) -> bool:
    max_skew, on_nodes = constraint["maxSkew"], constraint["topologyKey"] == HOSTNAME
    soft = constraint["whenUnsatisfiable"] == SOFT
    return on_nodes and soft and isinstance(max_skew, int) and max_skew < KARPENTER_MAX_SKEW


def karpenter_document(text: str) -> Mapping[str, object] | None:
    """Return what is meant for Karpenter's --scheduler-config, right or wrong; None for any other text."""
    try:
        documents = read_documents(text)
    except DocumentError:
        return None
    if len(documents) != 1 or not isinstance(raw := documents[0], dict):
        return None
    return raw if SPREAD in raw or raw.keys().isdisjoint(("apiVersion", "kind", "profiles")) else None


def karpenter_constraints(document: Mapping[str, object]) -> tuple[tuple[Mapping[str, object], ...], list[str]]:
    """
    Return the default constraints of a document for Karpenter, and why Karpenter does not start with it.

    upstream: options.go:ParseSchedulerConfiguration, validateDefaultConstraint (karpenter v1.15.0)
    """
    raw = without_nulls(document)
    if causes := list(complaints(raw, _OF_KARPENTER)):
        return (), causes
    constraints = parse_defaulting(as_mapping(raw).get(SPREAD)).constraints
    causes += map(in_one_line, validate_args(LIST, constraints, (SPREAD,)))
    for i, constraint in enumerate(constraints):
        if keys := constraint.get(WITHOUT_EFFECT):
            field = path_text((SPREAD, CONSTRAINTS, i, WITHOUT_EFFECT))
            causes.append(f"{field}: found {brief(keys)}, wanted none: it has no effect on default constraints")
    return constraints, causes


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
    return {"defaultingType": LIST, CONSTRAINTS: [*map(_effective, defaulting.constraints)]}


def _effective(constraint: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in constraint.items() if name != WITHOUT_EFFECT}


def losses(policy: Policy, day: str, program: str) -> Iterator[str]:
    """Yield notes on default constraints that a program cannot be given, or would apply in another way."""
    name, for_karpenter = NAMES[program], program == KARPENTER
    if policy.defaulting.built_in:
        yield f"defaulting: evenkeel leaves out a built-in constraint if nodes lack its key; {name} does not"
    in_force = policy.on(day)
    for i, override in enumerate(policy.overrides):
        if override not in in_force.overrides:
            continue
        scheduler_name = override.scheduler_name or DEFAULT_SCHEDULER
        profile_defaulting = defaulting_of(in_force, DEFAULT_SCHEDULER if for_karpenter else scheduler_name)
        by_scheduler = ["schedulerName"] if for_karpenter and scheduler_name != DEFAULT_SCHEDULER else []
        selected_by = " and ".join([*override.selectors, *by_scheduler])
        if selected_by and (override.defaulting or policy.defaulting) != profile_defaulting:
            yield f"overrides[{i}] ({override.name}): left out: {name} cannot select Pods by {selected_by}"
        elif override.until and override.defaulting:
            yield f"overrides[{i}] ({override.name}): ends on {override.until}; a configuration of {name} does not"
    for path, defaulting in policy.defaultings():
        for i, constraint in enumerate(defaulting.constraints):
            if constraint.get(WITHOUT_EFFECT):
                field = path_text((*path, CONSTRAINTS, i, WITHOUT_EFFECT))
                yield f"{field}: left out: kube-scheduler ignores it in default constraints"
    if for_karpenter:
        yield from _karpenter_notes(defaulting_of(in_force, DEFAULT_SCHEDULER))


def _karpenter_notes(defaulting: Defaulting) -> Iterator[str]:
    """Yield what Karpenter is given in place of a constraint, or of kube-scheduler's own defaults."""
    for constraint in filter(_is_raised, defaulting.constraints):
        yield (
            f"maxSkew of {HOSTNAME}: {KARPENTER_MAX_SKEW} in place of {constraint['maxSkew']}: Karpenter treats {SOFT} "
            "as required, and starts a node for each maxSkew Pods"
        )
    if not defaulting.gives:
        yield "no constraints: Karpenter does not know those that kube-scheduler has by itself"


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
            yield f"{plugin}: found disabled, or an empty list, wanted the plugin enabled, with {CONSTRAINTS}"
        yield from _between(configured.constraints, wanted.constraints, plugin)


def karpenter_differences(policy: Policy, constraints: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """Yield how the default constraints that Karpenter has differ from those that `policy` gives it."""
    wanted = parse_defaulting(karpenter_configuration(policy)[SPREAD]).constraints
    yield from _between(constraints, wanted, SPREAD)


def _between(
    configured: Iterable[Mapping[str, object]], wanted: Iterable[Mapping[str, object]], where: str
) -> Iterator[str]:
    configured_constraints, wanted_constraints = _by_meaning(configured), _by_meaning(wanted)
    for constraint, text in configured_constraints.items():
        if constraint not in wanted_constraints:
            yield f"{where}: {CONSTRAINTS}: found {text}, which the policy does not have"
    for constraint, text in wanted_constraints.items():
        if constraint not in configured_constraints:
            yield f"{where}: {CONSTRAINTS}: lacks {text}"


def _by_meaning(constraints: Iterable[Mapping[str, object]]) -> dict[Constraint, str]:
    """Return the constraints, as they are written, by their meaning: with every default of the scheduler applied."""
    written = map(_effective, constraints)
    return {parse_constraints([raw], {}, LATEST)[0]: json.dumps(raw, sort_keys=True) for raw in written}
