"""What is read of a Pod of the API."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.objects.pod_object import PodObject, ReadyCondition, ScheduledCondition, read_pod
from tests.support.build import constraint, pod
from webhook.kubernetes.names import DEFAULTED_BY_ANNOTATION, DELETION_COST_ANNOTATION
from webhook.kubernetes.times import seconds_at

TIME = "2026-01-31T10:00:00Z"


def status(**fields):
    return read_pod(pod() | {"status": fields})


def test_what_has_the_wrong_type_reads_as_if_it_were_absent():
    empty, broken = read_pod({}), read_pod({"metadata": {"labels": 5, "name": 7}, "spec": [], "status": {"phase": 1}})

    assert PodObject({}, "", "", {}, {}, None, "", False, "", "") == empty == replace(broken, raw={})
    for read in (empty, broken):
        assert (0, -1, 0, (), "", None) == (
            read.priority,
            read.ordinal,
            read.restarts,
            read.scheduling_gates,
            read.nominated_node,
            read.created_at,
        )
        assert ("default-scheduler", False, True) == (read.scheduler_name, read.stored, read.waits)


@pytest.mark.parametrize(
    ("changed", "waits"),
    [
        ({}, True),
        ({"spec": {"nodeName": "a1"}}, False),
        ({"status": {"phase": "Pending"}}, True),
        ({"status": {"phase": "Failed"}}, False),
        ({"metadata": {"deletionTimestamp": TIME}}, False),
    ],
)
def test_which_pods_wait(changed, waits):
    assert waits == read_pod(pod() | changed).waits


@pytest.mark.parametrize(("name", "ordinal"), [("web-0", 0), ("web-17", 17), ("web", -1), ("web-x", -1), ("web-٣", -1)])
def test_the_ordinal_of_a_pod(name, ordinal):
    assert ordinal == read_pod(pod(name=name)).ordinal


@pytest.mark.parametrize(("written", "cost"), [("5", 5), ("-5", -5), ("much", 0), (7, 0), ("1" * 99, 0)])
def test_what_is_no_deletion_cost_is_0(written, cost):
    assert cost == read_pod(pod(annotations={DELETION_COST_ANNOTATION: written})).deletion_cost


def test_a_bound_pod_that_has_not_begun_is_about_to_be_ready():
    conditions = [None, {"type": "Ready", "status": "False", "lastTransitionTime": TIME}]
    since = seconds_at(TIME)

    assert [ReadyCondition(True, since), ReadyCondition(False, since), ReadyCondition(True, None)] == [
        status(conditions=conditions, phase="Pending").ready_condition,
        status(conditions=conditions, phase="Running").ready_condition,
        status(phase="Running").ready_condition,
    ]


def test_only_a_pod_without_a_node_has_a_verdict_of_the_scheduler():
    refused = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/1",
        "lastTransitionTime": TIME,
    }

    assert ScheduledCondition("Unschedulable", "0/1", TIME) == status(conditions=[refused]).scheduled_condition
    assert ScheduledCondition() == status(conditions=[refused | {"status": "True"}]).scheduled_condition


def test_the_most_restarts_of_any_container():
    counts = [{"restartCount": 2}, {"restartCount": 5}, {"restartCount": "9"}, None]

    assert 5 == status(containerStatuses=counts).restarts


def test_a_pod_with_constraints_of_its_own_was_given_none():
    given = pod(constraint(), annotations={DEFAULTED_BY_ANNOTATION: "policy"})

    assert (True, False) == (read_pod(given).defaulted, read_pod(pod(constraint())).defaulted)


@pytest.mark.parametrize(
    ("spec", "priority", "preempts"),
    [({}, 0, True), ({"priority": 7}, 7, True), ({"priority": True, "preemptionPolicy": "Never"}, 0, False)],
)
def test_a_priority_is_a_number(spec, priority, preempts):
    read = read_pod(pod(spec=spec))

    assert (priority, preempts) == (read.priority, read.preempts)
