"""The form of a KubeSchedulerConfiguration, and which plugins its profiles run."""

from __future__ import annotations

from collections.abc import Mapping

from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import as_list, as_mapping
from webhook.kubernetes.json_schema import Schema, complaints
from webhook.kubernetes.names import DEFAULT_SCHEDULER
from webhook.kubernetes.reader import brief

POD_TOPOLOGY_SPREAD = "PodTopologySpread"
MULTI_POINT, PRE_FILTER, FILTER, SCORE = "multiPoint", "preFilter", "filter", "score"
QUEUE_SORT, PRE_SCORE, BIND, PLACEMENT_SCORE = "queueSort", "preScore", "bind", "placementScore"
POST_FILTER = "postFilter"
# The extension points, where plugins run; the last four since Kubernetes 1.36 and 1.38.
POINTS = (
    *("preEnqueue", QUEUE_SORT, PRE_FILTER, FILTER, POST_FILTER, PRE_SCORE, SCORE, "reserve", "permit", "preBind"),
    *(BIND, "postBind", "placementGenerate", PLACEMENT_SCORE, "podGroupPostFilter", "placementFeasible"),
)
SCHEDULER_GROUP = "kubescheduler.config.k8s.io"
CURRENT = f"{SCHEDULER_GROUP}/v1"
# The last minor version that reads each (kubernetes#117649 and #119994).
OLD = {f"{SCHEDULER_GROUP}/v1beta1": 22, f"{SCHEDULER_GROUP}/v1beta2": 27, f"{SCHEDULER_GROUP}/v1beta3": 28}

_NAMED_ITEMS: Schema = {"type": "array", "items": {"type": "object", "required": ["name"]}}
_PLUGIN_SET: Schema = {
    "type": "object",
    "properties": {"enabled": _NAMED_ITEMS, "disabled": _NAMED_ITEMS},
    "additionalProperties": False,
}
_PROFILE: Schema = {
    "type": "object",
    "properties": {
        "schedulerName": {},
        "percentageOfNodesToScore": {},
        "percentageOfPlacementsToScore": {},
        "plugins": {
            "type": "object",
            "properties": dict.fromkeys((MULTI_POINT, *POINTS), _PLUGIN_SET),
            "additionalProperties": False,
        },
        "pluginConfig": _NAMED_ITEMS,
    },
    "additionalProperties": False,
}
_NOT_READ = (
    *(
        "apiVersion",
        "kind",
        "clientConnection",
        "delayCacheUntilActive",
        "enableContentionProfiling",
        "enableProfiling",
    ),
    *("extenders", "healthzBindAddress", "leaderElection", "metricsBindAddress", "parallelism"),
    *("percentageOfNodesToScore", "percentageOfPlacementsToScore", "podInitialBackoffSeconds", "podMaxBackoffSeconds"),
)
# The parts that are read, and the names of all others, so that a misspelt one is reported.
CONFIGURATION: Schema = {
    "type": "object",
    "properties": {
        **{name: {} for name in _NOT_READ},
        "profiles": {"type": "array", "items": _PROFILE},
    },
    "additionalProperties": False,
}


def checked(raw: Mapping[str, object], causes: list[str]) -> Mapping[str, object]:
    """Return the configuration as Go decodes it; add to `causes` what is wrong with its form."""
    version = raw.get("apiVersion")
    if version not in (CURRENT, *OLD):
        causes.append(f"apiVersion: found {brief(version)}, wanted {CURRENT} or {', '.join(OLD)}")
    raw = as_mapping(without_nulls(raw))
    causes += complaints(raw, CONFIGURATION)
    names = [profile.get("schedulerName") or DEFAULT_SCHEDULER for profile in profiles_of(raw)]
    causes += (
        f"profiles[{i}].schedulerName: found {brief(name)} twice, wanted a name of its own"
        for i, name in enumerate(names)
        if name in names[:i]
    )
    return raw


def unserved(api_version: str, features: Features) -> str:
    """Return why kube-scheduler does not start with a configuration of this version; "" if it does."""
    last_minor = OLD.get(api_version)
    if last_minor is None or features.minor <= last_minor:
        return ""
    removed = f"Kubernetes 1.{last_minor + 1} removed the version, so kube-scheduler does not start"
    return f"apiVersion: found {brief(api_version)}, wanted {CURRENT}: {removed}"


def profiles_of(raw: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Return the profiles; a configuration without any has one, the default."""
    return list(map(as_mapping, as_list(raw.get("profiles")) or [{}]))


def without_nulls(value: object) -> object:
    """Return a copy without null fields: Go decodes them as absent."""
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def enabled(profile: Mapping[str, object], point: str, usual: Mapping[str, int]) -> dict[str, int]:
    """
    Return the plugins that run at an extension point, in their order, with their weights there (0 for none).

    `usual` are those of a profile that names no plugins.

    upstream: framework.go:frameworkImpl.expandMultiPointPlugins (v1.37)
    """
    plugins = as_mapping(profile.get("plugins"))
    everywhere, here = as_mapping(plugins.get(MULTI_POINT)), as_mapping(plugins.get(point))
    multi, own = _without_disabled(_merged(usual, everywhere), here), _weighted(here)
    # Upstream's order: what the point enables of multiPoint, the rest of multiPoint, what only the point enables.
    first = [name for name in own if name in multi]
    return {name: own.get(name, multi.get(name, 0)) for name in dict.fromkeys((*first, *multi, *own))}


def _merged(usual: Mapping[str, int], given: Mapping[str, object]) -> dict[str, int]:
    """
    Merge a list of plugins into the default ones.

    upstream: default_plugins.go:mergePluginSet (v1.37)
    """
    own = _weighted(given)
    merged = {name: own.get(name, weight) for name, weight in _without_disabled(usual, given).items()}
    return {**merged, **own}


def _without_disabled(plugins: Mapping[str, int], given: Mapping[str, object]) -> Mapping[str, int]:
    disabled = names_in(given.get("disabled"))
    return {} if "*" in disabled else {name: weight for name, weight in plugins.items() if name not in disabled}


def names_in(given: object) -> list[str]:
    return [str(as_mapping(plugin).get("name")) for plugin in as_list(given)]


def _weighted(given: Mapping[str, object]) -> dict[str, int]:
    """Return the enabled plugins of a set, with their weights, 0 for none."""
    weights = ((plugin.get("name"), plugin.get("weight")) for plugin in map(as_mapping, as_list(given.get("enabled"))))
    return {str(name): weight if isinstance(weight, int) else 0 for name, weight in weights}
