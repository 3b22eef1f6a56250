"""Plugins of a KubeSchedulerConfiguration that kube-scheduler starts with, and others that it refuses."""

from __future__ import annotations

from typing import NamedTuple


def plugins(**points):
    """`filter="-*+PodTopologySpread"`: every plugin is disabled there, and this one enabled again."""
    return {
        point: {
            "disabled": [{"name": name} for name in text.partition("+")[0].split("-") if name],
            "enabled": [{"name": name} for name in text.split("+")[1:]],
        }
        for point, text in points.items()
    }


class Given(NamedTuple):
    """The profiles of a configuration, and the paths of what is refused, none if nothing is."""

    name: str
    profiles: list[dict]
    refused: tuple[str, ...] = ()


def only(name, *refused, **points):
    """One profile with these plugins."""
    return Given(name, [{"plugins": plugins(**points)}], tuple(f"profiles[0].plugins.{path}" for path in refused))


SPREAD, TWICE = "+PodTopologySpread", "+PodTopologySpread+PodTopologySpread"
CASES = [
    only("enabled where it filters, disabled everywhere", filter=SPREAD, multiPoint="-PodTopologySpread"),
    only("enabled where it scores, disabled everywhere", score=SPREAD, multiPoint="-PodTopologySpread"),
    only("enabled everywhere, disabled where it filters", multiPoint=SPREAD, filter="-PodTopologySpread"),
    only("enabled and disabled where it filters", filter=f"-PodTopologySpread{SPREAD}"),
    only("enabled and disabled everywhere", multiPoint=f"-PodTopologySpread{SPREAD}"),
    only("one disabled that there is not", filter="-Nothing"),
    only("twice where it filters", "filter.enabled[1]", filter=TWICE),
    only("twice everywhere", "multiPoint.enabled[1]", multiPoint=TWICE),
    only(
        "twice everywhere, and of no account",
        multiPoint=TWICE,
        preFilter="-*",
        filter="-PodTopologySpread",
        preScore="-PodTopologySpread",
        score=SPREAD,
    ),
    only("one that does not score", "score.enabled[0]", score="+NodeName"),
    only("one that does not filter", "filter.enabled[0]", filter="+NodeResourcesBalancedAllocation"),
    only("one that permits nothing", "permit.enabled[0]", permit="+NodeName"),
    only("all but these two", multiPoint="-*+PrioritySort+DefaultBinder"),
    only("these two, each in its place", multiPoint="-*", queueSort="+PrioritySort", bind="+DefaultBinder"),
    only("none", "queueSort", "bind", multiPoint="-*"),
    only("none but where it filters", "queueSort", "bind", multiPoint="-*", filter=SPREAD),
    only("none that sorts", "queueSort", queueSort="-*"),
    only("two that sort", "queueSort.enabled[1]", queueSort="+PrioritySort+PrioritySort"),
    only("none that binds", "bind", bind="-DefaultBinder"),
    only("none that binds anywhere", "bind", multiPoint="-DefaultBinder"),
    only("a place that there is not", "filters", filters="-PodTopologySpread"),
    Given(
        "arguments twice",
        [{"pluginConfig": [{"name": "NodeAffinity", "args": {}}] * 2}],
        ("profiles[0].pluginConfig[1].name",),
    ),
    Given(
        "profiles that sort by different plugins",
        [{"schedulerName": "a"}, {"schedulerName": "b", "plugins": plugins(queueSort="+PrioritySort")}],
        ("profiles[1].plugins.queueSort",),
    ),
]
