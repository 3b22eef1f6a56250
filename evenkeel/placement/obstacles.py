"""
Which Pods keep a Pod off nodes by affinity or by a host port, and which of its own terms no Pod meets.

    terms and ports of the Pod, Pods by name ──those that refuse a node──> obstacles
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from evenkeel.scheduler.framework import Feasibility, feasible_nodes, heeded_nominated
from evenkeel.scheduler.host_ports import HostPort
from evenkeel.scheduler.plugins.inter_pod_affinity import (
    AFFINITY_UNMET,
    ANTI_AFFINITY_OF_OTHERS_UNMET,
    ANTI_AFFINITY_UNMET,
    looks_at,
)
from evenkeel.scheduler.plugins.node_ports import NO_FREE_PORTS
from evenkeel.scheduler.pod_affinity import PodTerm
from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.snapshot import NamedPod, Snapshot
from webhook.kubernetes.names import POD_AFFINITY, POD_ANTI_AFFINITY
from webhook.spread.nodes import Nodes, NodeSet, union

PORT, OF_OTHERS = "host port", "podAntiAffinity of other Pods"


class Obstacle(NamedTuple):
    """
    A port or terms for which nodes are refused, and the Pods that these meet there.

    No Pod near the nodes meets the terms of podAffinity: one Pod has to meet all of them.  `groups` are the Pods around
    each of the places that are refused, all of which have to go for it.
    """

    sort: str
    what: tuple[PodTerm, ...] | HostPort
    pods: tuple[str, ...]
    nodes: NodeSet
    groups: tuple[tuple[NamedPod, ...], ...] = ()


def obstacles(cycle: Cycle, feasibility: Feasibility) -> tuple[Obstacle, ...]:
    """Return what refuses nodes, of each sort and term."""
    refused_for = feasibility.refused_for
    if not refused_for(NO_FREE_PORTS, AFFINITY_UNMET, ANTI_AFFINITY_UNMET, ANTI_AFFINITY_OF_OTHERS_UNMET):
        return ()
    there = tuple(pods_on_nodes(cycle.snapshot))
    return (
        *_ports(cycle, refused_for(NO_FREE_PORTS), there),
        *_unmet(cycle, refused_for(AFFINITY_UNMET)),
        *_unwanted(cycle, refused_for(ANTI_AFFINITY_UNMET), there),
        *_keeping_off(cycle, refused_for(ANTI_AFFINITY_OF_OTHERS_UNMET), there),
    )


def kept_room(cycle: Cycle, feasibility: Feasibility) -> Mapping[str, tuple[str, ...]]:
    """
    Return the Pods for which room is kept on nodes that would take the Pod but for them, by the name of the node.
    """
    kept: dict[str, tuple[str, ...]] = {}
    for pod in heeded_nominated(cycle):
        kept[pod.pod.node] = (*kept.get(pod.pod.node, ()), f"{pod.namespace}/{pod.name}")
    if not kept:
        return kept
    free = feasible_nodes(replace(cycle, snapshot=replace(cycle.snapshot, nominated=()))) & ~feasibility.feasible
    return {node: pods for node, pods in kept.items() if free & cycle.snapshot.nodes.named((node,))}


def pods_on_nodes(snapshot: Snapshot) -> Iterator[NamedPod]:
    """Yield the Pods on nodes, by the names of these."""
    for node in snapshot.nodes:
        yield from snapshot.pods_of(node.name)


def _ports(cycle: Cycle, refused: NodeSet, pods: Sequence[NamedPod]) -> Iterator[Obstacle]:
    nodes = cycle.snapshot.nodes
    for port in cycle.pod.ports:
        having = [pod for pod in pods if any(port.conflicts(taken) for taken in pod.pod.ports)]
        yield from _met(PORT, port, having, refused, lambda pod: nodes.named((pod.pod.node,)))


def _unmet(cycle: Cycle, refused: NodeSet) -> Iterator[Obstacle]:
    if refused and cycle.pod.pod_affinity is not None:
        yield Obstacle(POD_AFFINITY, cycle.pod.pod_affinity.affinity, (), refused)


def _unwanted(cycle: Cycle, refused: NodeSet, pods: Sequence[NamedPod]) -> Iterator[Obstacle]:
    terms = cycle.pod.pod_affinity.anti_affinity if cycle.pod.pod_affinity is not None else ()
    for term in terms:
        meeting = [
            pod for pod in pods if looks_at(term, pod.namespace, cycle) and term.selector.matches(dict(pod.pod.labels))
        ]
        yield from _met_by(POD_ANTI_AFFINITY, term, meeting, refused, cycle.snapshot.nodes)


def _keeping_off(cycle: Cycle, refused: NodeSet, pods: Sequence[NamedPod]) -> Iterator[Obstacle]:
    meeting: dict[PodTerm, list[NamedPod]] = {}
    for other in pods if refused else ():
        for term in other.pod.affinity.anti_affinity if other.pod.affinity is not None else ():
            if cycle.is_selected_by(term):
                meeting.setdefault(term, []).append(other)
    for term, others in meeting.items():
        yield from _met_by(OF_OTHERS, term, others, refused, cycle.snapshot.nodes)


def _met_by(sort: str, term: PodTerm, pods: Sequence[NamedPod], refused: NodeSet, nodes: Nodes) -> Iterator[Obstacle]:
    domains, placed = nodes.domains(term.topology_key), nodes.placed(term.topology_key, nodes.all).of

    def around(pod: NamedPod) -> NodeSet:
        return domains[placed[pod.pod.node]] if pod.pod.node in placed else 0

    yield from _met(sort, (term,), pods, refused, around)


def _met(
    sort: str,
    what: tuple[PodTerm, ...] | HostPort,
    pods: Sequence[NamedPod],
    refused: NodeSet,
    around: Callable[[NamedPod], NodeSet],
) -> Iterator[Obstacle]:
    """Yield an obstacle that these Pods make on the nodes `around` each of them, as far as those are refused."""
    making = [pod for pod in pods if around(pod) & refused]
    if making:
        names = sorted({f"{pod.namespace}/{pod.name}{'' if pod.pod.spreads else ' (being deleted)'}" for pod in making})
        by_place: dict[NodeSet, list[NamedPod]] = {}
        for pod in making:
            by_place.setdefault(around(pod), []).append(pod)
        yield Obstacle(sort, what, tuple(names), refused & union(by_place), tuple(map(tuple, by_place.values())))
