"""The policy by which only chosen users and groups set the skip label; tests/e2e/test_skip_label.py has it enforced."""

from __future__ import annotations

import json
import re

import pytest

from webhook.manifests.skip_label import EXPRESSION, MESSAGE_EXPRESSION, SKIP_LABEL_NAME, skip_label_policy


def test_names_are_nowhere_but_in_the_two_expressions():
    """So that the chart needs to put in nothing else."""
    policy, binding = skip_label_policy(["jane"], ["platform"])
    nobody, same = skip_label_policy([], [])

    assert (EXPRESSION % ('["jane"]', '["platform"]'), MESSAGE_EXPRESSION % ("[]", "[]")) == (
        expressions(policy)[0],
        expressions(nobody)[1],
    )
    del policy["spec"]["validations"], nobody["spec"]["validations"]
    assert (nobody, same) == (policy, binding)


def expressions(policy):
    (validation,) = policy["spec"]["validations"]
    return validation["expression"], validation["messageExpression"]


def test_it_has_no_variables_with_which_an_old_api_server_may_crash():
    assert "variables" not in json.dumps(skip_label_policy(["jane"], ["platform"]))


@pytest.mark.parametrize("name", ["system:serviceaccount:a:b", "CN=x,OU=y z", """a"'\\n<&>""", "☸ 🙂"])
def test_a_name_is_a_string_to_cel_whatever_is_in_it(name):
    """The printable part of JSON: no \\u of half a character, which CEL refuses."""
    begin, end = EXPRESSION.split("%s")[1:]
    text = expressions(skip_label_policy([], [name])[0])[0].partition(begin)[2].removesuffix(end)

    assert [name] == json.loads(text)
    assert "\\u" not in text


def test_it_denies_by_its_binding_and_in_no_other_way():
    policy, binding = skip_label_policy(["jane"], [])

    assert (SKIP_LABEL_NAME, ["Deny"]) == (binding["spec"]["policyName"], binding["spec"]["validationActions"])
    assert {SKIP_LABEL_NAME} == {one["metadata"]["name"] for one in (policy, binding)}
    assert ("Fail", "Forbidden") == (policy["spec"]["failurePolicy"], policy["spec"]["validations"][0]["reason"])


def test_no_step_in_it_fails_on_an_absent_field():
    """An error would deny: of an object and of a request every field is read as one that may be absent."""
    spec = skip_label_policy(["jane"], [])[0]["spec"]
    (condition,), (validation,) = spec["matchConditions"], spec["validations"]

    for expression in (condition["expression"], validation["expression"], validation["messageExpression"]):
        assert re.search(r"\b(oldObject|request)\.\?", expression)
        assert not re.search(r"(\b(oldO|o)bject|\brequest|\?userInfo|\?metadata)\.[^?]|\?labels(\.|\[[^?])", expression)
