"""The ValidatingAdmissionPolicies as objects, whatever the policy is."""

from __future__ import annotations

import json
import re

import pytest

from tests.manifests.exports import POLICIES, export
from tests.support.build import policy
from webhook.manifests.acting import Export
from webhook.manifests.admission_policies import POLICY_NAMES, admission_policies
from webhook.manifests.conditions import NOT_OWNED
from webhook.objects.names import SYSTEM_NAMESPACES
from webhook.scheduler.features import LATEST


def made(name="built in", **fields):
    """The policies by their names, and the bindings."""
    manifests = admission_policies(export(name, **fields))
    by_kind = {"ValidatingAdmissionPolicy": {}, "ValidatingAdmissionPolicyBinding": {}}
    for manifest in manifests:
        by_kind[manifest["kind"]][manifest["metadata"]["name"]] = manifest["spec"]
    return tuple(by_kind.values())


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("built in", ["evenkeel", "evenkeel-warn"]),
        ("parts", ["evenkeel", "evenkeel-warn", "evenkeel-audit"]),
        ("warnings", ["evenkeel-warn"]),
    ],
)
def test_there_is_a_policy_for_each_action_that_something_comes_of(name, names):
    policies, bindings = made(name)

    assert names == [*policies] == [*bindings]
    assert [[action] for action, each in POLICY_NAMES.items() if each in names] == [
        binding["validationActions"] for binding in bindings.values()
    ]


@pytest.mark.parametrize("name", POLICIES)
def test_match_conditions_never_ask_about_the_namespace_which_is_null_there(name):
    for spec in made(name)[0].values():
        assert "namespaceObject" not in json.dumps(spec["matchConditions"])
        assert "variables." not in json.dumps(spec["matchConditions"])


@pytest.mark.parametrize("name", POLICIES)
def test_all_variables_are_used_and_all_that_are_used_are_there(name):
    for spec in made(name)[0].values():
        names = [variable["name"] for variable in spec["variables"]]
        text = json.dumps([spec["variables"], spec["validations"]])
        assert len(names) == len(set(names))
        assert set(names) == {*re.findall(r"variables\.(\w+)", text)}


def test_no_part_of_it_reads_a_parameter_of_the_cluster():
    for spec in made("parts")[0].values():
        assert "paramKind" not in spec


@pytest.mark.parametrize(
    ("name", "failure_policies"),
    [
        ("built in", {"evenkeel": "Ignore", "evenkeel-warn": "Ignore"}),
        ("enforced", {"evenkeel": "Fail", "evenkeel-warn": "Ignore"}),
        ("parts", {"evenkeel": "Fail", "evenkeel-warn": "Ignore", "evenkeel-audit": "Ignore"}),
    ],
)
def test_what_cannot_be_evaluated_is_refused_only_where_a_rule_is_enforced_or_the_policy_says_so(
    name, failure_policies
):
    assert failure_policies == {name: spec["failurePolicy"] for name, spec in made(name)[0].items()}


def test_namespaces_are_chosen_by_the_binding():
    _, bindings = made(excluded=(*SYSTEM_NAMESPACES, "own", "own"))

    for binding in bindings.values():
        by_name, by_label = binding["matchResources"]["namespaceSelector"]["matchExpressions"]
        assert [*SYSTEM_NAMESPACES, "own"] == by_name["values"]
        assert ("evenkeel.dev/skip", "NotIn", ["true"]) == (by_label["key"], by_label["operator"], by_label["values"])


def test_pods_are_judged_when_they_are_created_and_others_when_they_change():
    rules = made()[0]["evenkeel"]["matchConstraints"]["resourceRules"]

    assert {("pods",): ["CREATE"]} == {
        tuple(rule["resources"]): rule["operations"] for rule in rules if "pods" in rule["resources"]
    }
    assert all(["CREATE", "UPDATE"] == rule["operations"] for rule in rules if "pods" not in rule["resources"])


@pytest.mark.parametrize(
    ("name", "conditions"),
    [
        ("built in", ["has-constraints", "changed", "not-owned"]),
        ("every rule", ["changed", "not-owned"]),
        ("enforced", ["changed"]),
    ],
)
def test_what_no_rule_judges_is_left_out_early(name, conditions):
    assert conditions == [each["name"] for each in made(name)[0]["evenkeel"]["matchConditions"]]


def test_an_owned_object_is_judged_where_one_that_is_too_large_is_refused():
    owned_too = {
        manifest["metadata"]["name"]: NOT_OWNED not in manifest["spec"]["matchConditions"]
        for manifest in admission_policies(Export(policy(onError="Deny"), LATEST))[::2]
    }

    assert {"evenkeel": True, "evenkeel-warn": False} == owned_too


def test_a_help_may_look_like_a_variable():
    rules = {"hard-constraint": {"severity": "error", "help": "see variables.wiki"}}
    manifests = admission_policies(Export(policy(rules=rules), LATEST))

    assert "; see variables.wiki" in json.dumps(manifests)
