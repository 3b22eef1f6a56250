"""The passing nodes, reasons, scores and message of kube-scheduler's default profile, in a small cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evenkeel.scheduler.framework import feasible_nodes, find_feasible, message, total
from evenkeel.scheduler.plugins.node_resources_fit import insufficient
from evenkeel.scheduler.profile import NODE_RESOURCES_FIT, USUAL_PROFILE, VOLUME_BINDING, WEIGHTS, Cycle, Profile
from evenkeel.scheduler.resource_fit import CPU, MEMORY, PODS, STORAGE
from tests.conformance.cases import Difference, IllFormed, compared
from tests.conformance.defaults import in_force
from tests.conformance.placement import read_pod, read_snapshot, system_defaults
from tests.support.placement import prioritize
from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import as_mapping
from webhook.spread.nodes import Nodes, NodeSet

# whole_profile and volume_profile, too: all filters and scores, where profile has no Pod affinity, port or volume.
RECORDED = "*profile.jsonl.gz"
# These come in this order, before all others.
FIRST = [reason.text for reason in insufficient((PODS, CPU, MEMORY, STORAGE))]


def differences(
    case: Mapping[str, object], features: Features, profile: Profile = USUAL_PROFILE
) -> Iterator[Difference]:
    """Plugins that are not modelled count only where they scored a node above 0, which is a difference."""
    constraints, snapshot = in_force(case, features)[1], read_snapshot(case, features)
    heeded = tuple([one for one in constraints if profile.heeds(one)])
    cycle = Cycle(read_pod(case, features), heeded, snapshot, features, system_defaults(case), profile)
    found = find_feasible(cycle)
    scores = prioritize(cycle, found.feasible)
    reasons = {
        name: {"plugin": refusal.plugin, "reasons": [reason.text for reason in refusal.reasons]}
        for refusal in found.refusals
        for name in snapshot.nodes.names(refusal.nodes)
    }

    if feasible_nodes(cycle) != found.feasible:
        yield Difference("feasible", "feasible_nodes and find_feasible differ", None)
    if found.error:
        yield from compared(case, "error", found.error)
        return
    yield from compared(case, "feasible", sorted(snapshot.nodes.names(found.feasible)))
    yield from compared(case, "reasons", reasons, _in_order)
    yield from compared(case, "scores", _by_node(snapshot.nodes, found.feasible, scores), _modelled)
    unscored = dict.fromkeys(_by_node(snapshot.nodes, found.feasible, {}), 0)
    yield from compared(case, "total", unscored | total(scores, profile.weights))
    yield from compared(case, "message", message(cycle, found))
    yield from compared(case, "preFilter", found.rejected)


def _in_order(recorded: object, what: str) -> object:
    """The recorded reasons, those of NodeResourcesFit by name: it takes extended resources from a map, in any order."""
    if not isinstance(recorded, dict):
        raise IllFormed(f"expected.{what}: must be an object")
    found = {name: as_mapping(one) for name, one in recorded.items()}
    return {
        name: {**one, "reasons": _by_name(one.get("reasons"))} if one.get("plugin") == NODE_RESOURCES_FIT else one
        for name, one in found.items()
    }


def _by_name(reasons: object) -> object:
    if not isinstance(reasons, list):
        return reasons
    first = sum(reason in FIRST for reason in reasons)
    return reasons[:first] + sorted(reasons[first:], key=str)


def _by_node(nodes: Nodes, feasible: NodeSet, scores: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    if feasible.bit_count() < 2:  # The only one is taken without a score.
        return {}
    return {
        name: {plugin: by_node[name] for plugin, by_node in scores.items() if _counts(plugin, by_node[name])}
        for name in nodes.names(feasible)
    }


def _modelled(recorded: object, what: str) -> object:
    """The recorded scores without the zeros of plugins that are not modelled, or that score Pods without claims 0."""
    if not isinstance(recorded, dict):
        raise IllFormed(f"expected.{what}: must be an object")
    return {
        name: {plugin: score for plugin, score in as_mapping(by_plugin).items() if _counts(plugin, score)}
        for name, by_plugin in recorded.items()
    }


def _counts(plugin: str, score: object) -> bool:
    return bool(score) or (plugin in WEIGHTS and plugin != VOLUME_BINDING)
