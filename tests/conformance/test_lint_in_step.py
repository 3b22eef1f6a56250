"""
Lint and the webhook find the same, some of it graver: for each rule's examples, and for every recorded Pod, in YAML and
in JSON.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evenkeel.admit.text import dump
from evenkeel.lint.helm_templates import is_patch
from evenkeel.lint.judgement import judge
from evenkeel.lint.repair import repair
from evenkeel.scheduler.replica_room import room_for
from tests.conformance.cases import read
from tests.support import DATA
from tests.support import strategies as some
from tests.support.build import snapshot
from tests.support.lint import terms
from webhook.admission.request import VALIDATE, AdmissionRequest
from webhook.admission.review import review
from webhook.admission.terms import Terms
from webhook.findings.evaluation import evaluate
from webhook.findings.finding import UNUSED_SUPPRESSION, Severity
from webhook.findings.neighbours import Neighbours
from webhook.kubernetes.documents import read_documents
from webhook.kubernetes.features import LATEST, NEWEST, features
from webhook.kubernetes.fields import path_text
from webhook.kubernetes.workload import parse_workloads
from webhook.policy.parsing import built_in
from webhook.rules import RULES

MINORS = (33, NEWEST)
EXAMPLES = [(one, example) for one in RULES.values() for example in (one.bad, one.good)]


def by_file(file, text):
    return judge(file, text, terms())


def switched_on(one=None):
    """The built-in policy, with a rule that is off by default switched on as its example has it."""
    policy = built_in()
    if one is None or one.severity is not Severity.IGNORE:
        return policy
    return replace(policy, settings={**policy.settings, one.id: one.setting(Severity.WARNING, False, one.example)})


def said(findings):
    return sorted((f.rule, str(f.severity), path_text(f.path), f.message, f.found, f.wanted, f.fix) for f in findings)


def asked(obj, policy):
    return AdmissionRequest.of(obj, phase=VALIDATE, kinds=policy.kinds, namespace="default")


def by_the_webhook(obj, policy, version=LATEST, beside=()):
    others = Neighbours.of(one for other in beside for one in asked(other, policy).workloads)
    given = Terms(policy, snapshot(*beside, features=version) if beside else None, version)
    findings = review(asked(obj, policy), given, partial(evaluate, others=others, room_for=room_for)).findings
    return said(findings)


def by_lint(text, policy, version=LATEST, beside=()):
    text = "---\n".join((text, *(f"{json.dumps(other)}\n" for other in beside)))
    judged = judge("a.yaml", text, terms(policy=policy, features=version, snapshot=snapshot(*beside, features=version)))

    assert ([], 1 + len(beside)) == (judged.problems, judged.objects)
    return said(one.finding for one in judged.found)


@pytest.mark.parametrize("one, example", EXAMPLES, ids=lambda value: getattr(value, "id", ""))
def test_examples_of_rules(one, example):
    (obj,), policy, beside = read_documents(example), switched_on(one), read_documents(one.context)
    found = by_the_webhook(obj, policy, beside=beside)

    assert bool(found) == (example == one.bad)
    assert found == by_lint(example, policy, beside=beside)
    assert found == by_lint(f"{json.dumps(obj, indent=2)}\n", policy, beside=beside)


@pytest.mark.parametrize("recorded", ["validation", "placement"])
def test_recorded_pods(recorded):
    """Each as JSON; every tenth as YAML, and by the rules of older versions."""
    found = 0
    for number, case in enumerate(read(DATA / f"1.{NEWEST}" / f"{recorded}.jsonl.gz")):
        pod = case["pod"]
        expected = by_the_webhook(pod, built_in())
        found += len(expected)

        assert expected == by_lint(json.dumps(pod), built_in())
        for version in map(features, MINORS if number % 10 == 0 else ()):
            assert by_the_webhook(pod, built_in(), version) == by_lint(dump(pod), built_in(), version)
    assert found > 100


def as_json(value, indent=None):
    """In one line, or in many; what is nested too deep or is no number is left to other tests."""
    try:
        return json.dumps(value, indent=indent, allow_nan=False)
    except (RecursionError, ValueError):
        return "# too deep, or no JSON"


ANY = {
    "obj": some.perhaps_damaged(some.objects()),
    "style": st.sampled_from([some.as_yaml, as_json, partial(as_json, indent=2)]),
}


@given(**ANY)
def test_whatever_the_object_both_find_the_same_in_lines_that_there_are(obj, style):
    """Save for what lint passes over: patches, templates, and what a controller made."""
    text = style(obj)
    judged = judge("a.yaml", text, terms())
    assume(judged.objects == 1 and not judged.problems and not judged.notes)
    (obj,) = read_documents(text)
    assume("ownerReferences" not in text or "uid" not in text)
    # A patch without constraints has no note; its switches may be changed by what it is merged into.
    assume("evenkeel.dev/" not in text or not any(is_patch(workload, obj) for workload in parse_workloads(obj)))

    assert by_the_webhook(obj, built_in()) == said(
        one.finding for one in judged.found if one.finding.rule != UNUSED_SUPPRESSION
    )
    lines = text.split("\n")
    for one in judged.found:
        assert lines[one.line - 1].rstrip("\r") == one.quoted
        assert 1 <= one.column < one.end_column <= len(one.quoted) + 2


@given(**ANY)
def test_whatever_the_object_a_repair_leaves_text_that_can_be_read(obj, style):
    text = style(obj)
    before, done = judge("a.yaml", text, terms()), repair("a.yaml", text, by_file, lambda again: again.found)

    assert (done.text == text) == (done.count == 0)
    assert (before.problems, before.documents) == (done.left.problems, done.left.documents)
    assert done.count == 0 or len(read_documents(done.text)) == len(read_documents(text))
