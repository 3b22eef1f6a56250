"""
The nodes that taints or cordons close to a Pod, and who may open them.

    taints of nodes, tolerations ──known taints──> nodes that nobody opens by hand; what is to be known of them
"""

from __future__ import annotations

from typing import NamedTuple

from evenkeel.scheduler.framework import Feasibility
from evenkeel.scheduler.profile import NODE_UNSCHEDULABLE, TAINT_TOLERATION, Cycle
from evenkeel.scheduler.scheduler_nodes import SchedulerNode
from webhook.findings.wording import first_of
from webhook.spread.known_taints import CONTROL_PLANE, VIRTUAL_LABELS, Owner, is_set_by_controller, known_taint
from webhook.spread.nodes import NodeSet, union
from webhook.spread.taints import CORDONED, DO_NOT_SCHEDULE, Taint, untolerated_taint

# Of taints that nobody removes again, so a person may at last, and in this order.
LASTING = (Owner.POOL, Owner.PLATFORM, Owner.SYSTEM)


class ClosedNodes(NamedTuple):
    """Nodes that are closed to a Pod for a reason that is known."""

    taint: str  # its key; "" if they are drained
    nodes: tuple[str, ...]
    advice: str

    def __str__(self) -> str:
        names, several = first_of(self.nodes), len(self.nodes) > 1
        if not self.taint:
            return f"{names} {'are' if several else 'is'} {self.advice}"
        return f"{names} {'have' if several else 'has'} the taint {self.taint}: {self.advice}"


DRAINED = "cordoned, and Pods there are being deleted, perhaps by a drain: wait, or add a node"


def closed_nodes(cycle: Cycle, feasibility: Feasibility) -> tuple[ClosedNodes, ...]:
    """Return what is known of taints and cordons for which nodes are refused, by taint."""
    by_plugin = {
        plugin: union(refusal.nodes for refusal in feasibility.refusals if refusal.plugin == plugin)
        for plugin in (NODE_UNSCHEDULABLE, TAINT_TOLERATION)
    }
    nodes, shut = cycle.snapshot.nodes, union(by_plugin.values())
    by_key: dict[tuple[str, str], NodeSet] = {}
    for taints, members in nodes.by_taints.items():
        for taint in closing_taints(taints, cycle):
            if (known := known_taint(taint)) is not None and members & shut:
                key = taint.key, known.advice
                by_key[key] = by_key.get(key, 0) | members & shut
    found = [ClosedNodes(key, tuple(nodes.names(members)), advice) for (key, advice), members in sorted(by_key.items())]
    if drained := drained_nodes(cycle) & by_plugin[NODE_UNSCHEDULABLE]:
        found.append(ClosedNodes("", tuple(nodes.names(drained)), DRAINED))
    return tuple(found)


def closing_taints(taints: tuple[Taint, ...], cycle: Cycle) -> list[Taint]:
    """Return the taints that keep the Pod off a node, without that of a cordon."""
    return [
        taint
        for taint in taints
        if taint.key != CORDONED.key and untolerated_taint([taint], cycle.pod.tolerations, DO_NOT_SCHEDULE)
    ]


def kept_closed(cycle: Cycle) -> tuple[NodeSet, tuple[NodeSet, ...]]:
    """
    Return the nodes that nobody opens by hand, and those that are opened last: of pools, of the control plane, and
    those that are perhaps drained.

    Nodes with taints of both are of the control plane.
    """
    kept, drained, at_last = 0, drained_nodes(cycle), dict.fromkeys(LASTING, 0)
    for taints, members in cycle.snapshot.nodes.by_taints.items():
        known_taints = (known_taint(taint) for taint in closing_taints(taints, cycle))
        owners = {known.owner for known in known_taints if known is not None}
        if owners.difference(LASTING):
            kept |= members
        elif owners:
            at_last[max(owners, key=LASTING.index)] |= members
    return kept, (*[members & ~kept & ~drained for members in at_last.values()], drained & ~kept)


def drained_nodes(cycle: Cycle) -> NodeSet:
    """Return the cordoned nodes on which Pods are being deleted that a drain would delete."""
    snapshot = cycle.snapshot
    cordoned = snapshot.nodes.members(cycle.reach.cordoned)
    return snapshot.nodes.named(
        node.name
        for node in cordoned
        if any(not named.pod.spreads and not named.pod.of_node for named in snapshot.pods_of(node.name))
    )


def models(cycle: Cycle) -> tuple[NodeSet, NodeSet]:
    """
    Return the nodes like which a new one may be: those in service, then those that are leaving.

    No taint but those of controllers keeps the Pod off, and none is virtual.  The control plane is left out where the
    Pod may run on other nodes.
    """
    nodes = cycle.snapshot.nodes
    passing = nodes.in_service.tolerated(cycle.pod.tolerations)
    out_of_service, leaving = nodes.unschedulable, nodes.unschedulable
    for taints, members in nodes.by_taints.items():
        owners = {known.owner for taint in taints if (known := known_taint(taint)) is not None}
        if Owner.VIRTUAL in owners:
            passing &= ~members
        if any(taint.effect in DO_NOT_SCHEDULE and is_set_by_controller(taint) for taint in taints):
            out_of_service |= members
        if any(map(_is_going, taints)):
            leaving |= members
    control_plane = union(nodes.carrying(role) for role in CONTROL_PLANE) | nodes.tainted_by(CONTROL_PLANE)
    if (cycle.reach.affine or nodes.all) & ~control_plane:
        passing &= ~control_plane
    passing &= ~union(nodes.domains(key).get(value, 0) for key, value in VIRTUAL_LABELS)
    return passing & ~out_of_service, passing & leaving


def is_leaving(node: SchedulerNode) -> bool:
    """Whether a node is cordoned, or a controller keeps Pods off it since it is soon gone."""
    return node.unschedulable or any(map(_is_going, node.taints))


def _is_going(taint: Taint) -> bool:
    known = known_taint(taint)
    return known is not None and known.going and taint.effect in DO_NOT_SCHEDULE
