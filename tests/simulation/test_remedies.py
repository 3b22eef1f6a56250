"""What would let in the Pods that wait in the end."""

from __future__ import annotations

import pytest

from tests.support.build import ZONE, constraint
from tests.support.placing import INFRA, node
from tests.support.simulated import deployment, nodes, plan, pod, stateful, updating
from webhook.objects.references import ObjectRef
from webhook.placement.commands import commands
from webhook.simulation.remedies import NOTHING_HELPS, helping
from webhook.simulation.run import last_attempts, run

REF = ObjectRef("apps/v1", "Deployment", "shop", "web")
OF_SET = ObjectRef("apps/v1", "StatefulSet", "shop", "web")


def helped(objects, steps, ref=REF, **fields):
    made = plan(objects, steps, **fields)
    return helping(made, 1, [run(made, 1, i) for i in range(5)], ref)


def changes(*args, **fields):
    """How many Pods run after each change."""
    return {each.remedy.change: each.runs for each in helped(*args, **fields).changes}


def test_a_zone_without_room_is_given_room():
    """kubernetes#116978"""
    objects = [*nodes("a=1 b=1"), node("c1", "c", pods="1")]
    found = changes(objects, "", applied=True, raw=deployment(replicas=9)[0])

    assert 3 == found["add a node (such as c1) to zone c"]
    assert 4 == found["add a node (such as c1) to zone c, 2 times"]
    assert not [change for change in found if "maxSkew" in change]


def test_those_that_help_most_pods_come_first():
    objects = [*nodes("a=1 b=1"), node("c1", "c", pods="1"), *deployment(replicas=3, on=["a1", "b1", "c1"])]
    numbers = [*changes(objects, "scale=9").values()]

    assert numbers == sorted(numbers, reverse=True)
    assert 0 not in numbers


def test_the_cluster_is_as_the_steps_have_left_it():
    objects = [*nodes("a=1"), node("b1", "b", taints=[INFRA]), *deployment(replicas=1, on=["a1"])]

    assert "remove the taint dedicated=infra:NoSchedule from b1 (zone b)" in changes(objects, "scale=4")


def test_no_step_is_undone():
    objects = [*nodes("a=1 b=1"), *deployment(replicas=2, on=["a1", "b1"])]

    assert not [change for change in changes(objects, "cordon=b1 scale=4") if "uncordon" in change]
    assert not [
        change for change in changes(objects, "taint=b1,dedicated=infra:NoSchedule scale=4") if "take the" in change
    ]


def test_a_zone_that_is_lost_is_given_no_node():
    there = [node(f"{zone}1", zone, pods="2") for zone in "abc"]
    objects = [*there, *deployment(constraint(nodeTaintsPolicy="Honor"), replicas=6, on=["a1", "b1", "c1"] * 2)]
    found = changes(objects, f"lose={ZONE}=c")

    assert not [change for change in found if change.endswith("zone c")]
    assert 2 == found["add a node (such as a1) to zone a, and add a node (such as b1) to zone b"]


def test_a_change_of_the_template_whose_rollout_never_ends_is_not_offered():
    """Pods of the old template keep one of two nodes, and the new ones the other."""
    objects = [*[node(f"{zone}1", zone, pods="2") for zone in "ab"], *deployment(replicas=4, on=["a1", "b1"] * 2)]
    found = helped(objects, "scale=5").changes

    assert found
    assert not [each for each in found if each.remedy.where == "template"]


def test_nor_is_one_after_which_fewer_pods_wait_and_some_still_do():
    """All Pods are made anew at once: with maxSkew 2 seven of nine have room, where five had."""
    objects = [*nodes("a=1 b=1"), node("c1", "c", pods="1")]
    objects += deployment(replicas=5, on=["a1", "a1", "b1", "b1", "c1"], strategy={"type": "Recreate"})
    found = changes(objects, "scale=9")

    assert 4 == found["whenUnsatisfiable: ScheduleAnyway on constraint 0"]
    assert not [change for change in found if "maxSkew" in change]


def test_the_old_pods_of_a_statefulset_are_deleted():
    """A StatefulSet that makes its Pods in their order leaves one that waits as it is."""
    there = updating(constraint(), on=[("a1", "old"), ("", "old")])
    for made in there[1:]:
        made["spec"]["topologySpreadConstraints"] = [constraint()]
    objects = [*nodes("a=2"), node("b1", "b", taints=[INFRA]), *there]
    soft = stateful(constraint(whenUnsatisfiable="ScheduleAnyway"), replicas=2)[0]
    found = helped(objects, "", OF_SET, applied=True, raw=soft | {"status": there[0]["status"]})

    words = "delete Pod web-1: its controller creates it again from the new template"
    assert (words, 1) == (found.changes[0].remedy.change, found.changes[0].runs)
    assert not [each for each in found.changes if each.remedy.where == "template"]
    assert ["kubectl delete pod web-1 -n shop"] == [*map(str, commands(found.changes[0].remedy.edits, None))]


def test_pods_that_keep_the_old_template_are_deleted_after_a_change():
    objects = [*nodes("a=2"), node("b1", "b", taints=[INFRA]), *stateful(constraint(), replicas=2, on=["a1", ""])]
    found = changes(objects, "cordon=a2", OF_SET)

    assert 1 == found["nodeTaintsPolicy: Honor on constraint 0, then delete Pod web-1"]


def test_many_pods_that_are_deleted_are_counted_and_not_named():
    there = stateful(constraint(), replicas=6, on=["a1", *[""] * 5])
    found = changes([*nodes("a=2"), node("b1", "b", taints=[INFRA]), *there], "cordon=a2", OF_SET)

    assert 5 == found["nodeTaintsPolicy: Honor on constraint 0, then delete the 5 Pods that wait"]


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet"])
def test_of_what_does_not_roll_out_no_template_is_changed(kind):
    made = deployment(replicas=2, on=["a1"])
    raw = made[0] if kind == "Deployment" else made[1]
    raw["spec"]["paused"] = True
    objects = [*nodes("a=1"), node("b1", "b", taints=[INFRA]), *made]

    found = helped(objects, "scale=2 cordon=b1", raw=raw).changes
    assert {"now"} == {each.remedy.where for each in found}


@pytest.mark.parametrize(("partition", "deleted"), [(0, ["web-1", "web-2"]), (2, ["web-2"]), (3, [])])
def test_no_pod_below_the_partition_is_deleted(partition, deleted):
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}
    on = [("a1", "old"), ("", "old"), ("", "old")]
    made, *there = updating(constraint(), on=on, updateStrategy=strategy)
    objects = [*nodes("a=1"), node("b1", "b", taints=[INFRA]), made, *there]
    found = last_attempts(plan(objects, "cordon=b1"), 1, 0)

    assert deleted == [f"web-{attempt.ordinal}" for attempt in found if attempt.old]


def test_where_too_many_unlike_pods_wait_changes_are_tried_on_the_first(monkeypatch):
    monkeypatch.setattr("webhook.simulation.remedies.NODES_SEEN_AT_END", 1)
    unlike = [pod("ReplicaSet/web-1", i, "", spec={"nodeSelector": {"no": f"{i}"}}) for i in range(3)]
    found = helped([*nodes("a=1"), *deployment(replicas=3), *unlike], "cordon=a1")

    assert (1, True) == (found.stuck, found.first)


def test_where_nothing_waits_nothing_is_said():
    assert NOTHING_HELPS == helped([*nodes("a=1"), *deployment(replicas=1, on=["a1"])], "scale=2")
