"""
What constraints count: Pods per domain, kept up to date while Pods come and go.

    one more Pod in a domain ──> its nodes move from the group of n to that of n + 1; nothing else changes
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from evenkeel.scheduler.pod_counts import LabelSet, PodGroup
from evenkeel.scheduler.snapshot import Snapshot
from webhook.kubernetes.features import Features
from webhook.spread.constraint import Constraint
from webhook.spread.domains import Reach, carrying_every_key
from webhook.spread.nodes import NodeSet, union
from webhook.spread.selectors import Selector

DomainOf = Callable[[str], str | None]  # The domain for which the Pods of a node count, None if they do not.
NodesOf = Callable[[str], NodeSet]  # All nodes of a domain.


class DomainCounts:
    """What a constraint counts: Pods by domain."""

    __slots__ = (
        "_by_number",
        "_frequencies",
        "_matched",
        "_nodes_of",
        "constraint",
        "countable",
        "counts",
        "domain_of",
        "eligible",
        "self_match_num",
    )

    def __init__(
        self,
        constraint: Constraint,
        eligible: frozenset[str],
        counts: dict[str, int],
        self_match_num: int,
        domain_of: DomainOf,
        nodes_of: NodesOf,
        *,
        countable: bool = True,
    ) -> None:
        self.constraint = constraint
        self.eligible = eligible  # The domains that can set the minimum.
        self.counts = counts  # The number of Pods by domain; domains without Pods are left out.
        self.self_match_num = self_match_num  # 1 if the selector matches the incoming Pod, else 0.
        self.domain_of, self._nodes_of = domain_of, nodes_of
        self.countable = countable  # False for an empty selector, in versions in which it counts no Pod.
        self._matched: dict[LabelSet, bool] = {}  # Whether the selector matches; shared by all copies.
        # These two follow from `counts`, and are made when they are first asked for.
        self._by_number: dict[int, NodeSet] | None = None  # The nodes of domains with so many Pods.
        self._frequencies: Counter[int] | None = None  # How many domains have so many Pods.

    def copy(self) -> DomainCounts:
        new = DomainCounts(
            self.constraint,
            self.eligible,
            dict(self.counts),
            self.self_match_num,
            self.domain_of,
            self._nodes_of,
            countable=self.countable,
        )
        new._matched = self._matched
        new._by_number = None if self._by_number is None else dict(self._by_number)
        new._frequencies = None if self._frequencies is None else self._frequencies.copy()
        return new

    def match_num(self, domain: str) -> int:
        """The number of Pods that the constraint counts in a domain; 0 where it counts no node."""
        return self.counts.get(domain, 0)

    @property
    def min_match_num(self) -> int:
        """
        The fewest Pods in any eligible domain; 0 if there are fewer domains than minDomains.

        upstream: filtering.go:preFilterState.minMatchNum (v1.37)
        """
        # `counts` leaves out domains without Pods: with fewer counts than eligible domains, one of these is empty.
        if len(self.eligible) < self.constraint.min_domains:
            return 0
        if self._frequencies is None:
            self._frequencies = Counter(self.counts.values())
        least = min(self._frequencies, default=0)  # Below 0 where a terminating Pod is tried as a victim.
        return min(least, 0) if len(self.counts) < len(self.eligible) else least

    def skew(self, domain: str, min_match_num: int) -> int:
        """The skew of a domain if the incoming Pod were placed there."""
        return self._skew(self.match_num(domain), min_match_num)

    def _skew(self, match_num: int, min_match_num: int) -> int:
        return match_num + self.self_match_num - min_match_num

    @property
    def largest_skew(self) -> int:
        """The most Pods in any domain less the fewest, without the incoming Pod."""
        return max(self.counts.values(), default=0) - self.min_match_num

    def refused(self) -> tuple[str, ...]:
        """The domains where the incoming Pod would make the skew larger than maxSkew."""
        # A domain without Pods is never refused: its skew is at most 1, and maxSkew is at least 1.
        min_match_num, max_skew = self.min_match_num, self.constraint.max_skew
        return tuple(
            [domain for domain, match_num in self.counts.items() if self._skew(match_num, min_match_num) > max_skew]
        )

    def refused_nodes(self) -> NodeSet:
        min_match_num, max_skew = self.min_match_num, self.constraint.max_skew
        return union(
            nodes
            for match_num, nodes in self.nodes_by_number.items()
            if self._skew(match_num, min_match_num) > max_skew
        )

    @property
    def nodes_by_number(self) -> Mapping[int, NodeSet]:
        """The nodes of the domains that have Pods, by the number of Pods in their domain."""
        if self._by_number is None:
            self._by_number = {}
            for domain, number in self.counts.items():
                self._by_number[number] = self._by_number.get(number, 0) | self._nodes_of(domain)
        return self._by_number

    def selects(self, labels: LabelSet) -> bool:
        """Whether Pods with these labels count, on nodes that are counted."""
        matches = self._matched.get(labels)
        if matches is None:
            matches = self._matched[labels] = self.countable and self.constraint.selector.matches(dict(labels))
        return matches

    def add(self, labels: LabelSet, node: str, number: int) -> None:
        """Count `number` more Pods with these labels on a node, fewer if it is negative."""
        domain = self.domain_of(node) if self.selects(labels) else None
        if domain is None:
            return
        before = self.counts.pop(domain, 0)
        after = before + number
        if after:
            self.counts[domain] = after
        self._move(domain, before, after)

    def _move(self, domain: str, before: int, after: int) -> None:
        """Update what follows from the counts: a domain had `before` Pods, and now has `after`."""
        if self._frequencies is not None:
            for number, change in ((before, -1), (after, 1)):
                if number:
                    self._frequencies[number] += change
                    if not self._frequencies[number]:
                        del self._frequencies[number]
        if self._by_number is not None:
            nodes = self._nodes_of(domain)
            if before:
                self._by_number[before] &= ~nodes
                if not self._by_number[before]:
                    del self._by_number[before]
            if after:
                self._by_number[after] = self._by_number.get(after, 0) | nodes


def count_domains(
    reach: Reach, constraints: Sequence[Constraint], snapshot: Snapshot, features: Features
) -> tuple[DomainCounts, ...]:
    """
    Count the Pods of each constraint; a node that lacks the key of any of them is counted by none.

    upstream: filtering.go:PodTopologySpread.calPreFilterState (v1.37)
    """
    nodes, labelled = reach.nodes, carrying_every_key(reach.nodes, constraints)
    counted: list[DomainCounts] = []
    for constraint in constraints:
        key = constraint.topology_key
        eligible = nodes.placed(key, reach.eligible(constraint, labelled))
        nodes_of = nodes.domains(key).__getitem__
        counted.append(counted_by(reach, constraint, snapshot, features, eligible.of.get, nodes_of, eligible.all))
    return tuple(counted)


def counted_by(
    reach: Reach,
    constraint: Constraint,
    snapshot: Snapshot,
    features: Features,
    domain_of: DomainOf,
    nodes_of: NodesOf,
    eligible: frozenset[str] = frozenset(),
) -> DomainCounts:
    """Count the Pods of a constraint in the domains that `domain_of` names; it counts none if it is not countable."""
    groups = snapshot.pods.get(reach.pod.namespace, {})
    countable = features.empty_selector_counts or not constraint.selector.empty
    counts = count(groups, constraint.selector, domain_of) if countable else {}
    matches = int(constraint.selector.matches(reach.pod.labels))
    return DomainCounts(constraint, eligible, counts, matches, domain_of, nodes_of, countable=countable)


def count(groups: Mapping[LabelSet, PodGroup], selector: Selector, domain_of: DomainOf) -> dict[str, int]:
    """
    Return the number of Pods of one namespace that the selector matches, by the domain of their node; domains without
    such Pods are left out, and so are Pods on nodes that have no domain.

    upstream: common.go:countPodsMatchSelector (v1.37)
    """
    counts: dict[str, int] = {}
    for group in groups.values():
        if selector.matches(group.labels):
            for node, number in group.nodes.items():
                domain = domain_of(node)
                if domain is not None:
                    counts[domain] = counts.get(domain, 0) + number
    return counts
