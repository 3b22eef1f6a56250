"""
The smallest skew of a soft constraint that a hard one allows for so many Pods.

    5, 2 and 2 nodes in three zones, 12 Pods, hard on zones ──> 4 Pods in each zone ──> 2 on a node, 0 on another
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from evenkeel.scheduler.spread_counts import DomainCounts
from webhook.spread.nodes import Nodes

Bounds = tuple[int, int]  # the least and the most Pods that a domain may have


class LeastSkew(NamedTuple):
    """The smallest skew of a constraint."""

    skew: int  # maxSkew at least
    forced_by: str = ""  # the topology key of the hard constraint that forces more than maxSkew; "" if none does


def least_skews(all_counted: Collection[DomainCounts], nodes: Nodes) -> list[LeastSkew]:
    """Return the smallest skew of each of the constraints of a Pod: that of a hard one is its maxSkew."""
    hard = [counts for counts in all_counted if counts.constraint.hard]
    return [
        LeastSkew(counts.constraint.max_skew) if counts.constraint.hard else _least_skew(counts, hard, nodes)
        for counts in all_counted
    ]


def _least_skew(soft: DomainCounts, hard: Iterable[DomainCounts], nodes: Nodes) -> LeastSkew:
    """
    Return the smallest skew of a soft constraint that each of the hard constraints allows.

    A hard constraint is passed over if it counts other Pods, or if neither its domains are parts of those of the soft
    one nor the other way round.  Its skew may be beyond maxSkew now, since Pods have gone: it allows what new Pods get.
    """
    least, forced_by = soft.constraint.max_skew, ""
    for counts in hard if soft.largest_skew > least else ():
        number = sum(soft.counts.values())
        if counts.constraint.selector != soft.constraint.selector or number != sum(counts.counts.values()):
            continue
        hard_domain_of = nodes.placed(counts.constraint.topology_key, nodes.all).of
        pairs = {
            (hard_domain_of[name], domain)
            for name, domain in nodes.placed(soft.constraint.topology_key, nodes.all).of.items()
            if hard_domain_of.get(name) in counts.eligible and domain in soft.eligible
        }
        if {pair[0] for pair in pairs} != counts.eligible or {pair[1] for pair in pairs} != soft.eligible:
            continue  # Pods may run where only one of the two constraints counts them.
        while least < soft.largest_skew and not _is_allowed(least, number, soft, counts, pairs):
            least, forced_by = least + 1, counts.constraint.topology_key
    return LeastSkew(least, forced_by)


def _is_allowed(skew: int, number: int, soft: DomainCounts, hard: DomainCounts, pairs: set[tuple[str, str]]) -> bool:
    """Return whether so many Pods can have this skew over the domains of the soft constraint, as far as is known."""
    soft_is_finer, hard_is_finer = len(pairs) == len(soft.eligible), len(pairs) == len(hard.eligible)
    if not (soft_is_finer or hard_is_finer):
        return True
    coarse = [pair[0] if soft_is_finer else pair[1] for pair in pairs]
    sizes = [coarse.count(domain) for domain in dict.fromkeys(coarse)]
    of_soft = [(least, least + skew) for least in range(number // len(soft.eligible) + 1)]
    for of_hard in _hard_bounds(number, hard):
        for bounds in of_soft:
            of_coarse, of_fine = (of_hard, bounds) if soft_is_finer else (bounds, of_hard)
            if _fits(number, sizes, of_coarse, of_fine):
                return True
    return False


def _hard_bounds(number: int, hard: DomainCounts) -> Iterator[Bounds]:
    """Yield what each domain of a hard constraint may have, by the minimum; that is 0 if there are too few domains."""
    max_skew, domains = hard.constraint.max_skew, len(hard.eligible)
    most = 0 if domains < hard.constraint.min_domains else number // domains
    fewest = max(0, -(-(number - domains * max_skew) // domains))
    yield from ((least, least + max_skew) for least in range(min(fewest, most), most + 1))


def _fits(number: int, sizes: Iterable[int], of_coarse: Bounds, of_fine: Bounds) -> bool:
    """Return whether domains, with so many parts each, hold the Pods if they and their parts keep to the bounds."""
    least = most = 0
    for size in sizes:
        fewest, largest = max(of_coarse[0], size * of_fine[0]), min(of_coarse[1], size * of_fine[1])
        if fewest > largest:
            return False
        least, most = least + fewest, most + largest
    return least <= number <= most
