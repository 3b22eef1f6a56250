"""
What would let in the Pods that wait in the end: changes that were each tried on one run that comes to that.

    plan, a run ──its end──> attempts ──each change, after which all Pods that wait are placed──> Help, most Pods first
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from webhook.objects.names import HOSTNAME
from webhook.objects.references import ObjectRef
from webhook.placement.commands import ClusterEdit, deleting
from webhook.placement.remedies import IN_TEMPLATE, MOST_PODS_DELETED, NOW, Remedy, pods_by_name, remedies
from webhook.placement.successors import deletion
from webhook.placement.variants import NEW_NODE
from webhook.scheduler.framework import find_feasible
from webhook.scheduler.snapshot import Snapshot
from webhook.simulation.controllers import STATEFUL
from webhook.simulation.pod import Maker
from webhook.simulation.rollout_check import changed_class
from webhook.simulation.run import LastAttempt, Plan, StepOutcome, last_attempts, run
from webhook.simulation.state import OutOfPlacementsError
from webhook.simulation.step import REPLACE, ROLLOUT, Step
from webhook.simulation.waiting import placed, placed_in

MOST_NODES_ADDED = 4
MOST_PLACEMENTS_TRIED = 5_000  # After one change. Pods that are not reached count as if they waited.
NODES_SEEN_AT_END = 500_000  # By unlike Pods, over all changes.
MOST_CHANGES = 24  # that are tried: remedies, and in each round nodes more
UNDOING = ("uncordon", "taint")  # Verbs that would undo a step, if they are of its nodes.


class Help(NamedTuple):
    """A change, and how many Pods of the workload run after it, of those that wait in the end."""

    remedy: Remedy
    runs: int


class Helping(NamedTuple):
    """
    So many Pods of the workload that are `stuck`, and the changes that help, those that help most of them first.

    Where too many unlike Pods wait, changes were tried on the `first` of them alone.
    """

    stuck: int = 0
    changes: tuple[Help, ...] = ()
    first: bool = False


NOTHING_HELPS = Helping()


def helping(plan: Plan, seed: int, outcomes: Sequence[Sequence[StepOutcome]], ref: ObjectRef) -> Helping:
    """Return what helps the Pods of the workload `ref` that wait at the end of the first run in which any does."""
    number = next((i for i, outcome in enumerate(outcomes) if outcome[-1].pending), None)
    if number is None:
        return NOTHING_HELPS
    end = _End(plan, seed, number, outcomes[number][-1].placements)
    if not end.own:
        return NOTHING_HELPS
    touched = {name for ground in plan.grounds for name in ground.touched}
    cycle = end.own[0].cycle
    deletions = list(_deletion(end, ref))
    enough = any(each.runs == len(end.own) for each in deletions)  # The template as it is now lets them in.
    helps = [
        end.tried(remedy, ref)
        for remedy in remedies(cycle, find_feasible(cycle))
        if not _undoes(remedy, touched) and not (enough and remedy.where == IN_TEMPLATE)
    ]
    helps = [*deletions, *_nodes(end, helps), *helps]
    most_first = sorted((each for each in helps if each.runs > 0), key=lambda each: -each.runs)
    return Helping(len(end.own), tuple(most_first), end.limited)


def _undoes(remedy: Remedy, touched: Collection[str]) -> bool:
    """Return whether a change would undo a step on one of these nodes."""
    edits = [edit for edit in remedy.edits or () if isinstance(edit, ClusterEdit)]
    return any(edit.arguments[0] in UNDOING and any(name in touched for name in edit.names) for edit in edits)


class _End:
    """The end of a run, on which changes are tried; `own` are the attempts for the workload's Pods that wait there."""

    def __init__(self, plan: Plan, seed: int, number: int, placements: int) -> None:
        self.plan, self.seed, self.number, self.placements = plan, seed, number, placements
        (self.named,) = plan.named
        attempts = last_attempts(plan, seed, number)
        self.attempts = _first_unlike(attempts)
        self.limited = len(self.attempts) < len(attempts)
        self.own = [attempt for attempt in self.attempts if attempt.own]

    def tried(self, remedy: Remedy, ref: ObjectRef) -> Help:
        """
        Return a change with the Pods that run after it; of one in the template the rollout is simulated.

        None runs after a change that starts no rollout, or is made in the cluster, too: that is not simulated.
        """
        if remedy.where == IN_TEMPLATE:
            maker = self.named.next
            return Help(remedy, 0) if remedy.also_now or maker is None else self._rolled_out(remedy, maker, ref)
        cycles = [attempt.cycle for attempt in self.attempts]
        run_then = placed(cycles, remedy.cycle.snapshot, MOST_PLACEMENTS_TRIED)
        return Help(remedy, _own_running(run_then, self.attempts))

    def _rolled_out(self, remedy: Remedy, maker: Maker, ref: ObjectRef) -> Help:
        of_class = changed_class(maker.of_class, self.own[0].cycle, remedy.cycle)
        anew = maker._replace(of_class=of_class)
        if runs := self.running_after((Step(ROLLOUT, ROLLOUT),), anew):
            return Help(remedy, runs)
        if ref.kind != STATEFUL:
            return Help(remedy, 0)
        runs = self.running_after((Step(ROLLOUT, ROLLOUT), Step(REPLACE, REPLACE)), anew)
        return Help(_then_deleting(remedy, _names(self.own, ref), ref), runs)

    def running_after(self, steps: Sequence[Step], maker: Maker | None = None) -> int:
        """
        Return how many Pods less wait after further steps, of which `maker` makes the Pods of the first.

        It is 0 if then some Pod is not as the workload wants it, or too many are tried to be placed.
        """
        plan, done = self.plan, len(self.plan.steps)
        ground = replace((plan.start.ground, *plan.grounds)[-1], touched=(), like=())
        further = replace(
            plan,
            steps=(*plan.steps, *steps),
            grounds=(*plan.grounds, *(ground for _ in steps)),
            named=(replace(self.named, makers={**self.named.makers, **({done: maker} if maker is not None else {})}),),
        )
        try:
            end = run(further, self.seed, self.number, self.placements + MOST_PLACEMENTS_TRIED)[-1]
        except OutOfPlacementsError:
            return 0
        return len(self.own) - end.pending if end.complete else 0


def _first_unlike(attempts: Sequence[LastAttempt]) -> Sequence[LastAttempt]:
    """Return the attempts, or those of them on which each change can be tried, first such of the workload."""
    nodes = len(attempts[0].cycle.snapshot.nodes) if attempts else 0
    unlike = max(1, NODES_SEEN_AT_END // (MOST_CHANGES * max(1, nodes)))
    own_first = sorted(attempts, key=lambda attempt: not attempt.own)
    kept = set(islice(dict.fromkeys(id(attempt.cycle) for attempt in own_first), unlike))
    return [attempt for attempt in attempts if id(attempt.cycle) in kept]


def _names(attempts: Iterable[LastAttempt], ref: ObjectRef) -> tuple[str, ...]:
    """Return the names of Pods of a StatefulSet."""
    return tuple(f"{ref.name}-{attempt.ordinal}" for attempt in attempts)


def _then_deleting(remedy: Remedy, names: tuple[str, ...], ref: ObjectRef) -> Remedy:
    """Return a change of a StatefulSet's template, after which the Pods of the old one are deleted."""
    edits = None if remedy.edits is None else (*remedy.edits, deleting(ref.namespace, *names))
    pods = pods_by_name(names) if len(names) <= MOST_PODS_DELETED else f"the {len(names):,} Pods that wait"
    return remedy._replace(change=f"{remedy.change}, then delete {pods}", edits=edits)


def _deletion(end: _End, ref: ObjectRef) -> Iterator[Help]:
    """Yield the deletion of a StatefulSet's Pods that wait and have an old template, which it does not do itself."""
    names = _names([attempt for attempt in end.own if attempt.old], ref) if ref.kind == STATEFUL else ()
    if names:
        remedy = deletion(ref.namespace, names, (), end.own[0].cycle)
        yield Help(remedy, end.running_after((Step(REPLACE, REPLACE),)))


def _nodes(end: _End, helps: Iterable[Help]) -> Iterator[Help]:
    """Yield more nodes, each in a domain that is there, where all Pods run with some and not with one."""
    attempts, snapshot = list(end.attempts), end.own[0].cycle.snapshot
    remedied = [each.remedy for each in helps]
    added: list[str] = []
    while left := next((attempt.cycle for attempt in attempts if attempt.own), None):
        if added:
            cycle = replace(left, snapshot=snapshot)
            remedied = list(remedies(cycle, find_feasible(cycle)))
        adding = [remedy for remedy in remedied if _adds_there(remedy, snapshot)]
        if not adding or len(added) == MOST_NODES_ADDED:
            return
        cycles = [attempt.cycle for attempt in attempts]
        tries = [(remedy, *placed_in(cycles, remedy.cycle.snapshot, MOST_PLACEMENTS_TRIED)) for remedy in adding]
        remedy, run_then, snapshot = max(tries, key=lambda tried: _own_running(tried[1], attempts))
        if not _own_running(run_then, attempts):
            return
        attempts = [attempt for runs, attempt in zip(run_then, attempts, strict=True) if not runs]
        added.append(remedy.change)
    if len(added) > 1:
        words = [f"{change}{f', {n} times' if n > 1 else ''}" for change, n in Counter(added).items()]
        yield Help(Remedy(", and ".join(words), NOW, (), end.own[0].cycle), len(end.own))


def _adds_there(remedy: Remedy, snapshot: Snapshot) -> bool:
    """Return whether a change is one node more, in a domain that is there."""
    there = {node.name for node in snapshot.nodes}
    nodes = [node for node in remedy.cycle.snapshot.nodes if node.name not in there]
    values = [value for node in nodes for key, value in node.labels.items() if key != HOSTNAME]
    return remedy.where == NOW and bool(nodes) and not any(value.startswith(NEW_NODE) for value in values)


def _own_running(run_then: Iterable[bool], attempts: Iterable[LastAttempt]) -> int:
    """Return how many of the workload's Pods run."""
    return sum(runs and attempt.own for runs, attempt in zip(run_then, attempts, strict=True))
