"""
What each step makes of the nodes, before anything is run: it is the same in every run.

    nodes ──cordon, taint, lose, delete, add──> nodes after each step; an error for a step that would do nothing
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from evenkeel.scheduler.scheduler_nodes import SchedulerNode, SchedulerNodes, another
from evenkeel.simulate.frameworks_at_start import FrameworksAtStart
from evenkeel.simulate.sampling import in_tree_order
from evenkeel.simulate.step import ADD, CORDON, DELETE, DRAIN, LOSE, OF_NODES, TAINT, Step, StepError
from webhook.kubernetes.names import ZONE
from webhook.spread.known_taints import Owner, known_taint
from webhook.spread.nodes import NodeSet
from webhook.spread.taints import CORDONED, NO_EXECUTE, NO_SCHEDULE, UNREACHABLE_KEY, Taint

LOST = (Taint(UNREACHABLE_KEY, "", NO_SCHEDULE), Taint(UNREACHABLE_KEY, "", NO_EXECUTE))
APART = {Owner.VIRTUAL, Owner.SYSTEM}  # of taints of nodes that new ones are hardly like
MOST_NODES_NAMED = 10


@dataclass(frozen=True)
class Ground:
    """The nodes after a step."""

    order: tuple[SchedulerNode, ...]  # as they came to the cluster
    touched: tuple[str, ...] = ()  # names of the nodes that the step is about, sorted
    like: tuple[tuple[str, str], ...] = ()  # each node that the step adds, and the node that it is modelled on
    gone: frozenset[str] = frozenset()  # names of nodes that steps have deleted

    @cached_property
    def nodes(self) -> SchedulerNodes:
        """The nodes in the order of kube-scheduler's node tree."""
        return SchedulerNodes(in_tree_order(self.order))

    @cached_property
    def frameworks(self) -> FrameworksAtStart:
        """The frameworks on these nodes, which all runs share."""
        return FrameworksAtStart()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the nodes, in the order of their positions."""
        return tuple(node.name for node in self.nodes)

    @cached_property
    def lost(self) -> frozenset[str]:
        """The names of the unreachable nodes; a Pod that is deleted there is never gone."""
        return frozenset(node.name for node in self.order if any(taint.key == UNREACHABLE_KEY for taint in node.taints))

    def towards(self, later: Ground, number: int) -> Ground:
        """Return the nodes amid a step: the first `number` that it touches are already as in `later`."""
        already_changed = set(later.touched[:number])
        changed = {node.name: node for node in later.order if node.name in already_changed}
        return replace(self, order=tuple(changed.get(node.name, node) for node in self.order), touched=(), like=())


def first_ground(nodes: SchedulerNodes) -> Ground:
    """Return the nodes as kube-scheduler first lists them: by name.  What has no name is no node."""
    return Ground(tuple(sorted((node for node in nodes if node.name), key=lambda node: node.name)))


def after(ground: Ground, step: Step) -> Ground:
    """
    Return the nodes after a step.

    StepError if it names no node, or changes none; a drain may change none, since it is about Pods.
    """
    if step.action == ADD:
        return _with_more(ground, step)
    if step.action not in OF_NODES:
        return replace(ground, touched=(), like=())
    which = _chosen(ground, step)
    changed = {node.name: _changed(node, step) for node in ground.nodes.members(which)}
    touched = tuple(sorted(changed))
    if step.action == DELETE:
        remaining = tuple(node for node in ground.order if node.name not in changed)
        return Ground(remaining, touched, gone=ground.gone.union(touched))
    if step.action != DRAIN and all(changed[node.name] == node for node in ground.nodes.members(which)):
        nodes_in_words = f"{touched[0]} is" if len(touched) == 1 else f"all {len(touched)} nodes are"
        raise StepError(f"{step.text}: does nothing: {_already(step, nodes_in_words)}; leave the step out")
    return Ground(tuple(changed.get(node.name, node) for node in ground.order), touched, gone=ground.gone)


def _chosen(ground: Ground, step: Step) -> NodeSet:
    nodes, which = ground.nodes, step.which
    if chosen := which.among(nodes):
        return chosen
    alternatives = which.alternatives(nodes)
    if which.name:
        zones = f", and the zones {_listed(sorted(nodes.domains(ZONE)))}" if nodes.domains(ZONE) else ""
        raise StepError(f'{step.text}: no node is called "{which.name}"; the nodes are {_listed(alternatives)}{zones}')
    if not alternatives:
        keys = sorted(nodes.label_keys)
        raise StepError(f"{step.text}: no node has the label {which.key}; the labels are {_listed(keys)}")
    raise StepError(f"{step.text}: no node has {which}; values of {which.key} are {_listed(alternatives)}")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NODES_NAMED:,} more" if len(names) > MOST_NODES_NAMED else ""
    return f"{', '.join(names[:MOST_NODES_NAMED]) or 'none'}{more}"


def _already(step: Step, nodes_in_words: str) -> str:
    what = "unreachable" if step.action == LOSE else f"tainted with {step.taint}"
    return f"{nodes_in_words} {'cordoned' if step.action == CORDON else what} already"


def _changed(node: SchedulerNode, step: Step) -> SchedulerNode:
    """Return a node after a step that taints, loses, cordons or drains it."""
    if step.action == TAINT and step.taint is not None:
        return _tainted(node, (step.taint,))
    if step.action == LOSE:
        return _tainted(node, LOST)
    return replace(_tainted(node, (CORDONED,)), unschedulable=True)


def _tainted(node: SchedulerNode, taints: Sequence[Taint]) -> SchedulerNode:
    """Return a node with these taints, which replace those of the same key and effect."""
    replaced = {(taint.key, taint.effect) for taint in taints}
    other_taints = [taint for taint in node.taints if (taint.key, taint.effect) not in replaced]
    return node if set(taints) <= set(node.taints) else replace(node, taints=(*other_taints, *taints))


def _with_more(ground: Ground, step: Step) -> Ground:
    """
    Add nodes, for one zone after the other.

    Each is modelled on an existing node that is reachable, is no virtual or system node, has the most of the step's
    labels, and is not cordoned.
    """
    if not ground.order:
        raise StepError(f"{step.text}: the cluster has no node from which to copy a new one")

    def unlikeness(node: SchedulerNode) -> tuple[bool, bool, int, bool]:
        owners = {known.owner for taint in node.taints if (known := known_taint(taint)) is not None}
        shared = sum(node.labels.get(key) == value for key, value in step.labels.items())
        return node.name in ground.lost, bool(owners & APART), -shared, node.unschedulable

    least_unlike = min(map(unlikeness, ground.order))
    models = in_tree_order(node for node in ground.order if unlikeness(node) == least_unlike)
    taken = {node.name for node in ground.order} | ground.gone
    names = [name for i in range(1, step.number + len(taken) + 1) if (name := f"new-{i}") not in taken][: step.number]
    model_of = {name: models[i % len(models)] for i, name in enumerate(names)}
    new = [another(model, name, step.labels) for name, model in model_of.items()]
    likeness = tuple((name, model.name) for name, model in model_of.items())
    return Ground((*ground.order, *new), tuple(names), likeness, ground.gone)
