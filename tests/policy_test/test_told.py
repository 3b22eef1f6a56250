"""What policies told of an object, and whether a test expects that."""

from __future__ import annotations

from functools import cache

import pytest

from tests.support.build import FEATURES, policy
from webhook.admission.decision import Outcome
from webhook.cluster.trial import Trial
from webhook.manifests.acting import Export
from webhook.policy_test import told
from webhook.policy_test.told import WARNED_BY, compare, incomparable, read_told, rule_of

DENIED_BY = "x is forbidden: ValidatingAdmissionPolicy 'evenkeel' with binding 'evenkeel' denied request: "
HELP, FOR_ALL = "ask us (evenkeel hard-constraint)", "read the wiki"
RULES = {
    "empty-selector": {"severity": "error", "help": HELP},
    "hard-constraint": "warning",
    "soft-constraint": "error",
    "pinned-pod": "info",
}
EMPTY, HARD, SOFT, PINNED = "empty-selector", "hard-constraint", "soft-constraint", "pinned-pod"
UNKNOWN = "unknown-topology-key"  # asks about nodes


@cache
def export(enforcement="Deny"):
    return Export(policy(help=FOR_ALL, rules=RULES, enforcement=enforcement), FEATURES)


def answer(denied="", *warned, others=()):
    warnings = (*others, *(WARNED_BY + text for text in warned))
    return Trial(403, "Forbidden", DENIED_BY + denied, warnings) if denied else Trial(201, warnings=warnings)


def said(rule, help_text=""):
    return f"Deployment shop/web: spec: wrong; mend it (evenkeel {rule}){help_text}"


def compared(expect, trial, enforcement="Deny", owned=False):
    return compare("a", expect, read_told(trial, export(enforcement)), export(enforcement), owned)


NOTHING, DENIED, WARNED = answer(), answer(said(EMPTY, f"; {HELP}")), answer("", said(HARD))


@pytest.mark.parametrize(
    ("message", "rule"),
    [
        (said(EMPTY, f"; {HELP}"), EMPTY),
        (said(EMPTY, f"; {HELP}; {FOR_ALL}"), EMPTY),
        (said(HARD, f"; {FOR_ALL}"), HARD),
        (said(EMPTY), EMPTY),
        (said(HARD), HARD),
        (said(HARD, "; more"), ""),
        (said("no-rule"), ""),
        ("", ""),
    ],
)
def test_the_rule_stands_before_the_help_that_the_policy_has(message, rule):
    assert rule == rule_of(message, export())


@pytest.mark.parametrize(
    ("trial", "outcome", "rules"),
    [
        (NOTHING, "allowed", set()),
        (WARNED, "warned", {HARD}),
        (answer("", said(HARD), f"{FOR_ALL} (evenkeel)"), "warned", {HARD}),
        (answer(said(SOFT), said(HARD)), "denied", {SOFT, HARD}),
        (Trial(409, "AlreadyExists", "x", (WARNED_BY + said(HARD),)), "warned", {HARD}),
        (answer("", "Pod a: evenkeel could not judge it: spec: found 99 constraints"), "not-judged", set()),
        (
            answer("Pod a: spec: found 99; make it smaller: an enforced rule must be able to judge it"),
            "not-judged",
            set(),
        ),
        (answer("expression 'x' resulted in error: no such key"), "error", set()),
        (answer(others=("something of the API server's",)), "allowed", set()),
    ],
)
def test_an_outcome_is_that_of_what_was_told(trial, outcome, rules):
    read = read_told(trial, export())

    assert (outcome, rules) == (read.outcome, read.rules)


@pytest.mark.parametrize(
    "trial",
    [
        Trial(403, "Forbidden", 'User "jane" cannot create resource "pods"'),
        Trial(403, "Forbidden", "ValidatingAdmissionPolicy 'other' with binding 'other' denied request: no"),
        Trial(422, "Invalid", DENIED_BY + said(EMPTY)),
    ],
)
def test_what_another_refuses_no_policy_has_told(trial):
    assert read_told(trial, export()) is None


def test_the_lines_are_those_of_kubectl():
    lines = read_told(answer(said(SOFT), said(HARD), others=("other",)), export()).lines

    assert ("Warning: other", f"Warning: {WARNED_BY}{said(HARD)}") == lines[:2]
    assert f"Error from server (Forbidden): {DENIED_BY}{said(SOFT)}" == lines[2]
    assert ("created (server dry run)",) == read_told(NOTHING, export()).lines


CASES = [
    # what is expected, what the API server said, whether that passes, the notes
    ({"outcome": "denied", "rules": [EMPTY]}, DENIED, True, ()),
    ({"outcome": "denied", "rules": [EMPTY, SOFT]}, DENIED, True, (told.FIRST_ONLY,)),
    ({"outcome": "denied", "rules": [EMPTY, HARD]}, DENIED, False, ()),
    ({"outcome": "denied", "rules": [SOFT]}, DENIED, False, (told.FIRST_ONLY,)),
    ({"outcome": "denied", "rules": []}, DENIED, False, ()),
    ({"outcome": "denied"}, WARNED, False, ()),
    ({"outcome": "warned"}, DENIED, False, ()),
    ({"outcome": "warned", "rules": [HARD]}, WARNED, True, ()),
    ({"rules": [HARD, EMPTY]}, WARNED, False, ()),
    ({"rules": [HARD, EMPTY]}, answer("", said(HARD), others=("a null labelSelector",)), True, (told.SAID_ALREADY,)),
    ({"rules": [HARD, SOFT]}, answer("", said(HARD), others=("a null labelSelector",)), False, ()),
    ({"outcome": "would-be-denied", "rules": [HARD]}, WARNED, True, (told.WOULD_BE,)),
    ({"outcome": "would-be-denied"}, NOTHING, False, (told.WOULD_BE,)),
    ({"outcome": "would-be-denied"}, DENIED, False, (told.WOULD_BE,)),
    ({"outcome": "allowed", "rules": [PINNED]}, NOTHING, True, (told.UNTOLD.format(PINNED),)),
    ({"outcome": "warned", "rules": [UNKNOWN]}, NOTHING, True, (told.MILDER, told.UNCHECKED.format(UNKNOWN))),
    ({"outcome": "denied", "rules": [UNKNOWN]}, WARNED, False, (told.MILDER, told.UNCHECKED.format(UNKNOWN))),
    ({"outcome": "warned", "rules": [UNKNOWN, EMPTY]}, DENIED, False, (told.UNCHECKED.format(UNKNOWN),)),
    (
        {"outcome": "allowed", "warnings": ["x"], "defaults": []},
        NOTHING,
        True,
        (told.DEFAULTS_LEFT, told.WARNINGS_LEFT),
    ),
    ({"outcome": "defaulted", "rules": []}, NOTHING, True, (told.DEFAULTED_LEFT,)),
    ({"outcome": "defaulted", "rules": []}, DENIED, False, (told.DEFAULTED_LEFT,)),
    ({"outcome": "defaulted", "rules": []}, answer("", said("missing-constraints")), True, (told.DEFAULTED_LEFT,)),
    ({"outcome": "not-judged"}, answer("", "Pod a: evenkeel could not judge it: it is large"), True, ()),
    ({"rules": []}, answer("", said(HARD)[:30] + "x" * 300), True, (told.CUT,)),
]


@pytest.mark.parametrize(("expect", "trial", "passed", "notes"), CASES, ids=lambda value: str(value)[:40])
def test_what_policies_cannot_tell_is_not_compared_and_noted(expect, trial, passed, notes):
    result = compared(expect, trial)

    assert (passed, notes) == (result.passed, result.notes), (result.expected, result.found)


@pytest.mark.parametrize(
    ("expect", "trial", "shown"),
    [
        ({"outcome": "denied", "rules": [UNKNOWN]}, NOTHING, ({}, {})),
        ({"outcome": "denied", "rules": [UNKNOWN]}, WARNED, ({}, {"rules": [HARD]})),
        ({"rules": [PINNED]}, WARNED, ({}, {"rules": [HARD]})),
        ({"rules": [SOFT]}, DENIED, ({}, {"rules": [EMPTY]})),
        ({"rules": []}, WARNED, ({"rules": []}, {"rules": [HARD]})),
        ({"rules": [UNKNOWN, HARD]}, NOTHING, ({"rules": [HARD]}, {"rules": []})),
    ],
)
def test_nobody_is_said_to_expect_no_rules_who_has_not_written_that(expect, trial, shown):
    """Of rules that are not compared, nothing is left on either side."""
    result = compared(expect, trial)

    assert shown == (result.expected, result.found)


@pytest.mark.parametrize(("enforcement", "owned"), [("Audit", False), ("Deny", True)])
def test_what_may_be_in_the_audit_log_alone_need_not_be_told(enforcement, owned):
    result = compared({"rules": [EMPTY, HARD]}, NOTHING, enforcement, owned)

    assert (True, (told.AUDITED,)) == (result.passed, result.notes)


def test_what_would_be_denied_is_silent_under_audit():
    assert compared({"outcome": "would-be-denied"}, NOTHING, "Audit").passed


@pytest.mark.parametrize(
    ("expect", "why"),
    [
        ({"defaults": [], "warnings": []}, "expects only defaults, warnings, which policies cannot answer"),
        ({"outcome": "defaulted"}, "expects only outcome, which policies cannot answer"),
        ({"outcome": "error", "rules": []}, "expects error, which only the webhook answers"),
        ({"outcome": "defaulted", "rules": []}, ""),
        ({"outcome": "denied"}, ""),
    ],
)
def test_a_case_of_which_policies_can_tell_nothing_is_known(expect, why):
    assert why == incomparable(expect)


def test_every_outcome_is_compared_or_left_out():
    for outcome in Outcome:
        assert incomparable({"outcome": outcome}) or compared({"outcome": outcome}, NOTHING).expected
