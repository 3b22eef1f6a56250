"""Bytes in, an answer out, whatever goes wrong: and it is counted, and told once."""

from __future__ import annotations

import json
import re
import time

import pytest

from tests.support.admission_reviews import raw, review
from tests.support.build import FEATURES, pod, policy, service, snapshot
from tests.support.serving import RUN, serving
from webhook.admission.ownership import MANAGER
from webhook.cluster.cluster import Unchanging
from webhook.policy.parsing import BUILT_IN
from webhook.server import reviewer as module
from webhook.server import wire
from webhook.server.metrics import Metrics
from webhook.server.policy_file import PolicyFile
from webhook.server.reviewer import Reviewer
from webhook.server.transport.limits import Limits

BROKEN_RULE = f"""
from dataclasses import replace
from webhook import rules
def check(subject):
    raise RuntimeError("broken on purpose")
rules.RULES["empty-selector"] = replace(rules.RULES["empty-selector"], check=check)
{RUN}
"""


@pytest.mark.parametrize(("on_error", "allowed"), [("Allow", True), ("Deny", False)])
def test_an_error_of_our_own_is_answered_as_the_policy_says(tmp_path, on_error, allowed):
    policy = tmp_path / "policy.yaml"
    policy.write_text(BUILT_IN.replace("onError: Allow", f"onError: {on_error}"))
    with serving(tmp_path, "--policy", policy, program=BROKEN_RULE) as running:
        status, response = running.review("/validate", review())

        assert (200, "r1", allowed) == (status, response["uid"], response["allowed"])
        assert "Traceback" not in json.dumps(response) and "broken on purpose" not in json.dumps(response)
        assert 1 == running.metric("evenkeel_panics_total")
        assert ["r1"] == [line["uid"] for line in running.lines("unexpected error")]


@pytest.fixture
def told(monkeypatch):
    """The messages that are logged, and their fields."""
    found = []
    monkeypatch.setattr(module, "log", lambda level, message, **fields: found.append((message, fields)))
    return found


def reviewer(rules=""):
    return Reviewer(policy(rules), Unchanging(snapshot(service())), FEATURES, Metrics())


def response(answer):
    return json.loads(answer.body)["response"]


def raising(*_):
    raise RuntimeError("broken on purpose")


def test_a_review_is_answered_and_counted():
    one = reviewer()
    answer = one.answer("validate", raw())

    assert (200, "r1", False) == (answer.code, response(answer)["uid"], response(answer)["allowed"])
    assert b'evenkeel_requests_total{operation="CREATE",phase="validate",result="denied"} 1.0' in one.metrics.text()
    assert set() == one.metrics.answering


def test_a_policy_that_changes_is_in_force_from_the_next_review_on():
    one = reviewer()
    first = one.answer("validate", raw())
    one.policy = policy("{enforcement: Warn}")

    assert [False, True] == [response(answer)["allowed"] for answer in (first, one.answer("validate", raw()))]


def test_an_override_ends_with_its_last_day_and_is_told():
    ending = "{overrides: [{name: a, podSelector: {}, until: 2027-01-31, rules: {empty-selector: ignore}}]}"
    one = Reviewer(policy(ending), Unchanging(snapshot()), FEATURES, Metrics())
    PolicyFile(None, one)
    found = []
    for today in ("2027-01-31", "2027-02-01"):
        one.today = lambda today=today: today
        states = re.findall(rb'policy_overrides_ending{state="(.*)"} 1.0', one.metrics.text())
        found.append((response(one.answer("validate", raw()))["allowed"], *states))

    assert [(True, b"ends-soon"), (False, b"ended")] == found


def test_what_is_no_review_is_refused(told):
    one = reviewer()
    answer = one.answer("validate", b"[")

    assert (400, False) == (answer.code, response(answer)["allowed"])
    assert ["request refused"] == [message for message, _ in told]
    assert b'evenkeel_requests_refused_total{code="400"} 1.0' in one.metrics.text()
    assert set() == one.metrics.answering


@pytest.mark.parametrize(("rules", "allowed"), [("", True), ("{onError: Deny}", False)], ids=["Allow", "Deny"])
def test_a_defect_is_answered_as_the_policy_says_and_told(told, monkeypatch, rules, allowed):
    monkeypatch.setattr(module, "review", raising)
    one = reviewer(rules)
    answer = one.answer("validate", raw())

    assert (200, "r1", allowed) == (answer.code, response(answer)["uid"], response(answer)["allowed"])
    assert b"broken on purpose" not in answer.body
    assert [("unexpected error", "r1")] == [(message, fields["uid"]) for message, fields in told]
    assert b"evenkeel_panics_total 1.0" in one.metrics.text()


@pytest.mark.parametrize("name", ["log_decision", "Metrics.count"])
def test_a_defect_after_the_decision_does_not_change_it(told, monkeypatch, name):
    monkeypatch.setattr(*((Metrics, "count") if "." in name else (module, name)), raising)
    one = reviewer()

    assert response(one.answer("validate", raw()))["allowed"] is False
    assert ["unexpected error"] == [message for message, _ in told]
    assert b"evenkeel_panics_total 1.0" in one.metrics.text()


class Views:
    """A cluster that is not known, and notes who was to be found in its view."""

    def __init__(self):
        self.asked = []

    def view(self):
        return None

    def view_for(self, namespace, owner):
        self.asked.append((namespace, owner and owner.kind))


@pytest.mark.parametrize(
    ("phase", "fields", "user", "asked"),
    [
        ("mutate", {"owner": "ReplicaSet/web"}, MANAGER, [("shop", "ReplicaSet")]),
        ("mutate", {"owner": "ReplicaSet/web"}, "dev", [("shop", None)]),
        ("mutate", {}, MANAGER, [("shop", None)]),
        ("validate", {"owner": "ReplicaSet/web"}, MANAGER, [("shop", None)]),
    ],
    ids=["who wants defaults", "who writes it by hand", "who has no owner", "who is only judged"],
)
def test_only_the_owner_of_who_wants_defaults_is_looked_up(phase, fields, user, asked):
    cluster, body = Views(), json.loads(raw(pod(**fields)))
    body["request"]["userInfo"] = {"username": user}
    Reviewer(policy(), cluster, FEATURES, Metrics()).answer(phase, json.dumps(body).encode())

    assert asked == cluster.asked


def test_nothing_is_looked_up_for_what_is_deleted():
    cluster, body = Views(), review()
    body["request"]["operation"] = "DELETE"
    Reviewer(policy(), cluster, FEATURES, Metrics()).answer("validate", json.dumps(body).encode())

    assert [] == cluster.asked


DEFECTS = {
    "reading the object": "webhook.admission.request.parse_workloads",
    "looking at the cluster": "webhook.cluster.cluster.Unchanging.view_for",
}


@pytest.mark.parametrize("where", DEFECTS)
def test_a_defect_before_the_decision_does_not_cost_the_answer(told, monkeypatch, where):
    monkeypatch.setattr(DEFECTS[where], raising)
    one = reviewer()
    answer = one.answer("validate", raw())

    assert (200, "r1", True) == (answer.code, response(answer)["uid"], response(answer)["allowed"])
    assert b"evenkeel_panics_total 1.0" in one.metrics.text()


def test_a_decision_that_cannot_be_encoded_is_answered_as_an_unexpected_error(told, monkeypatch):
    encode, failures = wire.answer, [KeyError("gone")]

    def answer(uid, decision):
        if failures:
            raise failures.pop()
        return encode(uid, decision)

    monkeypatch.setattr(wire, "answer", answer)
    one = reviewer()
    found = one.answer("validate", raw())

    assert (200, "r1", True) == (found.code, response(found)["uid"], response(found)["allowed"])
    assert b"evenkeel_panics_total 1.0" in one.metrics.text()
    assert b'evenkeel_requests_total{operation="CREATE",phase="validate",result="error"} 1.0' in one.metrics.text()


def test_after_a_large_review_the_next_pauses_for_as_long(monkeypatch):
    """While one is parsed, no other thread runs: at most half of the time goes so."""
    read, begun = wire.read, []

    def slow(body, *given):
        begun.append(time.monotonic())
        while time.thread_time() < until_cpu[0]:
            pass
        return read(body, *given)

    monkeypatch.setattr(wire, "read", slow)
    one, until_cpu, large = reviewer(), [time.thread_time() + 0.2], raw() + b" " * Limits.small_bytes
    one.answer("validate", large)
    ended = time.monotonic()
    one.answer("validate", raw())
    small = time.monotonic()
    one.answer("validate", large)

    assert small - ended < 0.1
    assert begun[2] - ended >= 0.19


@pytest.mark.parametrize("more", [0, 1])
def test_only_what_is_not_small_pauses(monkeypatch, more):
    paused = []
    monkeypatch.setattr(module.time, "sleep", paused.append)
    body = raw()
    reviewer().answer("validate", body + b" " * (Limits.small_bytes - len(body) + more))

    assert more == len(paused)


def test_a_policy_of_which_nothing_ends_asks_for_no_day():
    asked = []
    one = Reviewer(policy(), Unchanging(snapshot()), FEATURES, Metrics(), lambda: asked.append(1) or "2027-01-31")
    asked.clear()
    one.answer("validate", raw())

    assert [] == asked


def test_a_policy_that_is_replaced_on_the_day_on_which_one_ended_is_in_force():
    ending = "{overrides: [{name: a, podSelector: {}, until: 2027-01-31, rules: {empty-selector: ignore}}]}"
    one = Reviewer(policy(ending), Unchanging(snapshot()), FEATURES, Metrics(), lambda: "2027-02-01")
    first = response(one.answer("validate", raw()))["allowed"]
    one.policy = policy(ending.replace("01-31", "02-01"))

    assert (False, True) == (first, response(one.answer("validate", raw()))["allowed"])


def test_a_refusal_names_the_uid_where_there_is_one(told):
    one = reviewer()
    with_uid, without = one.refuse(400, "a\nb", "u"), one.refuse(413, "too large")

    assert [("u", 400), ("", 413)] == [(response(each)["uid"], each.code) for each in (with_uid, without)]
    assert [("u", 400), (None, 413)] == [(fields["uid"], fields["code"]) for _, fields in told]
    assert "\n" not in told[0][1]["reason"] + response(with_uid)["status"]["message"]


def test_a_defect_of_the_request_is_told_as_one_in_its_phase(told, monkeypatch):
    monkeypatch.setattr("webhook.admission.request.parse_workloads", raising)
    reviewer().answer("mutate", raw())

    assert [("mutate", "r1", "RuntimeError('broken on purpose')")] == [
        (fields["phase"], fields["uid"], fields["error"]) for _, fields in told
    ]
