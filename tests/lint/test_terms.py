"""What manifests are judged by: all that a request is, and for patches a policy that knows no labels."""

from __future__ import annotations

import json

import pytest

from evenkeel.lint.declarations import NOTHING_AROUND, FileNeighbours
from tests.support.build import constraint, node, policy, snapshot, workload
from tests.support.lint import judged, terms
from webhook.admission.request import VALIDATE, AdmissionRequest
from webhook.admission.review import review
from webhook.admission.terms import Terms
from webhook.findings.finding import Severity
from webhook.kubernetes.references import ScaleTarget, Scaling
from webhook.rules import RULES


def test_of_a_patch_no_labels_are_known_and_all_else_is_the_same():
    whole = terms(namespace="shop", unused=Severity.ERROR, patches=frozenset({"a.yaml"}))
    patched = whole.for_patches

    assert {kind.kind for kind in whole.policy.kinds} == {kind.kind for kind in patched.policy.kinds}
    assert set() == {kind.kind for kind in patched.policy.kinds if kind.template is not None}
    assert whole.policy.settings == patched.policy.settings
    assert ("shop", Severity.ERROR, whole.patches) == (patched.namespace, patched.unused, patched.patches)
    assert (whole.never_sent, whole.features) == (patched.never_sent, patched.features)


def test_the_policy_for_patches_is_made_once_for_all_files_that_stand_alone():
    whole = terms()

    assert whole.for_patches is whole.with_context(NOTHING_AROUND).for_patches


MISSES = {"matchLabels": {"app": "x"}}
ONE_SEVERITY = [
    ({"labelSelector": MISSES}, "selector-misses-own-pod"),
    ({"labelSelector": MISSES, "whenUnsatisfiable": "ScheduleAnyway"}, "selector-misses-own-pod"),
    ({"topologyKey": "kubernetes.io/zone"}, "misspelt-topology-key"),
    ({"topologyKey": "failure-domain.beta.kubernetes.io/zone"}, "deprecated-topology-key"),
    ({"labelSelector": {}}, "empty-selector"),
    ({"maxSkew": 0}, "invalid-constraint"),
]


@pytest.mark.parametrize(("fields", "rule"), ONE_SEVERITY)
def test_a_rule_is_as_grave_to_lint_as_to_the_webhook_which_denies_errors(fields, rule):
    obj = workload("StatefulSet", constraint(**fields))
    by = terms()
    request = AdmissionRequest.of(obj, phase=VALIDATE, kinds=by.policy.kinds, namespace="")
    decision = review(request, Terms(by.policy, by.snapshot, by.features))
    severity = RULES[rule].severity

    assert [(rule, severity)] == [(each.finding.rule, each.finding.severity) for each in judged(json.dumps(obj)).found]
    assert [(rule, severity)] == [(finding.rule, finding.severity) for finding in decision.findings]
    assert (severity is Severity.ERROR) == (not decision.allowed)


GIVEN = [
    ("rules: {misspelt-topology-key: error}", ["error"]),
    ("rules: {misspelt-topology-key: {severity: info}}", ["info"]),
    ("rules: {misspelt-topology-key: {help: ask us}}", ["warning"]),
    ("rules: {misspelt-topology-key: ignore}", []),
]


@pytest.mark.parametrize(("rules", "severities"), GIVEN)
def test_a_severity_that_the_policy_gives_stays(rules, severities):
    text = json.dumps(workload("StatefulSet", constraint(topologyKey="kubernetes.io/zone")))
    overridden = f"overrides: [{{name: a, podSelector: {{}}, {rules}}}]"

    for by in (policy(rules), policy(overridden)):
        assert severities == [each.finding.severity for each in judged(text, terms(policy=by)).found]


def test_a_severity_that_the_command_line_gives_stays():
    by = terms().policy.with_severities({"misspelt-topology-key": Severity.ERROR})
    text = json.dumps(workload("StatefulSet", constraint(topologyKey="kubernetes.io/zone")))

    assert ["error"] == [each.finding.severity for each in judged(text, terms(policy=by)).found]


def test_a_file_in_a_folder_of_tests_is_judged_in_the_cluster_of_that_folder():
    cluster, made_up, deeper = (snapshot(node(name)) for name in "abc")
    by = terms(snapshot=cluster, fixtures={"testdata": made_up, "testdata/x/vendor": deeper})
    files = ("a.yaml", "fixtures/a.yaml", "testdata/a.yaml", "testdata/x/vendor/y/fixtures/a.yaml")

    assert [cluster, cluster, made_up, deeper] == [by.for_file(file).snapshot for file in files]
    assert by is by.for_file("a.yaml")


def test_what_stands_around_a_file_is_seen_beside_the_cluster():
    scaling = {ScaleTarget("shop", "apps", "Deployment", "web"): Scaling(1, 2)}
    beside = terms(namespace="shop").with_context(FileNeighbours(scalings=scaling))

    assert ("shop", scaling) == (beside.namespace, beside.scalings)
    assert {} == terms().scalings
