"""The rule rollout-skew."""

from __future__ import annotations

from tests.rules.judged import SOFT, findings, rolling
from tests.support.build import constraint
from webhook.rules import RULES

TWO_KEYS = constraint(), constraint(topologyKey="rack")


def test_a_policy_may_ask_for_rollout_skew_of_soft_constraints():
    setting = RULES["rollout-skew"].setting(parameters={"soft": True})

    assert ["rollout-skew"] == [f.rule for f in findings(rolling(SOFT), rollout_skew=setting)]


def test_one_finding_says_how_many_constraints_it_is_about():
    one, several = (findings(rolling(*TWO_KEYS[:count]))[0].fix for count in (1, 2))

    assert (RULES["rollout-skew"].fix, "add pod-template-hash to the matchLabelKeys of 2 constraints") == (one, several)
