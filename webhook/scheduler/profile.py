"""
A profile of kube-scheduler: on which nodes a Pod could run, what refuses it on the others, and what each is worth.

    Pod, nodes ──PreFilter──> nodes ──the filters, in their order──> feasible nodes ──the scores──> total

Host ports, volumes, affinity between Pods, dynamic resources, images and extenders are not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from webhook.objects.names import DEFAULT_SCHEDULER
from webhook.scheduler.affinity import ANY_NODE, PreferredTerm, RequiredNodeAffinity
from webhook.scheduler.constraint import Constraint
from webhook.scheduler.counts import UNUSED
from webhook.scheduler.domains import reach
from webhook.scheduler.features import Features
from webhook.scheduler.filtering import Verdicts, filter_nodes
from webhook.scheduler.fit import (
    CPU,
    MEMORY,
    USUAL_SCORING,
    ScoringStrategy,
    allocation,
    balanced_allocation,
    is_best_effort,
    shortages,
)
from webhook.scheduler.incoming import IncomingPod
from webhook.scheduler.nodes import CORDONED, NodeSet, union, untolerated_taint
from webhook.scheduler.scoring import MAX_NODE_SCORE, score_nodes
from webhook.scheduler.snapshot import Snapshot

NODE_NAME, NODE_UNSCHEDULABLE, TAINT_TOLERATION = "NodeName", "NodeUnschedulable", "TaintToleration"
NODE_AFFINITY, NODE_RESOURCES_FIT, POD_TOPOLOGY_SPREAD = "NodeAffinity", "NodeResourcesFit", "PodTopologySpread"
BALANCED_ALLOCATION = "NodeResourcesBalancedAllocation"
FILTERS = (NODE_UNSCHEDULABLE, NODE_NAME, TAINT_TOLERATION, NODE_AFFINITY, NODE_RESOURCES_FIT, POD_TOPOLOGY_SPREAD)
WEIGHTS = {
    TAINT_TOLERATION: 3,
    NODE_AFFINITY: 2,
    NODE_RESOURCES_FIT: 1,
    POD_TOPOLOGY_SPREAD: 2,
    BALANCED_ALLOCATION: 1,
}

CONFLICT = "pod affinity terms conflict"
UNSCHEDULABLE = "node(s) were unschedulable"
OTHER_NAME = "node(s) didn't match the requested node name"
OTHER_AFFINITY = "node(s) didn't match Pod's node affinity/selector"
ENFORCED_AFFINITY = "node(s) didn't match scheduler-enforced node affinity"
NO_NODES_AVAILABLE = "no nodes available to schedule pods"
PREFER_NO_SCHEDULE = "PreferNoSchedule"


@dataclass(frozen=True, slots=True)
class Profile:
    """
    What a KubeSchedulerProfile says: the plugins that filter, in their order, and those that score, with their weights.

    A plugin may be among `pre_filters`, and leave out nodes, without filtering.
    `added` and `added_preferred` are the addedAffinity of NodeAffinity.  `ignored` are resources, `ignored_groups`
    groups of them that NodeResourcesFit does not look at; `strategy` is how it scores.  `balanced` are the resources of
    NodeResourcesBalancedAllocation.  `defaults` are the default constraints, or None for kube-scheduler's own.
    """

    name: str = DEFAULT_SCHEDULER
    filters: tuple[str, ...] = FILTERS
    pre_filters: frozenset[str] = frozenset(FILTERS)
    weights: Mapping[str, int] = field(default_factory=lambda: WEIGHTS)
    added: RequiredNodeAffinity = ANY_NODE
    added_preferred: tuple[PreferredTerm, ...] = ()
    ignored: frozenset[str] = frozenset()
    ignored_groups: frozenset[str] = frozenset()
    strategy: ScoringStrategy = USUAL_SCORING
    balanced: tuple[str, ...] = (CPU, MEMORY)
    defaults: tuple[Mapping[str, object], ...] | None = None

    def heeds(self, constraint: Constraint) -> bool:
        """Whether PodTopologySpread runs where the constraint has its effect."""
        return POD_TOPOLOGY_SPREAD in (self.filters if constraint.hard else self.weights)


USUAL_PROFILE = Profile()
Profiles = Mapping[str, Profile]  # by the name that Pods have as their schedulerName
USUAL_PROFILES: Profiles = {DEFAULT_SCHEDULER: USUAL_PROFILE}


class Cycle(NamedTuple):
    """
    One attempt to place a Pod: with the constraints in force, in the cluster as it is.

    With `system_defaults` these are the scheduler's own defaults.
    """

    pod: IncomingPod
    constraints: Sequence[Constraint]
    snapshot: Snapshot
    features: Features
    system_defaults: bool = False
    profile: Profile = USUAL_PROFILE


class Refusal(NamedTuple):
    """Nodes that one plugin refuses, and all of its reasons; `plugin` is "" where PreFilter left the nodes out."""

    plugin: str
    reasons: tuple[str, ...]
    nodes: NodeSet


class Feasibility(NamedTuple):
    """
    The nodes on which the Pod could run, and what refuses it on each of the others.

    `rejected` is what PreFilter says where it rejects the Pod for all nodes, else "".  `spread` is what the hard
    constraints say of all nodes, also of those that another plugin refuses first.
    """

    feasible: NodeSet
    refusals: tuple[Refusal, ...]
    rejected: str
    spread: Verdicts


def find_feasible(cycle: Cycle) -> Feasibility:
    """
    upstream: schedule_one.go:Scheduler.findNodesThatFitPod (v1.37)

    All nodes on which the Pod could run; each of the others is refused by the first plugin that does, with all of that
    plugin's reasons.
    """
    nodes = cycle.snapshot.nodes
    spread = filter_nodes(cycle.pod, cycle.constraints, cycle.snapshot, cycle.features)
    rejected, *refusals = _pre_filter(cycle)
    if rejected.reasons:
        return Feasibility(0, (rejected,), rejected.reasons[0], spread)
    remaining = nodes.all & ~union(refusal.nodes for refusal in refusals)
    for plugin in cycle.profile.filters:
        if plugin == POD_TOPOLOGY_SPREAD:
            refusals += [Refusal(plugin, (reason,), uneven & remaining) for reason, uneven in spread.reasons()]
        else:
            refusals += _FILTERING[plugin](cycle, remaining)
        remaining &= ~union(refusal.nodes for refusal in refusals)
    return Feasibility(remaining, tuple([refusal for refusal in refusals if refusal.nodes]), "", spread)


def feasible_nodes(cycle: Cycle) -> NodeSet:
    """The nodes on which the Pod could run, as `find_feasible` has them, without the reasons of the others."""
    if cycle.profile != USUAL_PROFILE:
        return find_feasible(cycle).feasible
    pod, nodes = cycle.pod, cycle.snapshot.nodes
    rejected, *left_out = _pre_filter(cycle)
    if rejected.reasons:
        return 0
    remaining = filter_nodes(pod, cycle.constraints, cycle.snapshot, cycle.features).passing
    for refusals in (left_out, _other_names(cycle, nodes.all)):
        remaining &= ~union(refusal.nodes for refusal in refusals)
    remaining &= reach(pod, nodes).usable
    return remaining & ~union(refusal.nodes for refusal in _without_room(cycle, remaining))


def usable_nodes(cycle: Cycle) -> NodeSet:
    """The nodes on which the Pod could run, were there room and no constraint."""
    if cycle.profile == USUAL_PROFILE and not cycle.pod.node_name:
        return reach(cycle.pod, cycle.snapshot.nodes).usable
    remaining = cycle.snapshot.nodes.all
    for refusal in _pre_filter(cycle):
        remaining &= ~refusal.nodes
    for plugin in cycle.profile.filters:
        if plugin not in (NODE_RESOURCES_FIT, POD_TOPOLOGY_SPREAD):
            remaining &= ~union(refusal.nodes for refusal in _FILTERING[plugin](cycle, remaining))
    return remaining


def _pre_filter(cycle: Cycle) -> Iterator[Refusal]:
    """
    upstream: framework.go:frameworkImpl.RunPreFilterPlugins (v1.37)

    First what rejects the Pod, without reasons if nothing does; then the nodes that are left out.
    """
    pod, nodes, running = cycle.pod, cycle.snapshot.nodes, cycle.profile.pre_filters
    affine = pod.affinity.names if NODE_AFFINITY in running else None
    if affine is not None and not affine:
        yield Refusal(NODE_AFFINITY, (CONFLICT,), nodes.all)
        return
    names = {NODE_AFFINITY: affine} if affine is not None else {}
    if pod.node_name and cycle.features.node_name_in_pre_filter and NODE_NAME in running:
        names[NODE_NAME] = frozenset({pod.node_name})
    found = frozenset.intersection(*names.values()) if names else None
    plugins = " ".join(sorted(names))
    if found is not None and not found:
        yield Refusal("", (f"node(s) didn't satisfy plugin(s) [{plugins}] simultaneously",), nodes.all)
        return
    yield Refusal("", (), 0)
    if found is not None:
        yield Refusal("", (f"node(s) didn't satisfy plugin(s) [{plugins}]",), nodes.all & ~nodes.named(found))


def _unschedulable(cycle: Cycle, remaining: NodeSet) -> Iterator[Refusal]:
    """upstream: node_unschedulable.go:NodeUnschedulable.Filter (v1.37)"""
    if not any(toleration.tolerates(CORDONED) for toleration in cycle.pod.tolerations):
        yield Refusal(NODE_UNSCHEDULABLE, (UNSCHEDULABLE,), remaining & cycle.snapshot.nodes.unschedulable)


def _other_names(cycle: Cycle, remaining: NodeSet) -> Iterator[Refusal]:
    """upstream: node_name.go:NodeName.Filter (v1.37)"""
    if name := cycle.pod.node_name:
        yield Refusal(NODE_NAME, (OTHER_NAME,), remaining & ~cycle.snapshot.nodes.named((name,)))


def _untolerated(cycle: Cycle, remaining: NodeSet) -> Iterator[Refusal]:
    """upstream: taint_toleration.go:TaintToleration.Filter (v1.37)"""
    for taint, those in cycle.snapshot.nodes.untolerated(cycle.pod.tolerations).items():
        which = f" {{{taint.key}: {taint.value}}}" if cycle.features.names_untolerated_taint else "(s)"
        yield Refusal(TAINT_TOLERATION, (f"node(s) had untolerated taint{which}",), remaining & those)


def _other_affinity(cycle: Cycle, remaining: NodeSet) -> Iterator[Refusal]:
    """upstream: node_affinity.go:NodeAffinity.Filter (v1.37)"""
    nodes = cycle.snapshot.nodes
    enforced = cycle.profile.added.matching(nodes)
    yield Refusal(NODE_AFFINITY, (ENFORCED_AFFINITY,), remaining & ~enforced)
    yield Refusal(NODE_AFFINITY, (OTHER_AFFINITY,), remaining & enforced & ~cycle.pod.affinity.matching(nodes))


def _without_room(cycle: Cycle, remaining: NodeSet) -> Iterator[Refusal]:
    """upstream: fit.go:Fit.Filter (v1.37)"""
    nodes, usage, profile = cycle.snapshot.nodes, cycle.snapshot.usage, cycle.profile
    ignored = profile.ignored, profile.ignored_groups
    found: dict[tuple[str, ...], list[str]] = {}
    for node in nodes.members(remaining):
        if reasons := shortages(cycle.pod.requests, node.allocatable, usage.get(node.name, UNUSED), *ignored):
            found.setdefault(reasons, []).append(node.name)
    for reasons, names in found.items():
        yield Refusal(NODE_RESOURCES_FIT, reasons, nodes.named(names))


_FILTERING: Mapping[str, Callable[[Cycle, NodeSet], Iterator[Refusal]]] = {
    NODE_UNSCHEDULABLE: _unschedulable,
    NODE_NAME: _other_names,
    TAINT_TOLERATION: _untolerated,
    NODE_AFFINITY: _other_affinity,
    NODE_RESOURCES_FIT: _without_room,
}


def message(cycle: Cycle, found: Feasibility) -> str:
    """
    upstream: types.go:FitError.Error (v1.37)

    What kube-scheduler says of a Pod for which no node is feasible, up to what it adds of claims and preemption; "" if
    one is.
    """
    number = len(cycle.snapshot.nodes)
    if found.feasible:
        return ""
    if not number:
        return NO_NODES_AVAILABLE
    reasons: dict[str, int] = {}
    for refusal in found.refusals:
        for reason in refusal.reasons:
            reasons[reason] = reasons.get(reason, 0) + refusal.nodes.bit_count()
    counted = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
    return f"0/{number} nodes are available: {found.rejected or counted}."


def prioritize(cycle: Cycle, candidates: NodeSet) -> dict[str, dict[str, int]]:
    """
    upstream: schedule_one.go:prioritizeNodes (v1.37)

    By plugin that scores the Pod the score of each candidate, 0 to 100, by the name of the node; none for one
    candidate, which the scheduler takes without.
    """
    if candidates.bit_count() < 2:
        return {}
    scores = {
        TAINT_TOLERATION: _by_preferred_taints(cycle, candidates),
        NODE_AFFINITY: _by_preferred_affinity(cycle, candidates),
        **_by_resources(cycle, candidates),
        POD_TOPOLOGY_SPREAD: _by_spread(cycle, candidates),
    }
    return {plugin: by_node for plugin, by_node in scores.items() if by_node and plugin in cycle.profile.weights}


def total(scores: Mapping[str, Mapping[str, int]], weights: Mapping[str, int] = WEIGHTS) -> dict[str, int]:
    """
    upstream: framework.go:frameworkImpl.RunScorePlugins (v1.37)

    The score of each node by its name: what all plugins say, by their weights.
    """
    found: dict[str, int] = {}
    for plugin, by_node in scores.items():
        for name, score in by_node.items():
            found[name] = found.get(name, 0) + weights[plugin] * score
    return found


def _by_preferred_taints(cycle: Cycle, candidates: NodeSet) -> dict[str, int]:
    """upstream: taint_toleration.go:TaintToleration.Score (v1.37)"""
    nodes = cycle.snapshot.nodes
    tolerations = [one for one in cycle.pod.tolerations if one.effect in ("", PREFER_NO_SCHEDULE)]
    raw = dict.fromkeys(nodes.names(candidates), 0)
    for taints, those in nodes.by_taints.items():
        preferring = [taint for taint in taints if taint.effect == PREFER_NO_SCHEDULE]
        intolerable = sum(untolerated_taint([one], tolerations, [one.effect]) is not None for one in preferring)
        raw.update(dict.fromkeys(nodes.names(those & candidates), intolerable))
    return _normalized(raw, reverse=True)


def _by_preferred_affinity(cycle: Cycle, candidates: NodeSet) -> dict[str, int]:
    """upstream: node_affinity.go:NodeAffinity.Score (v1.37)"""
    if cycle.pod.preferred is None and not cycle.profile.added_preferred:
        return {}
    nodes = cycle.snapshot.nodes
    raw = dict.fromkeys(nodes.names(candidates), 0)
    for weight, term in (*cycle.profile.added_preferred, *(cycle.pod.preferred or ())):
        for name in nodes.names(term.matching(nodes) & candidates):
            raw[name] += weight
    return _normalized(raw)


def _by_resources(cycle: Cycle, candidates: NodeSet) -> dict[str, dict[str, int]]:
    """upstream: resource_allocation.go:resourceAllocationScorer.score (v1.37)"""
    requests, features, profile = cycle.pod.requests, cycle.features, cycle.profile
    scored: dict[str, dict[str, int]] = {NODE_RESOURCES_FIT: {}, BALANCED_ALLOCATION: {}}
    for node in cycle.snapshot.nodes.members(candidates):
        used = cycle.snapshot.usage.get(node.name, UNUSED)
        scored[NODE_RESOURCES_FIT][node.name] = allocation(profile.strategy, requests, node.allocatable, used)
        if not (features.skips_best_effort and is_best_effort(requests, profile.balanced)):
            balance = balanced_allocation(requests, node.allocatable, used, features, profile.balanced)
            scored[BALANCED_ALLOCATION][node.name] = balance
    return scored


def _by_spread(cycle: Cycle, candidates: NodeSet) -> dict[str, int]:
    """upstream: scoring.go:PodTopologySpread.NormalizeScore (v1.37)"""
    if cycle.features.skips_unconstrained and not any(constraint.soft for constraint in cycle.constraints):
        return {}
    nodes = cycle.snapshot.nodes
    pod, constraints, snapshot, features, system_defaults, _ = cycle
    scores = score_nodes(pod, constraints, snapshot, candidates, features, system_defaults=system_defaults)
    found = dict.fromkeys(nodes.names(scores.ignored), 0)
    for those, _, score in scores.scored:
        found.update(dict.fromkeys(nodes.names(those), score))
    return found


def _normalized(raw: Mapping[str, int], *, reverse: bool = False) -> dict[str, int]:
    """upstream: normalize_score.go:DefaultNormalizeScore (v1.37)"""
    largest = max(raw.values(), default=0)
    if not largest:
        return dict.fromkeys(raw, MAX_NODE_SCORE if reverse else 0)
    found = {name: MAX_NODE_SCORE * score // largest for name, score in raw.items()}
    return {name: MAX_NODE_SCORE - score for name, score in found.items()} if reverse else found
