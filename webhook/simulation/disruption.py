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

    Of `named` ones the simulated workload is among these, whose replicas come on top.  `unready` Pods that it selects
    are not ready at first; with `always_allow` such a Pod may always be evicted.
    """

    namespace: str
    name: str
    selector: Selector
    min_available: int | str | None
    max_unavailable: int | str | None
    expected: int = 0
    named: bool = False
    unready: int = 0
    always_allow: bool = False

    def selects(self, pod: Pod) -> bool:
        return pod.namespace == self.namespace and self.selector.matches(dict(pod.labels))

    def healthy(self, state: State) -> int:
        """upstream: disruption.go:countHealthyPods (v1.37)"""
        groups = state.groups(self.namespace).items()
        there = sum(sum(nodes.values()) for labels, nodes in groups if self.selector.matches(dict(labels)))
        more = [(labels, number) for (space, labels), number in state.unready.items() if space == self.namespace]
        unready = self.unready + sum(number for labels, number in more if self.selector.matches(dict(labels)))
        return there - unready

    def desired(self, replicas: int) -> int:
        """
        upstream: disruption.go:DisruptionController.getExpectedPodCount (v1.37)

        How many Pods must stay healthy while the simulated workload has so many replicas.
        """
        expected = self.expected + (replicas if self.named else 0)
        if self.max_unavailable is not None:
            return max(0, expected - scaled(self.max_unavailable, expected, up=True))
        return scaled(self.min_available, expected, up=True) if self.min_available is not None else 0


def refusing(pod: Pod, budgets: Iterable[Budget], replicas: int, state: State) -> tuple[Budget, ...]:
    """
    upstream: eviction.go:EvictionREST.Create (v1.37)

    The budget that does not let the Pod be evicted now; or all that select it if they are several, since then it never
    is; or none.
    """
    selecting = tuple([budget for budget in budgets if budget.selects(pod)])
    if len(selecting) != 1:
        return selecting
    (budget,) = selecting
    healthy, desired = budget.healthy(state), budget.desired(replicas)
    allowed = healthy > desired or (not pod.ready and (budget.always_allow or healthy == desired > 0))
    return () if allowed else selecting


class BlockedEviction(NamedTuple):
    """What a drain waits for: a Pod on `node` that a budget keeps, or for ever several together."""

    node: str
    budgets: tuple[str, ...]


class Drained(NamedTuple):
    """What a drain has come to: so many Pods evicted, and what it waits for."""

    evicted: int
    held: tuple[BlockedEviction, ...] = ()


def drain(
    nodes: Iterable[str],
    budgets: Iterable[Budget],
    replicas: int,
    state: State,
    evict: Callable[[Pod], None],
    settle: Callable[[bool], None],
) -> Drained:
    """
    upstream: drain.go:DrainCmdOptions.RunDrain, drain.go:Helper.evictPods (v1.37)

    Evict the Pods of the nodes, which are cordoned, node by node: those that are there when a node's turn comes.  What
    a budget keeps is tried again for ever, what several keep is left.  `settle` lets the cluster react: for a moment,
    or with True until nothing happens any more.
    """
    those, number, held = tuple(budgets), 0, list[BlockedEviction]()
    for node in nodes:
        listed = set(state.on(node))
        while left := [pod for pod in state.on(node) if pod.active and pod in listed]:
            state.random.shuffle(left)
            kept, before = list[tuple[Budget, ...]](), number
            for pod in left:
                if by := refusing(pod, those, replicas, state):
                    kept.append(by)
                elif pod.active:
                    evict(pod)
                    number += 1
                    settle(False)
            settle(True)
            if number == before and kept:
                least = min(kept, key=len)
                held.append(BlockedEviction(node, tuple(budget.name for budget in least)))
                if len(least) == 1:
                    return Drained(number, tuple(held))
                break
    return Drained(number, tuple(held))
