"""Lint and the webhook find the same: for each rule's examples, and for every recorded Pod, in YAML and in JSON."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import pytest

from tests.conformance import DATA
from webhook.admission import VALIDATE, review
from webhook.apply import request_of
from webhook.documents import read
from webhook.lint import Terms
from webhook.lint.judging import judge
from webhook.policy import built_in
from webhook.render.applied import dump
from webhook.rules import RULES, Severity
from webhook.scheduler.features import LATEST, features
from webhook.scheduler.fields import path_text

VERSIONS = (LATEST, features(26), features(33))
EXAMPLES = [(one, example) for one in RULES.values() for example in (one.bad, one.good)]


def switched_on(one=None):
    """The built-in policy, with a rule that is off by default switched on as its example has it."""
    policy = built_in()
    if one is None or one.severity is not Severity.IGNORE:
        return policy
    return replace(policy, settings={**policy.settings, one.id: one.setting(Severity.WARNING, False, one.example)})


def said(findings):
    return sorted((f.rule, str(f.severity), path_text(f.path), f.message, f.found, f.wanted, f.fix) for f in findings)


def by_the_webhook(obj, policy, version=LATEST):
    return said(review(request_of(obj, None, "default"), VALIDATE, policy, None, version).findings)


def by_lint(text, policy, version=LATEST):
    judged = judge("a.yaml", text, Terms(policy, version))

    assert ([], 1) == (judged.problems, judged.objects)
    return said(one.finding for one in judged.found)


@pytest.mark.parametrize("one, example", EXAMPLES, ids=lambda value: getattr(value, "id", ""))
def test_examples_of_rules(one, example):
    (obj,), policy = read(example), switched_on(one)
    found = by_the_webhook(obj, policy)

    assert bool(found) == (example == one.bad)
    assert found == by_lint(example, policy) == by_lint(json.dumps(obj, indent=2), policy)


@pytest.mark.parametrize("recorded", ["validation", "placement"])
def test_recorded_pods(recorded):
    """Each as JSON; every tenth as YAML, and by the rules of older versions."""
    found, lines = 0, gzip.decompress((DATA / f"{recorded}.jsonl.gz").read_bytes()).splitlines()
    for number, line in enumerate(lines):
        pod = json.loads(line)["pod"]
        expected = by_the_webhook(pod, built_in())
        found += len(expected)

        assert expected == by_lint(json.dumps(pod), built_in())
        for version in VERSIONS if number % 10 == 0 else ():
            assert by_the_webhook(pod, built_in(), version) == by_lint(dump(pod), built_in(), version)
    assert found > 100
