"""
What the loss of nodes does, of a whole zone or of part of it: their kubelets can no longer be reached.

    nodes ──tainted as unreachable──> their Pods are not ready ──one node of a zone after the other──> Pods are evicted

kube-controller-manager evicts none while all zones are wholly lost, and none from a small zone that is lost in large
part.  In each zone it taints a node every ten seconds, every hundred in a large zone that is lost in large part, so
that the cluster comes to rest in between.
"""

from __future__ import annotations

from itertools import zip_longest
from random import Random

from evenkeel.simulate.node_changes import Ground
from evenkeel.simulate.sampling import zone_of
from evenkeel.simulate.state import State
from webhook.spread.nodes import Node
from webhook.spread.taints import UNREACHABLE_KEY

UNHEALTHY_SHARE, LEAST_UNHEALTHY, SMALL_ZONE = 0.55, 3, 50  # kube-controller-manager's defaults


def lose_nodes(state: State, before: Ground) -> tuple[tuple[str, ...], ...]:
    """
    Let the Pods fail on the nodes that the last step has lost; return the nodes from which Pods are evicted, those of
    the same time together.

    The nodes have the taints of lost nodes already.
    `before`: the nodes before the step.
    """
    for pod in state.pods_of(state.ground.touched):
        state.fail(pod)
    return evicted_from(before, state.ground, state.random)


def evicted_from(before: Ground, after: Ground, random: Random) -> tuple[tuple[str, ...], ...]:
    """
    Return the names of the nodes lost by a step from which Pods are evicted.

    Those that are tainted at the same time, one of each zone, are together.

    upstream: node_lifecycle_controller.go:Controller.handleDisruption, Controller.ComputeZoneState (v1.37)
    """
    zones: dict[tuple[str, str], list[Node]] = {}
    for node in after.order:
        zones.setdefault(zone_of(node), []).append(node)
    if all(_is_lost(node) for zone in zones.values() for node in zone):
        return ()
    lost_in_step = set(after.touched) - before.lost
    by_time = list[tuple[str, ...]]()
    of_zones = [
        [node.name for node in zone if node.name in lost_in_step]
        for zone in zones.values()
        if not _is_partly_lost(zone)
    ]
    for names in of_zones:
        random.shuffle(names)
    for at_once in zip_longest(*of_zones):
        names = [name for name in at_once if name is not None]
        random.shuffle(names)
        by_time.append(tuple(names))
    return tuple(by_time)


def _is_partly_lost(zone: list[Node]) -> bool:
    """Return whether a small zone is lost in large part, but not wholly, so that evictions stop there."""
    lost = sum(map(_is_lost, zone))
    if lost == len(zone) or lost < LEAST_UNHEALTHY:
        return False
    return lost / len(zone) >= UNHEALTHY_SHARE and len(zone) <= SMALL_ZONE


def _is_lost(node: Node) -> bool:
    return any(taint.key == UNREACHABLE_KEY for taint in node.taints)
