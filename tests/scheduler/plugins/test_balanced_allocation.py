"""How alike the shares of the resources in use are."""

from __future__ import annotations

import pytest

from evenkeel.scheduler.plugins.balanced_allocation import BalancedAllocation
from evenkeel.scheduler.pod_counts import Usage
from tests.support.attempts import (
    cycle,
    node,
)


@pytest.mark.parametrize(("minor", "scored"), [(32, True), (33, False)])
def test_since_1_33_a_pod_without_requests_is_not_scored(minor, scored):
    plugin = BalancedAllocation(cycle(node("n1"), containers=[{"name": "c", "image": "i"}], minor=minor))

    assert scored == (plugin.usage_score() is not None)


def test_a_node_is_better_where_the_pod_evens_out_the_shares():
    memory_alone = [{"name": "c", "image": "i", "resources": {"requests": {"memory": "2Gi"}}}]
    plugin = BalancedAllocation(cycle(node("n1"), containers=memory_alone))
    n1, score = plugin.nodes.get("n1"), plugin.usage_score()

    assert score(n1.allocatable, Usage(1, milli_cpu=2_000)) > score(n1.allocatable, Usage(1, memory=2 << 30))
