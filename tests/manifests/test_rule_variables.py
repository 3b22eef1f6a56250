"""The variables and validations of checks, as text; what they find is shown by an API server, in tests/e2e."""

from __future__ import annotations

import re

import pytest

from tests.manifests.exports import POLICIES, export
from tests.support.build import policy
from webhook.manifests.acting import Export, acting_checks
from webhook.manifests.rule_variables import validations, variables
from webhook.objects.names import PROBE_LABEL
from webhook.policy.policy import AUDIT, DENY, WARN
from webhook.scheduler.features import LATEST


def written(name, action, **fields):
    given = export(name, **fields)
    acting = acting_checks(given, action)
    return [*variables(given, action, acting)], [*validations(given, action, acting)]


def variable(name, policy_name="every rule", action=DENY, **fields):
    return dict(written(policy_name, action, **fields)[0])[name]


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("action", [DENY, WARN, AUDIT])
def test_each_variable_asks_only_for_those_before_it(name, action):
    seen = set()
    for variable_name, expression in written(name, action)[0]:
        assert {*re.findall(r"variables\.(\w+)", expression)} <= seen, variable_name
        seen.add(variable_name)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("action", [DENY, WARN, AUDIT])
def test_each_validation_says_why_in_one_line(name, action):
    for validation in written(name, action)[1]:
        assert "Forbidden" == validation["reason"]
        assert validation["message"] and "\n" not in "".join(map(str, validation.values()))


def test_a_rule_that_is_not_enforced_leaves_out_what_is_owned_ignored_or_pinned():
    assert variable("empty_selector").startswith(
        "((!variables.audited && !variables.pinned && !('empty-selector' in variables.ignored))) ? "
    )


def test_an_enforced_rule_leaves_out_only_what_its_controller_sends():
    assert variable("hard_constraint", "enforced").startswith("((!variables.sent_by_controller)) ? ")


def test_what_the_api_server_rejects_is_told_of_a_daemon_set_too():
    assert "variables.pinned" not in variable("invalid_constraint")


def test_a_rule_acts_in_its_parts_only():
    assert variable("empty_selector", "parts").startswith("((variables.part in [0,3] && !variables.audited")


def test_an_old_finding_of_another_part_does_not_excuse():
    assert "variables.part_before in" not in variable("hard_constraint_before", "every rule")
    assert "!(true)) || (variables.part_before in [0,3])" in variable("hard_constraint_before", "parts")


def test_an_old_object_that_is_too_large_excuses_all_but_enforced_rules():
    assert variable("hard_constraint_denied").startswith("!variables.fits_before ? [] : ")
    assert "fits_before" not in variable("hard_constraint_denied", "enforced")


def test_parameters_are_variables():
    assert ("5", '["rack"]') == (
        variable("excessive_max_skew_maxSkew"),
        variable("forbidden_topology_key_topologyKeys"),
    )
    assert "[5,5,5,5]" == variable("excessive_max_skew_maxSkew", "parts")


def test_a_fix_offers_a_constraint_only_if_no_rule_finds_fault_with_it():
    missing = {"missing-constraints": "error"}

    assert '["topology.kubernetes.io/zone"]' == offered(missing)
    assert "[]" == offered({**missing, "soft-constraint": "error"})


def offered(rules):
    given = Export(policy(rules=rules), LATEST)
    return dict(variables(given, DENY, acting_checks(given, DENY)))["offered"]


@pytest.mark.parametrize(
    ("name", "action", "sizes"),
    [("built in", DENY, 0), ("enforced", DENY, 1), ("parts", DENY, 1), ("built in", WARN, 1)],
)
def test_an_object_that_is_too_large_is_denied_where_something_asks_for_it(name, action, sizes):
    assert sizes == sum("could not judge it" in each["messageExpression"] for each in written(name, action)[1])


@pytest.mark.parametrize("name", POLICIES)
def test_only_what_denies_has_a_denial_for_whoever_asks_for_one_and_it_comes_first(name):
    first, *others = written(name, DENY)[1]

    assert PROBE_LABEL in first["expression"]
    assert f"the label {PROBE_LABEL} asks for a denial; leave it out" in first["messageExpression"]
    assert PROBE_LABEL not in str([*others, *written(name, WARN)[1], *written(name, AUDIT)[1]])


def test_a_message_ends_with_the_rule_and_the_help_of_the_part():
    of = policy(
        rules={"hard-constraint": {"severity": "error", "help": "see the wiki"}},
        overrides=[
            {"name": "a", "podSelector": {}, "rules": {"hard-constraint": {"severity": "error", "help": "ask"}}}
        ],
    )
    given = Export(of, LATEST)
    acting = acting_checks(given, DENY)
    (message,) = (
        each["messageExpression"] for each in validations(given, DENY, acting) if "hard" in each["messageExpression"]
    )

    assert message.endswith("""_text + " (evenkeel hard-constraint)" + ["; see the wiki","; ask"][variables.part]""")


def test_the_help_for_all_rules_ends_a_denial_and_is_a_warning_of_its_own():
    of = policy(help="ask us", rules={"hard-constraint": "error", "empty-selector": "warning"})
    given = Export(of, LATEST)
    denials, warnings = (validations(given, action, acting_checks(given, action)) for action in (DENY, WARN))
    (denial,) = (each["messageExpression"] for each in denials if "hard" in each["messageExpression"])
    *others, last = warnings

    assert denial.endswith('_text + " (evenkeel hard-constraint)" + "; ask us"')
    assert ("ask us (evenkeel)", False) == (last["message"], "ask us" in str(others))
    assert "variables.empty_selector_told.size() == 0" in last["expression"]


def test_an_old_object_that_was_too_large_had_no_constraints_missing():
    assert variable("missing_constraints_before", "every rule").startswith("variables.fits_before ? (")


def test_each_absent_key_counts_also_of_one_constraint():
    assert ".map(k, c)).flatten()" in variable("absent_match_label_key")
