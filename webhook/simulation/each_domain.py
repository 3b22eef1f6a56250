"""
Each domain in turn: the same steps for one domain of a key after the other, each from the cluster as it is, and what
they come to together.

    lose=KEY=* ──> lose=KEY=a, lose=KEY=b, … ──runs──> DomainResult of each: what waits, what is lacking, what is kept
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from webhook.objects.fields import IntOrPercent, scaled
from webhook.scheduler.fit import CPU, MEMORY, STORAGE, Lack
from webhook.scheduler.nodes import Nodes
from webhook.scheduler.resources import PODS
from webhook.simulation.cluster_run import ClusterOutcome, WorkloadOutcome
from webhook.simulation.results import Range, ranged
from webhook.simulation.run import Plan
from webhook.simulation.step import EACH, Step, StepError

NO_DOMAIN = ""  # where steps are of no domain in turn


class LossOfWorkload(NamedTuple):
    """
    A workload that had `pods` with a node, and how many it keeps: those that no step moves, the fewest after any step.
    """

    workload: str
    pods: int
    kept: Range

    @property
    def by_share(self) -> tuple[float, int, str]:
        """What orders them, that of which the smallest share is kept first."""
        return self.kept.least / max(1, self.pods), -self.pods, self.workload


class DomainResult(NamedTuple):
    """
    What the steps of a domain come to, after so many `runs`.

    Pods are `lost` in all steps; in the end `more` wait than before, and some are `missing`.  So many workloads are
    `out`: they lose all Pods at once, or none of those comes back; and those in `not_kept` do not keep enough.  `room`
    is what the Pods that wait for want of room request, the most of all runs.  In such a share of the runs a drain is
    `held`: it never finishes, or fails.
    """

    domain: str
    runs: int
    lost: Range
    more: Range
    missing: Range
    out: Range
    not_kept: tuple[LossOfWorkload, ...]
    room: Lack
    held: float


def steps_of_each(steps: Sequence[Step], nodes: Nodes) -> dict[str, tuple[Step, ...]]:
    """
    Return the steps for each of the domains in turn, NO_DOMAIN where no step is of each; StepError if steps are of
    different keys, or no node has the label.
    """
    keys = {step.which.key for step in steps if step.which.value == EACH}
    if not keys:
        return {NO_DOMAIN: tuple(steps)}
    if len(keys) > 1:
        raise StepError(f"found {EACH} for {' and '.join(sorted(keys))}, wanted one key; give the other a value")
    (key,) = keys
    domains = sorted(nodes.domains(key))
    if not domains:
        there = ", ".join(sorted(nodes.label_keys)) or "none"
        raise StepError(f"{key}={EACH}: no node has the label {key}; the labels are {there}")
    return {domain: tuple([_of_domain(step, domain) for step in steps]) for domain in domains}


def _of_domain(step: Step, domain: str) -> Step:
    which = step.which
    if which.value != EACH:
        return step
    text = step.text.replace(f"{which.key}={EACH}", f"{which.key}={domain}", 1)
    return replace(step, text=text, which=replace(which, value=domain))


def domain_result(
    domain: str,
    plan: Plan,
    outcomes: Sequence[Sequence[ClusterOutcome]],
    shown: Collection[str],
    keep: IntOrPercent,
) -> DomainResult:
    """Return what the runs of the steps of a domain come to, for the workloads that are shown."""
    runs = [
        {name: [at[name] for at in (outcome.workloads for outcome in of_run) if name in at] for name in shown}
        for of_run in outcomes
    ]
    ends = [[(name, at.workloads[name]) for name in at.workloads if name in shown] for *_, at in outcomes]
    return DomainResult(
        domain,
        len(outcomes),
        ranged(sum(of.lost for each in of_run.values() for of in each) for of_run in runs),
        ranged(sum(of.more for _, of in end) for end in ends),
        ranged(sum(of.missing for _, of in end) for end in ends),
        ranged(sum(any(of.out for of in each) for each in of_run.values()) for of_run in runs),
        tuple(_not_kept(plan, {name: [of_run[name] for of_run in runs] for name in shown}, keep)),
        _most_room([of for _, of in end] for end in ends),
        sum(any(at.drained is not None and at.drained.held for at in of_run) for of_run in outcomes) / len(outcomes),
    )


def _not_kept(
    plan: Plan, by_workload: dict[str, list[list[WorkloadOutcome]]], keep: IntOrPercent
) -> list[LossOfWorkload]:
    """Return the workloads of which in any run too few Pods are kept."""
    losses = list[LossOfWorkload]()
    for name, of_runs in by_workload.items():
        pods = plan.workloads[name].running
        if any(of.lost for each in of_runs for of in each):
            kept = ranged(min((of.ran - of.lost for of in each), default=pods) for each in of_runs)
            if kept.least < scaled(keep, pods, up=True):
                losses.append(LossOfWorkload(name, pods, kept))
    return sorted(losses, key=lambda loss: loss.by_share)


def _most_room(ends: Iterable[Iterable[WorkloadOutcome]]) -> Lack:
    """Return the most of each resource that is lacking in the end of any run."""
    most = Counter[str]()
    for end in ends:
        of_run = Counter[str]()
        for of in end:
            of_run.update(of.room)
        most |= of_run
    pods, cpu, memory, storage = (most.pop(name, 0) for name in (PODS, CPU, MEMORY, STORAGE))
    return Lack(pods, cpu, memory, storage, tuple(sorted(most.items())))


def worst_first(results: Iterable[DomainResult]) -> list[DomainResult]:
    """
    Return the domains, first those of which a drain is held, then by the most Pods that wait or are missing in the end.
    """

    def badness(of: DomainResult) -> tuple[float, int, int, int]:
        return of.held, of.more.most + of.missing.most, of.out.most, of.lost.most

    return sorted(sorted(results, key=lambda of: of.domain), key=badness, reverse=True)
