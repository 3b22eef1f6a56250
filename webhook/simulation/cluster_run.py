"""
One run of steps for all workloads of a cluster together, and what each step does to each of them.

    step ──the Pods of each workload before and after──> those that move, run again, wait and why; the skew
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from random import Random
from typing import NamedTuple

from webhook.scheduler.filtering import count_each
from webhook.simulation.disruption import Drained
from webhook.simulation.pod import Pod
from webhook.simulation.run import HOUR, Plan, SimulatedRun
from webhook.simulation.step import DELETE, LOSE

AT_ONCE = (LOSE, DELETE)  # Steps that take all Pods of their nodes at the same time.


class ConstraintSkew(NamedTuple):
    """The largest skew of a constraint, by the Pods that are there; `position` is its index in the list."""

    position: int
    topology_key: str
    max_skew: int
    skew: int

    @property
    def exceeds(self) -> bool:
        return self.skew > self.max_skew


class WorkloadOutcome(NamedTuple):
    """What a step does to the Pods of a workload."""

    ran: int  # before the step
    running: int  # with a node after it
    lost: int = 0  # evicted, deleted, or on a node that nobody reaches any more
    preempted: int = 0  # lost because another Pod needed the room
    waited: int = 0  # without a node before any step
    waiting: int = 0
    missing: int = 0
    stranded: int = 0  # of the missing: still there, on nodes that nobody reaches
    leaving: int = 0  # of the missing: made once the Pods that they replace are gone from such nodes
    queued: int = 0  # of the missing: made once the Pods before them are ready; no controller makes the others
    reasons: Mapping[str, int] = {}  # why Pods wait, if more do than `waited`
    skews: tuple[ConstraintSkew, ...] = ()
    at_once: bool = False  # it may have lost all Pods at once

    @property
    def out(self) -> bool:
        """Whether it loses all its Pods at once, or none of those that it loses comes back."""
        return self.at_once or (self.lost > 0 and not self.back and not self.whole)

    @property
    def back(self) -> int:
        """How many Pods have found a node."""
        return max(0, self.running - self.ran + self.lost)

    @property
    def more(self) -> int:
        """How many more Pods wait than before any step."""
        return max(0, self.waiting - self.waited)

    @property
    def gone(self) -> int:
        """How many of those missing no controller will make."""
        return self.missing - self.stranded - self.leaving - self.queued

    @property
    def whole(self) -> bool:
        """Whether no Pod is missing, and no more wait than before any step."""
        return not self.missing and not self.more


class ClusterOutcome(NamedTuple):
    """
    What a step has come to, of each of the `workloads` to which it does anything, or which is not whole.

    Preemption has `violated` these PodDisruptionBudgets; `drained` is of a drain.
    """

    workloads: Mapping[str, WorkloadOutcome]
    drained: Drained | None
    violated: tuple[str, ...]


def run_cluster(plan: Plan, seed: int, number: int) -> tuple[ClusterOutcome, ...]:
    """Return the outcome after each step; `number` counts the runs of a seed."""
    simulated = SimulatedRun(plan, Random(f"{seed}/{number}"))
    outcomes, state = [], simulated.state
    stranded_at_first = stranded = Counter(
        pod.source
        for name in state.ground.lost
        for pod in plan.start.by_node.get(name, ())
        if pod.spreads and not pod.home
    )
    for i, step in enumerate(plan.steps):
        running, wanted = simulated.there - simulated.waiting - stranded, simulated.wanted.copy()
        reached = state.ground.lost
        drained = simulated.take(i, step)
        for name in wanted.keys() | simulated.wanted.keys():  # A DaemonSet has as many Pods as nodes.
            running[name] += simulated.wanted[name] - wanted[name]
        cut_off = [pod for pod in state.pods_of(sorted(state.ground.lost)) if pod.active]
        stranded = Counter(pod.source for pod in cut_off)
        lost = simulated.moved + Counter(
            pod.source for pod in cut_off if pod.node not in reached and simulated.is_older(pod)
        )
        step_outcomes = _Outcomes(simulated, running, lost, stranded, stranded_at_first, step.action in AT_ONCE)
        outcomes.append(ClusterOutcome(dict(step_outcomes.of_workloads()), drained, tuple(simulated.violated)))
        state.now += HOUR
    return tuple(outcomes)


class _Outcomes:
    """
    What the last step of a run has done to the workloads of which so many Pods `ran` before and are `lost`, to all of
    its nodes `at_once` or to one after the other; `stranded` are on nodes that nobody reaches, now and `at_first`.
    """

    def __init__(
        self,
        simulated: SimulatedRun,
        ran: Counter[str],
        lost: Counter[str],
        stranded: Counter[str],
        at_first: Counter[str],
        at_once: bool,
    ) -> None:
        self.simulated, self.ran, self.lost, self.at_once = simulated, ran, lost, at_once
        self.stranded, self.at_first = stranded, at_first
        self.waiting: dict[str, list[Pod]] = {}
        for pod in simulated.state.waiting:
            self.waiting.setdefault(pod.source, []).append(pod)
        self.leaving, self.queued, self.snapshot = simulated.waiting_anew, simulated.queued, simulated.state.snapshot()
        self.whys: dict[object, str] = {}

    def of_workloads(self) -> Iterator[tuple[str, WorkloadOutcome]]:
        """Yield the outcome of each workload to which the step does anything, or which is not whole."""
        for name in sorted(self.ran.keys() | self.simulated.there.keys() | self.waiting.keys()):
            outcome, pods = self._outcome(name), self.waiting.get(name, [])
            if outcome.lost or outcome.back or not outcome.whole:
                outcome = outcome._replace(skews=self._skews(name, pods))
                yield name, self._with_reasons(outcome, pods) if outcome.more else outcome

    def _outcome(self, name: str) -> WorkloadOutcome:
        """Return the numbers of Pods of a workload."""
        at_first = self.simulated.plan.workloads.get(name)
        ran, lost, there, waiting = self.ran[name], self.lost[name], self.simulated.there[name], self.waiting.get(name)
        not_there = max(0, self.simulated.wanted[name] - there)
        stranded = max(0, self.stranded[name] - self.at_first[name])
        return WorkloadOutcome(
            ran,
            there - len(waiting or ()) - self.stranded[name],
            lost,
            self.simulated.preempted[name],
            at_first.waiting if at_first is not None else 0,
            len(waiting or ()),
            not_there + stranded,
            stranded,
            leaving := min(not_there, self.leaving[name]),
            min(not_there - leaving, self.queued[name]),
            at_once=lost >= ran > 0 and (self.at_once or ran == 1),
        )

    def _with_reasons(self, outcome: WorkloadOutcome, pods: list[Pod]) -> WorkloadOutcome:
        return outcome._replace(reasons=dict(Counter(map(self._why, pods))))

    def _why(self, pod: Pod) -> str:
        """Return why a Pod waits; Pods that are alike wait for the same."""
        alike = pod.of_class, pod.mounts, pod.nominated
        if alike not in self.whys:
            self.whys[alike] = self.simulated.why(pod)
        return self.whys[alike]

    def _skews(self, name: str, pods: list[Pod]) -> tuple[ConstraintSkew, ...]:
        """Return the skew of each constraint of the Pods that wait, or that were moved."""
        of_class = pods[-1].of_class if pods else self.simulated.classes.get(name)
        if of_class is None:
            return ()
        counted = count_each(of_class.cycle(self.snapshot, self.simulated.state.features))
        constraints = [(counts.constraint, counts.largest_skew) for counts in counted]
        return tuple([ConstraintSkew(of.index, of.topology_key, of.max_skew, skew) for of, skew in constraints])
