"""Where it is not known which override applies, what is said holds whichever it is."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.build import FEATURES, constraint, pod, policy
from webhook.admission.decision import Outcome
from webhook.admission.request import VALIDATE, AdmissionRequest
from webhook.admission.review import review
from webhook.admission.terms import Terms
from webhook.findings.finding import Severity
from webhook.findings.wording import line

EMPTY = constraint(labelSelector={})
IGNORED, WARNED, DENIED = ({"empty-selector": severity} for severity in ("ignore", "warning", "error"))


def override(team, rules=None, **fields):
    given = {"rules": rules} if rules is not None else {}
    return {"name": team, "namespaceSelector": {"matchLabels": {team: "yes"}}, **given, **fields}


def decide(found, labels=None):
    """The decision on a Pod in a namespace whose labels are these, or not known."""
    request = AdmissionRequest.of(
        pod(EMPTY, constraint(maxSkew=0, topologyKey="rack")), phase=VALIDATE, kinds=found.kinds, namespace="shop"
    )
    given = {} if labels is None else {request.namespace: labels}
    return review(request, Terms(found, None, FEATURES, labels=given, foresees=True))


def denial(decision):
    return decision.status["message"].splitlines() if decision.status else []


class Case(NamedTuple):
    """
    What is found of an empty selector, and what becomes of the Pod.

    A `text` is what the finding says of the doubt; `unknown`: only what becomes of the Pod rests on the labels.
    """

    name: str
    base: dict
    overrides: tuple
    outcome: Outcome
    severity: Severity | None
    text: str = ""
    unknown: bool = False


ERROR, WARNING = Severity.ERROR, Severity.WARNING
WOULD_BE, IF, UNLESS = Outcome.WOULD_BE_DENIED, "(error if override a applies)", "(error unless override a applies)"
UNLESS_DENIED = "(denied unless override a applies)"
CASES = [
    Case("an override may deny", IGNORED, (override("a", DENIED),), Outcome.WARNED, WARNING, IF),
    Case("an override may exempt", DENIED, (override("a", IGNORED),), Outcome.WARNED, WARNING, UNLESS),
    Case("an override may only warn", DENIED, (override("a", WARNED),), Outcome.WARNED, WARNING, UNLESS),
    Case("either denies", DENIED, (override("a", {"pinned-pod": "error"}),), Outcome.DENIED, ERROR),
    Case("neither finds it", IGNORED, (override("a", IGNORED),), Outcome.ALLOWED, None),
    Case("either warns", WARNED, (override("a", WARNED),), Outcome.WARNED, WARNING),
    Case("an override may be milder", DENIED, (override("a", enforcement="Warn"),), WOULD_BE, ERROR, UNLESS_DENIED),
    Case("an override may say nothing", DENIED, (override("a", enforcement="Audit"),), WOULD_BE, ERROR, UNLESS_DENIED),
    Case("nor of a warning", WARNED, (override("a", enforcement="Audit"),), Outcome.WARNED, WARNING, unknown=True),
    Case(
        "an enforced rule, too",
        {"empty-selector": {"enforced": True}},
        (override("a", {"empty-selector": {"enforced": False, "severity": "ignore"}}),),
        Outcome.WARNED,
        WARNING,
        UNLESS,
    ),
    Case(
        "two of three deny",
        IGNORED,
        (override("a", DENIED), override("b", DENIED), override("c", WARNED)),
        Outcome.WARNED,
        WARNING,
        "(error if one of the overrides a, b applies)",
    ),
    Case(
        "each denies, for another reason",
        {"empty-selector": "ignore", "invalid-constraint": "error"},
        (override("a", {"empty-selector": "error", "invalid-constraint": "warning"}),),
        Outcome.DENIED,
        ERROR,
        IF,
    ),
]
QUIET = {"invalid-constraint": "ignore"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_may_apply_is_said(case):
    decision = decide(policy(rules=QUIET | case.base, overrides=[*case.overrides]))
    found = [finding for finding in decision.findings if finding.rule == "empty-selector"]

    assert case.outcome is decision.outcome
    assert [case.severity] * (case.severity is not None) == [finding.severity for finding in found]
    assert all(finding.message.endswith(case.text or "the constraint spreads nothing") for finding in found)
    assert (case.unknown or case.text != "") == (decision.unknown_labels_of != "")
    assert bool(found) == any("empty-selector" in warning for warning in (*decision.warnings, *denial(decision)))


def test_the_words_of_the_policy_stand_where_it_denies_too():
    """Not those of an override that may not apply."""
    helped = [{"empty-selector": {"severity": "error", "help": words}} for words in ("ask us", "ask team a")]
    decision = decide(policy(rules=QUIET | helped[0], overrides=[override("a", helped[1])]))

    assert ["ask us"] == [finding.help for finding in decision.findings]


def test_what_is_known_is_no_doubt():
    found = policy(rules=QUIET | IGNORED, overrides=[override("a", DENIED)])

    assert [Outcome.ALLOWED, Outcome.DENIED] == [decide(found, labels).outcome for labels in ({}, {"a": "yes"})]
    assert "" == decide(found, {}).unknown_labels_of


TEAMS = ("a", "b")
rules = st.fixed_dictionaries(
    {},
    optional={
        name: st.sampled_from(["ignore", "warning", "error", {"enforced": True}])
        for name in ("empty-selector", "invalid-constraint")
    },
)
enforcements = st.fixed_dictionaries({}, optional={"enforcement": st.sampled_from(["Deny", "Warn", "Audit"])})
overrides = st.tuples(
    *(
        st.builds(lambda team, rules, more: override(team, rules, **more), st.just(team), rules, enforcements)
        for team in TEAMS
    )
)
EVERY_LABELLING = [dict.fromkeys(some, "yes") for count in range(3) for some in combinations(TEAMS, count)]


@settings(suppress_health_check=list(HealthCheck))
@given(rules, enforcements, overrides)
def test_what_is_foreseen_holds_whatever_the_labels(base, more, overrides):
    """Denied only if each labelling denies; and nothing that any labelling finds is left out, or made graver."""
    found = policy(rules=base, overrides=[*overrides], **more)
    foreseen, known = decide(found), [decide(found, labels) for labels in EVERY_LABELLING]
    gravest = {}
    for decision in known:
        for finding in decision.findings:
            at = (finding.rule, finding.path)
            gravest[at] = min(gravest.get(at, 9), finding.severity.rank)
    said = {(finding.rule, finding.path): finding.severity.rank for finding in foreseen.findings}

    assert foreseen.allowed == any(decision.allowed for decision in known)
    assert gravest.keys() == said.keys()
    assert all(said[at] in (rank, WARNING.rank) and said[at] >= rank for at, rank in gravest.items())
    answers = [(decision.outcome, [*map(line, decision.findings)]) for decision in (foreseen, *known)]
    assert foreseen.unknown_labels_of or all(answer == answers[0] for answer in answers)


def test_findings_stay_in_the_order_of_their_fields():
    """Also those that only the policy itself has, which is asked last."""
    findings = decide(policy(rules=DENIED, overrides=[override("a", IGNORED)])).findings

    assert [0, 1] == [finding.path[2] for finding in findings if finding.severity is not Severity.INFO]
