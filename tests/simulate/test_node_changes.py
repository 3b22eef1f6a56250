"""What steps make of the nodes, and which steps would do nothing."""

from __future__ import annotations

import pytest

from evenkeel.scheduler.snapshot import from_objects
from evenkeel.simulate.node_changes import LOST, after, first_ground
from evenkeel.simulate.step import StepError, parse_step
from tests.support.build import HOSTNAME, ZONE
from tests.support.placing import INFRA
from tests.support.placing import node as made_node
from tests.support.simulated import nodes
from webhook.kubernetes.features import LATEST
from webhook.spread.taints import CORDONED


def ground(*steps, objects=None):
    found = first_ground(from_objects(objects or nodes("b=2 a=2 c=1"), LATEST).nodes)
    for step in steps:
        found = after(found, parse_step(step))
    return found


def test_nodes_are_in_the_order_of_their_names_and_looked_at_zone_by_zone():
    assert ["a1", "a2", "b1", "b2", "c1"] == [node.name for node in ground().order]
    assert ("a1", "b1", "c1", "a2", "b2") == ground().names
    assert {"a1": 0, "b1": 1, "c1": 2, "a2": 3, "b2": 4} == {name: i for i, name in enumerate(ground().names)}


def test_a_node_that_is_cordoned_is_closed_and_tainted():
    node = ground("cordon=a1").nodes.get("a1")

    assert (True, (CORDONED,)) == (node.unschedulable, node.taints)


def test_nodes_change_one_after_the_other():
    before, later = ground("cordon=b1"), ground("cordon=b1", f"cordon={ZONE}=a")
    between = before.towards(later, 1)

    assert ["a1", "b1"] == [node.name for node in between.order if node.unschedulable]
    assert before.order == before.towards(later, 0).order
    assert later.order == before.towards(later, 2).order


def test_a_drain_cordons_and_names_the_nodes():
    found = ground(f"drain={ZONE}=a")

    assert ("a1", "a2") == found.touched
    assert found.nodes.get("a2").unschedulable


def test_a_lost_zone_is_tainted_and_still_there():
    found = ground(f"lose={ZONE}=a")

    assert LOST == found.nodes.get("a1").taints
    assert {"a1", "a2"} == found.lost
    assert len(found.order) == 5


def test_deleted_nodes_are_gone():
    assert ["b1", "b2", "c1"] == [node.name for node in ground(f"delete={ZONE}=a").order]


def test_a_taint_comes_instead_of_one_with_the_same_key_and_effect():
    found = ground("taint=a1,pool=x:NoSchedule", "taint=a1,pool=y:NoSchedule").nodes.get("a1")

    assert ["pool=y:NoSchedule"] == [str(taint) for taint in found.taints]


def test_new_nodes_are_like_those_of_their_domain():
    found = ground("cordon=a1", f"add=2,{ZONE}=a,pool=new")
    node = found.nodes.get("new-1")

    assert ((("new-1", "a2"), ("new-2", "a2")), ("new-1", "new-2")) == (found.like, found.touched)
    assert {HOSTNAME: "new-1", ZONE: "a", "pool": "new"} == node.labels
    assert (False, ()) == (node.unschedulable, node.taints)
    assert node.allocatable == found.nodes.get("a2").allocatable


def test_new_nodes_are_no_virtual_or_system_nodes_and_have_no_taint_of_a_controller():
    there = [
        made_node("f1", "a", taints=[{"key": "virtual-kubelet.io/provider", "effect": "NoSchedule"}]),
        made_node("cp1", "b", taints=[{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]),
        made_node("z1", "z", taints=[INFRA, {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]),
    ]
    added = ground("add=2", f"add=1,{ZONE}=b", objects=there).order[-3:]

    assert ["z", "z", "b"] == [node.labels[ZONE] for node in added]
    assert [["dedicated=infra:NoSchedule"]] * 3 == [[str(taint) for taint in node.taints] for node in added]


def test_new_nodes_without_a_zone_come_to_each_zone_in_turn():
    assert ["a", "b", "c", "a"] == [node.labels[ZONE] for node in ground("add=4").order[-4:]]


def test_a_new_domain_is_like_any_other_and_a_name_is_never_used_again():
    found = ground(f"add=1,{ZONE}=d", "delete=new-1", "add=1")

    assert ("new-2",) == found.touched
    assert ground(f"add=1,{ZONE}=d").nodes.get("new-1").labels[ZONE] == "d"


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (["cordon=x"], 'cordon=x: no node is called "x"; the nodes are a1, a2, b1, b2, c1'),
        (["lose=rack=1"], f"lose=rack=1: no node has the label rack; the labels are {HOSTNAME}, {ZONE}"),
        ([f"drain={ZONE}=d"], f"drain={ZONE}=d: no node has {ZONE}=d; values of {ZONE} are a, b, c"),
        (["cordon=a1", "cordon=a1"], "cordon=a1: does nothing: a1 is cordoned already; leave the step out"),
        ([f"lose={ZONE}=a"] * 2, f"lose={ZONE}=a: does nothing: all 2 nodes are unreachable already"),
        (["taint=a1,x:NoSchedule"] * 2, "taint=a1,x:NoSchedule: does nothing: a1 is tainted with x:NoSchedule already"),
        (["delete=a1", "delete=a1"], 'delete=a1: no node is called "a1"; the nodes are a2, b1, b2, c1'),
        (
            [f"delete={ZONE}={one}" for one in "abc"] + ["add=1"],
            "add=1: the cluster has no node from which to copy a new one",
        ),
    ],
)
def test_a_step_that_names_or_does_nothing_is_an_error(steps, said):
    with pytest.raises(StepError) as error:
        ground(*steps)

    assert said in str(error.value)


def test_many_names_are_cut():
    with pytest.raises(StepError) as error:
        ground("drain=x", objects=nodes("a=30"))

    assert "a1, a10, a11, a12, a13, a14, a15, a16, a17, a18 and 20 more" in str(error.value)
