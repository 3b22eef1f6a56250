"""
The profiles of a KubeSchedulerConfiguration, as kube-scheduler places Pods by them.

    profiles[i].plugins ──enabled, disabled, at each extension point──┐
    profiles[i].pluginConfig ──the arguments of what is modelled──────┴──> Profile, by its schedulerName
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from webhook.documents.reading import read_documents
from webhook.documents.scalars import DocumentError
from webhook.objects.fields import FieldPath, as_list, as_mapping, path_text
from webhook.objects.names import DEFAULT_SCHEDULER
from webhook.objects.reading import Reader, brief
from webhook.policy.scheduler_configuration import FILTER, KIND, PRE_FILTER, SCORE, checked, enabled, profiles_of
from webhook.policy.schema import Schema, complaints
from webhook.scheduler.affinity import read_preferred, read_required
from webhook.scheduler.default_constraints import SYSTEM, validate_args
from webhook.scheduler.fit import CPU, LEAST_ALLOCATED, MEMORY, MOST_ALLOCATED, TO_CAPACITY, USUAL, Strategy
from webhook.scheduler.profile import (
    BALANCED_ALLOCATION,
    FILTERS,
    NODE_AFFINITY,
    NODE_RESOURCES_FIT,
    POD_TOPOLOGY_SPREAD,
    WEIGHTS,
    Profile,
    Profiles,
)
from webhook.scheduler.validation import in_one_line

# The plugins that are modelled, in the order in which they filter, with their weights.
USUAL_PLUGINS = {name: WEIGHTS.get(name, 0) for name in dict.fromkeys((*FILTERS, *WEIGHTS))}
HIGHEST_SCORE = 10  # of a point of a shape

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
_SHAPE: Schema = {
    "type": "object",
    "properties": {"shape": {"type": "array", "minItems": 1, "items": _POINT}},
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
    known = {"apiVersion": {}, "kind": {}, **properties}
    return {"type": "object", "properties": known, "additionalProperties": False}


ARGS: Mapping[str, Schema] = {
    NODE_AFFINITY: _args(addedAffinity={"type": "object"}),
    NODE_RESOURCES_FIT: _args(
        ignoredResources=_NAMES, ignoredResourceGroups=_NAMES, scoringStrategy=_STRATEGY, placementScoringStrategy={}
    ),
    BALANCED_ALLOCATION: _args(resources=_RESOURCES),
}


def parse_profiles(text: str) -> tuple[Profiles, tuple[str, ...]]:
    """The profiles of a KubeSchedulerConfiguration in YAML or JSON, by name; or why it cannot be used, line by line."""
    try:
        documents = read_documents(text)
    except DocumentError as error:
        return {}, (str(error),)
    raw = as_mapping(documents[0]) if len(documents) == 1 else {}
    if raw.get("kind") != KIND:
        return {}, (f"kind: found {brief(raw.get('kind'))}, wanted one {KIND}",)
    causes: list[str] = []
    raw = checked(raw, causes)
    return ({}, tuple(causes)) if causes else read_profiles(raw)


def read_profiles(raw: Mapping[str, object]) -> tuple[Profiles, tuple[str, ...]]:
    """
    The profiles of a KubeSchedulerConfiguration of the right form, by name; or why an argument cannot be used.

    What kube-scheduler refuses beyond that is not all found here: it does not start with such a file.
    """
    causes: list[str] = []
    found: dict[str, Profile] = {}
    for i, profile in enumerate(profiles_of(raw)):
        configs = [
            (str(one.get("name")), one.get("args"), ("profiles", i, "pluginConfig", j, "args"))
            for j, one in enumerate(map(as_mapping, as_list(profile.get("pluginConfig"))))
        ]
        name = str(profile.get("schedulerName") or DEFAULT_SCHEDULER)
        wrong = [cause for plugin, args, path in configs for cause in _errors(plugin, args, path)]
        causes += wrong
        if not wrong:
            found[name] = _profile(name, profile, {plugin: as_mapping(args) for plugin, args, _ in configs})
    return found, tuple(causes)


def _errors(plugin: str, args: object, path: FieldPath) -> Iterator[str]:
    if args is None:
        return
    if plugin == POD_TOPOLOGY_SPREAD:
        given = as_mapping(args)
        defaulting = str(given.get("defaultingType") or SYSTEM)
        for error in validate_args(defaulting, as_list(given.get("defaultConstraints")), path):
            yield in_one_line(error)
        return
    wrong = list(complaints(args, ARGS.get(plugin, {}), path))
    yield from wrong
    if wrong:
        return
    strategy = as_mapping(as_mapping(args).get("scoringStrategy"))
    shape = _shape(strategy)
    at = path_text((*path, "scoringStrategy", "requestedToCapacityRatio"))
    if (strategy.get("type") == TO_CAPACITY) != bool(shape):
        yield f"{at}: found {'none' if not shape else 'one'}, wanted it with type {TO_CAPACITY}, and only there"
    if any(one[0] >= other[0] for one, other in pairwise(shape)):
        yield f"{at}.shape: found utilizations {', '.join(str(at) for at, _ in shape)}, wanted them in rising order"
    if plugin == NODE_AFFINITY:
        _, reader = _affinity(args)
        for reading in reader.errors:
            yield f"{path_text((*path, 'addedAffinity', *reading.path[3:]))}: {reading.detail}"


def _affinity(args: object) -> tuple[Mapping[str, object], Reader]:
    """The addedAffinity as the spec of a Pod has it, and a reader that has read it."""
    reader = Reader()
    spec = {"affinity": {"nodeAffinity": as_mapping(args).get("addedAffinity")}}
    read_required(reader, spec)
    read_preferred(reader, spec)
    return spec, reader


def _profile(name: str, profile: Mapping[str, object], args: Mapping[str, Mapping[str, object]]) -> Profile:
    spec, reader = _affinity(args.get(NODE_AFFINITY, {}))
    fit, spread = args.get(NODE_RESOURCES_FIT, {}), args.get(POD_TOPOLOGY_SPREAD, {})
    balanced = _resources(args.get(BALANCED_ALLOCATION, {}).get("resources"))
    system = (spread.get("defaultingType") or SYSTEM) == SYSTEM
    return Profile(
        name,
        tuple([plugin for plugin in enabled(profile, FILTER, USUAL_PLUGINS) if plugin in FILTERS]),
        frozenset(FILTERS) & enabled(profile, PRE_FILTER, USUAL_PLUGINS).keys(),
        {plugin: weight or 1 for plugin, weight in enabled(profile, SCORE, USUAL_PLUGINS).items() if plugin in WEIGHTS},
        read_required(reader, spec),
        read_preferred(reader, spec) or (),
        frozenset(map(str, as_list(fit.get("ignoredResources")))),
        frozenset(map(str, as_list(fit.get("ignoredResourceGroups")))),
        _strategy(as_mapping(fit.get("scoringStrategy"))),
        tuple(name for name, _ in balanced) or (CPU, MEMORY),
        None if system else tuple(map(as_mapping, as_list(spread.get("defaultConstraints")))),
    )


def _strategy(raw: Mapping[str, object]) -> Strategy:
    """upstream: defaults.go:SetDefaults_NodeResourcesFitArgs (v1.37)"""
    resources = _resources(raw.get("resources")) or USUAL.resources
    # A score is 0 to 10 in the configuration, 0 to 100 among nodes.
    shape = tuple((at, 10 * score) for at, score in _shape(raw))
    return Strategy(str(raw.get("type") or LEAST_ALLOCATED), resources, shape)


def _shape(strategy: Mapping[str, object]) -> list[tuple[int, int]]:
    points = map(as_mapping, as_list(as_mapping(strategy.get("requestedToCapacityRatio")).get("shape")))
    return [(_number(point.get("utilization")), _number(point.get("score"))) for point in points]


def _resources(raw: object) -> tuple[tuple[str, int], ...]:
    """Names with weights; one that is absent or 0 is 1."""
    return tuple((str(one.get("name")), _number(one.get("weight")) or 1) for one in map(as_mapping, as_list(raw)))


def _number(value: object) -> int:
    """An integer of the schema, which takes 1.0 for one, too."""
    return int(value) if isinstance(value, int | float) else 0
