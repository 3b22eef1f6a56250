"""What kube-scheduler has decided of a Pod is read from what it writes into the Pod."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.build import merged
from tests.support.claims import using
from tests.support.logs import bound, nominated, refused, waiting
from webhook.scheduler.profile import USUAL_PROFILE, USUAL_PROFILES
from webhook.verification.decision import (
    CREATED_BOUND,
    DEVICES_OR_GROUPS,
    EXTENDED,
    GAVE_UP,
    HAS_GATES,
    NOT_COMPARED,
    OTHER_SCHEDULER,
    PodDecision,
    counted_reasons,
    read_decision,
    reason_to_pass_over,
)

NO_CPU = "0/2 nodes are available: 2 Insufficient cpu."
POD, STORED = waiting(), waiting(**using("data"))
WITH_DEVICES = waiting(resourceClaims=[{"name": "gpu"}])
MADE_ROOM = nominated(refused(STORED, NO_CPU), "n1")


@pytest.mark.parametrize(
    ("before", "after", "node", "message"),
    [
        pytest.param(POD, bound(POD, "n1"), "n1", "", id="bound"),
        pytest.param(STORED, bound(STORED, "n1"), "n1", "", id="bound with volumes"),
        pytest.param(POD, refused(POD, NO_CPU), "", NO_CPU, id="refused"),
        pytest.param(refused(POD, "0/1 nodes"), refused(POD, NO_CPU), "", NO_CPU, id="another message"),
        pytest.param(refused(POD, NO_CPU, "SchedulerError"), refused(POD, NO_CPU), "", NO_CPU, id="another reason"),
        pytest.param(STORED, MADE_ROOM, "", NO_CPU, id="nominated by preemption"),
    ],
)
def test_a_node_or_a_message_is_a_decision(before, after, node, message):
    reason = "Unschedulable" if message else ""

    assert PodDecision(before, node, reason, message) == read_decision(before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(POD, merged(POD, {"metadata": {"labels": {"a": "b"}}}), id="other labels"),
        pytest.param(refused(POD, NO_CPU), merged(refused(POD, NO_CPU), {"status": {"phase": "Pending"}}), id="same"),
        pytest.param(bound(POD, "n1"), refused(bound(POD, "n1"), NO_CPU), id="on a node already"),
        pytest.param(refused(POD, NO_CPU), POD, id="taken back"),
        pytest.param(POD, nominated(POD, "n1"), id="nominated without volumes"),
        pytest.param(nominated(STORED, "n1"), nominated(STORED, "n1"), id="nominated before"),
        pytest.param(nominated(STORED, "n1"), STORED, id="nominated no more"),
    ],
)
def test_all_else_is_none(before, after):
    assert read_decision(before, after) is None


@pytest.mark.parametrize("raw", [STORED, WITH_DEVICES])
def test_a_node_is_chosen_when_it_is_nominated_if_volumes_or_devices_are_prepared_there(raw):
    assert PodDecision(raw, "n1", assumes=True) == read_decision(raw, nominated(raw, "n1"))
    assert read_decision(raw, nominated(raw, "n1"), nominates_before_binding=False) is None


@pytest.mark.parametrize(
    ("raw", "profile", "reason"),
    [
        (waiting(schedulerName="volcano"), USUAL_PROFILE, OTHER_SCHEDULER),
        (POD, replace(USUAL_PROFILE, unmodelled=("the extender gpu",)), EXTENDED),
        (WITH_DEVICES, USUAL_PROFILE, DEVICES_OR_GROUPS),
        (waiting(schedulingGroup={"podGroupName": "a"}), USUAL_PROFILE, DEVICES_OR_GROUPS),
        (POD, USUAL_PROFILE, ""),
    ],
)
def test_a_decision_is_passed_over_for_what_is_not_computed(raw, profile, reason):
    for after in (bound(raw, "n1"), refused(raw, NO_CPU)):
        assert reason == reason_to_pass_over(read_decision(raw, after), {profile.name: profile})


def test_an_attempt_that_was_given_up_is_passed_over():
    decision = read_decision(POD, refused(POD, "binding volumes: timed out", "SchedulerError"))

    assert reason_to_pass_over(decision, USUAL_PROFILES) == GAVE_UP


def test_a_decision_has_the_name_and_the_priority_of_its_pod():
    decision = PodDecision(waiting("db-0", priority=7), "n1")

    assert (("shop", "db-0"), 7) == (decision.key, decision.priority)


def test_what_kube_scheduler_did_not_decide_is_of_others():
    assert [OTHER_SCHEDULER, HAS_GATES, CREATED_BOUND] == [
        reason for reason in NOT_COMPARED if PodDecision(POD, "n1", passed_over=reason).is_of_others
    ]


@pytest.mark.parametrize(
    ("message", "number", "reasons"),
    [
        (NO_CPU, 2, {"Insufficient cpu": 2}),
        (
            "0/12 nodes are available: 1 Too many pods, 11 Insufficient example.com/gpu. preemption: 0/12 nodes are "
            "available: 12 Preemption is not helpful for scheduling.",
            12,
            {"Too many pods": 1, "Insufficient example.com/gpu": 11},
        ),
        ("0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found", 2, {}),
        ("no nodes available to schedule pods", None, {}),
        ("0/many nodes are available: 1 Too many pods.", None, {}),
        ('running "VolumeBinding" filter plugin: 0/2 nodes', None, {}),
    ],
)
def test_a_message_counts_nodes_by_reason(message, number, reasons):
    assert (number, reasons) == counted_reasons(message)
