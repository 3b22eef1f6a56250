"""
What one constraint counts while Pods come and go: Pods per domain, and the nodes by the number of their domain.

    a Pod more in a domain ──> its nodes move from those of n to those of n + 1; nothing else changes
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from webhook.scheduler.constraint import Constraint
from webhook.scheduler.counts import LabelSet, PodGroup
from webhook.scheduler.features import Features
from webhook.scheduler.inclusion import count
from webhook.scheduler.nodes import NodeSet

DomainOf = Callable[[str], str | None]


class Tally:
    """
    One constraint's counts; `domain_of` is the domain that a node's Pods count for, None if they do not.

    `nodes` are those of each domain, of which `eligible` ones can set the minimum.
    """

    __slots__ = (
        "_countable",
        "_domains_by",
        "_matched",
        "constraint",
        "counts",
        "domain_of",
        "eligible",
        "nodes",
        "nodes_by",
        "self_match_num",
    )

    def __init__(
        self,
        constraint: Constraint,
        domain_of: DomainOf,
        nodes: Callable[[str], NodeSet],
        eligible: Iterable[str],
        self_match_num: int,
        groups: Mapping[LabelSet, PodGroup],
        features: Features,
    ) -> None:
        self.constraint, self.domain_of, self.nodes, self.self_match_num = constraint, domain_of, nodes, self_match_num
        self.counts = count(groups, constraint.selector, domain_of, features)
        self.eligible = len(eligible_domains := tuple(eligible))
        self._countable = features.empty_selector_counts or not constraint.selector.empty
        self._matched: dict[LabelSet, bool] = {}
        self.nodes_by: dict[int, NodeSet] = {}
        for domain, number in self.counts.items():
            self.nodes_by[number] = self.nodes_by.get(number, 0) | nodes(domain)
        self._domains_by: dict[int, int] = {0: len(eligible_domains)}
        for number in self.counts.values():
            self._moved(0, number)

    def copy(self) -> Tally:
        """One that changes by itself."""
        new = Tally.__new__(Tally)
        new.constraint, new.domain_of, new.nodes = self.constraint, self.domain_of, self.nodes
        new.eligible, new.self_match_num = self.eligible, self.self_match_num
        new._countable, new._matched = self._countable, self._matched
        new.counts, new.nodes_by, new._domains_by = dict(self.counts), dict(self.nodes_by), dict(self._domains_by)
        return new

    def add(self, labels: LabelSet, node: str, number: int) -> None:
        """So many Pods more, fewer if it is negative, with these labels on a node."""
        matches = self._matched.get(labels)
        if matches is None:
            matches = self._matched[labels] = self._countable and self.constraint.selector.matches(dict(labels))
        domain = self.domain_of(node) if matches else None
        if domain is None:
            return
        before = self.counts.get(domain, 0)
        self.counts[domain] = after = before + number
        those = self.nodes(domain)
        if before:
            self.nodes_by[before] &= ~those
        if after:
            self.nodes_by[after] = self.nodes_by.get(after, 0) | those
        self._moved(before, after)

    def _moved(self, before: int, after: int) -> None:
        by = self._domains_by
        by[before] -= 1
        if not by[before]:
            del by[before]
            if before:
                self.nodes_by.pop(before, None)
        by[after] = by.get(after, 0) + 1

    @property
    def min_match_num(self) -> int:
        """
        upstream: filtering.go:preFilterState.minMatchNum (v1.37)

        The fewest Pods in any eligible domain; 0 if there are fewer domains than minDomains.
        """
        if self.eligible < self.constraint.min_domains or not self._domains_by:
            return 0
        return min(self._domains_by)

    def refused(self) -> NodeSet:
        """The nodes where one Pod more would make the skew larger than maxSkew."""
        most = self.constraint.max_skew + self.min_match_num - self.self_match_num
        found = 0
        for number, those in self.nodes_by.items():
            if number > most:
                found |= those
        return found
