"""NodeResourcesBalancedAllocation: a node is better the more alike the shares of its resources in use are."""

from __future__ import annotations

from functools import cached_property

from evenkeel.scheduler.plugins.plugin import Plugin
from evenkeel.scheduler.pod_counts import Usage
from evenkeel.scheduler.profile import BALANCED_ALLOCATION
from evenkeel.scheduler.resource_fit import balanced_allocation, is_best_effort
from evenkeel.scheduler.scheduler_nodes import Allocatable


class BalancedAllocation(Plugin):
    name = BALANCED_ALLOCATION
    scores_usage = True

    def score_usage(self, allocatable: Allocatable, usage: Usage) -> int | None:
        """
        Score how evenly the node would be used.

        upstream: balanced_allocation.go:BalancedAllocation.Score (v1.37)
        """
        if self._skips:
            return None
        cycle = self.cycle
        return balanced_allocation(cycle.pod.requests, allocatable, usage, cycle.features, cycle.profile.balanced)

    @cached_property
    def _skips(self) -> bool:
        """Whether the Pod is not scored, on any node."""
        return self.cycle.features.skips_best_effort and is_best_effort(
            self.cycle.pod.requests, self.cycle.profile.balanced
        )
