"""
What is computed of a decision in one state of the cluster, by the arithmetic that explains and simulates, too.

    Pod, state ──filter, score──> the nodes that pass, the best of them ──┐
                ──preemption────> what may be said of no node ────────────┴──> whether the decision is one of these
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from webhook.placement.subject import FROM_SCHEDULER, Attempt, PlacementSubject, attempt, of_pod
from webhook.scheduler.affinity import ANY_NODE
from webhook.scheduler.features import Features
from webhook.scheduler.framework import Feasibility, Framework, total
from webhook.scheduler.nodes import NodeSet
from webhook.scheduler.plugins.nodes_by_usage import ChangingUsage
from webhook.scheduler.preemption import Preemption, messages, preempt
from webhook.scheduler.profile import (
    IMAGE_LOCALITY,
    INTER_POD_AFFINITY,
    NODE_AFFINITY,
    POD_TOPOLOGY_SPREAD,
    TAINT_TOLERATION,
    Cycle,
    Profile,
)
from webhook.scheduler.snapshot import Snapshot
from webhook.verification.decision import PodDecision

# What may take part in a decision, in the order of the table.
HARD_PART, SOFT_PART, DEFAULTS_PART = "hard constraints", "soft constraints", "default constraints"
OWN_AFFINITY, AFFINITY_OF_OTHERS = "affinity to other Pods", "affinity of other Pods"
NODE_AFFINITY_PART, TAINTS_PART, PORTS_PART, VOLUMES_PART = (
    "node selector and affinity",
    "taints",
    "host ports",
    "volumes",
)
IMAGES_PART, NOMINATED_PART, PREEMPTION_PART = "images on nodes", "nominated Pods", "preemption"
PARTS = (
    *(HARD_PART, SOFT_PART, DEFAULTS_PART, OWN_AFFINITY, AFFINITY_OF_OTHERS, NODE_AFFINITY_PART),
    *(TAINTS_PART, PORTS_PART, VOLUMES_PART, IMAGES_PART, NOMINATED_PART, PREEMPTION_PART),
)

# Their scores are shares of the highest of all nodes that pass, and of the lowest.
RELATIVE_PLUGINS = (INTER_POD_AFFINITY, NODE_AFFINITY, POD_TOPOLOGY_SPREAD, TAINT_TOLERATION)


class ComputedDecision(NamedTuple):
    """
    What is computed of a decision in one state.

    `feasible` are the nodes that pass, `best` those of them with the highest score.  Of a Pod for which none passes
    `messages` are what kube-scheduler may say; `preemption` is then what it tried, if it got as far.
    """

    subject: PlacementSubject
    attempt: Attempt
    framework: Framework
    feasible: NodeSet
    best: NodeSet
    messages: tuple[str, ...] = ()
    preemption: Preemption | None = None
    feasibility: Feasibility | None = None

    @property
    def cycle(self) -> Cycle:
        return self.framework.cycle

    def names(self, nodes: NodeSet) -> Iterator[str]:
        """Return the names of nodes."""
        return self.cycle.snapshot.nodes.names(nodes)

    def better_than(self, chosen: NodeSet) -> NodeSet:
        """Return the nodes that pass and have a higher score than one that passes."""
        scores = total(self.framework.prioritize(self.feasible), self.cycle.profile.weights)
        least = max([scores[name] for name in self.names(chosen)], default=0)
        return self.cycle.snapshot.nodes.named(name for name, score in scores.items() if score > least)

    @property
    def setting_scale(self) -> NodeSet:
        """The nodes that alone have the highest or the lowest score of a plugin that scores nodes by these."""
        scores, alone = self.framework.prioritize(self.feasible), set[str]()
        for by_node in (scores[plugin] for plugin in RELATIVE_PLUGINS if scores.get(plugin)):
            for score in (max(by_node.values()), min(by_node.values())):
                there = [name for name in by_node if by_node[name] == score]
                alone.update(there if len(there) == 1 else ())
        return self.cycle.snapshot.nodes.named(alone)


def compute(
    decision: PodDecision, snapshot: Snapshot, usage: ChangingUsage, features: Features, profile: Profile
) -> ComputedDecision:
    """Return what is computed of a decision in a state; `usage` is what is used of its nodes."""
    subject = of_pod(decision.pod, {})
    tried = attempt(subject, snapshot, features, profile=profile)
    framework = Framework(tried.cycle, usage)
    if decision.node:
        feasible = framework.feasible()
        return ComputedDecision(subject, tried, framework, feasible, framework.best(feasible) if feasible else 0)
    feasibility = framework.feasibility()
    if feasibility.feasible:
        return ComputedDecision(
            subject, tried, framework, feasibility.feasible, feasibility.feasible, feasibility=feasibility
        )
    preemption = preempt(framework, feasibility, snapshot.pods_of, snapshot.budgets)
    said = messages(tried.cycle, feasibility, preemption)
    return ComputedDecision(subject, tried, framework, 0, 0, said, preemption, feasibility)


def parts(computed: ComputedDecision) -> tuple[str, ...]:
    """Return what took part in a decision, of PARTS."""
    return tuple(_parts(computed))


def _parts(computed: ComputedDecision) -> Iterator[str]:
    framework, cycle = computed.framework, computed.cycle
    pod, nodes = cycle.pod, cycle.snapshot.nodes
    if computed.attempt.source == FROM_SCHEDULER:
        if cycle.constraints:
            yield DEFAULTS_PART
    else:
        if any(constraint.hard for constraint in cycle.constraints):
            yield HARD_PART
        if not all(constraint.hard for constraint in cycle.constraints):
            yield SOFT_PART
    affinity = framework.plugin(INTER_POD_AFFINITY)
    if pod.pod_affinity is not None:
        yield OWN_AFFINITY
    elif not affinity.skipped or (computed.feasible and affinity.scores(computed.feasible) is not None):
        yield AFFINITY_OF_OTHERS
    if pod.affinity != ANY_NODE or pod.preferred:
        yield NODE_AFFINITY_PART
    if nodes.tolerated(pod.tolerations) != nodes.all or _tells_apart(computed, TAINT_TOLERATION):
        yield TAINTS_PART
    if pod.ports:
        yield PORTS_PART
    if cycle.mounts.volumes:
        yield VOLUMES_PART
    if _tells_apart(computed, IMAGE_LOCALITY):
        yield IMAGES_PART
    if framework.nominated or framework.own_node:
        yield NOMINATED_PART
    if computed.preemption is not None and computed.preemption.tried:
        yield PREEMPTION_PART


def _tells_apart(computed: ComputedDecision, plugin: str) -> bool:
    """Return whether a plugin scores some of the nodes that pass otherwise than others."""
    return bool(computed.feasible) and len(computed.framework.plugin(plugin).scores(computed.feasible) or ()) > 1
