"""NodeAffinity: `nodeSelector` and node affinity, and the addedAffinity of the profile."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from evenkeel.scheduler.plugins.plugin import EVERY_NODE, Parts, Plugin, PreFilterResult, Reason, Refusal, normalized
from evenkeel.scheduler.profile import NODE_AFFINITY
from webhook.spread.nodes import NodeSet

CONFLICT = "pod affinity terms conflict"
NOT_NAMED = "not named in node affinity"
OTHER_AFFINITY = Reason("node(s) didn't match Pod's node affinity/selector", "not in nodeSelector or node affinity")
ENFORCED_AFFINITY = Reason(
    "node(s) didn't match scheduler-enforced node affinity", "not in kube-scheduler's addedAffinity"
)


class NodeAffinity(Plugin):
    name = NODE_AFFINITY

    def pre_filter(self) -> PreFilterResult:
        """
        Leave only the nodes that the terms name, if every term names nodes by `metadata.name`.

        upstream: node_affinity.go:NodeAffinity.PreFilter (v1.37)
        """
        names = self.cycle.pod.affinity.names
        if names is None:
            return EVERY_NODE
        return PreFilterResult(names=names) if names else PreFilterResult(CONFLICT)

    def refusals(self, remaining: NodeSet) -> Iterator[Refusal]:
        """
        Yield the nodes that required affinity, or the profile's addedAffinity, refuses.

        upstream: node_affinity.go:NodeAffinity.Filter (v1.37)
        """
        enforced = self.cycle.profile.added.matching(self.nodes)
        yield Refusal(self.name, (ENFORCED_AFFINITY,), remaining & ~enforced)
        yield Refusal(self.name, (OTHER_AFFINITY,), remaining & enforced & ~self.cycle.reach.affine)

    def scores(self, candidates: NodeSet) -> Parts | None:
        """
        Score nodes by the weights of the preferred terms that match, the best with 100.

        upstream: node_affinity.go:NodeAffinity.NormalizeScore (v1.37)
        """
        if self.cycle.pod.preferred is None and not self.cycle.profile.added_preferred:
            return None
        return normalized(self._preferred, candidates)

    @cached_property
    def _preferred(self) -> Parts:
        """
        The nodes by the sum of the weights of the preferred terms that they meet.

        upstream: node_affinity.go:NodeAffinity.Score (v1.37)
        """
        parts: dict[NodeSet, int] = {self.nodes.all: 0}
        for weight, term in (*self.cycle.profile.added_preferred, *(self.cycle.pod.preferred or ())):
            matching, divided = term.matching(self.nodes), dict[NodeSet, int]()
            for nodes, score in parts.items():
                if inside := nodes & matching:
                    divided[inside] = score + weight
                if outside := nodes & ~matching:
                    divided[outside] = score
            parts = divided
        return list(parts.items())
