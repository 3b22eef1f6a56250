"""The ValidatingAdmissionPolicies as objects; what their CEL says is held on an API server, in tests/e2e."""

from __future__ import annotations

import json
import re

import pytest

from tests.support.build import policy
from webhook.kubernetes.features import LATEST, features
from webhook.kubernetes.names import SYSTEM_NAMESPACES
from webhook.manifests.admission_policies import POLICY_NAMES, admission_policies, notes, unknowable
from webhook.manifests.cel_variables import of_new_object, of_object
from webhook.rules import RULES

MOST_SKEW = "excessive-max-skew"
ALL = {rule.id: {"severity": "error", **rule.example} for rule in RULES.values() if rule.cel}
PARTS = {
    "rules": {MOST_SKEW: {"severity": "error", "maxSkew": 5}},
    "overrides": [
        {"name": "a", "podSelector": {"matchLabels": {"a": "b"}}, "enforcement": "Warn"},
        {"name": "b", "schedulerName": "other", "rules": {MOST_SKEW: {"severity": "error", "maxSkew": 7}}},
        {"name": "c", "namespaceSelector": {"matchLabels": {"a": "b"}}, "enforcement": "Audit", "until": "2999-01-31"},
    ],
}
POLICIES = {
    "built in": {},
    "all": {"rules": ALL},
    "parts": PARTS,
    "warnings": {"enforcement": "Warn"},
    "enforced": {"rules": {"soft-constraint": {"severity": "error", "enforced": True}}},
}


def made(name, minor=LATEST.minor, excluded=()):
    """The policies by their names, and the bindings."""
    by_kind = {"ValidatingAdmissionPolicy": {}, "ValidatingAdmissionPolicyBinding": {}}
    for manifest in admission_policies(policy(**POLICIES[name]), features(minor), excluded):
        by_kind[manifest["kind"]][manifest["metadata"]["name"]] = manifest["spec"]
    return tuple(by_kind.values())


def expression_of(name, rule, action="Deny", **fields):
    """The expression of the validation of a rule."""
    asked = made(name, **fields)[0][POLICY_NAMES[action]]["validations"]
    return next(each["expression"] for each in asked if each["message"].endswith(f" (evenkeel {rule})"))


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("built in", ["evenkeel", "evenkeel-warn"]),
        ("parts", ["evenkeel", "evenkeel-warn", "evenkeel-audit"]),
        ("warnings", ["evenkeel-warn"]),
    ],
)
def test_there_is_a_policy_for_each_action_that_comes_of_a_rule(name, names):
    policies, bindings = made(name)

    assert names == [*policies] == [*bindings]
    assert [[action] for action, each in POLICY_NAMES.items() if each in names] == [
        binding["validationActions"] for binding in bindings.values()
    ]


@pytest.mark.parametrize("name", POLICIES)
def test_each_variable_comes_after_those_that_it_asks_for_and_nothing_else_is_left_open(name):
    for spec in made(name)[0].values():
        known = set()
        for variable in spec["variables"]:
            assert {*re.findall(r"variables\.(\w+)", variable["expression"])} <= known
            known.add(variable["name"])
        text = json.dumps(spec["validations"])
        assert {*re.findall(r"variables\.(\w+)", text)} <= known
        assert "parameters." not in text and "features." not in text
        assert "variables." not in json.dumps(spec["matchConditions"])


def test_a_message_is_the_title_of_the_rule_and_its_id():
    asked = made("all")[0]["evenkeel"]["validations"]

    assert [f"{RULES[rule].title} (evenkeel {rule})" for rule in ALL] == [each["message"] for each in asked]


def test_a_rule_asks_the_same_of_the_old_object():
    now, before = expression_of("all", "pinned-pod").split(" || oldObject != null && ")

    assert RULES["pinned-pod"].cel in now
    assert RULES["pinned-pod"].cel.replace("variables.", "variables.old_") in before


def test_each_part_has_its_own_parameters_and_enforcement():
    denied, before = expression_of("parts", MOST_SKEW).split(" || oldObject != null && ")
    warned, _ = expression_of("parts", MOST_SKEW, "Warn").split(" || oldObject != null && ")

    assert [("[0]", "5"), ("[2]", "7")] == re.findall(r"variables.part in (.*?)\) .*?c.maxSkew <= (\d)", denied)
    assert [("[1]", "5")] == re.findall(r"variables.part in (.*?)\) .*?c.maxSkew <= (\d)", warned)
    assert [("[0, 1, 3]", "5"), ("[2]", "7")] == re.findall(r"old_part in (.*?)\) .*?c.maxSkew <= (\d)", before)
    (part,) = (each["expression"] for each in made("parts")[0]["evenkeel"]["variables"] if each["name"] == "part")
    assert part == (
        '("a" in variables.labels && variables.labels["a"] in ["b"]) ? 1 : '
        "variables.spec.?schedulerName.orValue('default-scheduler') == \"other\" ? 2 : "
        '("a" in namespaceObject.metadata.?labels.orValue({}) && '
        'namespaceObject.metadata.?labels.orValue({})["a"] in ["b"]) ? 3 : 0'
    )


def test_what_looks_like_a_variable_in_a_parameter_stays_as_it_is(monkeypatch):
    key = "variables.example.com/parameters.maxSkew"
    setting = {"severity": "error", "topologyKeys": [key]}
    monkeypatch.setitem(POLICIES, "keys", {"rules": {"forbidden-topology-key": setting}})

    assert 2 == expression_of("keys", "forbidden-topology-key").count(f'["{key}"]')


@pytest.mark.parametrize(("minor", "counts"), [(37, "false"), (38, "true")])
def test_an_expression_knows_the_version(minor, counts):
    assert f"c.?labelSelector.hasValue() && ({counts} ||" in expression_of("built in", "empty-selector", minor=minor)


@pytest.mark.parametrize(
    ("name", "rule", "spared"),
    [
        ("enforced", "soft-constraint", "(variables.by_controller || variables.fits && ("),
        ("built in", "invalid-constraint", "(!variables.fits || 'invalid-constraint' in variables.ignored || "),
    ],
)
def test_what_is_enforced_spares_only_what_a_controller_sends(name, rule, spared):
    assert expression_of(name, rule).startswith(spared)


@pytest.mark.parametrize(("name", "denies"), [("built in", "Ignore"), ("enforced", "Fail")])
def test_what_cannot_be_evaluated_is_refused_where_a_rule_is_enforced(name, denies):
    policies = made(name)[0]

    assert (denies, "Ignore") == (policies["evenkeel"]["failurePolicy"], policies["evenkeel-warn"]["failurePolicy"])


def test_namespaces_are_chosen_by_the_binding():
    for binding in made("built in", excluded=("own", "kube-system"))[1].values():
        by_name, by_label = binding["matchResources"]["namespaceSelector"]["matchExpressions"]
        assert [*SYSTEM_NAMESPACES, "own"] == by_name["values"]
        assert ("evenkeel.dev/skip", "NotIn", ["true"]) == (by_label["key"], by_label["operator"], by_label["values"])


def test_only_built_in_kinds_are_judged_and_pods_only_as_they_are_created():
    rules = made("built in")[0]["evenkeel"]["matchConstraints"]["resourceRules"]

    assert {"", "apps", "batch"} == {group for rule in rules for group in rule["apiGroups"]}
    assert [["pods"]] == [rule["resources"] for rule in rules if rule["operations"] == ["CREATE"]]


@pytest.mark.parametrize(("name", "conditions"), [("built in", ["has-constraints", "changed"]), ("all", ["changed"])])
def test_what_no_rule_judges_is_left_out_early(name, conditions):
    assert conditions == [each["name"] for each in made(name)[0]["evenkeel"]["matchConditions"]]


def test_a_label_that_a_controller_adds_decides_no_override():
    (line,) = unknowable(policy(overrides=[{"name": "a", "podSelector": {"matchLabels": {"pod-template-hash": "x"}}}]))

    assert "override a: podSelector: CEL cannot see the label pod-template-hash, which a controller adds " in line


def test_what_is_left_out_is_noted():
    fleet = {"apiVersion": "example.com/v1", "kind": "Fleet", "resource": "fleets", "podTemplate": "spec.template"}
    chosen = policy(**PARTS | {"workloads": [fleet]})
    rules, custom, defaults, until = notes(chosen, admission_policies(chosen, LATEST))
    *_, needless = notes(policy(), admission_policies(policy(), LATEST))

    assert "unknown-field" in rules and MOST_SKEW not in rules
    assert custom.endswith(": Fleet") and defaults.endswith(": defaulting")
    assert until.endswith("print the policies again after 2999-01-31")
    assert needless.startswith("not needed: evenkeel-audit; ")


def test_the_old_object_has_the_same_variables():
    known = [name for name, _ in of_object("object", "")]

    assert [f"old_{name}" for name in known] == [name for name, _ in of_object("oldObject", "old_")]
    assert not {*known} & {name for name, _ in of_new_object()}
    assert not any("object" in text.replace("oldObject", "") for _, text in of_object("oldObject", "old_"))
