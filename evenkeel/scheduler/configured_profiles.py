"""
The profiles of a KubeSchedulerConfiguration, as kube-scheduler places Pods by them.

    profiles[i].plugins ──enabled, disabled, at each extension point──┐
    profiles[i].pluginConfig ──the arguments of what is modelled──────┴──> Profile, by its schedulerName
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from evenkeel.scheduler.profile import (
    A_PLUGIN,
    BALANCED_ALLOCATION,
    DEFAULT_PREEMPTION,
    DYNAMIC_RESOURCES,
    FILTERS,
    FREE_STORAGE_SHAPE,
    INTER_POD_AFFINITY,
    NODE_AFFINITY,
    NODE_RESOURCES_FIT,
    USUAL_PROFILE,
    VOLUME_BINDING,
    WEIGHTS,
    Profile,
    Profiles,
)
from evenkeel.scheduler.resource_fit import (
    CPU,
    LEAST_ALLOCATED,
    MEMORY,
    MOST_ALLOCATED,
    TO_CAPACITY,
    USUAL_SCORING,
    ScoringStrategy,
)
from webhook.kubernetes.documents import read_one
from webhook.kubernetes.fields import FieldPath, as_list, as_mapping, path_text
from webhook.kubernetes.json_schema import Schema, complaints
from webhook.kubernetes.names import DEFAULT_SCHEDULER, SCHEDULER_CONFIGURATION_KIND
from webhook.kubernetes.reader import Reader, brief
from webhook.kubernetes.scalars import DocumentError
from webhook.policy.scheduler_configuration import (
    BIND,
    FILTER,
    MULTI_POINT,
    PLACEMENT_SCORE,
    POD_TOPOLOGY_SPREAD,
    POINTS,
    POST_FILTER,
    PRE_FILTER,
    PRE_SCORE,
    QUEUE_SORT,
    SCORE,
    checked,
    enabled,
    names_in,
    profiles_of,
)
from webhook.spread.affinity import read_preferred, read_required
from webhook.spread.default_constraints import SYSTEM, validate_args
from webhook.spread.validation import in_one_line

# The modelled plugins in the order in which they filter, with their weights; 0 for those that do not score.
USUAL_PLUGINS = {name: WEIGHTS.get(name, 0) for name in dict.fromkeys((*FILTERS, *WEIGHTS))}
HIGHEST_SCORE = 10  # The largest score of a point of a shape in the configuration.
# The plugins without which kube-scheduler does not start, by extension point.
NEEDED = {QUEUE_SORT: "PrioritySort", BIND: "DefaultBinder"}
AFTER_FILTER = {DYNAMIC_RESOURCES: 0, DEFAULT_PREEMPTION: 0}  # The plugins that run after no node has passed.
# All plugins of the default profile.  Others are unmodelled, and the answer says so.
KNOWN_PLUGINS = frozenset({*USUAL_PLUGINS, *NEEDED.values(), *AFTER_FILTER, "SchedulingGates", "GangScheduling"})
# The extension points at which each of these plugins can run.
EXTENDS: Mapping[str, frozenset[str]] = {
    **{name: frozenset({point}) for point, name in NEEDED.items()},
    **{
        name: frozenset(
            [
                *((PRE_FILTER, FILTER) if name in FILTERS else ()),
                *((PRE_SCORE, SCORE) if name in WEIGHTS else ()),
            ]
        )
        for name in USUAL_PLUGINS
    },
    NODE_RESOURCES_FIT: frozenset({PRE_FILTER, FILTER, PRE_SCORE, SCORE, PLACEMENT_SCORE}),
}

_COUNT: Schema = {"type": "integer", "minimum": 0, "maximum": 100}
_NAMES: Schema = {"type": "array", "items": {"type": "string"}}
_RESOURCE: Schema = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "weight": _COUNT},
    "required": ["name"],
    "additionalProperties": False,
}
_RESOURCES: Schema = {"type": "array", "items": _RESOURCE}
_POINT: Schema = {
    "type": "object",
    "properties": {"utilization": _COUNT, "score": {"type": "integer", "minimum": 0, "maximum": HIGHEST_SCORE}},
    "additionalProperties": False,
}
_SHAPE_POINTS: Schema = {"type": "array", "minItems": 1, "items": _POINT}
_SHAPE: Schema = {
    "type": "object",
    "properties": {"shape": _SHAPE_POINTS},
    "required": ["shape"],
    "additionalProperties": False,
}
_STRATEGY: Schema = {
    "type": "object",
    "properties": {
        "type": {"enum": [LEAST_ALLOCATED, MOST_ALLOCATED, TO_CAPACITY]},
        "resources": _RESOURCES,
        "requestedToCapacityRatio": _SHAPE,
    },
    "additionalProperties": False,
}


def _args(**properties: Schema) -> Schema:
    all_properties = {"apiVersion": {}, "kind": {}, **properties}
    return {"type": "object", "properties": all_properties, "additionalProperties": False}


ARGS: Mapping[str, Schema] = {
    NODE_AFFINITY: _args(addedAffinity={"type": "object"}),
    NODE_RESOURCES_FIT: _args(
        ignoredResources=_NAMES, ignoredResourceGroups=_NAMES, scoringStrategy=_STRATEGY, placementScoringStrategy={}
    ),
    BALANCED_ALLOCATION: _args(resources=_RESOURCES),
    DEFAULT_PREEMPTION: _args(
        minCandidateNodesPercentage=_COUNT, minCandidateNodesAbsolute={"type": "integer", "minimum": 0}
    ),
    VOLUME_BINDING: _args(bindTimeoutSeconds={"type": "integer", "minimum": 0}, shape=_SHAPE_POINTS),
    INTER_POD_AFFINITY: _args(hardPodAffinityWeight=_COUNT, ignorePreferredTermsOfExistingPods={"type": "boolean"}),
}


def parse_profiles(text: str) -> tuple[Profiles, tuple[str, ...]]:
    """Return the profiles of a KubeSchedulerConfiguration by name, and why it cannot be used, in one line each."""
    try:
        raw = read_one(text, "configuration of kube-scheduler", SCHEDULER_CONFIGURATION_KIND)
    except DocumentError as error:
        return {}, (str(error),)
    causes: list[str] = []
    raw = checked(raw, causes)
    return ({}, tuple(causes)) if causes else read_profiles(raw)


def read_profiles(raw: Mapping[str, object]) -> tuple[Profiles, tuple[str, ...]]:
    """
    Return the profiles of a KubeSchedulerConfiguration of the right form, by name, and why kube-scheduler refuses to
    start with it.

    Errors of unknown plugins, and in fields that are not read, are not found.
    """
    causes: list[str] = []
    profiles: dict[str, Profile] = {}
    first, *_ = profiles_of(raw)
    for i, profile in enumerate(profiles_of(raw)):
        configs = [
            (str(config.get("name")), config.get("args"), ("profiles", i, "pluginConfig", j, "args"))
            for j, config in enumerate(map(as_mapping, as_list(profile.get("pluginConfig"))))
        ]
        name = str(profile.get("schedulerName") or DEFAULT_SCHEDULER)
        wrong = [*_plugin_errors(profile, ("profiles", i))]
        if _queue_sort(profile) != _queue_sort(first):
            queue_sort = path_text(("profiles", i, "plugins", QUEUE_SORT))
            wrong.append(f"{queue_sort}: differs from profiles[0]; kube-scheduler wants the same in all profiles")
        wrong += [cause for plugin, args, path in configs for cause in _errors(plugin, args, path)]
        causes += wrong
        if not wrong:
            profiles[name] = _profile(name, profile, {plugin: as_mapping(args) for plugin, args, _ in configs})
            if raw.get("extenders"):
                profiles[name] = replace(profiles[name], unmodelled=(*profiles[name].unmodelled, "extenders"))
    together, api_version = frozenset(profiles), str(raw["apiVersion"])
    read = {name: replace(profile, together=together, api_version=api_version) for name, profile in profiles.items()}
    return read, tuple(causes)


def _plugin_errors(profile: Mapping[str, object], path: FieldPath) -> Iterator[str]:
    """
    Yield why kube-scheduler does not start with the plugins of a profile.

    upstream: framework.go:NewFramework (v1.37)
    """
    plugins = as_mapping(profile.get("plugins"))
    for point in plugins:
        names = _named(plugins, point)
        for i, name in enumerate(names):
            item = path_text((*path, "plugins", point, "enabled", i))
            if name in names[:i] and (point != MULTI_POINT or _expanded(name, plugins)):
                yield f"{item}: found {brief(name)} twice, wanted it once; remove one"
            elif point != MULTI_POINT and name in EXTENDS and point not in EXTENDS[name]:
                yield f"{item}: found {brief(name)}, wanted a plugin that can run at {point}; remove it"
    for point, usual in NEEDED.items():
        field, running = path_text((*path, "plugins", point)), enabled(profile, point, {usual: 0})
        # Unknown plugins of multiPoint may run here, too, but need not: what is certain is this.
        certain = [name for name in running if name == usual or name in _named(plugins, point)]
        if point == QUEUE_SORT and len(certain) > 1:
            yield f"{field}: found {' and '.join(map(brief, certain))}, wanted one plugin; disable the others there"
        if not certain and running.keys() <= EXTENDS.keys():  # No unknown plugin may take its place.
            yield f"{field}: found no plugin, wanted one; enable {usual} there"
    configured = names_in(profile.get("pluginConfig"))
    for i, name in enumerate(configured):
        if name in configured[:i]:
            yield f"{path_text((*path, 'pluginConfig', i, 'name'))}: found {brief(name)} twice, wanted it once"


def _named(plugins: Mapping[str, object], point: str, which: str = "enabled") -> list[str]:
    return names_in(as_mapping(plugins.get(point)).get(which))


def _expanded(name: str, plugins: Mapping[str, object]) -> bool:
    """
    Whether a plugin that multiPoint enables certainly runs somewhere because of that.

    upstream: framework.go:frameworkImpl.expandMultiPointPlugins (v1.37)
    """
    expanded = [
        point
        for point in POINTS
        if not {"*", name} & {*_named(plugins, point, "disabled")} and name not in _named(plugins, point)
    ]
    return not EXTENDS[name].isdisjoint(expanded) if name in EXTENDS else len(expanded) == len(POINTS)


def _queue_sort(profile: Mapping[str, object]) -> tuple[list[str], list[str]]:
    """
    Return what a profile enables and disables for QueueSort, which must be the same in all profiles.

    upstream: validation.go:validateCommonQueueSort (v1.37)
    """
    plugins = as_mapping(profile.get("plugins"))
    return _named(plugins, QUEUE_SORT), _named(plugins, QUEUE_SORT, "disabled")


def _errors(plugin: str, args: object, path: FieldPath) -> Iterator[str]:
    if args is None:
        return
    if plugin == POD_TOPOLOGY_SPREAD:
        spread_args = as_mapping(args)
        defaulting = str(spread_args.get("defaultingType") or SYSTEM)
        for error in validate_args(defaulting, as_list(spread_args.get("defaultConstraints")), path):
            yield in_one_line(error)
        return
    wrong = list(complaints(args, ARGS.get(plugin, {}), path))
    yield from wrong
    if wrong:
        return
    strategy = as_mapping(as_mapping(args).get("scoringStrategy"))
    shape = _shape(strategy)
    field = path_text((*path, "scoringStrategy", "requestedToCapacityRatio"))
    if (strategy.get("type") == TO_CAPACITY) != bool(shape):
        yield f"{field}: found {'none' if not shape else 'one'}, wanted it with type {TO_CAPACITY}, and only there"
    yield from _wrong_order(shape, f"{field}.shape")
    yield from _wrong_order(_points(as_mapping(args).get("shape")), path_text((*path, "shape")))
    if plugin == NODE_AFFINITY:
        _, reader = _affinity(args)
        for field_error in reader.errors:
            # Without spec.affinity.nodeAffinity, under which _affinity has put it.
            yield f"{path_text((*path, 'addedAffinity', *field_error.path[3:]))}: {field_error.detail}"


def _wrong_order(shape: Sequence[tuple[int, int]], field: str) -> Iterator[str]:
    utilizations = [utilization for utilization, _ in shape]
    if any(utilization >= following for utilization, following in pairwise(utilizations)):
        yield f"{field}: found utilizations {', '.join(map(str, utilizations))}, wanted them in rising order"


def _affinity(args: object) -> tuple[Mapping[str, object], Reader]:
    """Return the spec of a Pod with the addedAffinity, and a reader with the errors that it has found in it."""
    reader = Reader()
    spec = {"affinity": {"nodeAffinity": as_mapping(args).get("addedAffinity")}}
    read_required(reader, spec)
    read_preferred(reader, spec)
    return spec, reader


def _profile(name: str, profile: Mapping[str, object], args: Mapping[str, Mapping[str, object]]) -> Profile:
    spec, reader = _affinity(args.get(NODE_AFFINITY, {}))
    fit, spread = args.get(NODE_RESOURCES_FIT, {}), args.get(POD_TOPOLOGY_SPREAD, {})
    between_pods, preemption = args.get(INTER_POD_AFFINITY, {}), args.get(DEFAULT_PREEMPTION, {})
    percentage, absolute = preemption.get("minCandidateNodesPercentage"), preemption.get("minCandidateNodesAbsolute")
    after_filter = enabled(profile, POST_FILTER, AFTER_FILTER)
    plugins = as_mapping(profile.get("plugins"))
    named_plugins = {plugin for point in (MULTI_POINT, *POINTS) for plugin in _named(plugins, point)}
    balanced = _resources(args.get(BALANCED_ALLOCATION, {}).get("resources"))
    system = (spread.get("defaultingType") or SYSTEM) == SYSTEM
    filters, scoring = enabled(profile, FILTER, USUAL_PLUGINS), enabled(profile, SCORE, USUAL_PLUGINS)
    affinity_weight = between_pods.get("hardPodAffinityWeight")
    return Profile(
        name=name,
        filters=tuple([plugin for plugin in filters if plugin in FILTERS]),
        pre_filters=frozenset(FILTERS) & enabled(profile, PRE_FILTER, USUAL_PLUGINS).keys(),
        weights={plugin: weight or 1 for plugin, weight in scoring.items() if plugin in WEIGHTS},
        added=read_required(reader, spec),
        added_preferred=read_preferred(reader, spec) or (),
        ignored=frozenset(map(str, as_list(fit.get("ignoredResources")))),
        ignored_groups=frozenset(map(str, as_list(fit.get("ignoredResourceGroups")))),
        strategy=_strategy(as_mapping(fit.get("scoringStrategy"))),
        balanced=tuple(resource for resource, _ in balanced) or (CPU, MEMORY),
        defaults=None if system else tuple(map(as_mapping, as_list(spread.get("defaultConstraints")))),
        hard_pod_affinity_weight=1 if affinity_weight is None else _number(affinity_weight),
        free_storage=_scores(_points(args.get(VOLUME_BINDING, {}).get("shape"))) or FREE_STORAGE_SHAPE,
        ignores_preferences_of_others=between_pods.get("ignorePreferredTermsOfExistingPods") is True,
        unmodelled=tuple([f"{A_PLUGIN}{plugin}" for plugin in sorted(named_plugins - KNOWN_PLUGINS)]),
        preempts=DEFAULT_PREEMPTION in after_filter,
        deallocates=DYNAMIC_RESOURCES in after_filter,
        preemption_candidates=USUAL_PROFILE.preemption_candidates if absolute is None else _number(absolute),
        preemption_percentage=USUAL_PROFILE.preemption_percentage if percentage is None else _number(percentage),
    )


def _strategy(raw: Mapping[str, object]) -> ScoringStrategy:
    """
    Return how NodeResourcesFit scores nodes, every default applied.

    upstream: defaults.go:SetDefaults_NodeResourcesFitArgs (v1.37)
    """
    resources = _resources(raw.get("resources")) or USUAL_SCORING.resources
    return ScoringStrategy(str(raw.get("type") or LEAST_ALLOCATED), resources, _scores(_shape(raw)))


def _scores(shape: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return a shape with scores of 0 to 100, as nodes have; in the configuration they are 0 to 10."""
    return tuple((utilization, 10 * score) for utilization, score in shape)


def _shape(strategy: Mapping[str, object]) -> list[tuple[int, int]]:
    return _points(as_mapping(strategy.get("requestedToCapacityRatio")).get("shape"))


def _points(shape: object) -> list[tuple[int, int]]:
    points = map(as_mapping, as_list(shape))
    return [(_number(point.get("utilization")), _number(point.get("score"))) for point in points]


def _resources(raw: object) -> tuple[tuple[str, int], ...]:
    """Return the names of resources with their weights; a weight that is absent or 0 is 1."""
    return tuple(
        (str(resource.get("name")), _number(resource.get("weight")) or 1) for resource in map(as_mapping, as_list(raw))
    )


def _number(value: object) -> int:
    """Read an integer of the schema, which also accepts 1.0; 0 where it is absent."""
    return int(value) if isinstance(value, int | float) else 0
