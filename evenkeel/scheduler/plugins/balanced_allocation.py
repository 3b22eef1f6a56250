"""NodeResourcesBalancedAllocation: a node is better the more alike the shares of its resources in use are."""

from __future__ import annotations

from functools import partial

from evenkeel.scheduler.plugins.nodes_by_usage import OfUsage
from evenkeel.scheduler.plugins.plugin import Plugin
from evenkeel.scheduler.profile import BALANCED_ALLOCATION
from evenkeel.scheduler.resource_fit import CPU, MEMORY, balanced_allocation, balanced_allocation_of, is_best_effort


class BalancedAllocation(Plugin):
    name = BALANCED_ALLOCATION
    scores_usage = True

    def usage_score(self) -> OfUsage[int] | None:
        """
        Score how evenly the node would be used.

        upstream: balanced_allocation.go:BalancedAllocation.Score (v1.37)
        """
        requests, features, resources = self.cycle.pod.requests, self.cycle.features, self.cycle.profile.balanced
        if features.skips_best_effort and is_best_effort(requests, resources):
            return None
        if resources == (CPU, MEMORY):
            return partial(balanced_allocation, features, requests)
        return partial(balanced_allocation_of, resources, features, requests)
