"""Calls that the policy in force needs, and that no webhook configuration sends, are counted and told."""

from __future__ import annotations

from tests.support.build import FEATURES, policy
from tests.support.registered import registered, registration
from webhook.cluster.cluster import Unchanging
from webhook.serving.metrics import Metrics
from webhook.serving.reviewer import Reviewer
from webhook.serving.sent_calls import SentCalls


def test_calls_that_the_policy_needs_and_nobody_sends_are_told_once(monkeypatch):
    told = []
    monkeypatch.setattr(
        "webhook.serving.sent_calls.log", lambda level, message, **fields: told.append(fields["entries"])
    )
    registrar = registration(registered())
    service = Reviewer(policy(), Unchanging(None), FEATURES, Metrics())
    calls = SentCalls(service, registrar)
    calls.look()
    registrar.inject(b"PEM")
    calls.look()
    assert (True, "all that the policy needs") == (calls.check().ok, calls.check().detail)

    service.policy = policy("rules: {missing-constraints: error}")
    calls.look()
    calls.look()

    assert [7] == list(map(len, told))
    assert calls.check().ok
    assert "the policy needs pods.evenkeel.dev, podtemplates.evenkeel.dev" in calls.check().detail
    assert b"evenkeel_entries_not_sent 7.0" in service.metrics.text()


def test_enforced_rules_that_do_not_hold_while_no_replica_answers_are_told():
    registrar = registration(registered())
    service = Reviewer(policy(), Unchanging(None), FEATURES, Metrics())
    calls = SentCalls(service, registrar)
    registrar.inject(b"PEM")
    assert "while no replica answers" not in calls.check().detail

    service.policy = policy(rules={"empty-selector": {"enforced": True}})
    calls.look()

    assert calls.check().ok
    assert "; while no replica answers, enforced rules do not hold for pods.evenkeel.dev, " in calls.check().detail
    assert "--failure-policy-enforced Fail" in calls.check().detail
