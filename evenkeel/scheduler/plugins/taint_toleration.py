"""TaintToleration: a taint that the Pod does not tolerate keeps it off a node, or makes the node worse."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache

from evenkeel.scheduler.plugins.plugin import Parts, Plugin, Reason, Refusal, normalized
from evenkeel.scheduler.profile import TAINT_TOLERATION
from webhook.spread.nodes import NodeSet
from webhook.spread.taints import PREFER_NO_SCHEDULE, Taint, untolerated_taint


@lru_cache
def untolerated(taint: Taint, *, named: bool) -> Reason:
    """Return why nodes with a taint are refused; up to 1.33 kube-scheduler's text names the taint."""
    which = f" {{{taint.key}: {taint.value}}}" if named else "(s)"
    return Reason(f"node(s) had untolerated taint{which}", f"taint {taint}")


class TaintToleration(Plugin):
    name = TAINT_TOLERATION

    def refusals(self, remaining: NodeSet) -> Iterator[Refusal]:
        """
        Yield the nodes with a taint that the Pod does not tolerate.

        upstream: taint_toleration.go:TaintToleration.Filter (v1.37)
        """
        for taint, tainted in self.cycle.reach.untolerated.items():
            reason = untolerated(taint, named=self.cycle.features.names_untolerated_taint)
            yield Refusal(self.name, (reason,), remaining & tainted)

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
