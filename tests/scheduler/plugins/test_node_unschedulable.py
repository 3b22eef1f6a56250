"""A cordoned node."""

from __future__ import annotations

from tests.support.attempts import (
    CORDONED,
    UNSCHEDULABLE,
    cycle,
    node,
    refusals,
)


def test_a_cordoned_node_is_open_to_who_tolerates_it():
    """Whatever its taint says: `kubectl cordon` sets the field, and the taint follows."""
    tolerating = [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]

    assert {"n2": UNSCHEDULABLE} == refusals(cycle(CORDONED))
    assert {} == refusals(cycle(CORDONED, tolerations=tolerating)) == refusals(cycle(node("n2", unschedulable=False)))
