"""Only a decision that may need a person is logged, with what that person needs."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from tests.support.admission_reviews import review
from tests.support.build import constraint, pod, policy, service, snapshot, workload
from tests.support.serving import serving
from webhook.admission.request import MUTATE, VALIDATE, read_request
from webhook.admission.review import review as decide
from webhook.admission.terms import Terms
from webhook.kubernetes.features import LATEST
from webhook.policy.parsing import BUILT_IN
from webhook.server.decision_log import log_decision
from webhook.server.logs import FIELD_LIMIT


def test_denied_and_defaulted_are_logged_and_nothing_else(server):
    evil = pod(constraint(labelSelector={}), generateName='x\n{"level": "error"}\x1b[31m')
    del evil["metadata"]["name"]
    server.review("/validate", review(evil))
    server.review("/validate", review(workload("Deployment", constraint())))

    assert not server.lines("allowed")
    (line,) = [line for line in server.lines("denied") if "generateName" in line]
    assert ("r1", "shop", ["empty-selector"]) == (line["uid"], line["namespace"], line["rules"])
    assert 'x\n{"level": "error"}\x1b[31m' == line["generateName"]


def test_what_would_be_denied_is_logged(tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text(BUILT_IN.replace("enforcement: Deny", "enforcement: Warn"), "utf-8")
    with serving(tmp_path, "--policy", policy) as running:
        running.review("/validate", review(workload("Deployment", constraint(labelSelector={}))))

        (line,) = running.lines("would be denied")
        assert ("web", ["empty-selector"]) == (line["name"], line["rules"])


class Case(NamedTuple):
    """The level and the message for a decision, and some of its fields."""

    name: str
    obj: dict
    level: str
    message: str
    fields: dict
    phase: str = VALIDATE
    rules: str = ""


EMPTY = constraint(labelSelector={})
DEFAULTS = ", ".join(
    f"{key} (maxSkew 1, ScheduleAnyway)" for key in ("topology.kubernetes.io/zone", "kubernetes.io/hostname")
)
DECISIONS = [
    Case("denied", workload("Deployment", EMPTY), "info", "denied", {"allowed": False, "rules": ["empty-selector"]}),
    Case("allowed", workload("Deployment"), "debug", "allowed", {"name": "web", "kind": "Deployment", "owner": "none"}),
    Case("warned", workload("Deployment", EMPTY), "debug", "warned", {}, rules="{rules: {empty-selector: warning}}"),
    Case(
        "only warned",
        workload("Deployment", EMPTY),
        *("info", "would be denied", {"rules": ["empty-selector"]}),
        rules="{enforcement: Warn}",
    ),
    Case(
        "defaulted", pod(owner="Job/web"), "info", "defaulted", {"defaulted": ["Service/web"], "owner": "Job"}, MUTATE
    ),
    Case(
        "would be defaulted",
        pod(),
        *("info", "would be defaulted", {"defaulted": ["Service/web"], "defaults": DEFAULTS}, MUTATE),
        rules="{defaultingMode: Audit}",
    ),
    Case(
        "defaults that the policy would deny",
        pod(),
        *("info", "defaults left out", {"phase": MUTATE, "uid": "u"}, MUTATE),
        rules="{rules: {soft-constraint: error}}",
    ),
    Case("no defaults for who opts out", pod(labels={"evenkeel.dev/skip": "true"}), "debug", "allowed", {}, MUTATE),
    Case("too large", pod(*[EMPTY] * 101), "info", "not judged", {"operation": "CREATE", "namespace": "shop"}),
]


def test_who_sent_it_is_logged_and_whether_it_was_a_dry_run(lines):
    for user, dry_run in (("ann" * 1000, True), ("", False)):
        sent = review(workload("Deployment", EMPTY))["request"] | {"userInfo": {"username": user}, "dryRun": dry_run}
        request = read_request("u", sent, VALIDATE, policy().kinds)
        log_decision(request, decide(request, Terms(policy(), snapshot(), LATEST)))
    first, second = map(json.loads, lines())

    assert (True, "annann", FIELD_LIMIT) == (first["dryRun"], first["user"][:6], len(first["user"]))
    assert second.keys().isdisjoint({"user", "dryRun"})


@pytest.mark.parametrize("case", DECISIONS, ids=lambda case: case.name)
def test_what_is_logged_of_a_decision(case, lines):
    chosen = policy(case.rules)
    request = read_request("u", review(case.obj)["request"], case.phase, chosen.kinds)
    log_decision(request, decide(request, Terms(chosen, snapshot(service()), LATEST)))

    (line,) = map(json.loads, lines())
    assert (case.level, case.message) == (line["level"], line["message"])
    assert case.fields == {name: line.get(name) for name in case.fields}
