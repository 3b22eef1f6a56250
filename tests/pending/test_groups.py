"""Pods that wait, by workload and cause, with what frees most."""

from __future__ import annotations

import pytest

from evenkeel.pending.groups import PASSES, pending
from evenkeel.pending.text import text
from evenkeel.placement.subject import of_pod
from evenkeel.placement.variants import NEW_NODE
from evenkeel.scheduler.snapshot import from_objects
from tests.support.build import pod, workload
from tests.support.claims import claim, storage_class, using, volume
from tests.support.placing import INFRA, ZONE, node, requesting, running, spread
from webhook.kubernetes.features import LATEST
from webhook.kubernetes.references import ObjectRef

SAID = "0/1 nodes are available: 1 node(s) had untolerated taint(s)."
WHOLE = f"{SAID} preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."


def waiting(name, *constraints, owner=None, said=WHOLE, cpu="100m", **spec):
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": said}
    raw = pod(*constraints, name=name, owner=owner, spec={"containers": requesting(cpu), **spec})
    return raw | {"status": {"phase": "Pending", "conditions": [condition]}}


def listed(objects, *pods):
    return pending([of_pod(one, {}) for one in pods], from_objects(objects, LATEST), LATEST)


def test_pods_of_one_workload_that_wait_for_the_same_are_one_group():
    found = listed(
        [node("n1", taints=[INFRA])],
        waiting("web-2", owner="ReplicaSet/web"),
        waiting("web-1", owner="ReplicaSet/web"),
        waiting("alone", said="something else"),
    )
    first, second = found.groups

    assert ("shop", "apps", "ReplicaSet/web", SAID, ("web-1", "web-2")) == first[:5]
    assert ("", "Pod shop/alone", ("alone",)) == (second.api_group, second.workload, second.pods)
    assert (2, 3) == (found.agree, found.compared)


def test_workloads_of_one_name_and_two_groups_are_two():
    of_another = [{"apiVersion": "example.com/v1", "kind": "ReplicaSet", "name": "web", "controller": True}]
    other = waiting("b")
    other["metadata"]["ownerReferences"] = of_another
    found = listed([node("n1", taints=[INFRA])], waiting("a", owner="ReplicaSet/web"), other)

    assert [("apps", "ReplicaSet/web", ("a",)), ("example.com", "ReplicaSet/web", ("b",))] == [
        (group.api_group, group.workload, group.pods) for group in found.groups
    ]


def test_the_change_that_lets_in_the_most_of_all_that_wait():
    """Untainted, n1 would take both; a toleration in the template only one."""
    found = listed([node("n1", taints=[INFRA])], waiting("a"), waiting("b", cpu="1"))

    assert {("remove the taint dedicated=infra:NoSchedule from n1", 2)} == {
        (group.remedy.change, group.frees.least) for group in found.groups
    }


CONTROL_PLANE = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}


def test_the_control_plane_takes_a_pod_only_if_nothing_else_helps_and_without_a_command():
    two = [waiting(f"web-{i}", owner="ReplicaSet/web", cpu="5") for i in range(2)]
    in_control = node("c1", taints=[CONTROL_PLANE], cpu="64")
    (alone,) = listed([in_control], waiting("a")).groups
    added = {group.remedy.change for group in listed([in_control, node("n1"), running("n1", "8")], *two).groups}

    assert {"add a node (such as n1)"} == added  # for one of the two, where c1 has room for both
    assert (True, ()) == (alone.remedy.last_resort, alone.commands)


@pytest.mark.parametrize("effects", [["NoSchedule"], ["NoSchedule", "NoExecute"]], ids=" ".join)
def test_a_node_that_may_come_back_is_never_deleted_by_a_command(effects):
    lost = node("c1", "c", taints=[{"key": "node.kubernetes.io/unreachable", "effect": effect} for effect in effects])
    there = [node("a1", "a"), node("b1", "b"), running("a1"), running("b1")]
    (group,) = listed([*there, lost], waiting("web-1", spread(), owner="ReplicaSet/web")).groups
    (alone,) = listed([node("a1", "a", cpu="0"), lost], waiting("web-1", spread(), owner="ReplicaSet/web")).groups

    assert "delete" not in group.remedy.change
    assert ["node.kubernetes.io/unreachable"] == [closed.taint for closed in group.closed]
    assert not alone.commands


def test_what_is_known_of_the_taints_that_refuse_a_group():
    starting = {"key": "ebs.csi.aws.com/agent-not-ready", "effect": "NoExecute"}
    (group,) = listed([node("n1", taints=[starting])], waiting("a")).groups

    assert [("ebs.csi.aws.com/agent-not-ready", ("n1",))] == [closed[:2] for closed in group.closed]
    assert group.remedy is None


def test_a_change_in_the_template_counts_for_its_workload():
    nodes = [node("a1", "a"), node("b1", "b", taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}])]
    same = [waiting(f"web-{i}", spread(), owner="ReplicaSet/web") for i in range(3)]
    (group,) = listed([*nodes, running("a1")], *same).groups

    assert group.frees.least == 3


def test_a_change_in_the_template_counts_for_the_pods_that_are_as_it_was_tried_on():
    """Of Pods that an autoscaler has made larger one by one, a smaller request of one says nothing of the others."""
    waits = [waiting(f"web-{i}", owner="ReplicaSet/web", cpu=cpu) for i, cpu in enumerate(("9", "9", "12"))]
    (group,) = listed([node("n1"), node("n2")], *waits).groups

    assert ("lower the requests: cpu from 9 to 8", 2) == (group.remedy.change, group.frees.least)


def test_a_change_in_the_template_counts_for_pods_that_differ_in_labels_alone():
    waits = [waiting(f"db-{i}", owner="StatefulSet/db", cpu="9") for i in range(2)]
    waits[1]["metadata"]["labels"]["apps.kubernetes.io/pod-index"] = "1"
    (group,) = listed([node("n1"), node("n2")], *waits).groups

    assert group.frees.least == 2


def test_a_pod_that_would_run_now():
    (group,) = listed([node("n1")], waiting("web-1")).groups

    assert (PASSES, None, 0) == (group.cause, group.remedy, group.frees.least)


def test_what_is_not_judged_of_a_pod_that_would_run_now_is_named():
    (group,) = listed(
        [node("n1")],
        waiting("db-0", owner="StatefulSet/db", resourceClaims=[{"name": "gpu"}]),
        waiting("db-1", owner="StatefulSet/db", resourceClaims=[{"name": "gpu"}]),
    ).groups

    assert f"{PASSES}, but not judged: dynamic resources" == group.cause


def test_a_pod_for_which_kube_scheduler_makes_room_is_apart_and_needs_no_change():
    placeholder = running("n1", cpu="4")
    placeholder["spec"]["priority"] = -10
    full = waiting("web-0", owner="ReplicaSet/web")
    never = waiting("web-1", owner="ReplicaSet/web", preemptionPolicy="Never")
    listing = listed([node("n1", cpu="4"), placeholder], full, never)

    assert {("web-0",): ["n1"], ("web-1",): None} == {
        group.pods: group.preemption and list(group.preemption.candidates) for group in listing.groups
    }
    assert [None] == [group.remedy for group in listing.groups if group.preemption is not None]


def test_a_pod_for_which_others_are_ending_needs_no_change():
    ending = running("n1", cpu="4", deletionTimestamp="2026-01-01T00:00:00Z")
    ending["spec"]["priority"] = -10
    preempted = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    ending["status"]["conditions"] = [preempted]
    served = waiting("web-0", owner="ReplicaSet/web")
    served["status"]["nominatedNodeName"] = "n1"
    (group,) = listed([node("n1", cpu="4"), ending], served).groups

    assert (None, 1) == (group.remedy, len(group.preemption.ending))


def test_a_pod_that_has_a_nominated_node_is_looked_at_by_itself():
    one, *others = (waiting(f"web-{i}", owner="ReplicaSet/web") for i in range(3))
    one["status"]["nominatedNodeName"] = "n1"

    (group, kept_off) = listed([node("n1", pods="1"), one], one, *others).groups

    assert [("0/1 nodes are available: 1 Too many pods.", ("web-1", "web-2")), (PASSES, ("web-0",))] == [
        (of.cause, of.pods) for of in (group, kept_off)
    ]


def test_what_is_listed_does_not_depend_on_the_order_of_pods_and_nodes():
    nodes = [node("n1", cpu="1"), node("n2", cpu="4"), *(running(name, cpu="1") for name in ("n1", "n2"))]
    asking = [waiting(f"web-{i}", owner="ReplicaSet/web", containers=requesting(cpu)) for i, cpu in enumerate("64")]
    (one,) = listed(nodes, *asking).groups
    (other,) = listed(nodes[::-1], *asking[::-1]).groups

    assert (one.remedy.change, one.frees.least, one.pods) == (other.remedy.change, other.frees.least, other.pods)


def test_no_pod_waits():
    assert ((), 0, 0, True) == listed([node("n1")])


def test_the_room_of_a_node_is_counted_once():
    """Untainted, n1 has room for one of the four; a node passes for each of two more, and has room for one of them."""
    four = [
        waiting(f"app-{i}", owner="ReplicaSet/app", cpu="5", nodeSelector={"kubernetes.io/hostname": "n1"})
        for i in "0123"
    ]
    two = [waiting(f"db-{i}", owner="ReplicaSet/db", cpu="5") for i in range(2)]
    found = listed([node("n1", taints=[INFRA]), node("n2")], *four, *two)
    app, db = found.groups

    change = "remove the taint dedicated=infra:NoSchedule from n1"
    assert (change, 1, 5) == (app.remedy.change, app.frees.least, app.stuck)
    assert (PASSES, None, 1) == (db.cause, db.remedy, db.run_now)


def test_a_change_in_the_template_has_no_command_here():
    there = workload("Deployment")
    there["spec"]["template"]["spec"] = {"nodeSelector": {"disk": "ssd"}, "containers": requesting()}
    others = {ObjectRef.of(there).key: there}
    subjects = [of_pod(waiting("web-1", owner="Deployment/web", nodeSelector={"disk": "ssd"}), others)]
    (group,) = pending(subjects, from_objects([node("n1")], LATEST), LATEST, others=others).groups

    assert "remove the nodeSelector and the required node affinity" == group.remedy.change
    assert () == group.commands  # Its rollout was not simulated.


@pytest.mark.parametrize(
    ("rolling", "keys", "change"),
    [
        ({}, [], "whenUnsatisfiable: ScheduleAnyway on constraint 0"),  # 25 % of 3 Pods rounds down to 0
        ({"maxUnavailable": 1}, [], "maxSkew: 3 on constraint 0"),
        ({"maxUnavailable": 0, "maxSurge": 2}, [], "whenUnsatisfiable: ScheduleAnyway on constraint 0"),
        ({}, ["pod-template-hash"], "maxSkew: 3 on constraint 0"),  # the new Pods count for themselves
    ],
    ids=str,
)
def test_a_change_whose_rollout_goes_on_comes_before_one_that_only_lets_the_waiting_pod_in(rolling, keys, change):
    """The claim is in zone b: with maxSkew 3 the third Pod runs there, and no fourth beside the old ones."""
    hard = spread(matchLabelKeys=keys)
    there = workload("Deployment", hard, spec={"strategy": {"rollingUpdate": rolling}})
    there["spec"]["template"]["spec"]["containers"] = requesting()
    others = {ObjectRef.of(there).key: there}
    bound = [storage_class(), claim("data", "pv-1"), volume("pv-1", "b", of="data")]
    objects = [node("a1", "a"), node("b1", "b"), running("b1"), running("b1"), *bound]
    subjects = [of_pod(waiting("web-3", hard, owner="Deployment/web", **using("data")), others)]
    (group,) = pending(subjects, from_objects(objects, LATEST), LATEST, others=others).groups

    assert (change, 1) == (group.remedy.change, group.frees.least)


def test_a_change_whose_rollout_stops_is_still_named_if_it_alone_helps():
    there = workload("Deployment")
    there["spec"]["template"]["spec"] = {"nodeSelector": {"disk": "ssd"}, "containers": requesting("3")}
    others = {ObjectRef.of(there).key: there}
    subjects = [of_pod(waiting("web-1", owner="Deployment/web", nodeSelector={"disk": "ssd"}, cpu="3"), others)]
    (group,) = pending(subjects, from_objects([node("n1", cpu="4")], LATEST), LATEST, others=others).groups

    assert "remove the nodeSelector and the required node affinity" == group.remedy.change


def test_a_cluster_without_nodes_has_no_remedy():
    (group,) = listed([], waiting("web-1")).groups

    assert ("no nodes available to schedule pods", None) == (group.cause, group.remedy)


def test_in_a_large_cluster_changes_are_tried_for_the_largest_groups(monkeypatch):
    monkeypatch.setattr("evenkeel.pending.groups.LEAST_TRIED", 1)
    monkeypatch.setattr("evenkeel.pending.groups.NODES_TRIED_FOR_ALL", 0)
    few, many = waiting("few-1", owner="ReplicaSet/few"), [waiting(f"m-{i}", owner="ReplicaSet/many") for i in range(2)]
    found = listed([node("n1", taints=[INFRA])], few, *many).groups

    assert [("ReplicaSet/many", True, True), ("ReplicaSet/few", False, False)] == [
        (group.workload, group.tried, group.remedy is not None) for group in found
    ]


def test_fewer_pods_are_named_only_where_that_lets_in_more_than_any_other_change():
    """The Pod of a StatefulSet that is deleted comes again, and then waits itself."""
    there = [running(f"{zone}1", owner="StatefulSet/db") for zone in "ab"]
    nodes = [node("a1", "a"), node("b1", "b")]
    (group,) = listed([*nodes, *there], waiting("db-2", spread(minDomains=3), owner="StatefulSet/db")).groups

    assert ("add a node (such as a1) in a new zone", 1) == (group.remedy.change, group.frees.least)


def test_pods_with_ephemeral_volumes_wait_each_for_a_claim_of_its_own():
    """One is bound in a zone with a node, the other in a zone whose node is cordoned."""
    ephemeral = {"volumes": [{"name": "s", "ephemeral": {"volumeClaimTemplate": {"spec": claim("x")["spec"]}}}]}
    pods, storage = [], []
    for name, zone in (("w-1", "a"), ("w-2", "b")):
        pods.append(pod(name=name, uid=name, owner="ReplicaSet/w", spec={"containers": requesting(), **ephemeral}))
        made = claim(f"{name}-s", f"pv-{name}")
        made["metadata"]["ownerReferences"] = [{"uid": name, "controller": True}]
        storage += [made, volume(f"pv-{name}", zone, of=f"{name}-s")]
    nodes = [node("a1", "a"), node("b1", "b", unschedulable=True)]
    snapshot = from_objects([*nodes, storage_class(), *storage], LATEST)
    found = pending([of_pod(one, {}) for one in pods], snapshot, LATEST)

    assert {("w-1",): True, ("w-2",): False} == {group.pods: group.cause == PASSES for group in found.groups}


def test_the_number_of_pods_that_run_may_be_for_kube_scheduler_to_choose():
    """One place becomes free: for one large Pod, or for two small ones."""
    nodes = [node("n1", cpu="2", taints=[INFRA]), node("n2", cpu="1")]
    waits = [waiting("large", owner="ReplicaSet/web", cpu="2")]
    waits += [waiting(f"small-{i}", owner="ReplicaSet/app", cpu="1") for i in range(3)]
    found = listed([*nodes, running("n2", "1")], *waits)

    assert ((1, 2), 4) == next((of.frees, of.stuck) for of in found.groups if of.workload == "ReplicaSet/web")


def test_where_too_many_unlike_pods_wait_those_of_a_group_are_placed_alone(monkeypatch):
    monkeypatch.setattr("evenkeel.pending.groups.NODES_SEEN_FOR_ALL", 1)
    waits = [waiting("web-1", owner="ReplicaSet/web"), waiting("db-1", owner="ReplicaSet/db")]
    found = listed([node("n1", taints=[INFRA])], *waits)

    assert not found.together
    assert [(1, 1), (1, 1)] == [(group.frees.least, group.stuck) for group in found.groups]


def test_a_change_of_a_template_that_does_not_reach_the_pods_is_not_offered():
    there = workload("Deployment", spec={"paused": True})
    others = {ObjectRef.of(there).key: there}
    subjects = [of_pod(waiting("web-1", owner="Deployment/web", nodeSelector={"disk": "ssd"}), others)]
    (group,) = pending(subjects, from_objects([node("n1")], LATEST), LATEST, others=others).groups

    assert group.remedy is None


def test_a_misspelt_key_is_named_with_what_was_meant():
    (group,) = listed([node("a1", "a")], waiting("web-1", spread("kubernetes.io/zone"))).groups

    assert {"kubernetes.io/zone": ZONE} == group.misspelt


def test_a_pod_that_runs_is_not_deleted_for_one_that_waits():
    alone = running("a1")
    (group,) = listed([node("a1", "a"), alone], waiting("web-1", spread(minDomains=2, maxSkew=1))).groups

    assert "delete" not in group.remedy.change


def test_a_change_that_lets_in_only_other_pods_is_not_offered():
    """The node that is uncordoned has room for the Pod of higher priority, and no more."""
    nodes = [node("n1", cpu="1", unschedulable=True)]
    web = waiting("web-1", owner="ReplicaSet/web", cpu="1")
    high = waiting("high-1", owner="ReplicaSet/high", cpu="1", priority=5)
    found = {group.workload: group for group in listed(nodes, web, high).groups}

    assert "uncordon n1" == found["ReplicaSet/high"].remedy.change
    assert found["ReplicaSet/web"].remedy is None


def test_a_pod_of_an_old_template_is_deleted_and_nothing_is_changed_in_the_template():
    there = workload("StatefulSet")
    there["spec"]["template"]["spec"] = {"containers": requesting()}
    others = {ObjectRef.of(there).key: there}
    subjects = [of_pod(waiting("web-1", owner="StatefulSet/web", nodeSelector={"disk": "ssd"}), others)]
    (group,) = pending(subjects, from_objects([node("n1")], LATEST), LATEST, others=others).groups

    assert "delete Pod web-1: its controller creates it again from the new template" == group.remedy.change
    assert (1, ["kubectl delete pod web-1 -n shop"]) == (
        group.frees.least,
        [str(command) for command in group.commands],
    )


MADE_AGAIN = "delete the 4 Pods that wait: their controller creates them again from the new template"


@pytest.mark.parametrize(
    ("asked", "change"),
    [
        ("5", f"lower the requests: cpu from 5 to 3, and {MADE_AGAIN}"),
        ("4", MADE_AGAIN),
    ],
)
def test_the_template_is_changed_where_not_all_pods_that_are_deleted_run(asked, change):
    there = workload("StatefulSet", spec={"replicas": 4})
    there["spec"]["template"]["spec"] = {"containers": requesting(asked)}
    others = {ObjectRef.of(there).key: there}
    subjects = [of_pod(waiting(f"web-{i}", owner="StatefulSet/web", cpu="9"), others) for i in range(4)]
    nodes = [node("n1", cpu="8"), node("n2", cpu="8")]
    (group,) = pending(subjects, from_objects(nodes, LATEST), LATEST, others=others).groups

    assert (change, 4) == (group.remedy.change, group.frees.least)


@pytest.mark.parametrize(
    ("revision", "change"), [("1", None), ("2", "remove the nodeSelector and the required node affinity")]
)
def test_nothing_is_changed_in_a_template_that_has_changed_since(revision, change):
    there = workload("StatefulSet", spec={"replicas": 4, "podManagementPolicy": "Parallel"})
    there = {**there, "status": {"updateRevision": "2"}}
    others = {ObjectRef.of(there).key: there}
    waits = [waiting(f"web-{i}", owner="StatefulSet/web", nodeSelector={"disk": "ssd"}) for i in range(2)]
    for raw, each in zip(waits, ("1", revision), strict=True):
        raw["metadata"]["labels"]["controller-revision-hash"] = each
    (group,) = pending(
        [of_pod(raw, others) for raw in waits], from_objects([node("n1")], LATEST), LATEST, others=others
    ).groups

    assert change == (group.remedy and group.remedy.change)


@pytest.mark.parametrize(("management", "deleted"), [("OrderedReady", True), ("Parallel", False)])
def test_a_change_whose_pods_are_not_replaced_says_what_is_to_be_deleted(management, deleted):
    there = workload("StatefulSet")
    there["spec"] |= {"podManagementPolicy": management}
    there["spec"]["template"]["spec"] = {"nodeSelector": {"disk": "ssd"}, "containers": requesting()}
    others = {ObjectRef.of(there).key: there}
    subjects = [of_pod(waiting("web-1", owner="StatefulSet/web", nodeSelector={"disk": "ssd"}), others)]
    (group,) = pending(subjects, from_objects([node("n1")], LATEST), LATEST, others=others).groups

    assert deleted == group.remedy.change.endswith(", then delete Pod web-1")


def test_a_node_more_comes_before_room_that_somebody_has_to_find():
    (group,) = listed([node("n1", cpu="1"), running("n1", cpu="1")], waiting("web-1", cpu="1")).groups

    assert "add a node (such as n1)" == group.remedy.change


@pytest.mark.parametrize("cordoned", [False, True])
def test_beside_a_node_more_the_best_change_in_a_template_is_named(cordoned):
    """Zone b is full, so that the second of two Pods would run on a1, or in zone c without the cordon there."""
    nodes = [node("a1", "a"), node("b1", "b", cpu="0"), *([node("c1", "c", unschedulable=True)] if cordoned else [])]
    found = listed([*nodes, running("a1")], waiting("web-2", spread(maxSkew=1), owner="ReplicaSet/web"))
    (group,) = found.groups

    assert cordoned != any(name.startswith(NEW_NODE) for name in group.remedy.nodes)
    assert (None if cordoned else "maxSkew: 2 on constraint 0") == (group.in_template and group.in_template.change)
    assert cordoned or "  template: maxSkew: 2 on constraint 0: it then runs" in text(found, {}).splitlines()
