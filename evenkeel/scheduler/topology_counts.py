"""What Pods weigh in the domains of topology keys, kept up to date while Pods come and go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.spread.nodes import Nodes, NodeSet, union


class TopologyCounts:
    """
    The number of Pods in each domain of some topology keys, and their weight together.

    A domain without Pods is left out.
    """

    __slots__ = ("_by_weight", "_domains", "_nodes")

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._domains: dict[str, dict[str, tuple[int, int]]] = {}  # (Pods, weight) by topology key and domain.
        self._by_weight: dict[str, dict[int, NodeSet]] = {}  # Nodes by topology key and weight; made when asked for.

    def __bool__(self) -> bool:
        return any(self._domains.values())

    def copy(self) -> TopologyCounts:
        new = TopologyCounts(self._nodes)
        new._domains = {key: dict(domains) for key, domains in self._domains.items()}
        new._by_weight = {key: dict(by_weight) for key, by_weight in self._by_weight.items()}
        return new

    def add(self, key: str, pods: Mapping[str, int], weight: int = 1) -> None:
        """Count Pods, by the name of their node; fewer where the number is negative."""
        domain_of, domains = self._nodes.placed(key, self._nodes.all).of, self._domains.setdefault(key, {})
        for node, pods_on_node in pods.items():
            domain = domain_of.get(node)
            if domain is None:
                continue
            number, total_weight = domains.get(domain, (0, 0))
            after = (number + pods_on_node, total_weight + weight * pods_on_node)
            if after[0]:
                domains[domain] = after
            else:
                domains.pop(domain, None)
            if key in self._by_weight:
                self._move(key, domain, (number, total_weight), after)

    def _move(self, key: str, domain: str, before: tuple[int, int], after: tuple[int, int]) -> None:
        """Move the nodes of a domain to those of its new weight; `before` and `after` are (Pods, weight)."""
        by_weight, nodes = self._by_weight[key], self._nodes.domains(key)[domain]
        if before[0]:
            by_weight[before[1]] &= ~nodes
        if after[0]:
            by_weight[after[1]] = by_weight.get(after[1], 0) | nodes

    @property
    def keys(self) -> Iterator[str]:
        """The topology keys of which a domain has Pods."""
        return (key for key, domains in self._domains.items() if domains)

    def nodes_by_weight(self, key: str) -> Mapping[int, NodeSet]:
        """The nodes of the domains that have Pods, by the weight of their domain."""
        by_weight = self._by_weight.get(key)
        if by_weight is None:
            by_weight, nodes_of = {}, self._nodes.domains(key)
            weights: dict[int, list[str]] = {}
            for domain, (_, weight) in self._domains.get(key, {}).items():
                weights.setdefault(weight, []).append(domain)
            for weight, domains in weights.items():
                by_weight[weight] = union(nodes_of[domain] for domain in domains)
            self._by_weight[key] = by_weight
        return by_weight

    def reached(self, key: str) -> NodeSet:
        """The nodes of the domains that have Pods."""
        return union(self.nodes_by_weight(key).values())
