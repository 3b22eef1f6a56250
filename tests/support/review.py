"""Reviews of raw requests, as the server takes them, and what a table expects of the decision."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from tests.support.build import FEATURES, policy, request, snapshot, workload
from tests.support.said import rule_in
from webhook.admission import review as admission
from webhook.admission.decision import Decision, Outcome
from webhook.admission.request import MUTATE, VALIDATE, read_request
from webhook.admission.terms import Terms


def review(raw, phase, policy, snapshot, features):
    """The decision on `raw`, an AdmissionReview's `request`."""
    uid = raw.get("uid")
    request = read_request(uid if isinstance(uid, str) else "", raw, phase, policy.kinds)
    return admission.review(request, Terms(policy, snapshot, features))


def validate(obj, old=None, rules="", objects=(), **fields):
    return review(request(obj, old, **fields), VALIDATE, policy(rules), snapshot(*objects), FEATURES)


def mutate(obj, old=None, rules="", objects=(), **fields):
    return review(request(obj, old, **fields), MUTATE, policy(rules), snapshot(*objects), FEATURES)


# In tables, which must not run what they test.
at_validate, at_mutate = partial(partial, validate), partial(partial, mutate)


class Case(NamedTuple):
    """What `review` returns: which rules deny and warn; `refused` is what is too large to be judged and so denied."""

    name: str
    review: Callable[[], Decision]
    denied: tuple = ()
    warned: tuple = ()
    audited: bool = True
    refused: bool = False

    def check(self):
        decision = self.review()
        details = (decision.status or {}).get("details", {"causes": []})

        assert self.denied == tuple(cause["reason"] for cause in details["causes"])
        assert self.warned == tuple(map(rule_in, decision.warnings))
        assert self.audited == ("findings" in decision.audit_annotations)
        assert self.refused == (decision.outcome is Outcome.NOT_JUDGED and not decision.allowed)
        assert decision.allowed == (not self.denied and not self.refused)


def deployment(*constraints, **fields):
    return workload("Deployment", *constraints, **fields)
