"""Whatever goes wrong, a review is answered under its uid, counted and logged."""

from __future__ import annotations

import json

import pytest

from tests.support.build import FEATURES, constraint, request, workload
from webhook.cluster.cluster import Unchanging
from webhook.policy.parsing import built_in
from webhook.serving import reviewer as module
from webhook.serving import wire
from webhook.serving.metrics import Metrics
from webhook.serving.reviewer import Reviewer

BODY = json.dumps(
    {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": request(workload("Deployment", constraint(labelSelector={}))),
    }
).encode()


@pytest.fixture
def reviewer():
    return Reviewer(built_in(), Unchanging(None), FEATURES, Metrics())


def raises(*_given):
    raise KeyError("gone")


def test_a_review_is_answered_and_counted(reviewer):
    answer = reviewer.answer("validate", BODY)
    text = reviewer.metrics.text().decode()

    assert (200, "r1", False) == (answer.code, *fields(answer))
    assert 'evenkeel_requests_total{operation="CREATE",phase="validate",result="denied"} 1.0' in text
    assert "evenkeel_panics_total 0.0" in text


def fields(answer):
    response = json.loads(answer.body)["response"]
    return response["uid"], response["allowed"]


DEFECTS = {
    "reading the object": ("webhook.admission.request.parse_workloads", 1),
    "judging it": (f"{module.__name__}.review", 1),
    "looking at the cluster": (f"{Unchanging.__module__}.Unchanging.view_for", 1),
    "counting the answer": ("webhook.serving.metrics.Metrics.count", 1),
    "logging it": (f"{module.__name__}.log_decision", 1),
}


@pytest.mark.parametrize("where", DEFECTS)
def test_a_defect_does_not_cost_the_answer(reviewer, monkeypatch, where):
    target, panics = DEFECTS[where]
    monkeypatch.setattr(target, raises)
    answer = reviewer.answer("validate", BODY)

    assert (200, "r1") == (answer.code, fields(answer)[0])
    assert f"evenkeel_panics_total {panics}.0" in reviewer.metrics.text().decode()


def test_a_decision_that_cannot_be_encoded_is_answered_as_an_unexpected_error(reviewer, monkeypatch):
    encode, failures = wire.answer, [KeyError("gone")]

    def answer(uid, decision):
        if failures:
            raise failures.pop()
        return encode(uid, decision)

    monkeypatch.setattr(wire, "answer", answer)
    found = reviewer.answer("validate", BODY)

    assert (200, "r1", True) == (found.code, *fields(found))
    assert "evenkeel_panics_total 1.0" in reviewer.metrics.text().decode()
