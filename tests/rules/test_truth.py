"""Findings that were untrue, hidden or of no help to the person who read them."""

from __future__ import annotations

from evenkeel.scheduler.replica_room import room_for
from tests.rules.judged import stateful
from tests.support.build import (
    FEATURES,
    HOSTNAME,
    ZONE,
    constraint,
    honoring,
    node,
    pod,
    priority_class,
    snapshot,
    workload,
)
from webhook.findings.evaluation import evaluate
from webhook.kubernetes.workload import parse_workloads
from webhook.rules import DEFAULT_SETTINGS

IN_ZONE_A = {"nodeSelector": {ZONE: "a"}}


def found(obj, *objects, rule):
    """The findings of one rule on the only workload of an object."""
    (parsed,) = parse_workloads(obj)
    findings = evaluate(
        parsed, DEFAULT_SETTINGS, snapshot(*objects, features=FEATURES), FEATURES, room_for=room_for
    ).findings
    return [finding for finding in findings if finding.rule == rule]


def misspelt(**fields):
    made = stateful(honoring(**fields))
    (written,) = made["spec"]["template"]["spec"]["topologySpreadConstraints"]
    written["minDomain"] = 2
    return made


def test_a_name_is_not_corrected_to_a_field_that_the_api_server_refuses_there():
    """minDomains goes with DoNotSchedule only: the repair would make a Pod that can be created one that cannot."""
    (soft,) = found(misspelt(whenUnsatisfiable="ScheduleAnyway"), rule="unknown-field")
    (hard,) = found(misspelt(), rule="unknown-field")

    assert (None, "remove it: the API server refuses minDomains here") == (soft.edit, soft.fix)
    assert hard.edit is not None


def test_a_name_is_not_corrected_to_keys_that_the_selector_has():
    """The API server merges the two when it makes the Pod, and refuses it."""
    made = stateful(honoring(matchLabelKey=["app"]))
    other = stateful(honoring(matchLabelKey=["tier"]))
    ((named,), (beside,)) = (found(each, rule="unknown-field") for each in (made, other))

    assert (None, "remove it: the API server refuses matchLabelKeys here") == (named.edit, named.fix)
    assert beside.edit is not None


def test_constraints_under_a_misspelt_name_are_found_beside_an_empty_list():
    made = pod(spec={"topologySpreadConstraint": [constraint()], "topologySpreadConstraints": []})

    assert ["spec.topologySpreadConstraint"] == [".".join(one.path) for one in found(made, rule="unknown-field")]


def test_tainted_nodes_of_other_zones_do_not_count_where_affinity_leaves_one_zone():
    """Whatever minDomains says: with nodeAffinityPolicy Honor the other zones are no domains."""
    pinned = stateful(constraint(minDomains=3), pod_spec=IN_ZONE_A)

    assert [] == found(pinned, rule="counts-tainted-nodes")
    assert found(stateful(constraint(minDomains=3)), rule="counts-tainted-nodes")


def test_no_room_is_not_blamed_where_no_node_matches_the_node_selector():
    there = [
        node("n1") | {"status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "110"}}},
        pod(name="other", labels={"app": "other"}, spec={"nodeName": "n1"}, uid="u1"),
    ]
    (one,) = found(stateful(honoring(), pod_spec={"nodeSelector": {"pool": "x"}}), *there, rule="unschedulable")

    assert "none of 6 replicas fits now: no node matches its nodeSelector or node affinity" == one.message


def test_the_fix_of_a_pinned_domain_ends_in_no_circle():
    """Lowering minDomains to 1 leaves a constraint that spreads nothing, or one that other zones still bar."""
    there = [node("n1"), node("n2", **{ZONE: "b"})]
    fixes = [
        found(stateful(honoring(minDomains=3, **more), pod_spec=IN_ZONE_A), *there, rule="pinned-domain")[0].fix
        for more in ({}, {"nodeAffinityPolicy": "Ignore"})
    ]

    assert [
        "remove the constraint, or allow more domains in the nodeSelector",
    ] * 2 == fixes


def test_the_labels_that_a_selector_asks_for_are_shown_and_what_a_cron_job_can_select():
    made = workload("CronJob", honoring(labelSelector={"matchLabels": {"job-name": "nightly"}}), name="nightly")
    (one,) = found(made, rule="selector-misses-own-pod")

    assert 'selects "job-name=nightly", but its Pods have "job-name=nightly-TIME": they are not counted' == one.message
    assert "select labels of the Pod template, and add matchLabelKeys: [job-name]" == one.fix


def test_hostname_is_still_reported_where_a_zone_is_pinned():
    """Within the zone each node is a domain of its own."""
    assert found(stateful(constraint(topologyKey=HOSTNAME), pod_spec=IN_ZONE_A), rule="counts-tainted-nodes")


ALLOCATABLE = {"status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "1"}}}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def running(on, **spec):
    return pod(name=f"other-{on}", labels={"app": "other"}, spec={"nodeName": on, **spec}, uid=f"u-{on}")


def unschedulable(*objects, pod_spec=None):
    made = stateful(honoring(), replicas=2, pod_spec=pod_spec)
    return [one.message for one in found(made, *objects, rule="unschedulable")]


def test_a_replica_that_may_preempt_is_not_said_to_fit_nowhere():
    """It takes the room of Pods of lower priority: by its own priority, by that of its class, or by the default one."""
    full = [{**node("n1"), **ALLOCATABLE}, running("n1")]
    placeholder = [full[0], running("n1", priority=-10)]
    default = priority_class("usual", 1000, globalDefault=True)

    assert ["none of 2 replicas fits now: no room"] == unschedulable(*full)
    assert [] == unschedulable(*placeholder)
    assert [] == unschedulable(*full, pod_spec={"priorityClassName": "high"})
    assert [] == unschedulable(*full, default)
    assert 1 == len(unschedulable(*placeholder, pod_spec={"preemptionPolicy": "Never"}))


def test_pods_of_others_bar_nodes_by_anti_affinity_that_surely_selects_the_replica():
    def apart(**selector):
        terms = [{"topologyKey": HOSTNAME, "labelSelector": selector}]
        return {"podAntiAffinity": {REQUIRED: terms}}

    of_label = running("n1", affinity=apart(matchLabels={"app": "web"}))
    unsure = {"key": "controller-revision-hash", "operator": "NotIn", "values": ["1"]}
    of_revision = running("n1", affinity=apart(matchExpressions=[unsure]))
    roomy = {**node("n1"), "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "9"}}}

    assert [
        "none of 2 replicas fits now: anti-affinity or host ports of Pods exclude 1 node, and no other has room"
    ] == (unschedulable(roomy, of_label))
    assert [] == unschedulable(roomy, of_revision)


def test_a_device_that_may_be_given_out_is_not_said_to_be_scarce():
    roomy = {**node("n1"), "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "9"}}}
    gpu = {"containers": [{"name": "c", "resources": {"requests": {"deviceclass.resource.kubernetes.io/gpu": "1"}}}]}

    assert [] == unschedulable(roomy, running("n1"), pod_spec=gpu)
