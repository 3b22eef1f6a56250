"""
Whether a decision of kube-scheduler is one that is computed in a state that it may have seen.

    decision ──first state──> agrees ─────────────────────────> how much that is worth
             └──the others, nearest first──> agrees in one ────┘
                                         └──> in none: differs
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from webhook.objects.disruption_budget import DisruptionBudget
from webhook.placement.claims import volume_gaps
from webhook.placement.gaps import LABELS_OF_NAMESPACES, gaps_of_runs
from webhook.placement.subject import FROM_SCHEDULER
from webhook.scheduler.attached_volumes import SchedulerError
from webhook.scheduler.counts import BoundPod
from webhook.scheduler.framework import Framework, usable_nodes
from webhook.scheduler.nodes import Node, NodeSet, union
from webhook.scheduler.snapshot import Controller, Namespace, NominatedPod, Service
from webhook.scheduler.snapshot_changes import Kept, ObjectChange
from webhook.verification.computation import ComputedDecision, parts
from webhook.verification.decision import (
    DEVICES_OR_GROUPS,
    MANY_CANDIDATES,
    NOT_LISTED,
    TOO_MANY_ORDERS,
    PodDecision,
    counted_reasons,
)
from webhook.verification.search_windows import is_sampled, wins_in_a_window
from webhook.verification.states import (
    ALL_NODES,
    MOST_STATES,
    Obstacles,
    Overlay,
    Window,
    first_state,
    moves,
    other_states,
)

AGREES, DIFFERS = "agrees", "differs"
MOST_NODES_TOLD = 3  # nodes in a message

NO_CHANGES: Overlay = {}
ComputeIn = Callable[[Overlay], ComputedDecision]


class Judged(NamedTuple):
    """
    A decision and the `verdict`: AGREES, DIFFERS, or one of NOT_COMPARED.

    So many `states` were tried.  `power` is the share of the feasible nodes that would have been called wrong in each
    of them, None where that says nothing: no node was chosen, or only some of the feasible nodes were scored.  Then
    `wins` says whether the node has the best score in one part of the nodes at which kube-scheduler may have looked.

    `parts` took part in the decision; `computed` is what there is in place of it, in words, and `first` the state in
    which that is so.  It was made so many `seconds` after the log began.
    """

    decision: PodDecision
    verdict: str
    seconds: float = 0.0
    states: int = 0
    power: float | None = None
    wins: bool | None = None
    parts: tuple[str, ...] = ()
    computed: str = ""
    first: Overlay = NO_CHANGES

    @property
    def is_compared(self) -> bool:
        return self.verdict in (AGREES, DIFFERS)


def judge(window: Window, compute_in: ComputeIn, tree_order: Callable[[Iterable[Node]], list[str]]) -> Judged:
    """
    Return the judgement of the decision in a window of the log.

    `compute_in` computes the decision in a state; `tree_order` returns the names of nodes in the order in which
    kube-scheduler goes through them, as far as that is known.
    """
    decision, seconds = window.entry.decision, window.entry.seconds
    assert decision is not None
    first = first_state(window)
    computed = in_first = compute_in(first)
    if reason := _not_compared(in_first):
        return Judged(decision, reason, seconds)
    took_part = parts(in_first)
    called_right = set(_right(computed))
    states = 1
    if not _agrees(computed, decision):
        at_first = obstacles(decision, in_first, in_first)
        heeded = heeded_nodes(decision, in_first)
        ways = moves(window, first, TouchedNodes(in_first), heeded)
        others = other_states(ways, first, heeded, at_first, lambda: obstacles(decision, computed, in_first))
        for overlay in islice(others, MOST_STATES - 1):
            computed = compute_in(overlay)
            states += 1
            called_right.update(_right(computed))
            if _agrees(computed, decision):
                break
            reason = reason or _not_compared(computed)
        else:
            verdict = reason or (DIFFERS if next(others, None) is None else TOO_MANY_ORDERS)
            said = in_words(decision, in_first)
            return Judged(decision, verdict, seconds, states, parts=took_part, computed=said, first=first)
    judged = Judged(decision, AGREES, seconds, states, parts=took_part)
    if not decision.node:
        return judged
    if is_sampled(computed.framework, computed.feasible):
        order = tree_order(computed.cycle.snapshot.nodes)
        return judged._replace(wins=wins_in_a_window(computed, decision.node, order))
    feasible = set(computed.names(computed.feasible))
    return judged._replace(power=len(feasible - called_right) / len(feasible))


def _agrees(computed: ComputedDecision, decision: PodDecision) -> bool:
    """Return whether kube-scheduler may decide so in this state."""
    if not decision.node:
        return decision.message in computed.messages
    passing = computed.feasible
    return decision.node in computed.names(passing if is_sampled(computed.framework, passing) else computed.best)


def _right(computed: ComputedDecision) -> Iterator[str]:
    """Return the names of the nodes that kube-scheduler may choose in this state."""
    return computed.names(computed.best)


def _not_compared(computed: ComputedDecision) -> str:
    """Return why a decision is not compared, for what the cluster has or does not tell; "" if it is."""
    cycle, preemption = computed.cycle, computed.preemption
    if cycle.of_devices:
        return NOT_LISTED if cycle.snapshot.device_resources is None else DEVICES_OR_GROUPS
    if any(gap.unread for gap in volume_gaps(cycle)) or LABELS_OF_NAMESPACES in gaps_of_runs(cycle, ()):
        return NOT_LISTED
    if preemption is not None and preemption.helps:
        if preemption.budgets_unknown:
            return NOT_LISTED
        if not preemption.exact:
            return MANY_CANDIDATES
    return ""


def obstacles(decision: PodDecision, computed: ComputedDecision, in_first: ComputedDecision) -> Obstacles:
    """
    Return what stands against a decision in a state that does not explain it, by the nodes of the first state.

    A node that comes to pass may set the scale of scores, too, though it is in nobody's way: such states are not tried.
    """
    nodes = in_first.cycle.snapshot.nodes

    def known(of_state: NodeSet) -> NodeSet:
        return nodes.named(computed.names(of_state))

    if not decision.node:
        if computed.feasible:
            return Obstacles(0, known(computed.feasible))
        return Obstacles(known(_refused_otherwise(decision.message, computed)), 0)
    chosen, feasible = computed.cycle.snapshot.nodes.named((decision.node,)), computed.feasible
    if not chosen & feasible:  # Once it passes, those that pass now may be better.
        return Obstacles(known(chosen), known(feasible))
    usable = usable_nodes(computed.cycle)
    # Where one more node passes, kube-scheduler may not look at the better ones.
    others = usable & ~feasible if is_sampled(computed.framework, usable) else 0
    return Obstacles(known(chosen | others | computed.setting_scale), known(computed.better_than(chosen)))


def heeded_nodes(decision: PodDecision, computed: ComputedDecision) -> NodeSet:
    """Return the nodes that may stand against a decision in the states around this one; all if there are none."""
    if not decision.node:
        return _refused_by_pods(computed.framework) or ALL_NODES
    return computed.cycle.snapshot.nodes.named((decision.node,)) | computed.feasible or ALL_NODES


def _refused_otherwise(message: str, computed: ComputedDecision) -> NodeSet:
    """
    Return the nodes of which at least one is refused otherwise in a state where kube-scheduler says the message.

    Each reason that it gives for fewer nodes, or for more, tells of such nodes; they are the fewest that one tells of.
    """
    by_pods = _refused_by_pods(computed.framework)
    number, said = counted_reasons(message)
    if computed.feasibility is None or number is None:
        return by_pods
    nodes = computed.cycle.snapshot.nodes.all
    if number != nodes.bit_count():
        return 0  # It may only be told of in a state with other nodes.
    refused: dict[str, NodeSet] = defaultdict(int)
    for refusal in computed.feasibility.refusals:
        for reason in refusal.reasons:
            refused[reason] |= refusal.nodes
    differing = [by_pods]
    for reason, there in refused.items():
        if said.get(reason, 0) != there.bit_count():
            differing.append(by_pods & (there if said.get(reason, 0) < there.bit_count() else nodes & ~there))
    return min(differing, key=int.bit_count)


def _refused_by_pods(framework: Framework) -> NodeSet:
    """Return the nodes for which the reason may depend on other Pods: a filter that counts them is asked there."""
    try:
        remaining = framework.searched
        for plugin in map(framework.plugin, framework.cycle.profile.filters):
            if plugin.counts_pods:
                break
            remaining = plugin.passing(remaining)
    except SchedulerError:
        return framework.cycle.snapshot.nodes.all
    return remaining


class TouchedNodes:
    """Says for which nodes a state is other after a change."""

    def __init__(self, computed: ComputedDecision) -> None:
        self._framework, self._cycle = computed.framework, computed.cycle
        self._owner = computed.subject.pod.owner
        self._has_defaults = computed.attempt.source == FROM_SCHEDULER
        self._tries_preemption = computed.preemption is not None and computed.preemption.tried

    def __call__(self, change: ObjectChange) -> NodeSet:
        return union(self._touched(change, kept) for kept in (change.before, change.after) if kept is not None)

    def _touched(self, change: ObjectChange, kept: Kept) -> NodeSet:
        """Return the node of a Pod, or all if plugins look at such a Pod from elsewhere; all or none of others."""
        pod = kept.pod if isinstance(kept, NominatedPod) else kept
        if isinstance(pod, BoundPod):
            if self._framework.heeding(pod.info(change.namespace)):
                return ALL_NODES
            return self._cycle.snapshot.nodes.named((pod.node,))
        return ALL_NODES if self._matters(change, kept) else 0

    def _matters(self, change: ObjectChange, kept: Kept) -> bool:
        own_namespace = change.namespace == self._cycle.pod.namespace
        if isinstance(kept, Service):
            return self._has_defaults and own_namespace and kept.selects(self._cycle.pod.labels)
        if isinstance(kept, Controller):
            owned = self._owner is not None and (kept.kind, kept.name) == (self._owner.kind, self._owner.name)
            return self._has_defaults and own_namespace and owned
        if isinstance(kept, DisruptionBudget):
            return self._tries_preemption
        return isinstance(kept, Node | Namespace) or bool(self._cycle.mounts)


def in_words(decision: PodDecision, computed: ComputedDecision) -> str:
    """Return what is computed in place of a decision."""
    if not decision.node:
        if computed.feasible:
            return f"{_named(computed, computed.feasible)} {'passes' if computed.feasible.bit_count() == 1 else 'pass'}"
        return " or: ".join(computed.messages)
    if decision.node not in computed.names(computed.feasible):
        return f"{decision.node} does not pass; evenkeel would take {_named(computed, computed.best)}"
    return f"{decision.node} passes, but {_named(computed, computed.best)} has a higher score"


def _named(computed: ComputedDecision, nodes: int) -> str:
    if not nodes:
        return "none"
    names = [*islice(computed.names(nodes), MOST_NODES_TOLD)]
    more = nodes.bit_count() - len(names)
    return f"{', '.join(names)}{f' and {more:,} more' if more else ''}"
