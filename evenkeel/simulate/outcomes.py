"""
One run of steps, and what each step comes to for each workload.

    plan, seed ──the Pods of each workload before and after each step──> those that move, run again, wait and why; skews
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import replace
from functools import cached_property
from math import inf
from random import Random
from typing import NamedTuple

from evenkeel.placement.single_domain import SingleDomain, single_domain
from evenkeel.scheduler.framework import feasible_nodes, message
from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.snapshot import Snapshot
from evenkeel.scheduler.spread_counts import DomainCounts
from evenkeel.scheduler.spread_filter import count_each
from evenkeel.simulate.disruption import Drained
from evenkeel.simulate.job import Job
from evenkeel.simulate.pod import Pod, PodClass
from evenkeel.simulate.run import HOUR, Plan, SimulatedRun
from evenkeel.simulate.step import APPLY, DELETE, LOSE
from webhook.spread.constraint import Constraint

AT_ONCE = (LOSE, DELETE)  # Steps that take all Pods of their nodes at the same time.


class Uncounted(NamedTuple):
    """The Pods of a workload that run, and those of them that a constraint does not count."""

    running: int
    unselected: int
    outside: int  # on nodes that do not count


class ConstraintOutcome(NamedTuple):
    """A constraint, and what it counts."""

    constraint: Constraint
    skew: int  # the largest
    # The rest is only of workloads that are named.
    domains: Mapping[str, int] = {}  # Pods that it counts in each
    eligible: int = 0  # how many domains are
    uncounted: Uncounted = Uncounted(0, 0, 0)
    unreachable: Mapping[str, int] = {}  # of `domains`, the Pods on nodes that nobody reaches
    single: SingleDomain | None = None  # the Pods can run in one of the domains only

    @property
    def exceeds(self) -> bool:
        return self.skew > self.constraint.max_skew


class WorkloadOutcome(NamedTuple):
    """What a step does to the Pods of a workload."""

    ran: int  # with a node before the step
    running: int  # with a node after it
    lost: int = 0  # evicted, deleted, or on a node that nobody reaches any more
    preempted: int = 0  # of those that are lost: another Pod needed the room
    waited: int = 0  # without a node before any step
    waiting: int = 0
    missing: int = 0
    stranded: int = 0  # of the missing: still there, on nodes that nobody reaches
    leaving: int = 0  # of the missing: made once the Pods that they replace are gone from such nodes
    queued: int = 0  # of the missing: made once the Pods before them are ready; no controller makes the others
    reasons: Mapping[str, int] = {}  # why Pods wait, if more do than `waited`, or if the workload is named
    constraints: tuple[ConstraintOutcome, ...] = ()
    at_once: bool = False  # it may have lost all Pods at once
    # The rest is only of workloads that are named.
    source: str = ""  # where their constraints come from
    complete: bool = True  # every Pod is as the workload wants it
    rolling: bool = False  # a rollout began in the step, or went on
    holding: tuple[int, ...] = ()  # hard constraints without which a Pod that waits would not
    wanted: int = 0  # replicas
    updated: int = 0  # of the Pods that are there, those with the template as it is now
    available: int = 0  # of those
    old: int = 0  # to be replaced
    unready: int = 0  # with a node that can be reached, and not ready

    @property
    def unfinished(self) -> bool:
        return not self.complete

    @property
    def out(self) -> bool:
        """Whether it loses all its Pods at once, or loses Pods and gets none back."""
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
        """Whether no Pod is missing or is to be replaced, and no more wait than before any step."""
        return not self.missing and not self.more and self.complete


class StepOutcome(NamedTuple):
    """What a step comes to."""

    workloads: Mapping[str, WorkloadOutcome]  # those that are named, that it does anything to, or that are not whole
    drained: Drained | None = None  # of a drain
    violated: tuple[str, ...] = ()  # PodDisruptionBudgets, by preemption
    placements: int = 0  # so far, as State counts them


def run(plan: Plan, seed: int, number: int, most_placements: float = inf) -> tuple[StepOutcome, ...]:
    """
    Return the outcome before any step, and after each.

    `number` is that of the run: with the seed it decides all that is random.
    OutOfPlacementsError if the run would try to place Pods more than `most_placements` times.
    """
    simulated = SimulatedRun(plan, Random(f"{seed}/{number}"), most_placements)
    observed = _Observed(simulated)
    outcomes = [observed.outcome()]
    for i, step in enumerate(plan.steps):
        observed.begin()
        drained = simulated.take(i, step)
        outcomes.append(observed.outcome(drained, step.action))
        simulated.state.now += HOUR
    return tuple(outcomes)


class _Observed:
    """A run, with what is noted before each step, to be compared with what is so after it."""

    def __init__(self, simulated: SimulatedRun) -> None:
        self.simulated, self.state = simulated, simulated.state
        self.stranded_at_first = self._stranded()
        self.named = simulated.workloads
        self.classes = {named.name: named.first_class for named in simulated.plan.named}
        self.begin()

    def begin(self) -> None:
        """Note the situation before a step."""
        self.ran, self.wanted, self.unreached = self._running(), self.simulated.wanted.copy(), self.state.ground.lost
        self.rolling = {
            named.name for named in self.simulated.plan.named if self.named[named.name].old and not named.paused
        }
        self.revisions = {name: workload.revision for name, workload in self.named.items()}

    def _stranded(self) -> Counter[str]:
        """Return how many Pods of each workload are on nodes that nobody reaches, and are not being deleted."""
        # Sorted, since the first look at a node makes its Pods, which takes random numbers.
        return Counter(pod.workload for pod in self.state.pods_of(sorted(self.state.ground.lost)) if pod.active)

    def _running(self) -> Counter[str]:
        """Return how many Pods of each workload are on nodes that can be reached."""
        running = self.simulated.present.copy()
        for name, workload in self.named.items():
            running[name] = sum(pod.active for pod in workload.pods)
        running.subtract(pod.workload for pod in self.state.waiting)
        running.subtract(self._stranded())
        return running

    def outcome(self, drained: Drained | None = None, action: str = "") -> StepOutcome:
        """Return what a step, or the situation before any, has come to."""
        simulated, state = self.simulated, self.state
        for name in self.wanted.keys() | simulated.wanted.keys():
            # A DaemonSet has as many Pods as nodes: what nodes add or take counts neither as found nor as lost.
            self.ran[name] += simulated.wanted[name] - self.wanted[name]
        cut_off = [pod for pod in state.pods_of(sorted(state.ground.lost)) if pod.active]
        lost = simulated.moved + Counter(
            pod.workload for pod in cut_off if pod.node not in self.unreached and simulated.is_older(pod)
        )
        if action == APPLY:
            self.rolling |= {named.name for named in simulated.plan.named if named.applied}
        self.rolling |= {name for name, workload in self.named.items() if workload.revision != self.revisions[name]}
        after = _After(self, lost, Counter(pod.workload for pod in cut_off), action in AT_ONCE)
        return StepOutcome(dict(after.workloads()), drained, tuple(simulated.violated), state.placements)


class _After:
    """
    The situation after a step.

    `lost`: the Pods that workloads have lost in the step.
    `stranded`: the Pods that are on unreachable nodes now.
    `at_once`: the step takes all Pods of its nodes at the same time.
    """

    def __init__(self, before: _Observed, lost: Counter[str], stranded: Counter[str], at_once: bool) -> None:
        self.before, self.simulated, self.state = before, before.simulated, before.state
        self.lost, self.stranded, self.at_once = lost, stranded, at_once
        self.waiting: dict[str, list[Pod]] = {}
        for pod in self.state.waiting:
            self.waiting.setdefault(pod.workload, []).append(pod)
        self.leaving, self.queued = self.simulated.waiting_anew, self.simulated.queued
        self.whys: dict[object, str] = {}  # by what Pods have in common that wait for the same

    @cached_property
    def snapshot(self) -> Snapshot:
        return self.state.snapshot()

    def workloads(self) -> Iterator[tuple[str, WorkloadOutcome]]:
        """Yield the outcome of each workload that is named, that the step does anything to, or that is not whole."""
        named, present, wanted = self.before.named, self.simulated.present, self.simulated.wanted
        changed = [name for name, pods in present.items() if not pods == self.before.ran[name] == wanted[name]]
        for name in sorted({*named, *changed, *self.lost, *self.waiting}):
            waiting = self.waiting.get(name, [])
            if name in named:
                yield name, self._named(name, waiting)
                continue
            outcome = self._numbers(name, len(waiting), present[name], wanted[name], self.leaving[name])
            if outcome.lost or outcome.back or not outcome.whole:
                reasons = self._reasons(waiting) if outcome.more else {}
                yield name, outcome._replace(constraints=self._skews(name, waiting), reasons=reasons)

    def _numbers(self, name: str, waiting: int, present: int, wanted: int, leaving: int) -> WorkloadOutcome:
        """
        Return the numbers of Pods of a workload.

        `present`: Pods with a node or waiting for one.
        `leaving`: Pods to be made once those that they replace are gone.
        """
        at_first, ran, lost = self.simulated.plan.workloads.get(name), self.before.ran[name], self.lost[name]
        absent = max(0, wanted - present)
        stranded = max(0, self.stranded[name] - self.before.stranded_at_first[name])
        leaving = min(absent, leaving)
        return WorkloadOutcome(
            ran=ran,
            running=present - waiting - self.stranded[name],
            lost=lost,
            preempted=self.simulated.preempted[name],
            waited=at_first.waiting if at_first is not None else 0,
            waiting=waiting,
            missing=absent + stranded,
            stranded=stranded,
            leaving=leaving,
            queued=min(absent - leaving, self.queued[name]),
            at_once=lost >= ran > 0 and (self.at_once or ran == 1),
        )

    def _named(self, name: str, waiting: list[Pod]) -> WorkloadOutcome:
        """Return the outcome of a workload that is named, with what each constraint of its newest Pods counts."""
        workload = self.before.named[name]
        present = [pod for pod in workload.pods if pod.active]
        leaving = len(workload.pods) - len(present)
        numbers = self._numbers(name, len(waiting), len(present), workload.replicas, leaving)
        lost_for_good = len(workload.lost) if isinstance(workload, Job) else 0
        first_of_kind = {(pod.of_class, pod.mounts): pod for pod in reversed(waiting)}.values()
        of_class = self.before.classes.pop(name, workload.maker.of_class)
        return numbers._replace(
            reasons=self._reasons(waiting),
            constraints=tuple(self._counted(of_class, [pod for pod in present if pod.node])),
            source=of_class.source,
            complete=workload.complete,
            holding=tuple(dict.fromkeys(index for pod in first_of_kind for index in self._holding(pod))),
            missing=numbers.missing + lost_for_good,
            queued=numbers.missing - numbers.stranded - numbers.leaving,  # Its controller makes these.
            wanted=workload.replicas,
            rolling=name in self.before.rolling,
            updated=sum(pod.revision == workload.revision for pod in present),
            available=sum(pod.revision == workload.revision and pod.available for pod in present),
            old=len(workload.old),
            unready=sum(not pod.ready and pod.node not in self.state.ground.lost for pod in present if pod.node),
        )

    def _counted(self, of_class: PodClass, running: list[Pod]) -> Iterator[ConstraintOutcome]:
        cycle, lost = self.state.cycle(of_class), self.state.ground.lost
        counted = count_each(cycle)
        unreachable = (
            [counts.counts for counts in count_each(_of_nodes(cycle, lost))] if lost else [{} for _ in counted]
        )
        for counts, on_lost in zip(counted, unreachable, strict=True):
            uncounted = _uncounted(counts, running)
            domains, eligible = dict(counts.counts), len(counts.eligible)
            single = single_domain(cycle, counts.constraint) if eligible <= 1 else None
            yield ConstraintOutcome(
                counts.constraint, counts.largest_skew, domains, eligible, uncounted, on_lost, single
            )

    def _skews(self, name: str, waiting: list[Pod]) -> tuple[ConstraintOutcome, ...]:
        """Return the skew of each constraint of the Pods that wait, or that were moved."""
        of_class = waiting[-1].of_class if waiting else self.simulated.classes.get(name)
        if of_class is None:
            return ()
        counted = count_each(of_class.cycle(self.snapshot, self.state.features))
        return tuple([ConstraintOutcome(counts.constraint, counts.largest_skew) for counts in counted])

    def _reasons(self, pods: Iterable[Pod]) -> dict[str, int]:
        return dict(Counter(map(self._why, pods)))

    def _why(self, pod: Pod) -> str:
        """Return why a Pod waits, perhaps only for kube-scheduler to try it again; Pods alike wait for the same."""
        of_class = pod.of_class
        alike = of_class, pod.mounts, pod.nominated
        if of_class.waits:
            return of_class.waits
        if alike not in self.whys:
            framework = self.state.framework_of(pod)
            feasibility, nodes = framework.feasibility(), len(self.state.ground.nodes)
            number = feasibility.feasible.bit_count()
            passing = f"{number:,} of {nodes:,} nodes {'passes' if number == 1 else 'pass'} at the next attempt"
            self.whys[alike] = message(framework.cycle, feasibility) or passing
        return self.whys[alike]

    def _holding(self, pod: Pod) -> Iterator[int]:
        """Yield the index of each hard constraint that alone keeps a Pod from a node."""
        of_class = pod.of_class
        if of_class.waits:
            return
        cycle = self.state.cycle_of(pod)
        for constraint in of_class.constraints:
            rest = tuple(other for other in of_class.constraints if other is not constraint)
            if constraint.hard and feasible_nodes(replace(cycle, constraints=rest)):
                yield constraint.index


def _of_nodes(cycle: Cycle, names: Set[str]) -> Cycle:
    """Return an attempt as if there were only those Pods of its namespace that are on these nodes."""
    namespace = cycle.pod.namespace
    on_nodes = {
        labels: group._replace(nodes={name: number for name, number in group.nodes.items() if name in names})
        for labels, group in cycle.snapshot.pods.get(namespace, {}).items()
    }
    return replace(cycle, snapshot=replace(cycle.snapshot, pods={namespace: on_nodes}))


def _uncounted(counts: DomainCounts, running: list[Pod]) -> Uncounted:
    selected = [pod for pod in running if counts.selects(pod.labels)]
    outside = sum(counts.domain_of(pod.node) is None for pod in selected)
    return Uncounted(len(running), len(running) - len(selected), outside)
