"""NodeAffinity: `nodeSelector` and node affinity, and the addedAffinity of the profile."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.scheduler.nodes import NodeSet
from webhook.scheduler.plugins.plugin import EVERY_NODE, Parts, Plugin, PreFilterResult, Refusal, normalized
from webhook.scheduler.profile import NODE_AFFINITY

CONFLICT = "pod affinity terms conflict"
OTHER_AFFINITY = "node(s) didn't match Pod's node affinity/selector"
ENFORCED_AFFINITY = "node(s) didn't match scheduler-enforced node affinity"


class NodeAffinity(Plugin):
    name = NODE_AFFINITY

    def pre_filter(self) -> PreFilterResult:
        """
        upstream: node_affinity.go:NodeAffinity.PreFilter (v1.37)

        Terms that name nodes by `metadata.name` leave no others.
        """
        names = self.cycle.pod.affinity.names
        if names is None:
            return EVERY_NODE
        return PreFilterResult(names=names) if names else PreFilterResult(CONFLICT)

    def refusals(self, remaining: NodeSet) -> Iterator[Refusal]:
        """upstream: node_affinity.go:NodeAffinity.Filter (v1.37)"""
        enforced = self.cycle.profile.added.matching(self.nodes)
        yield Refusal(self.name, (ENFORCED_AFFINITY,), remaining & ~enforced)
        yield Refusal(self.name, (OTHER_AFFINITY,), remaining & enforced & ~self.cycle.reach.affine)

    def scores(self, candidates: NodeSet) -> Parts | None:
        """
        upstream: node_affinity.go:NodeAffinity.Score (v1.37)

        The raw score is the sum of the weights of the preferred terms that a node meets: more is better.
        """
        preferred, added = self.cycle.pod.preferred, self.cycle.profile.added_preferred
        if preferred is None and not added:
            return None
        parts: dict[NodeSet, int] = {self.nodes.all: 0}
        for weight, term in (*added, *(preferred or ())):
            matching, divided = term.matching(self.nodes), dict[NodeSet, int]()
            for nodes, score in parts.items():
                if inside := nodes & matching:
                    divided[inside] = score + weight
                if outside := nodes & ~matching:
                    divided[outside] = score
            parts = divided
        return normalized(parts.items(), candidates)
