"""
PodDisruptionBudgets, and `kubectl drain`, which asks them for each Pod.

    healthy Pods - those that must stay healthy ──> how many may be evicted now
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from webhook.scheduler.selectors import Selector
from webhook.simulation.deployment import scaled
from webhook.simulation.pod import Pod
from webhook.simulation.state import State


class Budget(NamedTuple):
    """
    A PodDisruptionBudget; `expected` are the Pods that the workloads it selects should have.

    Of `named` ones the simulated workload is among these, whose replicas come on top.
    """

    namespace: str
    name: str
    selector: Selector
    min_available: int | str | None
    max_unavailable: int | str | None
    expected: int = 0
    named: bool = False
    unready: int = 0

    def selects(self, pod: Pod) -> bool:
        return pod.namespace == self.namespace and self.selector.matches(dict(pod.labels))

    def healthy(self, state: State) -> int:
        """upstream: disruption.go:countHealthyPods (v1.37)"""
        groups = state.groups(self.namespace).items()
        there = sum(sum(nodes.values()) for labels, nodes in groups if self.selector.matches(dict(labels)))
        return there - self.unready

    def desired(self, replicas: int) -> int:
        """
        upstream: disruption.go:DisruptionController.getExpectedPodCount (v1.37)

        How many Pods must stay healthy while the simulated workload has so many replicas.
        """
        expected = self.expected + (replicas if self.named else 0)
        if self.max_unavailable is not None:
            return max(0, expected - scaled(self.max_unavailable, expected, up=True))
        return scaled(self.min_available, expected, up=True) if self.min_available is not None else 0


def refusing(pod: Pod, budgets: Iterable[Budget], replicas: int, state: State) -> Budget | None:
    """
    upstream: eviction.go:EvictionREST.Create (v1.37)

    The budget that does not let the Pod be evicted now, or None.
    """
    for budget in budgets:
        if budget.selects(pod) and budget.healthy(state) <= budget.desired(replicas):
            return budget
    return None


class Held(NamedTuple):
    """What a drain waits for: a Pod on `node` that `budget` keeps."""

    node: str
    budget: str


class Drained(NamedTuple):
    """What a drain has come to: so many Pods evicted, and what it waits for."""

    evicted: int
    held: Held | None = None


def drain(
    nodes: Iterable[str],
    budgets: Iterable[Budget],
    replicas: int,
    state: State,
    evict: Callable[[Pod], None],
    settle: Callable[[bool], None],
) -> Drained:
    """
    upstream: drain.go:RunNodeDrain (v1.37)

    Evict the Pods of the nodes, which are cordoned, node by node.  `settle` lets the cluster react: for a moment, or
    with True until nothing happens any more.
    """
    those, number = tuple(budgets), 0
    for node in nodes:
        while left := [pod for pod in state.on(node) if pod.active]:
            state.random.shuffle(left)
            kept: Budget | None = None
            evicted = False
            for pod in left:
                if budget := refusing(pod, those, replicas, state):
                    kept = budget
                    continue
                evict(pod)
                evicted = True
                number += 1
                settle(False)
            settle(True)
            if not evicted and kept is not None:
                return Drained(number, Held(node, kept.name))
    return Drained(number)
