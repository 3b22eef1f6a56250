"""How Deployments, StatefulSets and DaemonSets replace their Pods."""

from __future__ import annotations

import pytest

from webhook.kubernetes.update_strategies import (
    DaemonSetUpdate,
    DeploymentStrategy,
    StatefulSetUpdate,
    read_daemon_set_update,
    read_deployment_strategy,
    read_stateful_set_update,
)


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
    assert strategy == read_deployment_strategy(written)


@pytest.mark.parametrize(
    ("spec", "update"),
    [
        ({}, StatefulSetUpdate()),
        ({"podManagementPolicy": "Parallel", "ordinals": {"start": 3}}, StatefulSetUpdate(ordered=False, first=3)),
        (
            {"updateStrategy": {"rollingUpdate": {"partition": 2, "maxUnavailable": "30%"}}},
            StatefulSetUpdate(True, False, 2, "30%"),
        ),
        ({"updateStrategy": {"type": "OnDelete"}}, StatefulSetUpdate(on_delete=True)),
        ({"updateStrategy": {"type": "Recreate"}}, StatefulSetUpdate(recreate=True)),
    ],
)
def test_the_update_of_a_stateful_set(spec, update):
    assert update == read_stateful_set_update(spec)


@pytest.mark.parametrize(
    ("spec", "update"),
    [
        ({}, DaemonSetUpdate()),
        (
            {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": "30%"}}},
            DaemonSetUpdate(False, "30%", 0),
        ),
        ({"updateStrategy": {"rollingUpdate": {"maxUnavailable": [], "maxSurge": True}}}, DaemonSetUpdate()),
        ({"updateStrategy": {"type": "OnDelete"}}, DaemonSetUpdate(on_delete=True)),
    ],
)
def test_the_update_of_a_daemon_set(spec, update):
    assert update == read_daemon_set_update(spec)


@pytest.mark.parametrize(
    ("strategy", "replicas", "fenceposts"),
    [
        (DaemonSetUpdate(), 10, (0, 1)),
        (DaemonSetUpdate(False, "1%", "11%"), 10, (1, 2)),
        (DaemonSetUpdate(False, 0, "0%"), 10, (0, 1)),
        (DeploymentStrategy(), 10, (3, 2)),
        (DeploymentStrategy(False, 0, 0), 10, (0, 1)),
        (DeploymentStrategy(False, 0, "1%"), 10, (0, 1)),
    ],
)
def test_a_rolling_update_can_always_begin(strategy, replicas, fenceposts):
    assert fenceposts == strategy.fenceposts(replicas)
