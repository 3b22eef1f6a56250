"""The catalogue of rules for programs: all that its page says."""

from __future__ import annotations

import json

from evenkeel.catalogue.rules_json import as_json
from webhook.rules import RULES


def test_all_that_the_page_of_a_rule_says_is_there():
    listed = json.loads(as_json(RULES.values()))
    by_id = {rule["id"]: rule for rule in listed["rules"]}
    own, advice = by_id["excessive-max-skew"], by_id["tainted-domain"]

    assert ("evenkeel.dev/v1alpha1", "RuleList") == (listed["apiVersion"], listed["kind"])
    assert list(RULES) == list(by_id)
    assert ("ignore", ["maxSkew"], {"maxSkew", "topologyKeys"}) == (
        own["severity"],
        own["required"],
        own["parameters"].keys(),
    )
    assert (RULES["excessive-max-skew"].cel, False) == (own["cel"], own["advice"])
    assert ("", True) == (advice["cel"], advice["advice"])
    assert all(rule["rationale"] and rule["fix"] and rule["bad"] and rule["good"] for rule in by_id.values())


def test_each_rule_yields_to_rules_that_there_are():
    rules = json.loads(as_json(RULES.values()))["rules"]

    assert {above for rule in rules for above in rule["yieldsTo"]} <= RULES.keys()
