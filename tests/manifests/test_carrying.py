"""What a policy file asks for and CEL cannot do, and what policies do otherwise than the webhook."""

from __future__ import annotations

import pytest

from tests.support.build import policy
from webhook.manifests.acting import Export
from webhook.manifests.admission_policies import admission_policies
from webhook.manifests.carrying import not_carried, notes, unanswerable
from webhook.scheduler.features import LATEST

FLEET = {"apiVersion": "example.com/v1", "kind": "Fleet", "resource": "fleets", "podTemplate": "spec.sets[*].template"}
LIST = {
    "defaultingType": "List",
    "defaultConstraints": [{"maxSkew": 2, "topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway"}],
}


def noted(**fields):
    export = Export(policy(**fields), LATEST)
    return [*notes(export, admission_policies(export))]


def lost(**fields):
    return not_carried(Export(policy(**fields), LATEST))


@pytest.mark.parametrize(
    ("fields", "begin"),
    [
        (
            {"rules": {"unschedulable": "warning"}},
            "rules.unschedulable: the API server cannot check it: CEL knows neither the nodes",
        ),
        ({"rules": {"unknown-field": "warning"}}, "rules.unknown-field: the API server cannot check it: "),
        (
            {"overrides": [{"name": "a", "podSelector": {}, "rules": {"unlabelled-nodes": "warning"}}]},
            "override a: rules.unlabelled-nodes: the API server cannot check it: ",
        ),
        (
            {"overrides": [{"name": "a", "podSelector": {}, "until": "2030-01-31"}]},
            "override a: until: CEL cannot know",
        ),
        ({"workloads": [FLEET]}, "workloads: example.com/Fleet: its objects have several Pod templates"),
        ({"defaulting": LIST}, "defaulting: only a webhook can give Pods constraints"),
        (
            {"overrides": [{"name": "a", "podSelector": {}, "defaulting": LIST}]},
            "override a: defaulting: only a webhook can give Pods constraints",
        ),
        ({"earlyAnswer": True}, "earlyAnswer: "),
    ],
)
def test_what_would_be_lost_is_told(fields, begin):
    (line,) = lost(**fields)

    assert line.startswith(begin)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"rules": {"unschedulable": "info", "unknown-field": "ignore"}},
        {"rules": {"missing-constraints": "error"}, "ownedObjects": "Deny", "onError": "Deny"},
        {"defaulting": {"defaultingType": "System"}},
        {"overrides": [{"name": "a", "schedulerName": "x", "enforcement": "Warn"}]},
    ],
    ids=str,
)
def test_what_can_be_carried_over_is_not(fields):
    assert () == lost(**fields)


def test_a_condition_that_cel_cannot_judge_is_told():
    unknown = {"overrides": [{"name": "a", "podSelector": {"matchLabels": {"pod-template-hash": "x"}}}]}

    (line,) = unanswerable(Export(policy(**unknown), LATEST))
    assert (
        "override a: podSelector: CEL cannot see the label pod-template-hash, which a controller adds to Pods later"
    ) == line


def test_a_rule_of_the_policy_is_told_once_and_not_again_of_each_override():
    overrides = [{"name": name, "podSelector": {"matchLabels": {"a": name}}} for name in "ab"]

    assert 1 == len(lost(rules={"unschedulable": "warning"}, overrides=overrides))


def test_differences_depend_on_the_policy():
    built_in = noted()
    of_strict = noted(
        rules={"missing-constraints": "error"}, ownedObjects="Deny", defaulting={"defaultingType": "System"}
    )

    assert built_in[0].startswith("not checked: ")
    assert any(line.startswith("Pods get no default constraints") for line in built_in)
    assert not any(line.startswith("Pods get") for line in of_strict)
    assert not any("owns" in line for line in of_strict)
    assert "missing-constraints" in of_strict[-2] and "missing-constraints" not in built_in[-2]


@pytest.mark.parametrize(
    ("fields", "needless"),
    [
        ({}, ["evenkeel-audit"]),
        ({"enforcement": "Warn"}, ["evenkeel", "evenkeel-audit"]),
        ({"enforcement": "Audit"}, ["evenkeel", "evenkeel-warn"]),
    ],
)
def test_policies_that_an_earlier_file_needed_are_told_with_the_command_that_deletes_them(fields, needless):
    names = f"{' '.join(needless)} --ignore-not-found"

    assert noted(**fields)[-1] == (
        f"not needed: {', '.join(needless)}; if the cluster still has them, they still judge; to delete them: "
        f"kubectl delete validatingadmissionpolicybinding,validatingadmissionpolicy {names}"
    )


def test_an_override_that_comes_after_one_that_has_ended_keeps_its_name():
    overrides = [
        {"name": name, "podSelector": {"matchLabels": {"a": name}}, "until": f"{year}-01-31"}
        for name, year in (("old", 2020), ("new", 2030))
    ]

    assert ("override new: until: CEL cannot know the date",) == not_carried(
        Export(policy(overrides=overrides).on("2026-01-01"), LATEST)
    )


def test_defaults_are_left_out_for_what_the_api_server_does_not_see():
    """It can write a selector; tests/e2e/test_own_policies.py has it do so."""
    (line,) = lost(defaulting=LIST)

    assert line.endswith("looks up no Services and no controllers, which give the selector")
