"""Numbers, strategies and tolerations of raw objects."""

from __future__ import annotations

import pytest

from tests.support.simulated import (
    HOUR_AGO,
    NOW,
    deployment,
    nodes,
    plan,
    stateful,
)
from webhook.objects.names import DELETION_COST_ANNOTATION
from webhook.scheduler.taints import LimitedToleration, Toleration
from webhook.simulation.deployment import DeploymentStrategy
from webhook.simulation.reading import GRACES, deletion_cost, ordinal_of, readiness, tolerations_of
from webhook.simulation.stateful import Update


@pytest.mark.parametrize(
    ("written", "strategy"),
    [
        ({}, DeploymentStrategy()),
        ({"type": "Recreate"}, DeploymentStrategy(recreate=True)),
        ({"rollingUpdate": {"maxSurge": 2, "maxUnavailable": "10%"}}, DeploymentStrategy(False, 2, "10%")),
        ({"rollingUpdate": {"maxSurge": True, "maxUnavailable": "many"}}, DeploymentStrategy()),
    ],
)
def test_the_strategy_of_a_deployment(written, strategy):
    assert strategy == plan([*nodes(), *deployment(strategy=written)], "scale=9").named.strategy


@pytest.mark.parametrize(("written", "seconds"), [(None, 0), (30, 30), (-1, 0), (True, 0), ("30", 0)])
def test_how_long_a_pod_is_ready_before_it_is_available(written, seconds):
    for made in (deployment(min_ready=written), stateful(minReadySeconds=written)):
        named = plan([*nodes(), *made], "scale=9 rollout")

        assert seconds == named.named.sets[-1].maker.min_ready_seconds == named.makers[1].min_ready_seconds


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


def test_tolerations_have_the_time_for_which_they_hold_and_those_that_are_added():
    spec = {"tolerations": [{"key": "node.kubernetes.io/unreachable", "operator": "Exists", "tolerationSeconds": 9}]}

    assert (
        LimitedToleration(Toleration("node.kubernetes.io/unreachable", "Exists", "", ""), 9),
        GRACES[0],
    ) == tolerations_of(spec)
    assert GRACES == tolerations_of({})


@pytest.mark.parametrize(("name", "ordinal"), [("web-0", 0), ("web-17", 17), ("web", -1), ("web-x", -1), ("web-٣", -1)])
def test_the_ordinal_of_a_pod(name, ordinal):
    assert ordinal == ordinal_of(name)


@pytest.mark.parametrize(("written", "cost"), [("5", 5), ("-5", -5), ("much", 0), (7, 0), ("1" * 99, 0)])
def test_what_is_no_deletion_cost_is_0(written, cost):
    assert cost == deletion_cost({DELETION_COST_ANNOTATION: written})


def test_a_bound_pod_that_has_not_begun_is_about_to_be_ready():
    conditions = [{"type": "Ready", "status": "False", "lastTransitionTime": HOUR_AGO}]

    assert [(True, NOW - 3_600), (False, NOW - 3_600), (True, None)] == [
        readiness({"conditions": conditions}, "Pending"),
        readiness({"conditions": conditions}, "Running"),
        readiness({}, "Running"),
    ]
