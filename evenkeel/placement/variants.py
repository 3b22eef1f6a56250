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
from evenkeel.scheduler.snapshot import NamedPod
from evenkeel.scheduler.snapshot_changes import with_pods
from webhook.findings.wording import shown_name
from webhook.kubernetes.labels import Labels
from webhook.kubernetes.names import HOSTNAME
from webhook.spread.constraint import Constraint
from webhook.spread.nodes import NodeSet, union

MOST_REMEDIES = 8  # How many are offered, and in how many places one sort of change is tried.
NEW_NODE = "a new node"  # A name and a value of a label that no existing node has, since neither may have spaces.


class Variant(NamedTuple):
    """The attempt as it would be after a change."""

    change: str  # In words.
    cycle: Cycle
    edits: tuple[ObjectEdit, ...] | None = None  # What kubectl does for it; None where a person has to find out more.


# Yields variants of an attempt, the smallest change first.
Finder = Callable[[Cycle], Iterator[Variant]]


def with_changed(cycle: Cycle, *changed: SchedulerNode) -> Cycle:
    """Add nodes, in place of those with the same names."""
    by_name = {node.name: node for node in (*cycle.snapshot.nodes, *changed)}
    return replace(cycle, snapshot=replace(cycle.snapshot, nodes=SchedulerNodes(by_name.values())))


def with_new(cycle: Cycle, like: SchedulerNode, labels: Labels) -> Cycle:
    """Add a new node like an existing one, with its CSI drivers and Pods like its own of DaemonSets."""
    name = unused(NEW_NODE, (node.name for node in cycle.snapshot.nodes))
    with_node = with_changed(cycle, another(like, name, labels))
    storage = cycle.storage.with_csi_nodes({name: like.name})
    snapshot = with_pods(with_node.snapshot, pods_of_node(cycle, like), name)
    return replace(with_node, snapshot=replace(snapshot, storage=storage))


def pods_of_node(cycle: Cycle, node: SchedulerNode) -> list[NamedPod]:
    """Return the Pods of DaemonSets and the static Pods on a node: a new node like it gets such, too."""
    return [named for named in cycle.snapshot.pods_of(node.name) if named.pod.of_node and named.pod.spreads]


def unused(name: str, used: Iterable[str]) -> str:
    """Return the name, with a number if it is used."""
    names = set(used)
    if name not in names:
        return name
    return next(numbered for i in count(2) if (numbered := f"{name} {i}") not in names)


def first_key(constraints: Sequence[Constraint]) -> str:
    """Return the topology key by which places are named: the first of a hard constraint that is not HOSTNAME; or ""."""
    keys = [constraint.topology_key for constraint in constraints if constraint.hard]
    return next((key for key in keys if key != HOSTNAME), "")


def place_name(key: str, domain: str) -> str:
    """Return a place in words such as `zone a`; "" without a topology key."""
    return f"{key.rpartition('/')[2]} {shown_name(domain)}" if key else ""


def refused(feasibility: Feasibility, *plugins: str) -> NodeSet:
    return union(refusal.nodes for refusal in feasibility.refusals if refusal.plugin in plugins)


def largest_first(by_domain: Mapping[str, NodeSet], which: NodeSet) -> list[tuple[str, NodeSet]]:
    """Return the domains that have any of the nodes `which`, those with the most first."""
    domains = [(domain, members) for domain, members in by_domain.items() if members & which]
    return sorted(domains, key=lambda domain: (-(domain[1] & which).bit_count(), domain[0]))
