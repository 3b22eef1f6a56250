"""
Nodes that may be added for a Pod: where, like which existing node, and how large.

    nodes that the Pod may run on ──empty, without constraints, in a place──> the commonest size ──> Variant
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from evenkeel.placement.closed_nodes import models
from evenkeel.placement.missing_room import in_words, share
from evenkeel.placement.variants import (
    MOST_REMEDIES,
    NEW_NODE,
    Variant,
    first_key,
    largest_first,
    place_name,
    unused,
    with_new,
)
from evenkeel.scheduler.framework import feasible_nodes
from evenkeel.scheduler.pod_counts import NO_REQUESTS, UNUSED
from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.resource_fit import Lack, asked_of_node, lacking
from evenkeel.scheduler.scheduler_nodes import Allocatable, SchedulerNode, SchedulerNodes
from webhook.kubernetes.labels import Labels
from webhook.kubernetes.names import HOSTNAME, TOPOLOGY_LABELS, ZONE
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
    return union(members for taint, members in cycle.reach.untolerated.items() if taint.key == UNREACHABLE_KEY)


def is_fault_domain(nodes: Nodes, zone: str) -> bool:
    """
    Return whether a zone such as `0` beside `eastus-1` is a fault domain: Azure's label of a machine in no zone.

    upstream: azure_zones.go:Cloud.GetZone (cloud-provider-azure)
    """
    return zone.isdigit() and any(re.fullmatch(r".+-\d", other) for other in nodes.domains(ZONE))


def _shared_labels(nodes: Iterator[SchedulerNode], key: str) -> Labels:
    """Return the labels of a place that all of its nodes share."""
    pairs = [
        {(name, value) for name, value in node.labels.items() if name in (key, *TOPOLOGY_LABELS)} for node in nodes
    ]
    return dict(set.intersection(*pairs))


def with_node(cycle: Cycle, *, labels: Labels, place: str) -> Iterator[Variant]:
    """Add a node with these labels like the best model of it."""
    if (node := model_of_new(cycle, labels)) is not None:
        words = f"add a node (such as {node.name}){f' to {place}' if place else ''}"
        yield Variant(words, with_new(cycle, node, labels))


def with_domain(cycle: Cycle, *, key: str) -> Iterator[Variant]:
    """Add a node in a new domain."""
    nodes = cycle.snapshot.nodes
    labels = {key: unused(NEW_NODE, nodes.domains(key))}
    if nodes.domains(key) and (node := model_of_new(cycle, labels)) is not None:
        words = f"add a node (such as {node.name}) in a new {key.rpartition('/')[2]}"
        yield Variant(words, with_new(cycle, node, labels))


def model_of_new(cycle: Cycle, labels: Labels) -> SchedulerNode | None:
    """Return the node like which a new one with these labels is to be; None if the Pod can run on none."""
    return next(_by_commonness(_taking(cycle, labels), labels), None)


def _taking(cycle: Cycle, labels: Labels) -> list[SchedulerNode]:
    """Return the nodes that would take the Pod if they were empty, had these labels, and there were no constraints."""
    nodes = cycle.snapshot.nodes
    moved = SchedulerNodes([replace(node, labels={**node.labels, **labels}) for node in nodes.members(models(cycle))])
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
    pod = replace(cycle.pod, nominated_node="", pod_affinity=None)
    taking = moved.names(feasible_nodes(replace(cycle, pod=pod, constraints=(), snapshot=empty)))
    return [node for name in taking if (node := nodes.get(name)) is not None]


def _by_commonness(nodes: list[SchedulerNode], labels: Labels) -> Iterator[SchedulerNode]:
    """Yield a node of each size, the commonest first: one in the place itself, if any; names decide nothing."""

    def unlikeness(node: SchedulerNode) -> tuple[object, ...]:
        own = {key: value for key, value in node.labels.items() if key != HOSTNAME and value != node.name}
        elsewhere = any(node.labels.get(key) != value for key, value in labels.items())
        return elsewhere, node.allocatable, sorted(own.items()), node.name

    numbers = Counter(map(_size, nodes))
    for size in sorted(numbers, key=lambda size: (-numbers[size], size)):
        yield min([node for node in nodes if _size(node) == size], key=unlikeness)


def _size(node: SchedulerNode) -> Size:
    """Return the size of a node: machines of one type differ by some MiB of memory."""
    return node.allocatable.milli_cpu, round(node.allocatable.memory / GIB), node.allocatable.scalars


def with_larger_node(cycle: Cycle, *, labels: Labels, place: str) -> Iterator[Variant]:
    """Add a node like that on which, were it empty, the Pod lacks least, but large enough; none if it fits on any."""
    with_all_room = replace(cycle, pod=replace(cycle.pod, requests=NO_REQUESTS))
    lacks = [
        (lacking(asked_of_node(cycle.requests, cycle.of_devices, node.allocatable), node.allocatable, UNUSED), node)
        for node in _by_commonness(_taking(with_all_room, labels), labels)
    ]
    if not lacks or not all(any(lack) for lack, _ in lacks):
        return
    lack, node = min(lacks, key=lambda lacking: (share(lacking[0], lacking[1].allocatable), sum(map(bool, lacking[0]))))
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
    words = f"add a node such as {node.name}, but with at least {in_words(larger)}{f' to {place}' if place else ''}"
    yield Variant(words, with_new(cycle, replace(node, allocatable=allocatable), labels))
