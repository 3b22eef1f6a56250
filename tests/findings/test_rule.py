"""What a rule is, and what a policy may set of it."""

from __future__ import annotations

from inspect import signature

import pytest

from webhook.findings.finding import Severity
from webhook.findings.rule import rule
from webhook.rules import RULES


def test_a_rule_without_a_fix_is_refused_at_import():
    with pytest.raises(TypeError):
        rule(title="t", severity=Severity.INFO, bad="", good="")


def test_a_second_rule_of_one_id_is_refused_at_import():
    def empty_selector(subject):
        """Twice."""

    with pytest.raises(TypeError):
        rule(title="t", severity=Severity.INFO, fix="f", bad="", good="")(empty_selector)


def test_a_rule_that_looks_for_what_nothing_provides_is_refused_at_import():
    def looks_for_a_typo(subject):
        """Never runs."""

    with pytest.raises(TypeError, match="hrad"):
        rule(title="t", severity=Severity.INFO, fix="f", bad="", good="", where=("hrad",))(looks_for_a_typo)


def test_a_setting_takes_defaults_for_what_is_not_given():
    rule = RULES["missing-constraints"]

    assert {"minReplicas": 2, "topologyKeys": []} == rule.setting().parameters
    assert {"minReplicas": 5, "topologyKeys": []} == rule.setting(parameters={"minReplicas": 5}).parameters
    assert (rule.severity, True) == (rule.setting().severity, rule.setting(enforced=True).enforced)


def test_a_setting_may_lack_the_parameters_that_its_rule_requires():
    rule = RULES["forbidden-topology-key"]

    assert rule.lacks_parameters(rule.setting())
    assert not rule.lacks_parameters(rule.setting(parameters={"allowedTopologyKeys": ["rack"]}))
    assert not RULES["pinned-pod"].lacks_parameters(RULES["pinned-pod"].setting())


def test_a_rule_is_registered_with_few_words():
    """More keywords would be read by nobody; what can be derived is derived."""
    assert len(signature(rule).parameters) <= 10
