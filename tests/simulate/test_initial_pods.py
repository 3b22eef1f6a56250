"""Pods and budgets as the cluster has them."""

from __future__ import annotations

import pytest

from evenkeel.scheduler.pod_counts import label_set
from tests.support.simulated import (
    HOUR_AGO,
    NOW,
    budget,
    deployment,
    nodes,
    owned,
    plan,
    pod,
    template,
)
from webhook.spread.taints import ADDED_TOLERATIONS


def test_a_pod_as_the_cluster_has_it():
    raw = pod("ReplicaSet/web-1", 0, "a1", annotations={"controller.kubernetes.io/pod-deletion-cost": "-7"})
    raw["status"]["containerStatuses"] = [{"name": "c", "restartCount": 2}, {"name": "d", "restartCount": 5}]
    raw["status"]["conditions"][0]["status"] = "False"
    ((found,),) = plan([*nodes(), *deployment(), raw], "scale=9").start.by_node.values()

    assert (label_set({"app": "web", "pod-template-hash": "1"}), "a1", 100) == (
        found.labels,
        found.node,
        found.requests.milli_cpu,
    )
    assert (False, NOW - 3_600, NOW - 3_600, -7, 5) == (
        found.ready,
        found.ready_at,
        found.created,
        found.cost,
        found.restarts,
    )
    assert not found.pending
    assert (True, "", 0, ADDED_TOLERATIONS) == (found.spreads, found.home, found.revision, found.tolerations)


def test_a_pod_that_its_kubelet_has_not_started_is_pending():
    raw = pod("ReplicaSet/web-1", 0, "a1")
    raw["status"] = {"phase": "Pending"}
    ((found,),) = plan([*nodes(), *deployment(), raw], "scale=9").start.by_node.values()

    assert (True, True) == (found.pending, found.ready)


def test_pods_of_a_daemon_set_and_of_the_kubelet_are_kept_on_their_node():
    static = pod("Node/a1", 0, "a1", annotations={"kubernetes.io/config.mirror": "x"})
    found = plan([*nodes(), *deployment(), pod("DaemonSet/log", 0, "a1"), static], "cordon=a1").start.by_node["a1"]

    assert ["a1", "a1"] == [one.home for one in found]


def test_a_pod_is_known_by_what_has_made_it_or_by_its_own_name():
    made = [
        *nodes(),
        *deployment(on=["a1"]),
        pod("ReplicaSet/gone", 0, "a1"),
        pod("Node/x", 0, "a1", ownerReferences=[]),
    ]
    found = plan(made, "cordon=a1").start.by_node["a1"]

    assert ["Deployment shop/web", "Pod shop/x-0", "ReplicaSet shop/gone"] == sorted(one.source for one in found)


def test_budgets_know_what_their_workloads_want():
    other = owned("ReplicaSet", "api", {"replicas": 4, "template": template()})
    objects = [*nodes(), *deployment(on=["a1"]), other, pod("ReplicaSet/api", 0, "b1"), budget(maxUnavailable="10%")]
    (found,) = plan(objects, "drain=a1").budgets

    assert (4, ("Deployment shop/web",), False, None, "10%") == (*found[2:4], found.untold, *found.written[3:5])


@pytest.mark.parametrize(
    ("owner", "expected", "untold"),
    [("CloneSet/api", 2, False), ("Job/api", 2, True), ("DaemonSet/api", 2, True)],
)
def test_budgets_over_pods_whose_owner_is_not_known_or_has_no_scale(owner, expected, untold):
    """Of one that is not known there are as many as it should have."""
    objects = [*nodes(), *deployment(), *(pod(owner, i, "b1") for i in (1, 2)), budget(maxUnavailable=1)]
    (found,) = plan(objects, "drain=a1").budgets

    assert (expected, untold) == (found.expected, found.untold)


@pytest.mark.parametrize(("owned_so", "untold"), [({}, False), ({"ownerReferences": []}, True)])
def test_budgets_over_pods_without_owners_do_not_know_how_many_there_should_be(owned_so, untold):
    """A workload wants none, and has one: that is known."""
    idle = owned("ReplicaSet", "idle", {"replicas": 0, "template": template()})
    objects = [*nodes(), *deployment(), idle, pod("ReplicaSet/idle", 0, "b1", **owned_so), budget(maxUnavailable=1)]
    (found,) = plan(objects, "drain=a1").budgets

    assert (0, untold) == (found.expected, found.untold)


@pytest.mark.parametrize(
    ("fields", "phase", "unready"),
    [
        ({}, "Running", 1),
        ({"namespace": "other"}, "Running", 0),
        ({"labels": {"app": "db"}}, "Running", 0),
        ({"deletionTimestamp": HOUR_AGO}, "Running", 0),
        ({}, "Failed", 0),
        ({"on": ""}, "Pending", 0),
    ],
)
def test_budgets_know_which_of_their_pods_on_nodes_are_not_ready(fields, phase, unready):
    raw = pod("ReplicaSet/web-1", 0, **{"on": "a1", **fields})
    raw["status"] = {"phase": phase, "conditions": [{"type": "Ready", "status": "False"}]}
    (found,) = plan([*nodes(), *deployment(), raw, budget(minAvailable=1)], "drain=a1").budgets

    assert unready == found.unready


def test_one_owner_without_scale_is_enough_for_a_budget_not_to_know():
    there = [pod(owner, 0, "b1") for owner in ("CloneSet/api", "Job/once")]
    (found,) = plan([*nodes(), *deployment(), *there, budget(maxUnavailable=1)], "drain=a1").budgets

    assert found.untold
