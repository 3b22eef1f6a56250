"""
Nodes that may be added for a Pod: where, like which existing node, and how large.

    nodes that the Pod may run on ──empty, without constraints, in a place──> the commonest size ──> Variant
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial, reduce
from itertools import islice
from operator import and_

from evenkeel.placement.closed_nodes import closing_taints, is_leaving, models
from evenkeel.placement.missing_room import in_words, share
from evenkeel.placement.variants import (
    MOST_REMEDIES,
    NEW_NODE,
    Variant,
    first_key,
    largest_first,
    place_name,
    pods_of_node,
    unused,
    with_new,
)
from evenkeel.scheduler.framework import feasible_nodes
from evenkeel.scheduler.pod_counts import NO_REQUESTS, UNUSED, Usage
from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.resource_fit import Lack, asked_of_node, lacking
from evenkeel.scheduler.scheduler_nodes import Allocatable, SchedulerNode, SchedulerNodes, another
from evenkeel.scheduler.snapshot import NamedPod
from evenkeel.scheduler.snapshot_changes import with_pods
from webhook.kubernetes.labels import Labels
from webhook.kubernetes.names import AKS_LABELS, HOSTNAME, REGION, TOPOLOGY_LABELS, ZONE
from webhook.spread.cluster_view import NODE_POOL_LABEL
from webhook.spread.domains import carrying_every_key
from webhook.spread.nodes import Nodes, NodeSet, union
from webhook.spread.taints import UNREACHABLE_KEY

GIB = 1 << 30
Size = tuple[int, int, tuple[tuple[str, int], ...]]  # CPU in thousandths, GiB of memory, extended resources


def places_of_new(cycle: Cycle) -> Iterator[tuple[Labels, str]]:
    """Yield the places of a new node, as (the labels that it has there, the name of the place)."""
    nodes, key = cycle.snapshot.nodes, first_key(cycle.constraints)
    if not key and cycle.mounts.claims and nodes.domains(ZONE):
        key = ZONE
    if not key:
        yield {}, ""
        return
    reached = nodes.all & ~lost_nodes(cycle)
    for domain, members in islice(largest_first(nodes.domains(key), reached), MOST_REMEDIES):
        if domain and not (key == ZONE and is_fault_domain(nodes, domain)):
            yield _shared_labels(nodes.members(members), key), place_name(key, domain)


def lost_nodes(cycle: Cycle) -> NodeSet:
    """Return the nodes that nobody reaches."""
    by_taints = cycle.snapshot.nodes.by_taints.items()
    return union(
        members
        for taints, members in by_taints
        if any(taint.key == UNREACHABLE_KEY for taint in closing_taints(taints, cycle))
    )


def is_fault_domain(nodes: Nodes, zone: str) -> bool:
    """
    Return whether a zone such as `0` beside `eastus-1` is a fault domain: Azure's label of a machine in no zone.

    Names of zones begin with the region in Azure.  Its nodes have the region `eastus`, or labels of AKS.

    upstream: azure_zones.go:Cloud.GetZone (cloud-provider-azure)
    """
    if not zone.isdigit():
        return False
    zones = nodes.domains(ZONE)
    beginnings: set[str] = set()
    for node in nodes.members(zones.get(zone, 0)):
        if not node.labels.keys().isdisjoint(AKS_LABELS):
            beginnings.add("[a-z0-9]+")
        elif region := node.labels.get(REGION):
            beginnings.add(re.escape(region))
    return any(re.fullmatch(f"{beginning}-\\d", other) for beginning in beginnings for other in zones)


def _shared_labels(nodes: Iterator[SchedulerNode], key: str) -> Labels:
    """Return the labels of a place that all of its nodes share."""
    pairs = [
        {(name, value) for name, value in node.labels.items() if name in (key, *TOPOLOGY_LABELS)} for node in nodes
    ]
    return dict(set.intersection(*pairs))


def with_node(cycle: Cycle, *, labels: Labels, place: str) -> Iterator[Variant]:
    """Add a node with these labels like the best model of it."""
    if (node := model_of_new(cycle, labels)) is not None:
        words = f"add a node{_such_as(node)}{f' to {place}' if place else ''}"
        yield Variant(words, with_new(cycle, node, labels))


def with_domain(cycle: Cycle, *, key: str) -> Iterator[Variant]:
    """Add a node in a new domain."""
    nodes = cycle.snapshot.nodes
    labels = {key: unused(NEW_NODE, nodes.domains(key))}
    if nodes.domains(key) and (node := model_of_new(cycle, labels)) is not None:
        words = f"add a node{_such_as(node)} in a new {key.rpartition('/')[2]}"
        yield Variant(words, with_new(cycle, node, labels))


def _such_as(node: SchedulerNode) -> str:
    """Name the model of a new node; one that is leaving is not named."""
    return "" if is_leaving(node) else f" (such as {node.name})"


def model_of_new(cycle: Cycle, labels: Labels) -> SchedulerNode | None:
    """Return the node like which a new one with these labels is to be; None if the Pod can run on none."""
    return next((node for node in _models_by_size(cycle, labels) if _takes(cycle, node, labels)), None)


def _models_by_size(cycle: Cycle, labels: Labels) -> Iterator[SchedulerNode]:
    """
    Yield a node of each size, the commonest first, and one in the place itself, if any; names decide nothing.

    Those of pools to which no autoscaler adds a node come after all others, and those that are leaving at the end.
    """
    nodes = cycle.snapshot.nodes
    carrying = carrying_every_key(nodes, [constraint for constraint in cycle.constraints if constraint.hard])
    for members in models(cycle):
        candidates = members & carrying
        candidates = candidates & cycle.reach.affine or _affine_there(cycle, candidates, labels)
        by_fixed = nodes.grouped(candidates, partial(_is_of_fixed_pool, cycle))
        for _, group in sorted(by_fixed.items()):
            yield from _by_size(nodes, group, labels)


def _by_size(nodes: SchedulerNodes, group: NodeSet, labels: Labels) -> Iterator[SchedulerNode]:
    """Yield a node of each size in a group, the commonest first."""
    by_size: dict[Size, NodeSet] = {}
    for allocatable, members in nodes.by_allocatable.items():
        if members & group:
            size = _size(allocatable)
            by_size[size] = by_size.get(size, 0) | members & group
    for size in sorted(by_size, key=lambda size: (-by_size[size].bit_count(), size)):
        members = by_size[size]
        in_place = reduce(and_, [nodes.domains(key).get(value, 0) for key, value in labels.items()], members)
        yield min(nodes.members(in_place or members), key=without_name)


def _is_of_fixed_pool(cycle: Cycle, node: SchedulerNode) -> bool:
    return node.labels.get(NODE_POOL_LABEL) in cycle.snapshot.static_pools


def _affine_there(cycle: Cycle, candidates: NodeSet, labels: Labels) -> NodeSet:
    """Return the nodes that node affinity would match if they had these labels."""
    nodes = cycle.snapshot.nodes
    moved = SchedulerNodes([replace(node, labels={**node.labels, **labels}) for node in nodes.members(candidates)])
    return nodes.named(moved.names(cycle.pod.affinity.matching(moved)))


def without_name(node: SchedulerNode) -> tuple[object, ...]:
    """Return the sort key of a node by what it is like; the name only decides between nodes that are alike."""
    labels = sorted((key, value) for key, value in node.labels.items() if key != HOSTNAME and value != node.name)
    return node.allocatable, labels, node.name


def _takes(cycle: Cycle, node: SchedulerNode, labels: Labels) -> bool:
    """Whether the node would take the Pod with only its own Pods, these labels, and no constraints."""
    moved = SchedulerNodes([another(node, node.name, labels)])
    empty = replace(
        cycle.snapshot,
        nodes=moved,
        pods={},
        usage={},
        terminating={},
        affine={},
        ports={},
        nominated=(),
        pods_on={},
        mounts={},
    )
    empty = with_pods(empty, pods_of_node(cycle, node), node.name)
    pod = replace(cycle.pod, nominated_node="", pod_affinity=None)
    return bool(feasible_nodes(replace(cycle, pod=pod, constraints=(), snapshot=empty)))


def _used_by(pods: Iterable[NamedPod]) -> Usage:
    """Return what Pods request together."""
    return reduce(lambda used, named: used.plus(named.pod.requests), pods, UNUSED)


def _size(allocatable: Allocatable) -> Size:
    """Return the size of a node: machines of one type differ by some MiB of memory."""
    return allocatable.milli_cpu, round(allocatable.memory / GIB), allocatable.scalars


def with_larger_node(cycle: Cycle, *, labels: Labels, place: str) -> Iterator[Variant]:
    """Add a node like that on which, were it empty, the Pod lacks least, but large enough; none if it fits on any."""
    with_all_room = replace(cycle, pod=replace(cycle.pod, requests=NO_REQUESTS))
    lacks = [
        (lacking(asked_of_node(cycle.requests, cycle.of_devices, node.allocatable), node.allocatable, used), node)
        for node in _models_by_size(cycle, labels)
        if _takes(with_all_room, node, labels)
        for used in [_used_by(pods_of_node(cycle, node))]
    ]
    if not lacks or not all(any(lack) for lack, _ in lacks):
        return
    lack, node = min(
        lacks,
        key=lambda lacking: (
            is_leaving(lacking[1]),
            _is_of_fixed_pool(cycle, lacking[1]),
            share(lacking[0], lacking[1].allocatable),
            sum(map(bool, lacking[0])),
        ),
    )
    has, scalars = node.allocatable, dict(node.allocatable.scalars)
    # What the larger node has of each resource that the node lacks; 0 for the others, which in_words leaves out.
    larger = Lack(
        lack.pods and has.pods + lack.pods,
        lack.milli_cpu and has.milli_cpu + lack.milli_cpu,
        lack.memory and has.memory + lack.memory,
        lack.ephemeral_storage and has.ephemeral_storage + lack.ephemeral_storage,
        tuple([(name, scalars.get(name, 0) + amount) for name, amount in lack.scalars]),
    )
    allocatable = Allocatable(
        larger.milli_cpu or has.milli_cpu,
        larger.memory or has.memory,
        larger.ephemeral_storage or has.ephemeral_storage,
        tuple(sorted({**scalars, **dict(larger.scalars)}.items())),
        larger.pods or has.pods,
    )
    like = "" if is_leaving(node) else f" such as {node.name}, but"
    words = f"add a node{like} with at least {in_words(larger)}{f' to {place}' if place else ''}"
    yield Variant(words, with_new(cycle, replace(node, allocatable=allocatable), labels))
