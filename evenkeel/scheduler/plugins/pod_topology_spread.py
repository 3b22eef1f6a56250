"""PodTopologySpread: hard constraints refuse nodes, soft ones prefer some to others."""

from __future__ import annotations

from collections.abc import Iterator

from evenkeel.scheduler.plugins.plugin import Parts, Plugin, Reason, Refusal
from evenkeel.scheduler.pod_counts import PodInfo
from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.resource_fit import MAX_NODE_SCORE
from evenkeel.scheduler.spread_filter import HardConstraints, Verdicts
from evenkeel.scheduler.spread_score import SoftConstraints
from webhook.policy.scheduler_configuration import POD_TOPOLOGY_SPREAD
from webhook.spread.nodes import NodeSet

UNEVEN = Reason("node(s) didn't match pod topology spread constraints")
UNLABELLED = Reason(f"{UNEVEN.text} (missing required label)")


class PodTopologySpread(Plugin):
    """Counts Pods by the domains of each constraint; hard and soft ones are counted when they are first asked for."""

    name = POD_TOPOLOGY_SPREAD
    counts_pods = True

    def __init__(self, cycle: Cycle) -> None:
        super().__init__(cycle)
        self._hard: HardConstraints | None = None
        self._soft: SoftConstraints | None = None

    @property
    def hard(self) -> HardConstraints:
        if self._hard is None:
            self._hard = HardConstraints.of(self.cycle)
        return self._hard

    @property
    def soft(self) -> SoftConstraints:
        if self._soft is None:
            self._soft = SoftConstraints.of(self.cycle)
        return self._soft

    @property
    def skipped(self) -> bool:
        return not any(constraint.hard for constraint in self.cycle.constraints)

    def verdicts(self) -> Verdicts:
        return self.hard.verdicts()

    def refusals(self, remaining: NodeSet) -> Iterator[Refusal]:
        """
        Yield the nodes on which a hard constraint would be broken.

        upstream: filtering.go:PodTopologySpread.Filter (v1.37)
        """
        verdicts = self.verdicts()
        for reason, nodes in ((UNEVEN, verdicts.uneven), (UNLABELLED, verdicts.unlabelled)):
            if nodes:
                yield Refusal(self.name, (reason,), nodes & remaining, reason is UNEVEN)

    def passing(self, remaining: NodeSet) -> NodeSet:
        return self.hard.passing(remaining)

    def scores(self, candidates: NodeSet) -> Parts | None:
        """
        Score nodes by how few Pods the soft constraints count in their domains.

        upstream: scoring.go:PodTopologySpread.NormalizeScore (v1.37)
        """
        if not self.soft.counts:
            return None if self.cycle.features.skips_unconstrained else [(candidates, MAX_NODE_SCORE)]
        scores = self.soft.scores(candidates)
        parts = [(scored.nodes, scored.normalized) for scored in scores.scored]
        return [*parts, (scores.ignored, 0)] if scores.ignored else parts

    def add_pods(self, info: PodInfo, node: str, number: int) -> None:
        if info.namespace == self.cycle.pod.namespace and not info.terminating:
            for counts in (*self.hard.counts, *self.soft.counts):
                counts.add(info.labels, node, number)

    def heeds(self, info: PodInfo) -> bool:
        counts = (*self.hard.counts, *self.soft.counts)
        return info.namespace == self.cycle.pod.namespace and any(counted.selects(info.labels) for counted in counts)

    def try_pods(self, info: PodInfo, node: str, number: int) -> None:
        """
        Count Pods for a DryRun.  As upstream does, it also counts those that are being deleted.

        upstream: filtering.go:PodTopologySpread.updateWithPod (v1.37)
        """
        self.add_pods(info._replace(terminating=False), node, number)

    def copy(self) -> PodTopologySpread:
        new = PodTopologySpread(self.cycle)
        new._hard = self._hard and self._hard.copy()
        new._soft = self._soft and self._soft.copy()
        return new
