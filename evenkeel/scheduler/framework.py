"""
The scheduling framework: runs the plugins of a profile for one Pod.

    Pod, nodes ──PreFilter──> nodes ──the filters, in their order──> feasible nodes ──the scores──> total

What the plugins say is kept up to date while Pods come and go, so that many Pods can be placed one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from evenkeel.scheduler.attached_volumes import SchedulerError
from evenkeel.scheduler.plugins.balanced_allocation import BalancedAllocation
from evenkeel.scheduler.plugins.image_locality import ImageLocality
from evenkeel.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from evenkeel.scheduler.plugins.node_affinity import NOT_NAMED, NodeAffinity
from evenkeel.scheduler.plugins.node_declared_features import NodeDeclaredFeatures
from evenkeel.scheduler.plugins.node_name import NodeName
from evenkeel.scheduler.plugins.node_ports import NodePorts
from evenkeel.scheduler.plugins.node_resources_fit import NodeResourcesFit
from evenkeel.scheduler.plugins.node_unschedulable import NodeUnschedulable
from evenkeel.scheduler.plugins.node_volume_limits import NodeVolumeLimits
from evenkeel.scheduler.plugins.nodes_by_usage import ChangingUsage, NodesByUsage
from evenkeel.scheduler.plugins.plugin import Parts, Plugin, Reason, Refusal
from evenkeel.scheduler.plugins.pod_topology_spread import PodTopologySpread
from evenkeel.scheduler.plugins.taint_toleration import TaintToleration
from evenkeel.scheduler.plugins.volume_binding import VolumeBinding
from evenkeel.scheduler.plugins.volume_restrictions import VolumeRestrictions
from evenkeel.scheduler.plugins.volume_zone import VolumeZone
from evenkeel.scheduler.pod_counts import UNUSED, BoundPod, PodInfo, Usage
from evenkeel.scheduler.profile import NODE_AFFINITY, WEIGHTS, Cycle
from evenkeel.scheduler.scheduler_nodes import Allocatable
from evenkeel.scheduler.snapshot import NominatedPod
from evenkeel.scheduler.spread_filter import Verdicts
from evenkeel.scheduler.storage import Storage
from evenkeel.scheduler.volumes import Mounts
from webhook.policy.scheduler_configuration import POD_TOPOLOGY_SPREAD
from webhook.spread.nodes import NodeSet, union

# In the order in which the default profile has them; upstream: default_plugins.go:getDefaultPlugins (v1.37)
PLUGINS: tuple[type[Plugin], ...] = (
    *(NodeUnschedulable, NodeName, TaintToleration, NodeAffinity, NodePorts, NodeResourcesFit),
    *(VolumeRestrictions, NodeVolumeLimits, VolumeBinding, VolumeZone, PodTopologySpread),
    *(InterPodAffinity, NodeDeclaredFeatures, BalancedAllocation, ImageLocality),
)
_PLUGINS_BY_NAME = {plugin.name: plugin for plugin in PLUGINS}

OWN_NODE_PASSES = Reason(
    "not tried: the node that is nominated for the Pod passes",
    "not tried: the node that is nominated for the Pod passes",
)
NO_NODES_AVAILABLE = "no nodes available to schedule pods"


TriedPod = tuple[str, BoundPod]  # Its namespace, and a Pod on a node.


class Feasibility(NamedTuple):
    """The nodes on which the Pod could run, and what refuses it on each of the others."""

    feasible: NodeSet
    refusals: tuple[Refusal, ...]
    rejected: str  # What PreFilter says where it rejects the Pod on all nodes; else "".
    spread: Verdicts  # What the hard constraints say of all nodes, even if another plugin refuses them first.
    error: str = ""  # At this kube-scheduler gives up the attempt, and no node is feasible; else "".

    @property
    def resolvable(self) -> NodeSet:
        """The nodes on which preemption may help."""
        return union(refusal.nodes for refusal in self.refusals if refusal.resolvable)

    def refused_for(self, *reasons: Reason) -> NodeSet:
        """Return the nodes that are refused for any of the reasons."""
        return union(refusal.nodes for refusal in self.refusals if not set(reasons).isdisjoint(refusal.reasons))


class Framework:
    """The plugins of a profile for one attempt to place a Pod; each is made when it is first asked."""

    def __init__(self, cycle: Cycle, usage: ChangingUsage | None = None) -> None:
        self.cycle = cycle
        self._usage = usage or ChangingUsage(cycle.snapshot.nodes, cycle.snapshot.usage)
        self._plugins: dict[str, Plugin] = {}
        self._storage: Storage | None = None  # What set_storage last gave all plugins; None if one was made since.
        self._following: list[Plugin] = []  # The plugins that count Pods; listed when the first Pod comes or goes.
        self.nominated: Mapping[str, Sequence[TriedPod]] = nominated_for(cycle)
        self.own_node = cycle.pod.nominated_node
        self.gave_up = False  # Whether kube-scheduler gives up the last attempt.

    def copy(self, usage: ChangingUsage | None = None) -> Framework:
        """
        Return an independent copy, which shares what does not depend on the Pods.

        It follows `usage`, if one is given, which must be equal to the usage now.
        """
        new = copy(self)
        new._usage = usage or self._usage.copy(self._usage.by_node)
        new._plugins = {name: plugin.copy() for name, plugin in self._plugins.items()}
        for plugin in new._plugins.values():
            plugin.follow_usage(new._usage)
        new._following = []
        new.__dict__.pop("_scores_of_usage", None)  # A cached property that depends on the usage.
        return new

    def plugin(self, name: str) -> Plugin:
        plugin = self._plugins.get(name)
        if plugin is None:
            plugin = self._plugins[name] = _PLUGINS_BY_NAME[name](self.cycle)
            plugin.follow_usage(self._usage)
            self._following = []
            self._storage = None
        return plugin

    @property
    def spread(self) -> PodTopologySpread:
        """PodTopologySpread, which counts even where the profile does not run it."""
        plugin = self.plugin(POD_TOPOLOGY_SPREAD)
        assert isinstance(plugin, PodTopologySpread)
        return plugin

    def for_volumes(self, mounts: Mounts, storage: Storage) -> Framework:
        """Return the framework for a Pod that differs only in its volumes, with the storage as it is now."""
        for name in (*self.cycle.profile.filters, *self.cycle.profile.weights):
            self.plugin(name)  # Make all plugins now, so that both frameworks share them.
        new = copy(self)
        new.cycle = replace(
            self.cycle,
            pod=replace(self.cycle.pod, mounts=mounts),
            snapshot=replace(self.cycle.snapshot, storage=storage),
        )
        new._plugins = {name: plugin.of(new.cycle) for name, plugin in self._plugins.items()}
        new._following = []
        for cached in ("searched", "usable", "_pre_filter"):  # Properties that depend on the volumes.
            new.__dict__.pop(cached, None)
        return new

    def set_storage(self, storage: Storage) -> None:
        """Set the storage by which Pods that come and go are counted from now on."""
        if storage is not self._storage:
            self._storage = storage
            for plugin in self._plugins.values():
                plugin.set_storage(storage)

    def add_pods(self, info: PodInfo, node: str, number: int) -> None:
        """Count `number` more Pods that are alike on a node, fewer if it is negative."""
        for plugin in self._counting_pods():
            plugin.add_pods(info, node, number)

    def try_pods(self, info: PodInfo, node: str, number: int) -> None:
        """Count Pods of a node for a DryRun, which takes them back."""
        for plugin in self._counting_pods():
            plugin.try_pods(info, node, number)

    def try_usage(self, name: str, usage: Usage) -> None:
        """Let the filters take this as a node's usage for a DryRun, which takes it back."""
        if (node := self.cycle.snapshot.nodes.get(name)) is not None:
            for plugin in self.cycle.profile.filters:
                self.plugin(plugin).try_usage(node, usage)

    def set_usage(self, name: str, usage: Usage) -> None:
        """Set the usage of a node; a name that no node has is ignored."""
        self._usage.set(name, usage)

    def usage_of(self, name: str) -> Usage:
        return self._usage.by_node.get(name, UNUSED)

    def heeding(self, info: PodInfo) -> list[Plugin]:
        """Return the plugins for which it may matter where Pods like this one are."""
        return [plugin for plugin in self._counting_pods() if plugin.heeds(info)]

    def _counting_pods(self) -> list[Plugin]:
        """Return the plugins that follow Pods: those that the profile runs, and others that were made."""
        if not self._following:
            running = {*self.cycle.profile.filters, *self.cycle.profile.weights, *self._plugins}
            self._following = [self.plugin(kind.name) for kind in PLUGINS if kind.counts_pods and kind.name in running]
        return self._following

    @cached_property
    def searched(self) -> NodeSet:
        """The nodes that PreFilter leaves."""
        rejected, left_out, _ = self._pre_filter
        return self.cycle.snapshot.nodes.all & ~rejected.nodes & ~left_out

    @cached_property
    def usable(self) -> NodeSet:
        """The nodes on which the Pod could run if there were no other Pods."""
        remaining = self.searched
        for name in self.cycle.profile.filters:
            if not _PLUGINS_BY_NAME[name].counts_pods:
                remaining = self.plugin(name).passing(remaining)
        return remaining

    @property
    def not_skipped(self) -> list[str]:
        """The filters that PreFilter does not skip."""
        return [name for name in self.cycle.profile.filters if not self.plugin(name).skipped]

    def kept_off(self) -> NodeSet:
        """Return the nodes that other Pods close to the Pod as long as they stay, by anti-affinity or host ports."""
        return union(self.plugin(name).kept_off() for name in self.cycle.profile.filters)

    def feasible(self) -> NodeSet:
        """Return the nodes on which the Pod could run now; none where kube-scheduler gives up the attempt."""
        self.gave_up = False
        # _feasible runs the filters in another order: one that gives up at a node may see it where an earlier one of
        # the profile refuses it, or not see it where a later one does.
        try:
            if not (self.cycle.mounts.volumes and self._may_give_up()):
                return self._feasible()
        except SchedulerError:
            pass
        feasibility = self.feasibility()
        self.gave_up = bool(feasibility.error)
        return feasibility.feasible

    def _may_give_up(self) -> bool:
        """Return whether there is a node at which NodeVolumeLimits gives up, if it comes to that node."""
        if NodeVolumeLimits.name not in self.cycle.profile.filters:
            return False
        plugin = self.plugin(NodeVolumeLimits.name)
        return isinstance(plugin, NodeVolumeLimits) and plugin.may_give_up

    def _feasible(self) -> NodeSet:
        remaining = self.usable
        # In reverse, so that the plugins that look at each node by itself have fewer nodes left.
        for name in reversed(self.cycle.profile.filters):
            if remaining and _PLUGINS_BY_NAME[name].counts_pods:
                remaining = self.plugin(name).passing(remaining)
        for refusal in self._refused_for_nominated(remaining):
            remaining &= ~refusal.nodes
        return self._own_node(remaining) or remaining

    def _refused_for_nominated(self, remaining: NodeSet) -> Iterator[Refusal]:
        """Yield what refuses nodes once the Pods that are nominated for them are there."""
        for name in self.nominated:
            node = self.cycle.snapshot.nodes.named((name,)) & remaining
            if node:
                with DryRun(self, name) as dry_run:
                    refusal = dry_run.refusal()
                if refusal is not None:
                    yield refusal

    def _own_node(self, feasible: NodeSet) -> NodeSet:
        """
        Return the Pod's own nominated node, if it passes: kube-scheduler then tries no other.

        upstream: schedule_one.go:Scheduler.evaluateNominatedNode (v1.37)
        """
        return feasible & self.cycle.snapshot.nodes.named((self.own_node,))

    def feasibility(self) -> Feasibility:
        """
        Run the filters in their order: the first plugin that refuses a node does so with all of its reasons.

        upstream: schedule_one.go:Scheduler.findNodesThatFitPod (v1.37)
        """
        spread = self.spread.verdicts()  # Of all nodes: explain also shows domains that another plugin refuses.
        try:
            return self._feasibility(spread)
        except SchedulerError as error:
            refusal = Refusal("", (Reason(str(error)),), self.cycle.snapshot.nodes.all)
            return Feasibility(0, (refusal,), "", spread, str(error))

    def _feasibility(self, spread: Verdicts) -> Feasibility:
        # `naming` are the plugins by which nodes are left out: PreFilter of NodeName, for one, returns names of nodes.
        rejected, left_out, naming = self._pre_filter
        if rejected.reasons:
            return Feasibility(0, (rejected,), rejected.reasons[0].text, spread)
        remaining = self.cycle.snapshot.nodes.all & ~left_out
        refusals = list(self._refused_for_nominated(remaining))
        remaining &= ~union(refusal.nodes for refusal in refusals)
        for name in self.cycle.profile.filters:
            refused = list(self.plugin(name).refusals(remaining))
            refusals += refused
            remaining &= ~union(refusal.nodes for refusal in refused)
        if own_node := self._own_node(remaining):
            refusals.append(Refusal("", (OWN_NODE_PASSES,), remaining & ~own_node))
            remaining = own_node
        # kube-scheduler tries the own node first, and adds the plugin that refuses it to the same set of names.
        naming |= {refusal.plugin for refusal in refusals if self._own_node(refusal.nodes) and refusal.plugin}
        refusals.insert(0, Refusal("", (_unsatisfied(naming),), left_out))
        return Feasibility(remaining, tuple([refusal for refusal in refusals if refusal.nodes]), "", spread)

    @cached_property
    def _pre_filter(self) -> tuple[Refusal, NodeSet, frozenset[str]]:
        """
        A refusal, without reasons if PreFilter does not reject the Pod; the nodes that are left out; and the plugins
        that leave them out.

        upstream: framework.go:frameworkImpl.RunPreFilterPlugins (v1.37)
        """
        nodes, nothing = self.cycle.snapshot.nodes, Refusal("", (), 0)
        names: frozenset[str] | None = None
        naming: set[str] = set()
        for kind in PLUGINS:
            if kind.name not in self.cycle.profile.pre_filters:
                continue
            result = self.plugin(kind.name).pre_filter()
            if result.rejected:
                return Refusal(kind.name, (Reason(result.rejected),), nodes.all), 0, frozenset()
            if result.names is not None:
                naming.add(kind.name)
                names = result.names if names is None else names & result.names
        if names is None:
            return nothing, 0, frozenset()
        if not names:
            return Refusal("", (Reason(f"{_unsatisfied(naming).text} simultaneously"),), nodes.all), 0, frozenset()
        return nothing, nodes.all & ~nodes.named(names), frozenset(naming)

    def prioritize(self, candidates: NodeSet) -> dict[str, dict[str, int]]:
        """
        Return the score of each candidate, 0 to 100, by plugin and by name of the node.

        A single candidate has no scores: the scheduler takes it without.

        upstream: schedule_one.go:prioritizeNodes (v1.37)
        """
        if candidates.bit_count() < 2:
            return {}
        nodes, usage = self.cycle.snapshot.nodes, self._usage.by_node
        scores: dict[str, dict[str, int]] = {}
        for kind in PLUGINS:
            if kind.name not in self.cycle.profile.weights:
                continue
            plugin, by_node = self.plugin(kind.name), dict[str, int]()
            if kind.scores_usage:
                if score_of := plugin.usage_score():
                    for node in nodes.members(candidates):
                        by_node[node.name] = score_of(node.allocatable, usage.get(node.name, UNUSED))
            else:
                for part, score in plugin.scores(candidates) or ():
                    by_node.update(dict.fromkeys(nodes.names(part), score))
            if by_node:
                scores[kind.name] = by_node
        return scores

    def best(self, candidates: NodeSet) -> NodeSet:
        """Return the candidates with the highest total."""
        if candidates & (candidates - 1) == 0:  # At most one bit is set: one candidate, or none.
            return candidates
        self._scores_of_usage.look_at(candidates)
        by_score = self._scores_of_usage.by_answer
        scores, largest = sorted(by_score, reverse=True), max(by_score)
        most, best = -1, 0
        # Upstream scores each node.  Here nodes with equal scores are one set, and the scores of usage are looked at
        # only in sets that can still win.
        for nodes, base in sorted(self._by_other_scores(candidates), key=lambda part: -part[1]):
            if base + largest < most:
                break
            for score in scores:
                if base + score < most:
                    break
                if scored := nodes & by_score[score]:
                    if base + score > most:
                        most, best = base + score, 0
                    best |= scored
                    break
        return best

    @cached_property
    def _scores_of_usage(self) -> NodesByUsage[int]:
        """The nodes by the sum of all scores of their usage; frameworks of Pods that are scored alike share it."""
        pod, profile = self.cycle.pod, self.cycle.profile
        weights = tuple([(kind.name, profile.weights.get(kind.name, 0)) for kind in PLUGINS if kind.scores_usage])
        scores = [
            (weight, score_of) for name, weight in weights if weight and (score_of := self.plugin(name).usage_score())
        ]

        def score(allocatable: Allocatable, usage: Usage) -> int:
            total = 0
            for weight, score_of in scores:
                total += weight * score_of(allocatable, usage)
            return total

        return self._usage.grouped(("score", pod.requests, profile.strategy, profile.balanced, weights), score)

    def _by_other_scores(self, candidates: NodeSet) -> Parts:
        """Return the candidates by the total of all other scores."""
        totals: Parts = [(candidates, 0)]
        for kind in PLUGINS:
            weight = self.cycle.profile.weights.get(kind.name, 0)
            if not weight or kind.scores_usage:
                continue
            parts = self.plugin(kind.name).scores(candidates)
            if parts is not None:
                totals = [
                    (both, total + weight * score)
                    for nodes, total in totals
                    for part, score in parts
                    if (both := nodes & part)
                ]
        return totals


class DryRun:
    """A context manager to try Pods on a node; at its end the framework is as before."""

    def __init__(self, framework: Framework, node: str) -> None:
        self._framework, self._node = framework, node
        self._bit = framework.cycle.snapshot.nodes.named_one(node)
        self._filters = framework.not_skipped  # Fixed now: skipped plugins do not heed Pods that are tried.
        self._usage = framework.usage_of(node)
        self._changes: dict[TriedPod, int] = {}
        self._usage_told = True  # Whether the framework has the usage: it gets it once for several changes.

    def __enter__(self) -> DryRun:
        return self

    def __exit__(self, *_: object) -> None:
        for member, number in list(self._changes.items()):
            self.give(member, -number)
        self._tell_usage()

    def give(self, member: TriedPod, number: int = 1) -> None:
        """Put `number` more Pods that are alike on the node; take away if it is negative."""
        if not number:
            return
        namespace, pod = member
        self._changes[member] = self._changes.get(member, 0) + number
        self._usage = self._usage.plus(pod.requests, number)
        self._framework.try_pods(pod.info(namespace), self._node, number)
        self._usage_told = False

    def _tell_usage(self) -> None:
        if not self._usage_told:
            self._framework.try_usage(self._node, self._usage)
            self._usage_told = True

    def passes(self) -> bool:
        return self.refusal() is None

    def refusal(self) -> Refusal | None:
        """
        Return what refuses the node, None if nothing does: it must pass both with the nominated Pods and without them.

        upstream: framework.go:frameworkImpl.RunFilterPluginsWithNominatedPods (v1.37)
        """
        nominated = self._framework.nominated.get(self._node, ())
        refusal = self._refusal_with(nominated) if nominated else None
        return self._refusal() if refusal is None else refusal

    def _refusal_with(self, members: Iterable[TriedPod]) -> Refusal | None:
        for member in members:
            self.give(member)
        refusal = self._refusal()
        for member in members:
            self.give(member, -1)
        return refusal

    def _refusal(self) -> Refusal | None:
        self._tell_usage()
        for name in self._filters:
            for refusal in self._framework.plugin(name).refusals(self._bit):
                if refusal.nodes:
                    return refusal
        return None


def nominated_for(cycle: Cycle) -> dict[str, list[TriedPod]]:
    """Return the nominated Pods that the incoming Pod must leave room for, by the name of their node."""
    by_node: dict[str, list[TriedPod]] = {}
    for nominated in heeded_nominated(cycle):
        by_node.setdefault(nominated.pod.node, []).append((nominated.namespace, nominated.pod))
    return by_node


def heeded_nominated(cycle: Cycle) -> Iterator[NominatedPod]:
    """
    Yield the nominated Pods that the incoming Pod must leave room for.

    upstream: framework.go:addGENominatedPods (v1.37)
    """
    for nominated in cycle.snapshot.nominated:
        own = (nominated.namespace, nominated.name) == (cycle.pod.namespace, cycle.pod.name)
        if not own and nominated.scheduler in cycle.profile.together and nominated.pod.priority >= cycle.pod.priority:
            yield nominated


def find_feasible(cycle: Cycle) -> Feasibility:
    """Return the nodes on which the Pod could run, and what refuses it on each of the others."""
    return Framework(cycle).feasibility()


def feasible_nodes(cycle: Cycle) -> NodeSet:
    """Return the nodes on which the Pod could run."""
    return Framework(cycle).feasible()


def usable_nodes(cycle: Cycle) -> NodeSet:
    """Return the nodes on which the Pod could run if there were no other Pods."""
    try:
        return Framework(cycle).usable
    except SchedulerError:
        return 0


def message(cycle: Cycle, feasibility: Feasibility) -> str:
    """
    Return what kube-scheduler says of a Pod for which no node is feasible; "" if one is.

    What it adds about claims and preemption is left out.

    upstream: types.go:FitError.Error (v1.37)
    """
    number = len(cycle.snapshot.nodes)
    if feasibility.feasible:
        return ""
    if feasibility.error:
        return feasibility.error
    if not number:
        return NO_NODES_AVAILABLE
    return f"0/{number} nodes are available: {feasibility.rejected or counted(feasibility.refusals)}."


def _unsatisfied(plugins: Iterable[str]) -> Reason:
    """Return the reason of the nodes that these plugins leave out in PreFilter."""
    text = f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(plugins))}]"
    return Reason(text, NOT_NAMED if set(plugins) == {NODE_AFFINITY} else "")


def counted(refusals: Iterable[Refusal]) -> str:
    """
    Return one text of all reasons, each with its number of nodes.

    upstream: types.go:FitError.Error (v1.37)
    """
    reasons: dict[str, int] = {}
    for refusal in refusals:
        for reason in refusal.reasons:
            reasons[reason.text] = reasons.get(reason.text, 0) + refusal.nodes.bit_count()
    return ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))


def total(scores: Mapping[str, Mapping[str, int]], weights: Mapping[str, int] = WEIGHTS) -> dict[str, int]:
    """
    Return the weighted sum of all scores by name of the node.

    upstream: framework.go:frameworkImpl.RunScorePlugins (v1.37)
    """
    totals: dict[str, int] = {}
    for plugin, by_node in scores.items():
        for name, score in by_node.items():
            totals[name] = totals.get(name, 0) + weights[plugin] * score
    return totals
