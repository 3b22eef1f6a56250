"""The policy that holds an account to changing caBundle; tests/e2e/test_ca_bundle.py has it enforced."""

from __future__ import annotations

import json
import re

from webhook.manifests.ca_bundle_guard import BY, CA_BUNDLE_NAME, ca_bundle_policy

USER = "system:serviceaccount:guard:keel"


def test_the_user_is_nowhere_but_in_its_condition():
    """So that the chart needs to put in nothing else."""
    policy, binding = ca_bundle_policy(USER)
    (condition,) = policy["spec"]["matchConditions"]
    assert USER == json.loads(condition["expression"].removeprefix(BY))

    policy["spec"].pop("matchConditions")
    assert USER not in json.dumps([policy, binding])


def test_it_denies_by_its_binding_and_in_no_other_way():
    policy, binding = ca_bundle_policy(USER)

    assert (CA_BUNDLE_NAME, ["Deny"]) == (binding["spec"]["policyName"], binding["spec"]["validationActions"])
    assert {CA_BUNDLE_NAME} == {one["metadata"]["name"] for one in (policy, binding)}
    assert "Fail" == policy["spec"]["failurePolicy"]


def test_every_field_has_a_validation_and_a_message_of_its_own_and_ca_bundle_has_none():
    validations = ca_bundle_policy(USER)[0]["spec"]["validations"]
    named = [one["message"].partition(":")[0] for one in validations]

    assert len(set(named)) == len(named) == len({one["expression"] for one in validations})
    assert not [one for one in validations if "caBundle" in one["expression"]]
    for name, one in zip(named, validations, strict=True):
        assert one["expression"].count(name.rpartition(".")[2]) == 2


def test_no_step_in_it_fails_on_an_absent_field():
    """An error would deny."""
    for one in ca_bundle_policy(USER)[0]["spec"]["validations"]:
        assert not re.search(
            r"\b(oldO|o)bject\.(?!\?|metadata\.\?)|w\)?\.[^?]|clientConfig\.[^?]", one["expression"]
        ), one
