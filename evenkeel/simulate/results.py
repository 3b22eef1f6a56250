"""
What many runs have come to, in the form in which programs get it: after each step the workloads that are simulated by
name, or that are hurt, with their Pods, what waits and why, and the Pods in each domain.

    outcomes of each run ──least, most likely, most, and shares of the runs──> Result of each step
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from evenkeel.simulate.disruption import Drained
from evenkeel.simulate.node_changes import Ground
from evenkeel.simulate.outcomes import ConstraintOutcome, StepOutcome, WorkloadOutcome
from evenkeel.simulate.run import Plan
from webhook.kubernetes.fields import IntOrPercent
from webhook.kubernetes.names import OUTPUT_API_VERSION
from webhook.kubernetes.references import ObjectRef
from webhook.spread.constraint import HARD, SOFT
from webhook.spread.nodes import Nodes

NUMBER_OF_NODES = re.compile(r"^\d+ ")  # before each reason in a message of kube-scheduler

Value = TypeVar("Value", bound=Hashable)


class Result(Struct, frozen=True, rename="camel"):
    """Part of what a simulation has come to; numbers of Pods are of all runs, shares are of the runs, from 0 to 1."""


class Range(Result, frozen=True):
    """A number of Pods or workloads over all runs."""

    least: int
    most_likely: int  # the smallest of several that are equally likely
    most: int

    @property
    def fixed(self) -> bool:
        """Whether it is the same in every run."""
        return self.least == self.most


NONE = Range(0, 0, 0)


class DomainResult(Result, frozen=True):
    """The Pods that a constraint counts in a domain."""

    value: str
    pods: Range
    unreachable: Range  # of these, on nodes that nobody reaches


class AlikeDomains(Result, frozen=True):
    """A number of domains that have so many Pods each."""

    pods: int
    number: int


class Layout(Result, frozen=True):
    """How the Pods lie over all domains; outcomes in which domains have only changed places are one."""

    domains: tuple[AlikeDomains, ...]  # the most Pods first
    share: float


class UncountedPods(Result, frozen=True):
    """The Pods of a workload that run, and those of them that a constraint does not count."""

    running: Range
    unselected: Range
    outside: Range  # on nodes that do not count


class ConstraintResult(Result, frozen=True):
    """A constraint with its skew."""

    index: int
    topology_key: str
    max_skew: int
    hard: bool
    selector: str
    min_domains: int
    node_affinity_policy: str
    node_taints_policy: str
    skew: Range
    exceeds_max_skew: float  # the share of the runs; without `domains`, of those in which the step moves a Pod
    # The rest is only of workloads that are simulated by name.
    domains: tuple[DomainResult, ...] = ()
    total: Range = NONE
    outcomes: tuple[Layout, ...] = ()
    eligible_domains: int = 0
    uncounted: UncountedPods = UncountedPods(NONE, NONE, NONE)
    spreads_nothing: str | None = None  # why its Pods can run in one domain only
    advice: tuple[str, ...] = ()  # what to do about that

    @property
    def when_unsatisfiable(self) -> str:
        return HARD if self.hard else SOFT


class RolloutResult(Result, frozen=True):
    """
    How far a rollout gets.

    Numbers are those of the runs in which it does not finish, or of all runs if it always does.
    """

    stuck: float  # the share of the runs in which it does not finish
    updated: Range  # of the template as it is now
    available: Range  # of those
    old: Range  # to be replaced
    wanted: Range  # the replicas of the workload


class OfWorkload(Result, frozen=True):
    """A result that is about one workload."""

    workload: str  # Kind/name
    api_group: str
    namespace: str

    def __str__(self) -> str:
        kind, _, name = self.workload.partition("/")
        return str(ObjectRef(self.api_group, kind, self.namespace, name))


class WorkloadResult(OfWorkload, frozen=True):
    """What a step does to a workload."""

    priority: int  # of its Pods
    hurt: bool  # in some run it is `out`, or not whole afterwards
    loses_all: float  # the share of the runs in which it loses all of its Pods at once
    out: float  # the share of the runs in which it does, or gets back none of the Pods that it loses
    pods: Range  # with a node before the step
    lost: Range
    back: Range  # Pods that find a node
    after: Range  # with a node after the step
    waiting: Range
    waits: float  # the share of the runs in which any Pod waits
    waited_before: int  # before any step
    more: Range  # Pods that wait, beyond `waited_before`
    missing: Range
    stranded: Range
    leaving: Range
    queued: Range
    gone: Range
    preempted: Range
    unready: Range  # with a node, and not ready
    reasons: Mapping[str, Range]  # how many Pods wait for each
    constraints: tuple[ConstraintResult, ...]
    source: str = ""  # where the constraints come from
    unfinished: float = 0.0  # the share of the runs in which not every Pod is as the workload wants it
    holding: Mapping[int, float] = {}  # hard constraints without which a waiting Pod would find a node
    rollout: RolloutResult | None = None


class Sum(Result, frozen=True):
    """Sums over the workloads that are shown."""

    name: str  # of the namespace; "" for all
    broken: Range  # workloads that are not whole
    lost: Range
    back: Range
    more: Range
    missing: Range


class DrainResult(Result, frozen=True):
    """What a drain does."""

    nodes: tuple[str, ...]  # names
    cordoned: int  # nodes that were not cordoned before
    evicted: Range  # Pods


class BudgetNumbers(Result, frozen=True):
    """The numbers of a PodDisruptionBudget that keeps a Pod, in all runs in which it does: see BudgetStatus."""

    name: str
    field: str
    limit: IntOrPercent | None
    healthy: Range
    desired: Range
    expected: Range
    allowed: Range
    untold: bool = False


class HeldEviction(Result, frozen=True):
    """PodDisruptionBudgets that keep Pods on a node, so that a drain does not end or fails, in a share of the runs."""

    node: str
    share: float
    names: tuple[str, ...]  # of the budgets, as `NAMESPACE/NAME`
    pods: Mapping[str, float]  # by name, or as `a Pod of` their workload where a run has made them
    budgets: tuple[BudgetNumbers, ...]


class StepResult(Result, frozen=True):
    """What a step has come to."""

    step: str  # "" for the situation before all steps
    workloads: tuple[WorkloadResult, ...]  # first those that are hurt, the worst first
    total: Sum
    sums: tuple[Sum, ...]  # by namespace
    elsewhere: tuple[WorkloadResult, ...]  # workloads that are not shown, and are hurt or preempted
    held: tuple[HeldEviction, ...]
    violated: Mapping[str, float]  # PodDisruptionBudgets that preemption violates
    drained: DrainResult | None = None

    @property
    def hurt(self) -> tuple[WorkloadResult, ...]:
        return tuple(workload for workload in self.workloads if workload.hurt)

    @property
    def waits(self) -> bool:
        """Whether any Pod may wait for a node."""
        return any(workload.waiting.most for workload in (*self.workloads, *self.elsewhere))


class CureResult(OfWorkload, frozen=True):
    """A change with which the rollout of a workload finishes, and the commands that make it."""

    change: str
    commands: tuple[Mapping[str, Any], ...]


class WayBackResult(OfWorkload, frozen=True):
    """How many deletions bring a workload back to even after the last step, and what names them then."""

    deletions: Range
    command: str  # on the cluster as it is after the steps


NOTHING = StepResult("", (), Sum("", NONE, NONE, NONE, NONE, NONE), (), (), (), {})


class Simulation(Result, frozen=True, kw_only=True):
    """All of a simulation; without any step where nothing is simulated."""

    api_version: str = OUTPUT_API_VERSION
    kind: str = "Simulation"
    kubernetes_version: str
    seed: int
    runs: int = 0
    early: bool = False  # further runs would change no number
    now: StepResult = NOTHING
    steps: tuple[StepResult, ...] = ()
    cures: tuple[CureResult, ...] = ()
    ways_back: tuple[WayBackResult, ...] = ()
    explain: str = ""  # the command that explains the first Pod that waits in the end
    not_judged: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def results(plan: Plan, outcomes: Sequence[Sequence[StepOutcome]], shown: Set[str]) -> tuple[StepResult, ...]:
    """
    Return the result before any step and after each.

    `outcomes`: for each run, what `outcomes.run` returns.
    `shown`: the names of the workloads that are listed.
    """
    # As item 0 is the situation before all steps, i is the nodes before step i and i + 1 those after it.
    grounds = (plan.start.ground, plan.start.ground, *plan.grounds)
    # By run, what runs of each workload: an outcome leaves out workloads to which a step does nothing.
    running = [{name: found.running for name, found in plan.workloads.items()} for _ in outcomes]
    step_results = list[StepResult]()
    for i, step in enumerate((None, *plan.steps)):
        at_step = [outcomes_of_run[i] for outcomes_of_run in outcomes]
        of_runs = dict[str, list[WorkloadOutcome]]()
        for name in sorted({name for outcome in at_step for name in outcome.workloads}):
            of_runs[name] = [_or_unchanged(name, outcome, ran) for outcome, ran in zip(at_step, running, strict=True)]
            for ran, outcome in zip(running, of_runs[name], strict=True):
                ran[name] = outcome.running
        workloads = {
            name: _workload(plan, name, grounds[i + 1].nodes, workload_outcomes)
            for name, workload_outcomes in of_runs.items()
        }
        names = [name for name in workloads if name in shown]
        by_namespace = dict[str, list[Sequence[WorkloadOutcome]]]()
        for name in names:
            by_namespace.setdefault(plan.workloads[name].ref.namespace, []).append(of_runs[name])
        drains = [outcome.drained for outcome in at_step if outcome.drained is not None]
        step_results.append(
            StepResult(
                step=step.text if step is not None else "",
                workloads=tuple(sorted((workloads[name] for name in names), key=_worst_first)),
                total=_sum("", [of_runs[name] for name in names], len(outcomes)),
                sums=tuple(
                    [
                        _sum(name, workload_outcomes, len(outcomes))
                        for name, workload_outcomes in sorted(by_namespace.items())
                    ]
                ),
                elsewhere=tuple(
                    [
                        workload
                        for name, workload in workloads.items()
                        if (workload.hurt or workload.preempted.most) and name not in shown
                    ]
                ),
                held=tuple(_held(drains, len(outcomes))),
                violated=shares([outcome.violated for outcome in at_step]),
                drained=_drained(grounds[i], grounds[i + 1], drains),
            )
        )
    return tuple(step_results)


def _or_unchanged(name: str, outcome: StepOutcome, running: Mapping[str, int]) -> WorkloadOutcome:
    """Return the outcome of a workload in one run; where nothing has happened to it, it runs as before."""
    if name in outcome.workloads:
        return outcome.workloads[name]
    return WorkloadOutcome(ran=running.get(name, 0), running=running.get(name, 0))


def _workload(plan: Plan, name: str, nodes: Nodes, of_runs: Sequence[WorkloadOutcome]) -> WorkloadResult:
    def numbers(attribute: str) -> Range:
        return ranged(getattr(outcome, attribute) for outcome in of_runs)

    def share(attribute: str) -> float:
        return sum(bool(getattr(outcome, attribute)) for outcome in of_runs) / len(of_runs)

    ref = plan.workloads[name].ref
    return WorkloadResult(
        workload=f"{ref.kind}/{ref.name}",
        api_group=ref.group,
        namespace=ref.namespace,
        priority=plan.workloads[name].priority,
        hurt=any(outcome.out or not outcome.whole for outcome in of_runs),
        loses_all=share("at_once"),
        out=share("out"),
        pods=numbers("ran"),
        lost=numbers("lost"),
        back=numbers("back"),
        after=numbers("running"),
        waiting=numbers("waiting"),
        waits=share("waiting"),
        waited_before=max(outcome.waited for outcome in of_runs),
        more=numbers("more"),
        missing=numbers("missing"),
        stranded=numbers("stranded"),
        leaving=numbers("leaving"),
        queued=numbers("queued"),
        gone=numbers("gone"),
        preempted=numbers("preempted"),
        unready=numbers("unready"),
        reasons=_reasons(of_runs),
        constraints=tuple(_constraints(of_runs, nodes if any(name == named.name for named in plan.named) else None)),
        source=of_runs[0].source,
        unfinished=share("unfinished"),
        holding=shares([outcome.holding for outcome in of_runs]),
        rollout=_rollout([outcome for outcome in of_runs if outcome.rolling], len(of_runs)),
    )


def _reasons(of_runs: Sequence[WorkloadOutcome]) -> dict[str, Range]:
    """
    Return how many Pods wait for each reason, that of the most Pods first.

    Messages that differ only in the numbers of nodes are one reason; the most frequent of them stands for all.
    """
    frequency = sum([Counter(outcome.reasons) for outcome in of_runs], Counter[str]())
    alike = dict[tuple[str, ...], list[str]]()
    for message in sorted(frequency, key=lambda message: (-frequency[message], message)):
        alike.setdefault(_without_numbers(message), []).append(message)
    ranges = {
        messages[0]: ranged(sum(outcome.reasons.get(message, 0) for message in messages) for outcome in of_runs)
        for messages in alike.values()
    }
    return dict(sorted(ranges.items(), key=lambda reason: (-reason[1].most_likely, -reason[1].most, reason[0])))


def _without_numbers(message: str) -> tuple[str, ...]:
    """Return the beginning of a message of kube-scheduler, and its reasons, sorted, without the numbers of nodes."""
    beginning, _, reasons = message.partition(": ")
    return beginning, *sorted(NUMBER_OF_NODES.sub("", reason) for reason in reasons.rstrip(".").split(", "))


def _constraints(of_runs: Sequence[WorkloadOutcome], nodes: Nodes | None) -> Iterator[ConstraintResult]:
    """Yield the result of each constraint; with its domains, also those without Pods, if `nodes` are given."""
    alike = dict[tuple[object, ...], list[ConstraintOutcome]]()
    for outcome in (counted for of_run in of_runs for counted in of_run.constraints):
        constraint = outcome.constraint
        key = (constraint.index, constraint.topology_key, constraint.when_unsatisfiable, constraint.max_skew)
        alike.setdefault(key, []).append(outcome)
    for _, counted in sorted(alike.items()):
        constraint = counted[0].constraint
        result = ConstraintResult(
            index=constraint.index,
            topology_key=constraint.topology_key,
            max_skew=constraint.max_skew,
            hard=constraint.hard,
            selector=constraint.selector.in_words,
            min_domains=constraint.min_domains,
            node_affinity_policy=constraint.node_affinity_policy,
            node_taints_policy=constraint.node_taints_policy,
            skew=ranged(outcome.skew for outcome in counted),
            exceeds_max_skew=sum(outcome.exceeds for outcome in counted) / len(of_runs),
        )
        yield result if nodes is None else _with_domains(result, counted, nodes.domains(constraint.topology_key))


def _with_domains(
    result: ConstraintResult, counted: Sequence[ConstraintOutcome], domains: Iterable[str]
) -> ConstraintResult:
    names = sorted(set(domains).union(*(outcome.domains for outcome in counted)))
    domains_by_pods = [Counter(outcome.domains.get(name, 0) for name in names) for outcome in counted]
    layouts = shares([[tuple(sorted(by_pods.items(), reverse=True))] for by_pods in domains_by_pods])
    rows = [
        DomainResult(
            name,
            ranged(outcome.domains.get(name, 0) for outcome in counted),
            ranged(outcome.unreachable.get(name, 0) for outcome in counted),
        )
        for name in names
    ]
    uncounted = zip(*(outcome.uncounted for outcome in counted), strict=True)
    single = counted[0].single  # It depends on the nodes and the Pods' class, as does `eligible`: those of every run.
    return replace(
        result,
        domains=tuple(rows),
        total=ranged(sum(outcome.domains.values()) for outcome in counted),
        outcomes=tuple(
            [Layout(tuple([AlikeDomains(*alike) for alike in layout]), share) for layout, share in layouts.items()]
        ),
        eligible_domains=counted[0].eligible,
        uncounted=UncountedPods(*map(ranged, uncounted)),
        spreads_nothing=single.why if single is not None else None,
        advice=single.advice if single is not None else (),
    )


def _rollout(of_runs: Sequence[WorkloadOutcome], runs: int) -> RolloutResult | None:
    """Return how far a rollout gets; `of_runs` are the outcomes of the runs in which there is one, None if in none."""
    stuck = [outcome for outcome in of_runs if not outcome.complete]
    if not of_runs:
        return None
    numbers = [
        ranged(getattr(outcome, attribute) for outcome in stuck or of_runs)
        for attribute in ("updated", "available", "old", "wanted")
    ]
    return RolloutResult(len(stuck) / runs, *numbers)


def _worst_first(workload: WorkloadResult) -> tuple[bool, bool, int, int, int, str]:
    return (
        not workload.hurt,
        not workload.out,
        -(workload.more.most + workload.missing.most),
        -workload.more.most_likely,
        -workload.lost.most,
        str(workload),
    )


def _sum(name: str, workloads: Iterable[Sequence[WorkloadOutcome]], runs: int) -> Sum:
    """Return the sums over workloads; each is a list of its outcomes, by run."""
    by_run = list(zip(*workloads, strict=True)) or [()] * runs  # zip of no workloads has no runs
    return Sum(
        name,
        ranged(sum(not outcome.whole for outcome in of_run) for of_run in by_run),
        ranged(sum(outcome.lost for outcome in of_run) for of_run in by_run),
        ranged(sum(outcome.back for outcome in of_run) for of_run in by_run),
        ranged(sum(outcome.more for outcome in of_run) for of_run in by_run),
        ranged(sum(outcome.missing for outcome in of_run) for of_run in by_run),
    )


def _drained(before: Ground, after: Ground, drains: Sequence[Drained]) -> DrainResult | None:
    """Return what a drain does, `drains` being its outcomes by run; None if the step is no drain."""
    if not drains:
        return None
    cordoned = sum(node is not other and node != other for node, other in zip(before.order, after.order, strict=True))
    return DrainResult(tuple(after.touched), cordoned, ranged(drain.evicted for drain in drains))


def _held(drains: Sequence[Drained], runs: int) -> Iterator[HeldEviction]:
    """Yield what keeps drains from their end, the most frequent first, with the Pods that are kept."""
    for eviction, share in shares([drained.held for drained in drains] or [()]).items():
        of_runs = [
            kept_pods for drained in drains if (kept_pods := [pod for pod in drained.kept if pod.eviction == eviction])
        ]
        names = [
            {f"Pod {pod.name}" if pod.name else f"a Pod of {pod.workload}" for pod in kept_pods}
            for kept_pods in of_runs
        ]
        # All Pods of a run ask at the same time, so the first stands for all.
        statuses_by_budget = zip(*(kept_pods[0].budgets for kept_pods in of_runs), strict=True)
        budgets = [
            BudgetNumbers(
                name=statuses[0].name,
                field=statuses[0].field,
                limit=statuses[0].limit,
                healthy=ranged(status.healthy for status in statuses),
                desired=ranged(status.desired for status in statuses),
                expected=ranged(status.expected for status in statuses),
                allowed=ranged(status.allowed for status in statuses),
                untold=statuses[0].untold,
            )
            for statuses in statuses_by_budget
        ]
        pods = {name: share_of_runs * len(of_runs) / runs for name, share_of_runs in shares(names).items()}
        yield HeldEviction(eviction.node, share, eviction.budgets, pods, tuple(budgets))


def ranged(numbers: Iterable[int]) -> Range:
    """Return the range of one number or more."""
    counted = Counter(numbers)
    likely = min(counted, key=lambda number: (-counted[number], number))
    return Range(min(counted), likely, max(counted))


def shares(of_runs: Sequence[Iterable[Value]]) -> dict[Value, float]:
    """Return each item with the share of the runs that have it, the most frequent first; `of_runs`: items by run."""
    counted = Counter(item for items in of_runs for item in items)
    most_frequent = sorted(counted.items(), key=lambda counted: (-counted[1], str(counted[0])))
    return {item: number / len(of_runs) for item, number in most_frequent}
