"""The Pods that wait, alike ones together, and why."""

from __future__ import annotations

from evenkeel.clusters.known_cluster import place
from evenkeel.objects.pod_object import read_pod
from evenkeel.report import waiting_pods as module
from evenkeel.report.inventory import key_of
from evenkeel.report.waiting_pods import waiting
from evenkeel.scheduler.profile import USUAL_PROFILES, Profile
from evenkeel.scheduler.snapshot import from_objects
from tests.support.build import constraint, pod, workload
from tests.support.placing import INFRA, node, requesting
from tests.support.reporting import deployment, inventory, made_by, pods
from webhook.kubernetes.features import LATEST
from webhook.kubernetes.references import ObjectKey

FULL = [node("a1", "a", taints=[INFRA])]
WEB = ObjectKey("apps", "Deployment", "shop", "web")


def found(*objects, of=None, profiles=USUAL_PROFILES):
    there = inventory(*objects)
    of = {key_of(one) for one in there.workloads()} if of is None else of
    others = {place(one): one for one in objects}
    those = [one for one in objects if one["kind"] == "Pod" and read_pod(one).waits]
    return waiting(those, of, others, there, from_objects(objects, LATEST), LATEST, profiles)


def test_pods_that_are_alike_are_explained_once_for_what_has_made_them():
    groups = found(*FULL, *deployment(constraint()), *pods("", "", "a1"))
    (one,) = groups[WEB]

    assert ("web-5d-0", "web-5d-1") == one.names
    assert "0/1 nodes are available: 1 node(s) had untolerated taint(s)." == one.explanation.of_filters
    assert one.tried
    assert "remove the taint dedicated=infra:NoSchedule from a1" in [remedy.change for remedy in one.remedies]


def test_a_pod_that_nobody_made_and_one_whose_owner_is_not_known():
    groups = found(*FULL, made_by("", "alone"), made_by("Cluster/db", "db-1", api_version="example.com/v1"))

    assert {ObjectKey("", "Pod", "shop", "alone"), ObjectKey("example.com", "Cluster", "shop", "db")} == groups.keys()


def test_only_those_of_the_workloads_that_are_asked_for():
    assert {WEB} == found(*FULL, made_by("", "alone"), *deployment(), *pods(""), of={WEB}).keys()


def test_nothing_is_tried_for_a_pod_that_some_node_takes():
    ((one,),) = found(node("a1", "a"), made_by("", "alone")).values()

    assert ("", False, ()) == (one.explanation.message, one.tried, one.remedies)


def test_what_kube_scheduler_has_said_of_any_of_them_is_kept():
    first, second = pods("", "")
    said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
    second["status"]["conditions"] = [said]
    ((one,),) = found(*FULL, *deployment(), first, second).values()

    assert "0/1 nodes" == one.subject.verdict.message


def test_the_most_that_are_alike_come_first_and_few_are_explained(monkeypatch):
    monkeypatch.setattr(module, "MOST_EXPLAINED", 1)
    groups = found(*FULL, made_by("", "alone"), *deployment(), *pods("", ""))

    assert groups[WEB][0].explanation
    assert (None, ()) == groups[ObjectKey("", "Pod", "shop", "alone")][0][3:5]


def test_a_pod_is_attempted_by_the_profile_of_its_scheduler():
    """What none of them places is said to be so."""
    one = made_by("", "alone")
    one["spec"]["schedulerName"] = "batch"
    heedless = {"batch": Profile("batch", filters=("NodeName",))}
    ((usual,),) = found(*FULL, one).values()
    ((heedless_one,),) = found(*FULL, one, profiles=heedless).values()

    assert usual.explanation.message
    assert ('The scheduler "batch" places it. This answer is what kube-scheduler would do.',) == usual.subject.remarks
    assert ("", ()) == (heedless_one.explanation.message, heedless_one.subject.remarks)


def test_pods_of_an_old_template_are_deleted_first():
    there = workload("StatefulSet")
    there["spec"]["template"]["spec"] = {"containers": requesting()}
    old = pod(name="web-0", owner="StatefulSet/web", spec={"containers": requesting(), "nodeSelector": {"disk": "ssd"}})
    ((one,),) = found(node("a1", "a"), there, old).values()

    assert "delete Pod web-0: its controller creates it again from the new template" == one.remedies[0].change
