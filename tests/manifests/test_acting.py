"""Which checks act for which action, in which part of a policy and in what order."""

from __future__ import annotations

import pytest

from tests.manifests.exports import export
from webhook.manifests.acting import acting_checks, silencing
from webhook.policy.policy import AUDIT, DENY, WARN

RULE = "hard-constraint"


def rules_of(given, action):
    return {acting.rule for acting in acting_checks(given, action)}


def test_errors_deny_and_warnings_warn():
    assert {"empty-selector", "malformed-topology-key", "invalid-constraint"} == rules_of(export(), DENY)
    assert {"pinned-pod", "selector-misses-own-pod", "wrong-revision-key"} < rules_of(export(), WARN)
    assert set() == rules_of(export(), AUDIT)


def test_what_denies_warns_where_an_old_finding_excuses_it():
    (acting,) = (acting for acting in acting_checks(export(), WARN) if acting.rule == "empty-selector")

    assert acting.parts == acting.excusing == {0}


def test_an_enforcement_moves_errors():
    assert set() == rules_of(export("warnings"), DENY)
    assert RULE in rules_of(export("warnings"), WARN)


@pytest.mark.parametrize(("action", "parts"), [(DENY, {0, 3}), (WARN, {1}), (AUDIT, {2})])
def test_each_part_of_the_policy_has_its_own_enforcement(action, parts):
    assert parts == export("parts").acting_in(RULE, action)


def test_checks_come_in_the_order_of_the_fields():
    fields = [(not acting.check.whole, acting.check.field) for acting in acting_checks(export("every rule"), DENY)]
    order = ["", "labelSelector", "matchLabelKeys", "matchLabelKeys[]", "matchLabelKeys[pod-template-hash]", "maxSkew"]

    assert fields == sorted(fields, key=lambda each: (each[0], order.index(each[1]) if each[1] in order else 9))
    assert [False, False] == [each[0] for each in fields[:2]]


@pytest.mark.parametrize(
    ("rule", "silencing_rules"),
    [
        ("forbidden-topology-key", {"invalid_constraint", "malformed_topology_key"}),
        ("pinned-pod", {"missing_constraints"}),
        ("rollout-skew", {"invalid_constraint"}),
        ("malformed-topology-key", {"invalid_constraint"}),
        ("invalid-constraint", set()),
        ("hard-constraint", {"invalid_constraint"}),
    ],
)
def test_one_rule_is_told_of_a_field(rule, silencing_rules):
    every = acting_checks(export("every rule"), DENY)
    silenced = (silencing(export("every rule"), acting, every) for acting in every if acting.rule == rule)

    assert silencing_rules == {name.rstrip("_0123456789") for names in silenced for name in names}


def test_parts_in_cel():
    given = export("parts")

    assert "true" == given.within(frozenset(range(4)))
    assert "false" == given.within(frozenset())
    assert "variables.part_before in [0,3]" == given.within(frozenset({3, 0}), "_before")
