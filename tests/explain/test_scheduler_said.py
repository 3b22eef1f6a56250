"""What kube-scheduler said, and only what of it is otherwise now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.explain.scheduler_said import said
from evenkeel.objects.pod_object import ScheduledCondition
from evenkeel.placement.explanation import explain
from evenkeel.placement.subject import of_pod
from tests.support.build import pod
from tests.support.placing import INFRA, attempted, node, running

UNEVEN = "node(s) didn't match pod topology spread constraints"
CORDONED, TAINTED = "node(s) were unschedulable", "node(s) had untolerated taint(s)"
VICTIMS, NO_HELP = "No preemption victims found for incoming pod", "Preemption is not helpful for scheduling"
NODES = node("n1", unschedulable=True), node("n2", unschedulable=True), node("n3", taints=[INFRA])
NOW = "evenkeel computes now"


def after(message, *objects, **spec):
    """What is said after kube-scheduler's own message."""
    subject = replace(of_pod(pod(), {}), verdict=ScheduledCondition("Unschedulable", message))
    first, *others = said(subject, explain(attempted(*(objects or NODES), **spec)), None)

    assert f"kube-scheduler said: {message}" == first
    return others


def message(filters, preemption, number=3):
    return f"0/{number} nodes are available: {filters}. preemption: 0/{number} nodes are available: {preemption}."


@pytest.mark.parametrize(
    ("then", "differences"),
    [
        (message(f"1 {TAINTED}, 2 {CORDONED}", f"3 {NO_HELP}"), None),
        (message(f"2 {TAINTED}, 1 {CORDONED}", f"3 {NO_HELP}"), [f"2 -> 1 {TAINTED}", f"1 -> 2 {CORDONED}"]),
        (
            message(f"1 {TAINTED}, 1 {CORDONED}, 1 {UNEVEN}", f"2 {NO_HELP}, 1 {VICTIMS}"),
            [
                f"1 -> 2 {CORDONED}",
                f"1 -> 0 {UNEVEN}",
                f"preemption: 2 -> 3 {NO_HELP}",
                f"preemption: 1 -> 0 {VICTIMS}",
            ],
        ),
        (
            message(f"2 {CORDONED}", f"2 {NO_HELP}", 2),
            ["2 -> 3 nodes", f"0 -> 1 {TAINTED}", f"preemption: 2 -> 3 {NO_HELP}"],
        ),
        (
            message(f"1 node(s) had untolerated taint {{a.b/c: d}}, 2 {CORDONED}", f"3 {NO_HELP}"),
            ["1 -> 0 node(s) had untolerated taint {a.b/c: d}", f"0 -> 1 {TAINTED}"],
        ),
        (
            message(f"1 {TAINTED}, 2 {CORDONED}", f"3 {NO_HELP}").replace(". pre", ". no new claims, pre"),
            ["no new claims, -> nothing"],
        ),
        (
            f"0/3 nodes are available: 1 {TAINTED}, 2 {CORDONED}. preemption: found a potential placement",
            [f"preemption: found a potential placement -> 0/3 nodes are available: 3 {NO_HELP}."],
        ),
    ],
)
def test_only_what_differs_is_said(then, differences):
    if differences is None:
        assert ["evenkeel computes the same."] == after(then)
        return
    first, *changes = after(then)

    assert f"{NOW}, where that differs:" == first
    assert differences == [change.strip() for change in changes]


@pytest.mark.parametrize(
    "then",
    ["broken", "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims.", "no nodes available"],
)
def test_a_message_that_counts_nothing_is_followed_by_the_whole_of_ours(then):
    (line,) = after(then)

    assert f"{NOW}: {message(f'1 {TAINTED}, 2 {CORDONED}', f'3 {NO_HELP}')}" == line


def test_a_node_that_passes_now():
    assert ["evenkeel computes now: a node passes"] == after(message(f"3 {CORDONED}", f"3 {NO_HELP}"), node("n1"))


def test_preemption_of_which_a_version_says_nothing_is_not_compared():
    full = node("n1", cpu="100m"), running("n1", cpu="100m")
    differs = after(message(f"1 {CORDONED}", f"1 {NO_HELP}", 1), *full, minor=36, priority=5)

    assert [f"1 -> 0 {CORDONED}", "0 -> 1 Insufficient cpu"] == [line.strip() for line in differs[1:]]


def test_what_kube_scheduler_would_say_is_computed_where_it_has_not_said_it():
    subject, explained = of_pod(pod(), {}), explain(attempted(*NODES))

    assert [f"evenkeel computes: {explained.message}"] == list(said(subject, explained, None))
    assert ["evenkeel computes: no nodes available to schedule pods"] == list(said(subject, explain(attempted()), None))
