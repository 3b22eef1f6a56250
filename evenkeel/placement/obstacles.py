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

OF_OBSTACLES = (NO_FREE_PORTS, AFFINITY_UNMET, ANTI_AFFINITY_UNMET, ANTI_AFFINITY_OF_OTHERS_UNMET)
PORT, OF_OTHERS = "host port", "podAntiAffinity of other Pods"


class Obstacle(NamedTuple):
    """A host port or terms of affinity for which nodes are refused."""

    sort: str  # PORT, OF_OTHERS, or the field of the Pod's own terms.
    what: tuple[PodTerm, ...] | HostPort
    pods: tuple[str, ...]  # The Pods that refuse the nodes; none for podAffinity, since there no Pod meets all terms.
    nodes: NodeSet
    groups: tuple[tuple[NamedPod, ...], ...] = ()  # These Pods by refused place: all of a group would have to go.


def obstacles(cycle: Cycle, feasibility: Feasibility) -> tuple[Obstacle, ...]:
    """Return an obstacle for each port and term that refuses nodes."""
    refused_for = feasibility.refused_for
    if not refused_for(*OF_OBSTACLES):
        return ()
    pods = tuple(pods_on_nodes(cycle.snapshot))
    return (
        *_ports(cycle, refused_for(NO_FREE_PORTS), pods),
        *_affinity(cycle, refused_for(AFFINITY_UNMET)),
        *_anti_affinity(cycle, refused_for(ANTI_AFFINITY_UNMET), pods),
        *_anti_affinity_of_others(cycle, refused_for(ANTI_AFFINITY_OF_OTHERS_UNMET), pods),
    )


def kept_room(cycle: Cycle, feasibility: Feasibility) -> Mapping[str, tuple[str, ...]]:
    """Return the nominated Pods without which their nodes would take the Pod, by the name of the node."""
    by_node: dict[str, tuple[str, ...]] = {}
    for nominated in heeded_nominated(cycle):
        node = nominated.pod.node
        by_node[node] = (*by_node.get(node, ()), f"{nominated.namespace}/{nominated.name}")
    if not by_node:
        return by_node
    free = feasible_nodes(replace(cycle, snapshot=replace(cycle.snapshot, nominated=()))) & ~feasibility.feasible
    return {node: pods for node, pods in by_node.items() if free & cycle.snapshot.nodes.named((node,))}


def pods_on_nodes(snapshot: Snapshot) -> Iterator[NamedPod]:
    """Yield the Pods on nodes, in the order of the nodes."""
    for node in snapshot.nodes:
        yield from snapshot.pods_of(node.name)


def _ports(cycle: Cycle, refused: NodeSet, pods: Sequence[NamedPod]) -> Iterator[Obstacle]:
    nodes = cycle.snapshot.nodes
    for port in cycle.pod.ports:
        conflicting = [pod for pod in pods if any(port.conflicts(taken) for taken in pod.pod.ports)]
        yield from _made_by(PORT, port, conflicting, refused, lambda pod: nodes.named((pod.pod.node,)))


def _affinity(cycle: Cycle, refused: NodeSet) -> Iterator[Obstacle]:
    if refused and cycle.pod.pod_affinity is not None:
        yield Obstacle(POD_AFFINITY, cycle.pod.pod_affinity.affinity, (), refused)


def _anti_affinity(cycle: Cycle, refused: NodeSet, pods: Sequence[NamedPod]) -> Iterator[Obstacle]:
    terms = cycle.pod.pod_affinity.anti_affinity if cycle.pod.pod_affinity is not None else ()
    for term in terms:
        selected = [
            pod for pod in pods if looks_at(term, pod.namespace, cycle) and term.selector.matches(dict(pod.pod.labels))
        ]
        yield from _near(POD_ANTI_AFFINITY, term, selected, refused, cycle.snapshot.nodes)


def _anti_affinity_of_others(cycle: Cycle, refused: NodeSet, pods: Sequence[NamedPod]) -> Iterator[Obstacle]:
    by_term: dict[PodTerm, list[NamedPod]] = {}
    for other in pods if refused else ():
        for term in other.pod.affinity.anti_affinity if other.pod.affinity is not None else ():
            if cycle.is_selected_by(term):
                by_term.setdefault(term, []).append(other)
    for term, others in by_term.items():
        yield from _near(OF_OTHERS, term, others, refused, cycle.snapshot.nodes)


def _near(sort: str, term: PodTerm, pods: Sequence[NamedPod], refused: NodeSet, nodes: Nodes) -> Iterator[Obstacle]:
    """Yield the obstacle that these Pods make in their domains."""
    domains, placed = nodes.domains(term.topology_key), nodes.placed(term.topology_key, nodes.all).of

    def around(pod: NamedPod) -> NodeSet:
        return domains[placed[pod.pod.node]] if pod.pod.node in placed else 0

    yield from _made_by(sort, (term,), pods, refused, around)


def _made_by(
    sort: str,
    what: tuple[PodTerm, ...] | HostPort,
    pods: Sequence[NamedPod],
    refused: NodeSet,
    around: Callable[[NamedPod], NodeSet],
) -> Iterator[Obstacle]:
    """Yield the obstacle that these Pods make on the nodes `around` each of them, as far as those are refused."""
    refusing = [pod for pod in pods if around(pod) & refused]
    if refusing:
        names = sorted(
            {f"{pod.namespace}/{pod.name}{'' if pod.pod.spreads else ' (being deleted)'}" for pod in refusing}
        )
        by_place: dict[NodeSet, list[NamedPod]] = {}
        for pod in refusing:
            by_place.setdefault(around(pod), []).append(pod)
        yield Obstacle(sort, what, tuple(names), refused & union(by_place), tuple(map(tuple, by_place.values())))
