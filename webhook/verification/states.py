"""
The states of a cluster that kube-scheduler may have seen when it decided.

    the log up to the decision, Pods in the order of its queue ──> first state
    ── a Pod assumed more or less, the end of the log not seen yet ──> moves ──one or two──> others
    ── all but those in which what stands against the decision still stands ──> states that are tried

kube-scheduler assumes a Pod on its node once it has decided, and writes many such Pods at the same time: the log does
not tell in which order it has decided.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf
from typing import NamedTuple

from webhook.objects.references import ObjectKey
from webhook.scheduler.nodes import NodeSet
from webhook.scheduler.snapshot import NominatedPod
from webhook.scheduler.snapshot_changes import Kept, ObjectChange
from webhook.verification.decision import PodDecision

MOST_STATES = 64
MOST_TOGETHER = 10  # The nearest moves, of which two are made together.
RANK_OF_TWO = 3  # Two moves are as far as one of so many times their ranks.
EARLIER, LATER = "earlier", "later"
ALL_NODES: NodeSet = -1  # All nodes, also those that the first state does not have.
Overlay = Mapping[ObjectKey, Kept | None]  # What a state keeps of objects in place of what the log says.


@dataclass(slots=True)
class LogEntry:
    """
    One event of the log: `kept` is what a snapshot keeps of the object after it, `line` the object as a dump has it,
    both None where it is gone.  `decision` is what kube-scheduler has decided by it.

    Once all events before are known, `before` and `line_before` are the same of the object before it.
    """

    seconds: float
    version: int
    key: ObjectKey
    kept: Kept | None
    line: bytes | None
    decision: PodDecision | None = None
    before: Kept | None = None
    line_before: bytes | None = None

    @property
    def places(self) -> bool:
        """
        Whether this kube-scheduler has chosen a node by it, or has nominated one or none: it knows that before others.
        """
        decision = self.decision
        if decision is None or decision.is_of_others:
            return False
        return bool(decision.node) or isinstance(self.kept, NominatedPod) or isinstance(self.before, NominatedPod)


class Window(NamedTuple):
    """
    The log around a decision: the entries `behind` it, the newest last, and those `ahead`.

    `kept` is what is known of each object right before the decision.
    """

    entry: LogEntry
    behind: Sequence[LogEntry]
    ahead: Sequence[LogEntry]
    kept: Mapping[ObjectKey, Kept]


class Obstacles(NamedTuple):
    """
    What stands against a decision in a state that does not explain it: another may explain it only if it is other for
    one of the nodes `any_of`, or for all of the nodes `all_of` where there are such.  It is other for those `touched`.
    """

    any_of: NodeSet
    all_of: NodeSet
    touched: NodeSet = 0

    def after(self, touched: NodeSet) -> Obstacles:
        """Return what stands against it in a state that is other for these nodes, too."""
        return self._replace(touched=self.touched | touched)

    @property
    def may_have_fallen(self) -> bool:
        """Whether the other state may explain the decision."""
        all_touched = self.all_of and not self.all_of & ~self.touched
        return self.touched == ALL_NODES or bool(self.touched & self.any_of or all_touched)


class Move(NamedTuple):
    """
    What leads from the first state to another: a step in a `sequence`, with all steps before it, or "" for one alone.

    The last events of a kind are not seen yet; Pods that are written later were decided EARLIER, or those that were
    written before are decided LATER.  The step is so many events away from the decision.  Of the `steps`, which all
    moves of a sequence share, it makes so many.  The state is other for the nodes `touched`, and the step alone for
    those `added`.
    """

    distance: int
    sequence: str
    steps: Sequence[tuple[ObjectKey, Kept | None]]
    number: int
    touched: NodeSet
    added: NodeSet

    @property
    def overlay(self) -> Overlay:
        """What the state keeps in place of what the first one does."""
        return dict(self.steps[: self.number])


def first_state(window: Window) -> Overlay:
    """Return what the first state keeps in place of what the log says: the Pods that the queue has in another order."""
    overlay: dict[ObjectKey, Kept | None] = {}
    for _, other in _placing(window):
        is_first = leaves_queue_first(other, window.entry)
        if is_first is not None:
            placed, waiting = _placed_and_waiting(window, other)
            overlay[other.key] = placed if is_first else waiting
    return {key: kept for key, kept in overlay.items() if kept != window.kept.get(key)}


def _placing(window: Window) -> Iterator[tuple[int, LogEntry]]:
    """
    Yield the entries that have placed another Pod last, or will place it next, each with its distance.

    A Pod of a StatefulSet may be deleted and made again meanwhile, with the same name.
    """
    for entries in (reversed(window.behind), window.ahead):
        seen = {window.entry.key}
        for distance, other in enumerate(entries, 1):
            if other.places and other.key not in seen:
                seen.add(other.key)
                yield distance, other


def leaves_queue_first(other: LogEntry, entry: LogEntry) -> bool | None:
    """
    Return whether kube-scheduler has taken another Pod out of its queue before that of an entry; None if nobody knows.

    The queue is in the order of priority, and of Pods of the same priority that one comes first that came first.  When
    a Pod comes back that was tried before is not known.

    upstream: priority_sort.go:PrioritySort.Less (v1.37)
    """
    theirs, own = other.decision, entry.decision
    if theirs is None or own is None or theirs.tried or own.tried:
        return None
    came_first = theirs.queued < own.queued
    if theirs.queued == own.queued:  # Both were there when the log began.
        return None
    if theirs.priority == own.priority:
        return came_first
    if came_first == (theirs.priority > own.priority):
        return came_first
    return None


def _placed_and_waiting(window: Window, other: LogEntry) -> tuple[Kept | None, Kept | None]:
    """Return what a snapshot keeps of a Pod that is placed around the decision, if it is assumed, and if it is not."""
    now = window.kept.get(other.key)
    return (other.kept, now) if other.version > window.entry.version else (now, other.before)


def moves(window: Window, first: Overlay, reach: Callable[[ObjectChange], NodeSet], heeded: NodeSet) -> list[Move]:
    """
    Return what leads from the first state to others, the nearest first, alone only what touches `heeded` nodes.

    `reach` returns the nodes for which a state is other after a change.
    """
    made: list[Move] = []
    overlays: dict[str, dict[ObjectKey, Kept | None]] = defaultdict(dict)  # by sequence, so far
    steps: dict[str, list[tuple[ObjectKey, Kept | None]]] = defaultdict(list)
    touched: dict[str, NodeSet] = defaultdict(int)

    def go_on(sequence: str, distance: int, key: ObjectKey, instead: Kept | None, *, alone: bool) -> None:
        overlay = overlays[sequence]
        before = overlay.get(key, first.get(key, window.kept.get(key)))
        overlay[key] = instead
        steps[sequence].append((key, instead))
        added = reach(ObjectChange(key.namespace, key.name, before, instead)) if instead != before else 0
        if not added:
            return
        touched[sequence] |= added
        made.append(Move(distance, sequence, steps[sequence], len(steps[sequence]), touched[sequence], added))
        if alone and len(overlay) > 1 and added & heeded:
            made.append(Move(distance, "", [(key, instead)], 1, added, added))

    queued = {
        other.key: other.decision.queued for _, other in _placing(window) if other.key in first and other.decision
    }
    for distance, other in enumerate(reversed(window.behind), 1):
        is_settled = other.key == window.entry.key or other.version >= queued.get(other.key, inf)
        if not other.places and not is_settled:
            go_on(other.key.kind, distance, other.key, other.before, alone=False)
    for distance, other in _placing(window):
        was_queued = other.decision is not None and other.decision.queued < window.entry.version
        if was_queued and leaves_queue_first(other, window.entry) is None:
            placed, waiting = _placed_and_waiting(window, other)
            if other.version > window.entry.version:
                go_on(EARLIER, distance, other.key, placed, alone=True)
            else:
                go_on(LATER, distance, other.key, waiting, alone=True)
    return sorted(made, key=lambda move: move.distance)


def other_states(
    moves: Sequence[Move],
    first: Overlay,
    heeded: NodeSet,
    obstacles: Obstacles,
    obstacles_now: Callable[[], Obstacles],
) -> Iterator[Overlay]:
    """
    Yield the other states that may explain a decision, the nearest first.

    `obstacles` stand against it in the first state, and `obstacles_now` returns those in the state that was yielded
    last.  A state in which they still stand is left out.  Two are made together that touch `heeded` nodes.
    """
    standing: list[Obstacles] = []  # after each move
    last_of: dict[str, Obstacles] = {}  # after the last step of each sequence
    for place, *others in _in_order(moves, heeded):
        move = moves[place]
        if others:
            (other,) = others
            sides = standing[place].after(moves[other].touched), standing[other].after(move.touched)
            if all(side.may_have_fallen for side in sides):
                yield {**first, **move.overlay, **moves[other].overlay}
            continue
        after = last_of.get(move.sequence, obstacles).after(move.added)
        if after.may_have_fallen:
            yield {**first, **move.overlay}
            after = obstacles_now()
        standing.append(after)
        if move.sequence:
            last_of[move.sequence] = after


def _in_order(moves: Sequence[Move], heeded: NodeSet) -> list[tuple[int, ...]]:
    """
    Return the places of one move or two, the nearest first: all moves in their order, and among them two of the nearest
    that touch `heeded` nodes.

    What two kinds tell may be late at the same time, long before much is late of one.
    """
    states: list[tuple[int, tuple[int, ...]]] = []
    touching: list[tuple[int, Move]] = []
    for place, move in enumerate(moves):
        states.append((len(touching), (place,)))
        if move.added & heeded:
            touching.append((place, move))
    for (rank, (place, move)), (other_rank, (other_place, other)) in combinations(
        enumerate(touching[:MOST_TOGETHER]), 2
    ):
        if not (move.sequence and move.sequence == other.sequence) and move.overlay.keys().isdisjoint(other.overlay):
            states.append((RANK_OF_TWO * (rank + other_rank), (place, other_place)))
    return [places for _, places in sorted(states, key=lambda state: state[0])]
