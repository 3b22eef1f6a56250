"""The kinds that CEL can judge, and why it cannot the others."""

from __future__ import annotations

import pytest

from tests.support.build import policy
from webhook.manifests.kinds import added_labels, cel_name, judged_kinds, path, replicas, template, why_not
from webhook.objects.kinds import BUILT_IN_KINDS

FLEET = {"apiVersion": "example.com/v1", "kind": "Fleet", "resource": "fleets"}


def test_built_in_kinds_and_rollouts_are_judged():
    names = {cel_name(kind) for kind in judged_kinds(policy())}

    assert {cel_name(kind) for kind in BUILT_IN_KINDS} < names
    assert {"argoproj.io/Rollout", "apps.kruise.io/CloneSet"} <= names


@pytest.mark.parametrize(
    ("workload", "reason"),
    [
        ({**FLEET, "podTemplate": "spec.template"}, ""),
        ({**FLEET, "podTemplate": "spec.sets[*].template"}, "its objects have several Pod templates"),
        ({**FLEET, "constraints": "spec.spread"}, "its constraints stand outside a Pod template"),
    ],
)
def test_one_pod_template_in_one_place_can_be_judged(workload, reason):
    of = policy(workloads=[workload])
    (fleet,) = (kind for kind in of.kinds if kind.kind == "Fleet")

    assert reason == why_not(fleet, of)
    assert (reason == "") == (fleet in judged_kinds(of))


def test_the_same_kind_in_two_versions_with_other_places_cannot_be_judged():
    old = {**FLEET, "apiVersion": "example.com/v1alpha1", "podTemplate": "template"}
    of = policy(workloads=[{**FLEET, "podTemplate": "spec.template"}, old])

    assert not [kind for kind in judged_kinds(of) if kind.kind == "Fleet"]


def test_most_kinds_have_their_template_in_the_last_place():
    kinds = [kind for kind in BUILT_IN_KINDS if kind.kind in ("Pod", "Deployment", "StatefulSet", "CronJob")]

    assert (
        'variables.kind in ["/Pod"] ? ("spec.topologySpreadConstraints") : variables.kind in ["batch/CronJob"] ? '
        '("spec.jobTemplate.spec.template.spec.topologySpreadConstraints") : '
        '"spec.template.spec.topologySpreadConstraints"'
    ) == path(kinds)
    assert "dyn(object)" in template(kinds, "dyn(object)") and "dyn(oldObject)" in template(kinds, "dyn(oldObject)")


def test_absent_replicas_count_as_one_and_those_of_a_job_are_limited_by_its_completions():
    (job,) = (kind for kind in BUILT_IN_KINDS if kind.kind == "Job")

    text = replicas([job], "o")
    assert "o.?spec.?parallelism.orValue(1)" in text and "o.?spec.?completions" in text and text.endswith(".min()")


def test_a_job_with_a_selector_of_its_own_gets_no_labels():
    jobs = [kind for kind in BUILT_IN_KINDS if kind.kind in ("Job", "CronJob")]

    assert "o.?spec.?manualSelector.orValue(false) ? []" in added_labels(jobs, "o")
    assert "job-completion-index" not in added_labels(jobs, "o", possible=False)
