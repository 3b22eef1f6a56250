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
    """The numbers of a PodDisruptionBudget when it is asked, as its status has them."""

    name: str  # NAMESPACE/NAME
    field: str  # minAvailable or maxUnavailable
    limit: IntOrPercent | None  # the value of the field; None if it has neither
    healthy: int  # Pods
    desired: int  # Pods that must stay healthy
    expected: int  # Pods that there should be; 0 if `untold`
    allowed: int  # disruptions
    untold: bool = False  # how many Pods are expected is not known


Replicas = Mapping[str, int]  # of the simulated workloads


class Budget(NamedTuple):
    """
    A PodDisruptionBudget with the Pods that it selects.

    It allows no disruption if it limits nothing, or if it is not known how many Pods are expected and minAvailable is
    no number.
    """

    written: DisruptionBudget
    selector: Selector
    expected: int = 0  # Pods that the owners of its Pods want, without the simulated workloads
    workloads: tuple[str, ...] = ()  # simulated ones that have any of its Pods: their replicas are expected, too
    unready: int = 0  # of its Pods, those that are not ready before any step
    untold: bool = False  # how many Pods are expected is not known: none has an owner, or an owner has no scale

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
        # The numbers of Pods by labels that have become unready in the run; negative if fewer are.
        changes = [(labels, number) for (space, labels), number in state.unready.items() if space == self.namespace]
        unready = self.unready + sum(number for labels, number in changes if self.selector.matches(dict(labels)))
        return self._bound(state) - unready

    def _bound(self, state: State) -> int:
        """Count the Pods on nodes that the budget selects."""
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
        is_known = self._is_number or self._expected(replicas)
        return max(0, self.healthy(state) - self.desired(replicas)) if is_known else 0

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
        """Whether its limit does not depend on how many Pods are expected."""
        return self.written.max_unavailable is None and isinstance(self.written.min_available, int)

    def _expected(self, replicas: Replicas) -> int:
        if self.untold or self.written.limit[1] is None:
            return 0
        return self.expected + sum(replicas[name] for name in self.workloads)


def refusing(pod: Pod, budgets: Iterable[Budget], replicas: Replicas, state: State) -> tuple[Budget, ...]:
    """
    Return the PodDisruptionBudgets that block the eviction of a Pod; none if it may be evicted.

    A budget blocks it while it allows no disruption; several budgets for one Pod always do.  No budget is asked about a
    pending Pod.

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
    """What keeps a drain from its end: PodDisruptionBudgets that keep a Pod on a node."""

    node: str
    budgets: tuple[str, ...]  # one may allow the eviction later; several never do


class KeptPod(NamedTuple):
    """A Pod that a drain leaves on its node."""

    eviction: BlockedEviction
    name: str  # NAMESPACE/NAME, "" if the run has made it
    workload: str
    budgets: tuple[BudgetStatus, ...]


class Drained(NamedTuple):
    """What a drain has come to."""

    evicted: int  # Pods
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
    Evict the Pods of cordoned nodes, node by node: those that are on a node when its turn comes.

    kubectl tries a Pod that one budget keeps (status 429) again for ever.  It leaves a Pod that several keep (500), and
    fails once it is done with all nodes.
    `settle` lets the cluster react: for a moment, or with True until nothing happens any more.

    upstream: drain.go:DrainCmdOptions.RunDrain, drain.go:Helper.evictPods (v1.37)
    """
    all_budgets, evicted, kept_pods = tuple(budgets), 0, list[KeptPod]()
    statuses, evicted_at_statuses = dict[str, BudgetStatus](), 0  # They stay as they are until a Pod is evicted.
    for node in nodes:
        listed = {pod for pod in state.on(node) if pod.maker is None or not pod.maker.daemon}
        while pods_left := [pod for pod in state.on(node) if pod.active and pod in listed]:
            state.random.shuffle(pods_left)
            refused, evicted_before = list[tuple[Pod, tuple[Budget, ...]]](), evicted
            for pod in pods_left:
                if blocking := refusing(pod, all_budgets, replicas, state):
                    refused.append((pod, blocking))
                elif pod.active:
                    evict(pod)
                    evicted += 1
                    settle(False)
            settle(True)
            if evicted == evicted_before and refused:
                if evicted != evicted_at_statuses:
                    statuses, evicted_at_statuses = {}, evicted
                for budget in [budget for _, blocking in refused for budget in blocking]:
                    if str(budget) not in statuses:
                        statuses[str(budget)] = budget.status(replicas, state)
                kept_pods += [_kept(pod, blocking, statuses) for pod, blocking in refused]
                if any(len(blocking) == 1 for _, blocking in refused):
                    return Drained(evicted, tuple(kept_pods))
                break
    return Drained(evicted, tuple(kept_pods))


def _kept(pod: Pod, blocking: tuple[Budget, ...], statuses: Mapping[str, BudgetStatus]) -> KeptPod:
    """Return a Pod that budgets keep, with their numbers."""
    eviction = BlockedEviction(pod.node, tuple(map(str, blocking)))
    name = f"{pod.namespace}/{pod.name}" if pod.name else ""
    return KeptPod(eviction, name, pod.workload, tuple([statuses[budget] for budget in eviction.budgets]))
