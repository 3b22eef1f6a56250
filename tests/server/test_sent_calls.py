"""Calls that the policy in force needs, and that no webhook configuration sends, are counted and told."""

from __future__ import annotations

import json

import pytest

from tests.support.build import FEATURES, policy
from tests.support.registered import VALIDATING, refusing, registered, registration
from webhook.cluster.cluster import Unchanging
from webhook.server.metrics import Metrics
from webhook.server.reviewer import Reviewer
from webhook.server.sent_calls import SentCalls


def test_calls_that_the_policy_needs_and_nobody_sends_are_told_once(monkeypatch):
    told = []
    monkeypatch.setattr(
        "webhook.server.sent_calls.log", lambda level, message, **fields: told.append(fields["entries"])
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
    assert "the webhook configurations lack pods.evenkeel.dev, podtemplates.evenkeel.dev" in calls.check().detail
    assert b"evenkeel_entries_not_sent 7.0" in service.metrics.text()


FLEET = {"apiVersion": "example.com/v1", "kind": "Fleet", "resource": "fleets", "podTemplate": "spec.template"}


def test_others_that_are_missing_are_told_and_the_same_again_once_they_were_there(lines):
    registrar = registration(registered())
    service = Reviewer(policy(), Unchanging(None), FEATURES, Metrics())
    calls = SentCalls(service, registrar)
    registrar.inject(b"PEM")
    strict, named = policy("rules: {missing-constraints: error}"), policy(workloads=[FLEET])
    for service.policy in (strict, named, policy(), named):
        calls.look()

    told = [json.loads(line)["entries"] for line in lines() if "lack entries" in line]
    assert ["pods.evenkeel.dev", "fleets.example.com.evenkeel.dev", "fleets.example.com.evenkeel.dev"] == [
        entries[0] for entries in told
    ]


def test_what_is_missing_is_compared_again_with_what_is_read_again():
    client = registered(b"PEM")
    calls = SentCalls(Reviewer(policy(), Unchanging(None), FEATURES, Metrics()), registration(client))
    calls.read()
    assert () == calls.missing

    entries = client.objects[VALIDATING]["webhooks"]
    client.put(VALIDATING, {**client.objects[VALIDATING], "webhooks": entries[:-1]})
    calls.read()
    assert (entries[-1]["name"],) == calls.missing


BARE = {"missing-constraints": {"severity": "error", "enforced": True}}


@pytest.mark.parametrize(
    "stricter",
    [
        {"rules": BARE},
        {"overrides": [{"name": "a", "namespaceSelector": {"matchLabels": {"team": "a"}}, "rules": BARE}]},
    ],
    ids=["in the policy", "for one namespace"],
)
def test_the_gauge_is_that_of_the_policy_in_force_at_any_moment(stricter):
    """Without any look in between, and with configurations that are only read."""
    registrar = registration(registered(b"PEM"))
    service = Reviewer(policy(), Unchanging(None), FEATURES, Metrics())
    calls = SentCalls(service, registrar)
    calls.read()
    assert b"evenkeel_entries_not_sent 0.0" in service.metrics.text()

    service.policy = policy(**stricter)
    assert b"evenkeel_entries_not_sent 7.0" in service.metrics.text()

    service.policy = policy()
    assert b"evenkeel_entries_not_sent 0.0" in service.metrics.text()


def test_what_cannot_be_read_is_not_known_and_said_once_until_it_can_be_read(monkeypatch, lines):
    client = registered(b"PEM")
    service = Reviewer(policy(), Unchanging(None), FEATURES, Metrics())
    calls = SentCalls(service, registration(client))
    assert (None, "not known yet") == (calls.missing, calls.check().detail)

    calls.read()
    client.away = True
    calls.read()
    assert () == calls.missing, "as it was last read"

    client.away = False
    calls.read()
    client.away = True
    calls.read()
    client.away = False
    refusing(client, monkeypatch, [("GET", VALIDATING)])
    calls.read()
    assert (None, True) == (calls.missing, calls.check().ok)
    assert f"not known: {VALIDATING}: 403 forbidden" == calls.check().detail
    assert b"evenkeel_entries_not_sent " not in b"\n".join(samples(service.metrics))
    assert 2 == sum("cannot read the webhook configurations" in line for line in lines())


def samples(metrics):
    return [line for line in metrics.text().splitlines() if not line.startswith(b"#")]


def test_enforced_rules_that_do_not_hold_while_no_replica_answers_are_told():
    registrar = registration(registered())
    service = Reviewer(policy(), Unchanging(None), FEATURES, Metrics())
    calls = SentCalls(service, registrar)
    registrar.inject(b"PEM")
    assert "while no replica answers" not in calls.check().detail

    service.policy = policy(rules={"empty-selector": {"enforced": True}})
    calls.look()

    assert calls.check().ok
    assert "; while no replica answers, the webhook entries pods.evenkeel.dev, " in calls.check().detail
    assert "--failure-policy-enforced Fail" in calls.check().detail
