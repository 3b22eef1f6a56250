"""
What would let a drain end that PodDisruptionBudgets hold: each change was tried on one run in which they do.

    held drain ──more replicas, another limit, one budget of several deleted──> the same run again ──> DrainRemedy
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from webhook.objects.references import ObjectRef
from webhook.placement.commands import ClusterEdit, Command, commands, deleting_budget, replacing, scaling
from webhook.simulation.disruption import BlockedEviction, DrainChange, Drained, KeptPod
from webhook.simulation.run import Plan, StepOutcome, run
from webhook.simulation.state import OutOfPlacementsError
from webhook.simulation.step import APPLY, SCALE

MOST_DRAIN_REMEDIES, MOST_TRIES, MOST_REPLAYED = 3, 24, 100_000  # the last: placements in all tries
COSTS = (1, 2, 3)  # of a workload that is scaled, a limit that is changed, and a budget that is deleted


class DrainRemedy(NamedTuple):
    """A change after which a drain ends, and the commands that make it: none where names are not valid ones."""

    change: str
    commands: tuple[Command, ...]


def drain_remedies(
    plan: Plan, seed: int, outcomes: Sequence[Sequence[StepOutcome]]
) -> dict[int, tuple[DrainRemedy, ...]]:
    """
    Return, by the number of the step, what lets the first drain end that is held in any run, the least invasive change
    first; nothing where nothing can be tried.
    """
    for i in range(len(plan.steps)):
        held = (number for number, of_run in enumerate(outcomes) if (of := of_run[i + 1].drained) and of.kept)
        if (number := next(held, None)) is not None:
            search = _Search(plan, i, seed, number, outcomes[number][i + 1])
            helping = tuple(islice(search.remedies(), MOST_DRAIN_REMEDIES))
            return {i: helping} if search.tried else {}
    return {}


class _Search:
    """
    The changes that were `tried` on a run in which the drain of a step is held, as its `outcome` says.  So many
    `placements` are left for others.

    A change helps only if no more Pods of the workloads wait then of which budgets have kept Pods.
    """

    def __init__(self, plan: Plan, step: int, seed: int, number: int, outcome: StepOutcome) -> None:
        self.plan, self.step = replace(plan, steps=plan.steps[: step + 1]), step
        self.seed, self.number, self.outcome, self.placements = seed, number, outcome, MOST_REPLAYED
        self.tried, self.workloads = list[DrainChange](), set[str]()
        self.scales, name = dict(plan.scales), plan.named.name
        if name in self.scales:
            scaled = [taken.number for taken in self.plan.steps if taken.action in (SCALE, APPLY)]
            self.scales[name] = self.scales[name]._replace(replicas=[plan.named.replicas, *scaled][-1])

    def remedies(self) -> Iterator[DrainRemedy]:
        """Yield the changes after which the drain ends, the least invasive first."""
        assert self.outcome.drained is not None
        queue = [(DrainChange(), self.outcome.drained)]
        while queue:
            change, drained = queue.pop(0)
            if not drained.kept:
                yield self._remedy(change)
            else:
                queue = sorted([*queue, *self._further(change, drained)], key=lambda tried: _cost(tried[0]))

    def _further(self, change: DrainChange, drained: Drained) -> Iterator[tuple[DrainChange, Drained]]:
        """Yield changes that add what removes one cause, with what the drain then comes to."""
        cause = min(drained.held)
        kept = [pod for pod in drained.kept if pod.eviction == cause]
        self.workloads.update(pod.workload for pod in kept)
        for sizes in self._changes(change, kept):
            tries = ((further, self._try(further, cause)) for further in sizes if further not in self.tried)
            yield from islice(((further, then) for further, then in tries if then is not None), 1)

    def _changes(self, change: DrainChange, kept: Sequence[KeptPod]) -> Iterator[list[DrainChange]]:
        """Yield the changes that may remove a cause: of each kind the smallest first."""
        (_, names), (status, *others) = kept[0].eviction, kept[0].budgets
        if others:
            yield from ([change._replace(deleted=change.deleted | {name})] for name in names)
            return
        sizes = dict.fromkeys((1, len(kept)))
        if status.field == "minAvailable":
            missing = status.desired - status.healthy
            workloads = {pod.workload for pod in kept} & self.scales.keys() if status.expected else ()
            for workload in sorted(workloads):
                before, most = change.more.get(workload, 0), self.scales[workload].replicas
                more = [before + missing + size for size in sizes if before < before + missing + size <= most]
                yield [change._replace(more={**change.more, workload: number}) for number in more]
            limits = [status.healthy - size for size in sizes]
        else:
            limits = [status.expected - status.healthy + size for size in sizes if status.expected]
        yield [change._replace(limits={**change.limits, names[0]: limit}) for limit in limits if limit >= 0]

    def _try(self, change: DrainChange, cause: BlockedEviction) -> Drained | None:
        """Return what the drain comes to after a change; None if the cause is still there, or more Pods wait."""
        if len(self.tried) >= MOST_TRIES or not self.placements:
            return None
        try:
            outcome = run(replace(self.plan, changes={self.step: change}), self.seed, self.number, self.placements)[-1]
        except OutOfPlacementsError:
            self.placements = 0
            return None
        self.tried.append(change)
        self.placements -= outcome.placements
        if outcome.drained is None or cause in outcome.drained.held or self._waiting(outcome) > self._waiting():
            return None
        return outcome.drained

    def _waiting(self, outcome: StepOutcome | None = None) -> int:
        outcome = outcome or self.outcome
        own = outcome.pending + outcome.missing if self.plan.named.name in self.workloads else 0
        return own + sum(outcome.others.get(workload, 0) for workload in self.workloads)

    def _remedy(self, change: DrainChange) -> DrainRemedy:
        (*words, last), edits = zip(*self._edits(change), strict=True)
        return DrainRemedy(" and ".join(filter(None, (", ".join(words), last))), commands(edits, None))

    def _edits(self, change: DrainChange) -> Iterator[tuple[str, ClusterEdit]]:
        """Yield each part of a change in words, and what makes it."""
        for workload, more in change.more.items():
            ref, replicas = self.scales[workload]
            yield f"scale {workload} to {replicas + more} replicas", scaling(ref, replicas + more)
        for budget in self.plan.budgets:
            written, name = budget.written, str(budget)
            ref = ObjectRef("policy/v1", "PodDisruptionBudget", written.namespace, written.name)
            if name in change.deleted:
                yield f"delete {ref}", deleting_budget(ref)
            elif name in change.limits:
                (field, limit), new = written.limit, change.limits[name]
                yield f"set {field} of {ref} to {new}", replacing(ref, ("spec", field), limit, new)


def _cost(change: DrainChange) -> int:
    return sum(cost * len(part) for cost, part in zip(COSTS, change, strict=True))
