"""TaintToleration: a taint that the Pod does not tolerate keeps it off a node, or makes the node worse."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from webhook.scheduler.nodes import NodeSet
from webhook.scheduler.plugins.plugin import Parts, Plugin, Reason, Refusal, normalized
from webhook.scheduler.profile import TAINT_TOLERATION
from webhook.scheduler.taints import PREFER_NO_SCHEDULE, untolerated_taint


class TaintToleration(Plugin):
    name = TAINT_TOLERATION

    def refusals(self, remaining: NodeSet) -> Iterator[Refusal]:
        """
        Yield the nodes with a taint that the Pod does not tolerate.

        upstream: taint_toleration.go:TaintToleration.Filter (v1.37)
        """
        for reason, tainted in self._untolerated:
            yield Refusal(self.name, (reason,), remaining & tainted)

    @cached_property
    def _untolerated(self) -> list[tuple[Reason, NodeSet]]:
        """The nodes by the first taint that the Pod does not tolerate."""
        untolerated = list[tuple[Reason, NodeSet]]()
        for taint, tainted in sorted(self.cycle.reach.untolerated.items()):
            which = f" {{{taint.key}: {taint.value}}}" if self.cycle.features.names_untolerated_taint else "(s)"
            words = f"has a taint it does not tolerate ({taint})"
            untolerated.append((Reason(f"node(s) had untolerated taint{which}", words), tainted))
        return untolerated

    def scores(self, candidates: NodeSet) -> Parts:
        """
        Score nodes by how few taints with PreferNoSchedule the Pod does not tolerate.

        upstream: taint_toleration.go:TaintToleration.NormalizeScore (v1.37)
        """
        return normalized(self._intolerable, candidates, reverse=True)

    @cached_property
    def _intolerable(self) -> Parts:
        """
        The nodes by the number of taints with PreferNoSchedule that the Pod does not tolerate: fewer are better.

        upstream: taint_toleration.go:TaintToleration.Score (v1.37)
        """
        tolerations = [
            toleration for toleration in self.cycle.pod.tolerations if toleration.effect in ("", PREFER_NO_SCHEDULE)
        ]
        by_number: dict[int, NodeSet] = {}
        untainted = self.nodes.all
        for taints, tainted in self.nodes.by_taints.items():
            number = sum(untolerated_taint([taint], tolerations, [PREFER_NO_SCHEDULE]) is not None for taint in taints)
            by_number[number] = by_number.get(number, 0) | tainted
            untainted &= ~tainted
        by_number[0] = by_number.get(0, 0) | untainted
        return [(nodes, number) for number, nodes in by_number.items()]
