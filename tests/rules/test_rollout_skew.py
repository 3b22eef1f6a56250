"""The rule rollout-skew."""

from __future__ import annotations

import pytest

from tests.rules.judged import SOFT, findings, rolling
from tests.support.build import constraint
from webhook.rules import RULES

APP = {"key": "app", "operator": "In", "values": ["web"]}
TWO_KEYS = constraint(), constraint(topologyKey="rack")


def test_a_policy_may_ask_for_rollout_skew_of_soft_constraints():
    setting = RULES["rollout-skew"].setting(parameters={"soft": True})

    assert ["rollout-skew"] == [f.rule for f in findings(rolling(SOFT), rollout_skew=setting)]


def test_one_finding_says_how_many_constraints_it_is_about():
    one, several = (findings(rolling(*TWO_KEYS[:count]))[0].fix for count in (1, 2))

    assert (RULES["rollout-skew"].fix, "add pod-template-hash to the matchLabelKeys of 2 constraints") == (one, several)


def test_a_selector_that_counts_every_pod_is_another_rules():
    """It counts those of other workloads, too: no key of a revision helps."""
    assert "rollout-skew" not in {one.rule for one in findings(rolling(constraint(labelSelector={})))}


@pytest.mark.parametrize("key", ["pod-template-hash", "rollouts-pod-template-hash"])
def test_a_revision_key_anywhere_is_enough(key):
    listed = constraint(matchLabelKeys=[key])
    selected = constraint(labelSelector={"matchExpressions": [{"key": key, "operator": "Exists"}, APP]})

    for one in (listed, selected):
        assert "rollout-skew" not in {found.rule for found in findings(rolling(one))}
