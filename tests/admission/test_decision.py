"""A decision says what became of the request, in one word of a closed set, and log and metrics follow it."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.support.build import FEATURES, constraint, pod, policy, request, service, snapshot, workload
from tests.support.review import review
from webhook.admission.decision import Outcome, bad_request, not_judged, unexpected
from webhook.admission.request import MUTATE, VALIDATE, AdmissionRequest
from webhook.admission.review import review as decide
from webhook.admission.terms import Terms
from webhook.server.decision_log import MESSAGES
from webhook.server.metrics import RESULT_OF

EMPTY, MISSES = constraint(labelSelector={}), constraint(labelSelector={"matchLabels": {"app": "db"}})


class Case(NamedTuple):
    name: str
    outcome: Outcome
    obj: object
    phase: str = VALIDATE
    policy: dict | None = None
    allowed: bool = True


CASES = [
    Case("nothing to find", Outcome.ALLOWED, workload("Deployment", constraint())),
    Case("only an info", Outcome.ALLOWED, workload("Deployment", constraint(), spec={"replicas": 9})),
    Case("a warning", Outcome.WARNED, workload("StatefulSet", MISSES)),
    Case("a warning that is only audited", Outcome.ALLOWED, pod(MISSES, owner="ReplicaSet/web")),
    Case("a warning where nobody is warned", Outcome.ALLOWED, pod(MISSES), policy={"enforcement": "Audit"}),
    Case("defaults", Outcome.DEFAULTED, pod(), phase=MUTATE),
    Case("a trial", Outcome.WOULD_BE_DEFAULTED, pod(), phase=MUTATE, policy={"defaultingMode": "Audit"}),
    Case("no defaults", Outcome.ALLOWED, pod(labels={"app": "db"}), phase=MUTATE),
    Case("an error", Outcome.DENIED, workload("Deployment", EMPTY), allowed=False),
    Case("an error and a warning", Outcome.DENIED, workload("Deployment", EMPTY, MISSES), allowed=False),
    Case("an error that only warns", Outcome.WOULD_BE_DENIED, pod(EMPTY), policy={"enforcement": "Warn"}),
    Case("an error that is only noted", Outcome.WOULD_BE_DENIED, pod(EMPTY), policy={"enforcement": "Audit"}),
    Case("too large", Outcome.NOT_JUDGED, pod(*[constraint()] * 101)),
    Case("too large, denied", Outcome.NOT_JUDGED, pod(*[EMPTY] * 101), policy={"onError": "Deny"}, allowed=False),
    Case("malformed", Outcome.ERROR, "no object", allowed=False),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_became_of_it(case):
    raw = {**request(pod()), "object": case.obj}
    found = review(raw, case.phase, policy(**(case.policy or {})), snapshot(service()), FEATURES)

    counted_as = "error" if found.error else "allowed" if found.allowed else "denied"
    assert (case.outcome, case.allowed) == (found.outcome, found.allowed)
    assert counted_as == RESULT_OF[found.outcome]


def test_every_outcome_can_be():
    assert set(Outcome) == {case.outcome for case in CASES}


def test_an_unexpected_error_is_answered_as_the_policy_says():
    lenient, strict = unexpected(policy(), "Pod shop/web"), unexpected(policy(onError="Deny"), "Pod shop/web")

    assert (Outcome.ERROR, True, None) == (lenient.outcome, lenient.allowed, lenient.status)
    assert (Outcome.ERROR, False, 500) == (strict.outcome, strict.allowed, strict.status["code"])


def test_the_help_of_the_policy_stands_beside_an_unexpected_error():
    assert "ask us (evenkeel)" == unexpected(policy(help="ask us"), "Pod shop/web").warnings[-1]


def test_what_a_malformed_request_brings_goes_back_in_one_short_line():
    decision = bad_request("request.object: found \n" + "x" * 10_000)

    assert (1_000, False) == (len(decision.status["message"]), "\n" in decision.status["message"])


def test_what_no_override_is_known_for_is_denied_only_if_each_denies():
    """Of an unexpected error, and of what is unread."""
    mild, strict = ({"name": "a", "schedulerName": "b", "enforcement": each} for each in ("Warn", "Deny"))
    found = {
        (base, override["enforcement"]): unexpected(policy(onError="Deny", enforcement=base, overrides=[override]), "")
        for base in ("Deny", "Warn")
        for override in (mild, strict)
    }

    assert [("Deny", "Deny")] == [enforcement for enforcement, decision in found.items() if not decision.allowed]
    assert all(len(decision.warnings) == decision.allowed for decision in found.values())


def test_what_is_unread_is_not_judged():
    """Only an enforced rule, which must be able to judge it, makes it a denial, and only at /validate."""
    enforced = policy(rules={"empty-selector": {"enforced": True}})
    found = {
        (phase, terms is enforced): decide(
            AdmissionRequest("u", phase, unread="nested too deep"), Terms(terms, None, FEATURES)
        )
        for phase in (MUTATE, VALIDATE)
        for terms in (policy(), enforced)
    }

    assert {Outcome.NOT_JUDGED} == {decision.outcome for decision in found.values()}
    assert [(VALIDATE, True)] == [asked for asked, decision in found.items() if not decision.allowed]


def test_log_and_metrics_know_every_outcome():
    assert set(Outcome) == set(MESSAGES) == set(RESULT_OF)


@pytest.mark.parametrize("about", ["", "Deployment " + "w" * 300])
def test_an_object_that_an_enforced_rule_must_judge_is_named_in_few_words(about):
    message = not_judged(policy(), about, "too deep", enforced=True).status["message"]

    assert message.startswith("Deployment w" if about else "an object: too deep; ")
    assert len(message) < 200
