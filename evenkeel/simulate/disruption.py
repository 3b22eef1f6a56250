"""
PodDisruptionBudgets, and `kubectl drain`, which asks them for each Pod.

    healthy Pods - those that must stay healthy ──> how many may be evicted now
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from evenkeel.objects.disruption_budget import DisruptionBudget
from evenkeel.simulate.pod import Pod
from evenkeel.simulate.state import State
from webhook.kubernetes.fields import IntOrPercent, scaled
from webhook.spread.selectors import Selector

MORE_THAN_ONE = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


class BudgetStatus(NamedTuple):
    """
    The numbers of a PodDisruptionBudget when it is asked, as its status has them; `limit` is what its `field` says.

    Pods are `healthy`, `desired` of all that are `expected` must be, and so many disruptions are `allowed`.  Where
    how many are expected is `untold`, that is 0.
    """

    name: str
    field: str
    limit: IntOrPercent | None
    healthy: int
    desired: int
    expected: int
    allowed: int
    untold: bool = False


Replicas = Mapping[str, int]  # of the simulated workloads


class Budget(NamedTuple):
    """
    A PodDisruptionBudget with the Pods that it is about; `expected` are those that the workloads of these should have.

    The replicas of the simulated `workloads` that have any of these come on top.  `unready` Pods that it selects are
    not ready at first.  Where how many are expected is `untold`, since an owner of these Pods has no scale
    or none has an owner, it allows no disruption unless minAvailable is a number.  One that limits nothing allows
    none, either.
    """

    written: DisruptionBudget
    selector: Selector
    expected: int = 0
    workloads: tuple[str, ...] = ()
    unready: int = 0
    untold: bool = False

    @property
    def namespace(self) -> str:
        return self.written.namespace

    def __str__(self) -> str:
        return f"{self.namespace}/{self.written.name}"

    def selects(self, pod: Pod) -> bool:
        """Return whether the budget is about a Pod."""
        return pod.namespace == self.namespace and self.selector.matches(dict(pod.labels))

    def healthy(self, state: State) -> int:
        """
        Count the healthy Pods that the budget selects.

        upstream: disruption.go:countHealthyPods (v1.37)
        """
        more = [(labels, number) for (space, labels), number in state.unready.items() if space == self.namespace]
        unready = self.unready + sum(number for labels, number in more if self.selector.matches(dict(labels)))
        return self._bound(state) - unready

    def _bound(self, state: State) -> int:
        groups = state.groups(self.namespace).items()
        return sum(sum(nodes.values()) for labels, nodes in groups if self.selector.matches(dict(labels)))

    def desired(self, replicas: Replicas) -> int:
        """
        Return how many Pods must stay healthy while the simulated workloads have so many replicas.

        upstream: disruption.go:DisruptionController.getExpectedPodCount (v1.37)
        """
        expected = self._expected(replicas)
        least, most_unavailable = self.written.min_available, self.written.max_unavailable
        if most_unavailable is not None:
            return max(0, expected - scaled(most_unavailable, expected, up=True))
        return scaled(least, expected, up=True) if least is not None else 0

    def allowed(self, replicas: Replicas, state: State) -> int:
        """
        Return how many Pods may be disrupted while the simulated workloads have so many replicas.

        upstream: disruption.go:DisruptionController.updatePdbStatus, DisruptionController.failSafe (v1.37)
        """
        known = self._is_number or self._expected(replicas)
        return max(0, self.healthy(state) - self.desired(replicas)) if known else 0

    def status(self, replicas: Replicas, state: State) -> BudgetStatus:
        """
        Return its numbers while the simulated workloads have so many replicas.

        upstream: disruption.go:DisruptionController.getExpectedPodCount (v1.37)
        """
        expected = self._expected(replicas)
        if self._is_number:
            waiting = [pod.on("") for pod in state.waiting if pod.namespace == self.namespace]
            expected = self._bound(state) + sum(self.selector.matches(dict(pod.labels)) for pod in waiting)
        healthy, desired, allowed = self.healthy(state), self.desired(replicas), self.allowed(replicas, state)
        untold = self.untold and not self._is_number
        return BudgetStatus(str(self), *self.written.limit, healthy, desired, expected, allowed, untold)

    @property
    def _is_number(self) -> bool:
        """Whether it says how many Pods must be healthy, whatever number is expected."""
        return self.written.max_unavailable is None and isinstance(self.written.min_available, int)

    def _expected(self, replicas: Replicas) -> int:
        if self.untold or self.written.limit[1] is None:
            return 0
        return self.expected + sum(replicas[name] for name in self.workloads)


def refusing(pod: Pod, budgets: Iterable[Budget], replicas: Replicas, state: State) -> tuple[Budget, ...]:
    """
    Return the PodDisruptionBudgets that block the eviction of a Pod; none if it may be evicted.

    One blocks it while it allows no disruption; several that select the same Pod always do.  None is asked for a Pod
    that is pending.

    upstream: eviction.go:EvictionREST.Create (v1.37)
    """
    selecting = tuple([budget for budget in budgets if not pod.pending and budget.selects(pod)])
    if len(selecting) != 1:
        return selecting
    (budget,) = selecting
    if not pod.ready and (budget.written.always_allow or budget.healthy(state) >= budget.desired(replicas) > 0):
        return ()
    return () if budget.allowed(replicas, state) else selecting


class BlockedEviction(NamedTuple):
    """What keeps a drain from its end: a Pod on `node` that a budget keeps, or several for ever."""

    node: str
    budgets: tuple[str, ...]


class KeptPod(NamedTuple):
    """A Pod that a drain leaves on its node: its name, "" if a run has made it, its `workload`, and the budgets."""

    eviction: BlockedEviction
    name: str
    workload: str
    budgets: tuple[BudgetStatus, ...]


class Drained(NamedTuple):
    """What a drain has come to: so many Pods evicted, and those that are `kept`."""

    evicted: int
    kept: tuple[KeptPod, ...] = ()

    @property
    def held(self) -> tuple[BlockedEviction, ...]:
        """All that keeps it from its end."""
        return tuple(dict.fromkeys(pod.eviction for pod in self.kept))


def drain(
    nodes: Iterable[str],
    budgets: Iterable[Budget],
    replicas: Replicas,
    state: State,
    evict: Callable[[Pod], None],
    settle: Callable[[bool], None],
) -> Drained:
    """
    Evict the Pods of the nodes, which are cordoned, node by node: those that are there when a node's turn comes.  What
    a budget keeps (status 429) is tried again for ever; what several keep (500) is left, and kubectl fails once it is
    done with all nodes.  `settle` lets the cluster react: for a moment, or with True until nothing happens any more.

    upstream: drain.go:DrainCmdOptions.RunDrain, drain.go:Helper.evictPods (v1.37)
    """
    asked, number, held = tuple(budgets), 0, list[KeptPod]()
    statuses, counted = dict[str, BudgetStatus](), 0  # They stay as they are until a Pod is evicted.
    for node in nodes:
        listed = {pod for pod in state.on(node) if pod.maker is None or not pod.maker.daemon}
        while left := [pod for pod in state.on(node) if pod.active and pod in listed]:
            state.random.shuffle(left)
            kept, before = list[tuple[Pod, tuple[Budget, ...]]](), number
            for pod in left:
                if by := refusing(pod, asked, replicas, state):
                    kept.append((pod, by))
                elif pod.active:
                    evict(pod)
                    number += 1
                    settle(False)
            settle(True)
            if number == before and kept:
                if number != counted:
                    statuses, counted = {}, number
                for name, budget in {str(budget): budget for _, by in kept for budget in by}.items():
                    if name not in statuses:
                        statuses[name] = budget.status(replicas, state)
                held += [_kept(pod, by, statuses) for pod, by in kept]
                if any(len(by) == 1 for _, by in kept):
                    return Drained(number, tuple(held))
                break
    return Drained(number, tuple(held))


def _kept(pod: Pod, by: tuple[Budget, ...], statuses: Mapping[str, BudgetStatus]) -> KeptPod:
    """Return a Pod that budgets keep, with their numbers."""
    eviction = BlockedEviction(pod.node, tuple(map(str, by)))
    name = f"{pod.namespace}/{pod.name}" if pod.name else ""
    return KeptPod(eviction, name, pod.workload, tuple([statuses[budget] for budget in eviction.budgets]))
