"""What would let in a Pod that waits in the end."""

from __future__ import annotations

from tests.support.placing import node
from tests.support.simulated import deployment, nodes, plan
from webhook.simulation.remedies import helping
from webhook.simulation.run import run


def changes(objects, steps, **fields):
    made = plan(objects, steps, **fields)
    return [one.change for one in helping(made, 1, [run(made, 1, i) for i in range(5)])]


def test_a_zone_without_room_is_given_room():
    """kubernetes#116978"""
    objects = [*nodes("a=1 b=1"), node("c1", "c", pods="1")]
    found = changes(objects, "", applied=True, raw=deployment(replicas=9)[0])

    assert {"add a node (such as c1) to zone c", "maxSkew: 2 on constraint 0"} <= {*found}


def test_the_cluster_is_as_the_steps_have_left_it():
    found = changes([*nodes("a=1 b=1"), *deployment(replicas=2, on=["a1", "b1"])], "cordon=b1 scale=4")

    assert "uncordon b1 (zone b)" in found


def test_where_nothing_waits_nothing_is_said():
    assert [] == changes([*nodes("a=1"), *deployment(replicas=1, on=["a1"])], "scale=2")
