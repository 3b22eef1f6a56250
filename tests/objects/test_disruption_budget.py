"""PodDisruptionBudgets as they are written."""

from __future__ import annotations

import pytest

from evenkeel.objects.disruption_budget import DisruptionBudget, disruption_budget, read_disruption_budget

NAMED = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"namespace": "shop", "name": "web"}}


def test_a_budget_is_read():
    spec = {"selector": {}, "minAvailable": "50%", "maxUnavailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow"}

    assert DisruptionBudget("shop", "web", {}, "50%", 1, True) == read_disruption_budget(NAMED | {"spec": spec})


def test_what_has_the_wrong_type_reads_as_if_it_were_absent():
    spec = {"minAvailable": "many", "maxUnavailable": True}

    assert DisruptionBudget("shop", "web", None, None, None, False) == read_disruption_budget(NAMED | {"spec": spec})
    assert DisruptionBudget("shop", "web", None, None, None, False) == read_disruption_budget(NAMED | {"spec": 5})


def test_another_object_is_none():
    assert read_disruption_budget({}) is None
    assert read_disruption_budget(NAMED | {"apiVersion": "example.com/v1"}) is None


@pytest.mark.parametrize(
    ("spec", "limit"),
    [
        ({"maxUnavailable": 0, "minAvailable": 1}, ("maxUnavailable", 0)),
        ({"minAvailable": 0}, ("minAvailable", 0)),
        ({}, ("", None)),
    ],
)
def test_the_limit_and_its_field(spec, limit):
    assert limit == disruption_budget(NAMED | {"spec": spec}).limit
