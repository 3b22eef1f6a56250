"""An attempt as it would be after a change, and the places in which changes are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import NamedTuple

from evenkeel.placement.kubectl_commands import ObjectEdit
from evenkeel.scheduler.framework import Feasibility
from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.scheduler_nodes import SchedulerNode, SchedulerNodes, another
from webhook.kubernetes.labels import Labels
from webhook.kubernetes.names import HOSTNAME
from webhook.spread.constraint import Constraint
from webhook.spread.nodes import NodeSet, union
from webhook.spread.taints import DO_NOT_SCHEDULE

MOST_REMEDIES = 8  # of those that are offered, and of the places in which one sort of change is tried


NEW_NODE = "a new node"  # Its name, and its value of a label; no node and no domain that is there is called so.


class Variant(NamedTuple):
    """
    The attempt as it would be after a change, in words.

    `edits` are what kubectl does for the change, None where a person has to find out more.
    """

    change: str
    cycle: Cycle
    edits: tuple[ObjectEdit, ...] | None = None


# Variants of an attempt, the smallest change first.
Finder = Callable[[Cycle], Iterator[Variant]]


def with_changed(cycle: Cycle, *changed: SchedulerNode) -> Cycle:
    """Return the cluster with these nodes in place of those of the same names, or besides."""
    named = {node.name: node for node in (*cycle.snapshot.nodes, *changed)}
    return replace(cycle, snapshot=replace(cycle.snapshot, nodes=SchedulerNodes(named.values())))


def with_new(cycle: Cycle, like: SchedulerNode, labels: Labels) -> Cycle:
    """Return the cluster with a new node, which has the CSI drivers of the one that it is like."""
    taints = tuple([taint for taint in like.taints if taint.effect not in DO_NOT_SCHEDULE])
    name = unused(NEW_NODE, (node.name for node in cycle.snapshot.nodes))
    with_node = with_changed(cycle, another(like, name, labels, taints))
    storage = cycle.storage.with_csi_nodes({name: like.name})
    return replace(with_node, snapshot=replace(with_node.snapshot, storage=storage))


def unused(name: str, used: Iterable[str]) -> str:
    """Return the name, with a number if it is used."""
    there = set(used)
    return next(each for i in count(1) if (each := f"{name} {i}" if i > 1 else name) not in there)


def first_key(constraints: Sequence[Constraint]) -> str:
    """Return the topology key by which places are named: that of the first hard constraint that is not of nodes."""
    keys = [constraint.topology_key for constraint in constraints if constraint.hard]
    return next((key for key in keys if key != HOSTNAME), "")


def place_name(key: str, domain: str) -> str:
    """Return a place in words such as `zone a`; "" where places are not named."""
    return f"{key.rpartition('/')[2]} {domain}" if key else ""


def refused(feasibility: Feasibility, *plugins: str) -> NodeSet:
    return union(refusal.nodes for refusal in feasibility.refusals if refusal.plugin in plugins)


def largest_first(by_domain: Mapping[str, NodeSet], which: NodeSet) -> list[tuple[str, NodeSet]]:
    """Return the domains that have such nodes, by how many they have."""
    having = [(domain, members) for domain, members in by_domain.items() if members & which]
    return sorted(having, key=lambda domain: (-(domain[1] & which).bit_count(), domain[0]))
