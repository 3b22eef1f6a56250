"""A policy and its binding belong together by their name."""

from __future__ import annotations

from webhook.manifests.policy_objects import policy_and_binding


def test_a_policy_denies_by_the_binding_of_its_name():
    policy, binding = policy_and_binding("a", {"validations": []})

    assert ("a", "a", {"validations": []}) == (policy["metadata"]["name"], binding["metadata"]["name"], policy["spec"])
    assert {"policyName": "a", "validationActions": ["Deny"]} == binding["spec"]
    assert policy["apiVersion"] == binding["apiVersion"] == "admissionregistration.k8s.io/v1"


def test_a_binding_may_have_another_action_and_match_less():
    _, binding = policy_and_binding("a", {}, "Warn", matchResources={})

    assert {"policyName": "a", "validationActions": ["Warn"], "matchResources": {}} == binding["spec"]
