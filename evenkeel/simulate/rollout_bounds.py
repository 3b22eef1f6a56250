"""
What counts alone say of a Deployment's rollout, in whatever order things happen.

    nodes that take the new Pods ──in each domain room for as many as may come──> it finishes
                                 ──fewer places than replicas by maxSkew──> it never finishes
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from math import inf
from typing import NamedTuple

from evenkeel.scheduler.capacity import fitting
from evenkeel.scheduler.framework import Framework
from evenkeel.scheduler.pod_counts import UNUSED, Requests
from evenkeel.scheduler.snapshot import Snapshot
from evenkeel.scheduler.spread_counts import DomainCounts
from evenkeel.scheduler.volumes import NO_MOUNTS
from evenkeel.simulate.pod import InitialPod, PodClass
from evenkeel.simulate.run import Plan
from webhook.kubernetes.features import Features
from webhook.policy.scheduler_configuration import POD_TOPOLOGY_SPREAD
from webhook.spread.nodes import Nodes, NodeSet, union


class LatePods(NamedTuple):
    """The Pods beside the new ones that may get a node during a rollout."""

    initial: tuple[InitialPod, ...]  # those that wait, and those that may be made again
    missing: int  # Pods that ReplicaSets lack
    classes: frozenset[PodClass]  # of both


def finishes(plan: Plan, of_class: PodClass) -> bool | None:
    """
    Return whether the rollout of a workload to Pods of this class finishes, if no Pod of the plan preempts others.

    None where counts do not tell, and for a StatefulSet, which waits for its Pods one by one.
    """
    (named,) = plan.named
    if named.update is not None or of_class.waits:
        return None
    snapshot = replace(plan.start.snapshot, nodes=plan.start.ground.nodes)
    framework, late = _framework(of_class, snapshot, plan.start.features), _late_pods(plan)
    hard = framework.spread.hard
    usable = framework.usable & hard.labelled
    for counts in hard.counts if POD_TOPOLOGY_SPREAD in of_class.profile.filters else ():
        if _places(counts, usable, snapshot.nodes) < named.replicas:
            # Once more, as other Pods may raise the minimum: what they reach takes a while to find.
            reached = _reached(late.classes, of_class.pod.namespace, snapshot, plan.start.features)
            if _places(counts, usable, snapshot.nodes, reached) < named.replicas:
                return False
    return True if _only_room_decides(plan, framework, late) and _always_has_place(plan, framework, late) else None


def _framework(of_class: PodClass, snapshot: Snapshot, features: Features) -> Framework:
    """Return the framework for Pods of a class, as if they had no volumes: with volumes they run on fewer nodes."""
    cycle = of_class.cycle(snapshot, features)
    return Framework(replace(cycle, pod=replace(cycle.pod, mounts=NO_MOUNTS)))


def _late_pods(plan: Plan) -> LatePods:
    (named,) = plan.named
    bound = [pod for on_node in plan.start.by_node.values() for pod in on_node]
    initial = (*plan.start.waiting, *(pod for pod in bound if pod.revision < 0))
    own_pods = Counter(pod.revision for pod in (*plan.start.waiting, *bound) if pod.spreads)
    missing = sum(max(0, replica_set.desired - own_pods[i]) for i, replica_set in enumerate(named.sets))
    makers = [*(replica_set.maker for replica_set in named.sets), *(pod.maker for pod in initial)]
    return LatePods(initial, missing, frozenset(maker.of_class for maker in makers if maker is not None))


def _reached(classes: Iterable[PodClass], namespace: str, snapshot: Snapshot, features: Features) -> NodeSet:
    """Return the nodes on which those Pods of a namespace could run, were there no other Pods."""
    return union(
        _framework(pod_class, snapshot, features).usable
        for pod_class in classes
        if pod_class.pod.namespace == namespace
    )


def _places(counts: DomainCounts, usable: NodeSet, nodes: Nodes, reached: NodeSet = 0) -> float:
    """
    Return how many new Pods a hard constraint lets run at most, infinity if it sets no bound.

    `usable`: the nodes that the new Pods may use.
    `reached`: the nodes that other Pods may come to.
    A domain without either never has more Pods than now, so that the minimum stays at its number or below.
    """
    constraint = counts.constraint
    domains_with_usable = nodes.placed(constraint.topology_key, usable).all
    if not (counts.self_match_num and counts.countable and domains_with_usable <= counts.eligible):
        return inf
    if len(counts.eligible) < constraint.min_domains:
        return constraint.max_skew * len(domains_with_usable)
    not_growing = counts.eligible - nodes.placed(constraint.topology_key, usable | reached).all
    if not not_growing:
        return inf
    return (min(map(counts.match_num, not_growing)) + constraint.max_skew) * len(domains_with_usable)


def _only_room_decides(plan: Plan, framework: Framework, late: LatePods) -> bool:
    """Return whether only room and one hard constraint at most decide if new Pods get a node: no affinity, ports, …"""
    (named,) = plan.named
    cycle, start = framework.cycle, plan.start
    affinity, volumes = cycle.pod.pod_affinity, named.makers[0].volumes
    late_affinities = [pod_class.pod.pod_affinity for pod_class in late.classes]
    own_pods_unreachable = any(pod.revision >= 0 for name in start.ground.lost for pod in start.by_node.get(name, ()))
    return not (
        len(framework.spread.hard.counts) > 1
        or (affinity is not None and (affinity.affinity or affinity.anti_affinity))
        or any(affinity is not None and affinity.anti_affinity for affinity in late_affinities)
        or cycle.pod.ports
        or (volumes.volumes or volumes.ephemeral)
        or cycle.of_devices
        or start.snapshot.nominated
        or framework.usable & cycle.snapshot.nodes.named(start.ground.lost)
        or (named.strategy.recreate and own_pods_unreachable)
    )


class _Room:
    """
    The room on the nodes to which no present Pod bars the way.

    It is counted in Pods as large as the largest that may come, so it is rather too small than too large.
    """

    def __init__(self, framework: Framework, late: LatePods) -> None:
        cycle = framework.cycle
        self._nodes, self._usage = cycle.snapshot.nodes, cycle.snapshot.usage
        self._open = framework.usable & framework.spread.hard.labelled & ~framework.kept_off()
        late_requests = [
            *(pod.requests for pod in late.initial),
            *(pod_class.pod.requests for pod_class in late.classes),
        ]
        self._requests = _largest([cycle.requests, *late_requests])

    def suffices(self, nodes: NodeSet, wanted: int) -> bool:
        """Return whether the nodes take so many Pods more."""
        number = 0
        for node in self._nodes.members(nodes & self._open):
            number += max(0, fitting(self._requests, node.allocatable, self._usage.get(node.name, UNUSED)))
            if number >= wanted:
                return True
        return number >= wanted


def _always_has_place(plan: Plan, framework: Framework, late: LatePods) -> bool:
    """Return whether each new Pod finds a node in the end, wherever the others are."""
    (named,) = plan.named
    room, coming = _Room(framework, late), len(late.initial) + late.missing
    if not framework.spread.hard.counts:
        return room.suffices(framework.usable, named.replicas + coming)
    (counts,) = framework.spread.hard.counts
    return _fewest_take(counts, named.replicas, coming, framework, room) or _skew_takes(
        plan, counts, late, framework, room
    )


def _fewest_take(counts: DomainCounts, replicas: int, coming: int, framework: Framework, room: _Room) -> bool:
    """
    Return whether each eligible domain has room whenever it has the fewest Pods of all.

    Then a new Pod has a place: in the domain with the fewest Pods the skew is 1 at most, which no constraint refuses.
    """
    domains, arriving = framework.cycle.snapshot.nodes.domains(counts.constraint.topology_key), replicas + coming
    if len(counts.eligible) < max(1, counts.constraint.min_domains):
        return False
    fewest = (sum(counts.counts.values()) + arriving - 1) // len(counts.eligible)  # at most
    wanted = min(arriving, fewest + coming + 1) if counts.self_match_num and counts.countable else arriving
    return all(room.suffices(domains[domain], wanted) for domain in counts.eligible)


def _skew_takes(plan: Plan, counts: DomainCounts, late: LatePods, framework: Framework, room: _Room) -> bool:
    """
    Return whether the domains with room take, up to maxSkew each, more Pods than run when the rollout stands still.

    A domain with fewer Pods than maxSkew is never refused, whatever the minimum is.
    """
    (named,) = plan.named
    constraint, coming = counts.constraint, len(late.initial) + late.missing
    if not (counts.self_match_num and counts.countable):
        return False
    domains = framework.cycle.snapshot.nodes.domains(constraint.topology_key)
    wanted = min(named.replicas, constraint.max_skew) + coming
    with_room = {domain for domain in counts.eligible if room.suffices(domains[domain], wanted)}
    own_pods = [pod for pods in plan.start.by_node.values() for pod in pods if pod.revision >= 0 and pod.spreads]
    own_counted = sum(counts.selects(pod.labels) and counts.domain_of(pod.node) in with_room for pod in own_pods)
    other_counted = sum(map(counts.match_num, with_room)) - own_counted + sum(pod.revision < 0 for pod in late.initial)
    places = constraint.max_skew * len(with_room) - other_counted
    if not named.strategy.recreate and named.strategy.fenceposts(named.replicas)[1] == 0:
        return places > named.replicas  # All replicas may run when it stands still, and one more needs a place.
    return places >= named.replicas


def _largest(requests: Iterable[Requests]) -> Requests:
    """Return the largest request for each resource."""
    milli_cpu, memory, storage, scalars, *_ = zip(*requests, strict=True)
    largest: dict[str, int] = {}
    for name, amount in (pair for pairs in scalars for pair in pairs):
        largest[name] = max(amount, largest.get(name, 0))
    return Requests(max(milli_cpu), max(memory), max(storage), tuple(largest.items()))
