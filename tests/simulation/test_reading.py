"""What a simulation reads of a cluster, and which steps it refuses."""

from __future__ import annotations

import pytest

from tests.support.build import constraint, service
from tests.support.simulated import (
    HOUR_AGO,
    NOW,
    budget,
    cluster,
    deployment,
    nodes,
    owned,
    plan,
    pod,
    stateful,
    template,
    workload,
)
from webhook.objects.kinds import KINDS
from webhook.objects.references import ObjectRef
from webhook.scheduler.counts import label_set
from webhook.scheduler.nodes import Toleration
from webhook.simulation.deployment import Strategy
from webhook.simulation.reading import GRACES, is_simulated, planned, tolerations_of, wanted
from webhook.simulation.stateful import Update
from webhook.simulation.step import StepError, parse_step
from webhook.simulation.tolerated import Tolerated


def test_a_deployment_has_its_replica_sets_the_current_one_last():
    current, latest, *pods = deployment(replicas=4, on=["a1"])
    old = owned(
        "ReplicaSet",
        "web-0",
        {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template()},
        "Deployment/web",
    )
    empty = {**old, "metadata": {**old["metadata"], "name": "web-9"}, "spec": {**old["spec"], "replicas": 0}}
    made = plan([*nodes(), current, latest, empty, old, *pods, pod("ReplicaSet/web-0", 0, "b1")], "scale=9")

    assert ([2, 4], 4) == ([one.desired for one in made.named.sets], made.named.replicas)
    assert {"a1": [1], "b1": [0]} == {name: [one.revision for one in those] for name, those in made.start.found.items()}


def test_without_one_that_has_its_template_there_is_a_new_one():
    made = plan([*nodes(), deployment()[0]], "scale=9")
    (one,) = made.named.sets

    assert (0, {"app": "web", "pod-template-hash": "new"}) == (one.desired, one.maker.of_class.pod.labels)


def test_a_rollout_has_a_revision_of_its_own_also_for_the_default_selector():
    raw = deployment()[0]
    raw["spec"]["template"]["spec"]["topologySpreadConstraints"] = []
    made = plan([*nodes(), service(), raw], "rollout rollout")
    first, second = (made.makers[i].of_class for i in (0, 1))

    assert ["rollout-1", "rollout-2"] == [one.pod.labels["pod-template-hash"] for one in (first, second)]
    assert first.system_defaults
    assert "app=web,app=web,pod-template-hash=rollout-1" == str(first.constraints[0].selector)


@pytest.mark.parametrize(
    ("written", "strategy"),
    [
        ({}, Strategy()),
        ({"type": "Recreate"}, Strategy(recreate=True)),
        ({"rollingUpdate": {"maxSurge": 2, "maxUnavailable": "10%"}}, Strategy(False, 2, "10%")),
        ({"rollingUpdate": {"maxSurge": True, "maxUnavailable": "many"}}, Strategy()),
    ],
)
def test_the_strategy_of_a_deployment(written, strategy):
    assert strategy == plan([*nodes(), *deployment(strategy=written)], "scale=9").named.strategy


@pytest.mark.parametrize(
    ("fields", "update"),
    [
        ({}, Update()),
        ({"podManagementPolicy": "Parallel", "ordinals": {"start": 3}}, Update(ordered=False, first=3)),
        (
            {"updateStrategy": {"rollingUpdate": {"partition": 2, "maxUnavailable": "30%"}}},
            Update(True, False, 2, "30%"),
        ),
        ({"updateStrategy": {"type": "OnDelete"}}, Update(on_delete=True)),
    ],
)
def test_the_update_of_a_stateful_set(fields, update):
    assert update == plan([*nodes(), *stateful(**fields)], "scale=9").named.update


def test_a_pod_as_the_cluster_has_it():
    raw = pod("ReplicaSet/web-1", 0, "a1", annotations={"controller.kubernetes.io/pod-deletion-cost": "-7"})
    raw["status"]["containerStatuses"] = [{"name": "c", "restartCount": 2}, {"name": "d", "restartCount": 5}]
    raw["status"]["conditions"][0]["status"] = "False"
    ((found,),) = plan([*nodes(), *deployment(), raw], "scale=9").start.found.values()

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
    assert (True, False, 0, GRACES) == (found.spreads, found.fixed, found.revision, found.tolerations)


def test_pods_that_wait_come_in_the_order_in_which_they_were_made():
    late, early = (
        pod("ReplicaSet/web-1", i, "", creationTimestamp=time)
        for i, time in enumerate(("2026-01-02T00:00:00Z", HOUR_AGO))
    )
    waiting = plan([*nodes(), *deployment(), late, early], "scale=9").start.waiting

    assert [early["metadata"]["creationTimestamp"], late["metadata"]["creationTimestamp"]] == [
        HOUR_AGO,
        "2026-01-02T00:00:00Z",
    ]
    assert sorted(one.created for one in waiting) == [one.created for one in waiting]


def test_pods_of_a_daemon_set_and_of_the_kubelet_are_fixed():
    static = pod("Node/a1", 0, "a1", annotations={"kubernetes.io/config.mirror": "x"})
    found = plan([*nodes(), *deployment(), pod("DaemonSet/log", 0, "a1"), static], "scale=9").start.found["a1"]

    assert [True, True] == [one.fixed for one in found]


def test_a_pod_whose_owner_is_not_known_is_made_as_it_was():
    raw = pod("CloneSet/x", 0, "a1", spec={"priority": 7})
    ((found,),) = plan([*nodes(), *deployment(), raw], "scale=9").start.found.values()

    assert 7 == found.maker.of_class.priority


def test_tolerations_have_the_time_for_which_they_hold_and_those_that_are_added():
    spec = {"tolerations": [{"key": "node.kubernetes.io/unreachable", "operator": "Exists", "tolerationSeconds": 9}]}

    assert (Tolerated(Toleration("node.kubernetes.io/unreachable", "Exists", "", ""), 9), GRACES[0]) == tolerations_of(
        spec
    )
    assert GRACES == tolerations_of({})


def test_budgets_know_what_their_workloads_want():
    other = owned("ReplicaSet", "api", {"replicas": 4, "template": template()})
    objects = [*nodes(), *deployment(on=["a1"]), other, pod("ReplicaSet/api", 0, "b1"), budget(maxUnavailable="10%")]
    (found,) = plan(objects, "drain=a1").budgets

    assert (4, True, "10%", None) == (found.expected, found.named, found.max_unavailable, found.min_available)


@pytest.mark.parametrize(
    ("steps", "objects", "said"),
    [
        (
            "scale=3",
            deployment(),
            "scale=3: does nothing: Deployment shop/web has 3 replicas already; leave the step out",
        ),
        ("scale=4 scale=4", deployment(), "scale=4: does nothing: Deployment shop/web has 4 replicas already"),
        (
            "rollout",
            stateful(updateStrategy={"type": "OnDelete"}),
            "rollout: does nothing: updateStrategy of StatefulSet shop/web is OnDelete",
        ),
        ("rollout", deployment()[1:], "rollout: does nothing: a ReplicaSet replaces no Pods; wanted a Deployment"),
        ("drain=x", deployment(), 'drain=x: no node is called "x"; there are a1, a2, a3'),
        (
            "scale=5",
            deployment(constraint(maxSkew=0)),
            "Deployment shop/web: spec.topologySpreadConstraints[0].maxSkew",
        ),
    ],
)
def test_what_would_do_nothing_or_cannot_be_is_an_error(steps, objects, said):
    with pytest.raises(StepError) as error:
        plan([*nodes(), *objects], steps, raw=objects[0])

    assert said in str(error.value)


def test_an_autoscaler_is_named():
    scaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "hpa", "namespace": "shop"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}},
    }
    objects = [*nodes(), *deployment(hostNetwork=True, resourceClaims=[{"name": "gpu"}]), scaler]
    found = planned(workload(objects), cluster(*objects), [parse_step("rollout")], KINDS)

    assert ("HorizontalPodAutoscaler hpa scales it, too; what it does is not simulated.",) == found.notes
    assert ("dynamic resources",) == found.not_judged


def test_without_the_time_of_the_cluster_the_latest_that_is_known_is_now():
    objects = [*nodes(), *deployment(on=["a1", "b1"])]
    found = planned(workload(objects), cluster(*objects, time=None), [parse_step("rollout")], KINDS)

    assert NOW - 3_600 == found.plan.start.now


@pytest.mark.parametrize(("kind", "simulated"), [("Deployment", True), ("StatefulSet", True), ("DaemonSet", False)])
def test_which_workloads_are_simulated(kind, simulated):
    assert is_simulated(owned(kind, "web", {})) is simulated


def test_pods_of_other_namespaces_are_read_where_nodes_change():
    ref = ObjectRef("apps/v1", "Deployment", "shop", "web")
    other = pod("ReplicaSet/web-1", 0, "a1", namespace="other")
    asked = {text: wanted(ref, [parse_step(text)])(other) for text in ("scale=3", "rollout", "drain=a1", "add=1")}

    assert {"scale=3": False, "rollout": False, "drain=a1": True, "add=1": True} == asked
    assert wanted(ref, [])(pod("ReplicaSet/web-1", 0, "", namespace="other"))
