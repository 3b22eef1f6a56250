"""An attempt as it would be after a change, and the places in which changes are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from webhook.objects.names import HOSTNAME
from webhook.scheduler.constraint import Constraint
from webhook.scheduler.framework import Feasibility
from webhook.scheduler.nodes import NodeSet, union
from webhook.scheduler.profile import Cycle

MOST_REMEDIES = 8  # of those that are offered, and of the places in which one sort of change is tried


class Variant(NamedTuple):
    """The attempt as it would be after a change, in words."""

    change: str
    cycle: Cycle


# Variants of an attempt, the smallest change first.
Finder = Callable[[Cycle], Iterator[Variant]]


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
