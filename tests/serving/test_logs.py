"""A log line is one JSON object, short and in ASCII, whatever is in it; and only what may need a person is one."""

from __future__ import annotations

import io
import json
import logging
import sys
from typing import NamedTuple

import pytest

from tests.support.admission_reviews import review
from tests.support.build import constraint, pod, policy, service, snapshot, workload
from tests.support.serving import serving
from webhook.admission.request import MUTATE, VALIDATE, read_request
from webhook.admission.review import review as decide
from webhook.admission.terms import Terms
from webhook.policy.parsing import BUILT_IN
from webhook.scheduler.features import LATEST
from webhook.serving.logs import JsonLines, log, log_decision


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


@pytest.mark.parametrize(
    "value", ["x" * 5_000_000, float("nan"), 10**4_000, json.loads("[" * 700 + "]" * 700)], ids=type
)
def test_whatever_is_in_a_field_a_line_stays_a_short_one(server, value):
    """And the answer is that of the review."""
    asked = review()
    asked["request"] |= {"uid": "field", "namespace": value, "name": value, "operation": "CREATE"}
    status, response = server.review("/validate", asked)
    line = server.log_file.read_text("utf-8").splitlines()[-1]

    assert (200, "field", False) == (status, response["uid"], response["allowed"])
    assert len(line) < 5_000
    assert "field" == json.loads(line, parse_constant=int)["uid"]
    assert 0 == server.metric("evenkeel_panics_total")


@pytest.fixture
def lines(monkeypatch):
    """What is logged, whatever its level, as it is written."""
    logger, stream = logging.getLogger("evenkeel"), io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    monkeypatch.setattr(logger, "handlers", [handler])
    monkeypatch.setattr(logger, "propagate", False)
    level = logger.level
    logger.setLevel(logging.DEBUG)
    yield lambda: stream.getvalue().splitlines()
    logger.setLevel(level)


class Field(NamedTuple):
    """What a line holds of a value."""

    name: str
    value: object
    held: object


FIELDS = [
    Field("a text", "shop", "shop"),
    Field("a text as long as may be", "x" * 1_000, "x" * 1_000),
    Field("a longer one is cut", "x" * 1_001, "x" * 999 + "…"),
    Field("what would end the line or colour it", "\n\x1b[31m\u2028", "\n\x1b[31m\u2028"),
    Field("a list of texts", ["a", "b"], ["a", "b"]),
    Field("a longer list is cut", ["a"] * 101, ["a"] * 100),
    Field("texts in a list are cut, too", ["x" * 1_001], ["x" * 999 + "…"]),
    Field("a list of anything else", [1], "an array"),
    Field("a number", 1.5, 1.5),
    Field("the largest integer", 2**63 - 1, 2**63 - 1),
    Field("false is no number to leave out", False, False),
]


@pytest.mark.parametrize("case", FIELDS, ids=lambda case: case.name)
def test_what_a_line_holds_of_a_value(case, lines):
    log(logging.INFO, "told", value=case.value)

    (written,) = lines()
    line = json.loads(written)
    assert written.isascii() and written.isprintable()
    assert ("told", "info", case.held) == (line["message"], line["level"], line["value"])


@pytest.mark.parametrize(
    "value", [2**64, float("nan"), {"a": [{}] * 10_000}, [None]], ids=["long", "nan", "deep", "null"]
)
def test_what_no_line_can_hold_is_told_as_a_short_text(value, lines):
    log(logging.INFO, "told", value=value)

    (line,) = map(json.loads, lines())
    assert isinstance(line["value"], str)
    assert len(line["value"]) <= 1_000


def test_a_field_that_is_none_is_left_out(lines):
    log(logging.INFO, "told", uid=None, code=0)

    (line,) = map(json.loads, lines())
    assert {"time", "level", "message", "code"} == line.keys()
    assert line["time"].endswith("+00:00")


def test_an_exception_is_one_line():
    try:
        raise ValueError("a\nb")
    except ValueError:
        record = logging.LogRecord("evenkeel", logging.ERROR, "", 1, "it failed: %s", ("x",), sys.exc_info())
    line = JsonLines().format(record)

    assert 1 == len(line.splitlines())
    assert "it failed: x" == json.loads(line)["message"]
    assert "ValueError: a\nb" in json.loads(line)["exception"]


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
        "defaults that the policy would deny",
        pod(),
        *("info", "defaults left out", {"phase": MUTATE, "uid": "u"}, MUTATE),
        rules="{rules: {soft-constraint: error}}",
    ),
    Case("no defaults for who opts out", pod(labels={"evenkeel.dev/skip": "true"}), "debug", "allowed", {}, MUTATE),
    Case("too large", pod(*[EMPTY] * 101), "info", "not judged", {"operation": "CREATE", "namespace": "shop"}),
]


@pytest.mark.parametrize("case", DECISIONS, ids=lambda case: case.name)
def test_what_is_logged_of_a_decision(case, lines):
    chosen = policy(case.rules)
    request = read_request("u", review(case.obj)["request"], case.phase, chosen.kinds)
    log_decision(request, decide(request, Terms(chosen, snapshot(service()), LATEST)))

    (line,) = map(json.loads, lines())
    assert (case.level, case.message) == (line["level"], line["message"])
    assert case.fields == {name: line.get(name) for name in case.fields}


def test_below_its_level_nothing_is_written(lines):
    logging.getLogger("evenkeel").setLevel(logging.INFO)
    log(logging.DEBUG, "told")

    assert [] == lines()
