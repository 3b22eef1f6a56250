"""
What many runs of a whole cluster have come to: of each step the workloads that are hurt, those that come back whole,
and sums.

    outcomes of each run ──least, most likely, and most──> ClusterStep of each step
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from webhook.simulation.cluster_run import ClusterOutcome, ConstraintSkew, WorkloadOutcome
from webhook.simulation.disruption import BlockedEviction
from webhook.simulation.results import KeptPods, OfDrain, Range, drained_by, kept_pods, ranged, shares
from webhook.simulation.run import Plan
from webhook.simulation.step import Step

NUMBER_OF_NODES = re.compile(r"^\d+ ")  # before each reason in a message of kube-scheduler


class SkewResult(NamedTuple):
    """The skew of a constraint, and the share of the runs in which it is larger than maxSkew."""

    position: int
    topology_key: str
    max_skew: int
    skew: Range
    exceeds: float


class WorkloadResult(NamedTuple):
    """
    What a step does to a workload, over all runs: see WorkloadOutcome.

    So many `more` Pods wait than before any step, when `waited` did; `causes` have how many of all wait for each.  It
    is `hurt` if in any run it is not whole afterwards, or out.  In such a share of the runs it `loses_all` of its Pods
    at once, and is `out`: all are lost at once, or none of them comes back.
    """

    workload: str
    pods: Range
    lost: Range
    back: Range
    more: Range
    missing: Range
    gone: Range
    stranded: Range
    leaving: Range
    queued: Range
    preempted: Range
    waited: int
    causes: Mapping[str, Range]
    skews: tuple[SkewResult, ...]
    hurt: bool
    loses_all: float
    out: float

    @property
    def uneven(self) -> bool:
        """Whether the skew of a constraint is larger than maxSkew in any run."""
        return any(skew.exceeds for skew in self.skews)


class Sum(NamedTuple):
    """
    Sums over the workloads of a group: how many are not whole, Pods that they lose, that run again, that wait beyond
    those before any step, and that are missing.
    """

    name: str
    broken: Range
    lost: Range
    back: Range
    more: Range
    missing: Range


class ClusterStep(NamedTuple):
    """
    What a step has come to: the workloads that are `hurt`, the worst first, and those that come back `whole`, with the
    Pods that these lose.

    `total` is of all that are shown, `sums` are of each group, and `elsewhere` so many workloads that are not shown are
    hurt in any run.  What holds a drain comes with the share of the runs, as do budgets that preemption has `violated`.
    """

    step: Step
    hurt: tuple[WorkloadResult, ...]
    whole: tuple[WorkloadResult, ...]
    lost_by_whole: Range
    total: Sum
    sums: tuple[Sum, ...]
    elsewhere: int
    held: Mapping[BlockedEviction, float]
    kept: Mapping[BlockedEviction, KeptPods]
    drained: OfDrain | None
    violated: Mapping[str, float]


def cluster_results(
    plan: Plan, outcomes: Sequence[Sequence[ClusterOutcome]], groups: Mapping[str, str]
) -> tuple[ClusterStep, ...]:
    """Return the result after each step; `groups` has the workloads that are shown, and in which sum each is."""
    steps, grounds = list[ClusterStep](), (plan.start.ground, *plan.grounds)
    running = [{name: of.running for name, of in plan.workloads.items()} for _ in outcomes]
    for i, step in enumerate(plan.steps):
        at_step = [of_run[i] for of_run in outcomes]
        names = sorted({name for outcome in at_step for name in outcome.workloads})
        each = dict[str, list[WorkloadOutcome]]()
        for name in names:
            each[name] = [_of(name, outcome, ran) for outcome, ran in zip(at_step, running, strict=True)]
            for ran, outcome in zip(running, each[name], strict=True):
                ran[name] = outcome.running
        of_all = {name: _workload(name, of_runs) for name, of_runs in each.items()}
        shown = [of for name, of in of_all.items() if name in groups]
        whole = [of for of in shown if not of.hurt]
        drains = [outcome.drained for outcome in at_step if outcome.drained is not None]
        of_groups = dict[str, list[WorkloadResult]]()
        for of in shown:
            of_groups.setdefault(groups[of.workload], []).append(of)
        steps.append(
            ClusterStep(
                step,
                tuple(sorted((of for of in shown if of.hurt), key=_worst_first)),
                tuple(whole),
                _sum("", whole, each).lost,
                _sum("", shown, each),
                tuple([_sum(name, of_group, each) for name, of_group in sorted(of_groups.items())]),
                sum(of.hurt for name, of in of_all.items() if name not in groups),
                shares([drained.held for drained in drains] or [()]),
                kept_pods(drains, len(outcomes)),
                drained_by(grounds[i], grounds[i + 1], drains),
                shares([outcome.violated for outcome in at_step]),
            )
        )
    return tuple(steps)


def _of(name: str, outcome: ClusterOutcome, ran: Mapping[str, int]) -> WorkloadOutcome:
    """Return the outcome of a workload in a run, in which perhaps nothing has happened to it."""
    there = outcome.workloads.get(name)
    return there if there is not None else WorkloadOutcome(ran.get(name, 0), ran.get(name, 0))


def _workload(name: str, of_runs: Sequence[WorkloadOutcome]) -> WorkloadResult:
    return WorkloadResult(
        name,
        ranged(of.ran for of in of_runs),
        ranged(of.lost for of in of_runs),
        ranged(of.back for of in of_runs),
        ranged(of.more for of in of_runs),
        ranged(of.missing for of in of_runs),
        ranged(of.gone for of in of_runs),
        ranged(of.stranded for of in of_runs),
        ranged(of.leaving for of in of_runs),
        ranged(of.queued for of in of_runs),
        ranged(of.preempted for of in of_runs),
        max(of.waited for of in of_runs),
        _causes(of_runs),
        tuple(_skews([of.skews for of in of_runs if of.skews])),
        any(of.out or not of.whole for of in of_runs),
        sum(of.at_once for of in of_runs) / len(of_runs),
        sum(of.out for of in of_runs) / len(of_runs),
    )


def _causes(of_runs: Sequence[WorkloadOutcome]) -> dict[str, Range]:
    """
    Return how many Pods wait for each cause, that of the most Pods first: of messages that differ only in how many
    nodes each reason refuses, the most frequent stands for all.
    """
    in_all = sum([Counter(of.reasons) for of in of_runs], Counter[str]())
    alike = dict[tuple[str, ...], list[str]]()
    for cause in sorted(in_all, key=lambda cause: (-in_all[cause], cause)):
        alike.setdefault(_without_numbers(cause), []).append(cause)
    ranges = {
        causes[0]: ranged(sum(of.reasons.get(cause, 0) for cause in causes) for of in of_runs)
        for causes in alike.values()
    }
    return dict(sorted(ranges.items(), key=lambda of: (-of[1].most_likely, -of[1].most, of[0])))


def _without_numbers(message: str) -> tuple[str, ...]:
    """Return how a message of kube-scheduler begins, and its reasons without the numbers of nodes, in one order."""
    begins, _, reasons = message.partition(": ")
    return begins, *sorted(NUMBER_OF_NODES.sub("", reason) for reason in reasons.rstrip(".").split(", "))


def _skews(of_runs: Sequence[Sequence[ConstraintSkew]]) -> Iterator[SkewResult]:
    by_constraint = dict[tuple[int, str, int], list[ConstraintSkew]]()
    for skew in (skew for of_run in of_runs for skew in of_run):
        by_constraint.setdefault(skew[:3], []).append(skew)
    for (position, key, most), skews in sorted(by_constraint.items()):
        yield SkewResult(
            position, key, most, ranged(skew.skew for skew in skews), sum(skew.exceeds for skew in skews) / len(of_runs)
        )


def _worst_first(of: WorkloadResult) -> tuple[bool, int, int, int, str]:
    return (
        not of.out,
        -(of.more.most + of.missing.most),
        -of.more.most_likely,
        -of.lost.most,
        of.workload,
    )


def _sum(name: str, of_group: Iterable[WorkloadResult], each: Mapping[str, Sequence[WorkloadOutcome]]) -> Sum:
    """Return the sums over the workloads of a group; `each` has the outcome of every run for each."""
    runs = zip(*(each[of.workload] for of in of_group), strict=True)
    sums = [
        (
            sum(not of.whole for of in of_run),
            sum(of.lost for of in of_run),
            sum(of.back for of in of_run),
            sum(of.more for of in of_run),
            sum(of.missing for of in of_run),
        )
        for of_run in runs
    ]
    return Sum(name, *map(ranged, zip(*(sums or [(0,) * 5]), strict=True)))
