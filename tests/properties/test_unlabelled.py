"""A rule that does not say that it needs the labels of Pods finds the same whatever they are."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.judging import fuzz
from tests.properties.test_worse import enforcing, lists, made
from tests.support.build import FEATURES
from webhook.findings.evaluation import find_all
from webhook.findings.rule import Need
from webhook.kubernetes.workload import parse_workloads
from webhook.rules import RULES

OF_LABELS = {Need.LABELS, Need.SELECTORS, Need.GIVEN_LABELS}
FREE = [rule.id for rule in RULES.values() if not rule.advice and OF_LABELS.isdisjoint(rule.needs)]
labels = st.sampled_from(({}, {"app": "web"}, {"app": "web", "absent": "x"}, {"pod-template-hash": "x"}))


@pytest.mark.parametrize("rule", FREE)
@fuzz
@given(listed=lists, kind=st.sampled_from(("Fleet", "Cluster")), one=labels, other=labels)
def test_a_rule_that_needs_no_labels_finds_the_same_whatever_they_are(rule, listed, kind, one, other):
    policy = enforcing(rule)
    (workload,) = parse_workloads(made(kind, listed), policy.kinds)
    settings = {rule: policy.settings[rule]}
    found = [
        find_all(replace(workload, labels=each, given_labels={}), settings, None, FEATURES) for each in (one, other)
    ]

    told = [[(each.path, each.message, each.found) for each in evaluation.findings] for evaluation in found]
    assert told[0] == told[1]
    assert [(), ()] == [evaluation.skipped for evaluation in found]
