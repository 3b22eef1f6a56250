"""OpenShift's kinds in files: what is judged in them, and at which line."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from evenkeel.lint.helm_templates import is_patch
from evenkeel.lint.openshift import with_monitoring
from evenkeel.terminal.inputs import with_operators
from tests.support.build import honoring, policy, workload
from tests.support.lint import judged, shown, terms
from webhook.findings.evaluation import evaluate
from webhook.kubernetes.features import LATEST
from webhook.kubernetes.workload import parse_workloads
from webhook.policy.parsing import built_in

MISSES = {"matchLabels": {"app": "db"}}
NAMED = policy(workloads=[{"builtIn": "openshift-deploymentconfig"}])


def by(said=None):
    found = with_operators(said or built_in())
    return terms(policy=replace(found, kinds=with_monitoring(found.kinds)))


def rules(obj, said=None):
    return [(one.finding.rule, str(one.finding.severity)) for one in judged(json.dumps(obj), by(said)).found]


def config(*constraints, **template):
    obj = workload("DeploymentConfig", *constraints, spec={"selector": {"app": "web"}, **template})
    return obj | {"apiVersion": "apps.openshift.io/v1"}


REVISION = {"matchLabelKeys": ["deployment"]}
CONFIGS = [
    (honoring(), []),
    (honoring(**REVISION), []),
    (honoring(labelSelector={"matchLabels": {"deploymentconfig": "web"}}), []),
    (honoring(labelSelector=MISSES), [("selector-misses-own-pod", "warning")]),
    (honoring(labelSelector=None), [("empty-selector", "error")]),
    (honoring(maxSkew=0), [("invalid-constraint", "error")]),
    (honoring(matchLabelKeys=["pod-template-hash"]), [("wrong-revision-key", "warning")]),
]


@pytest.mark.parametrize(("written", "found"), CONFIGS)
def test_a_deployment_config_is_judged_by_the_labels_of_its_pods(written, found):
    assert found == [one for one in rules(config(written)) if one[0] != "rollout-skew"]


def test_the_selector_of_a_deployment_config_is_a_map_of_labels():
    (found,) = judged(json.dumps(config(honoring(labelSelector=MISSES, **REVISION))), by()).found

    assert {"matchLabels": {"app": "web"}} == found.finding.edit.value


@pytest.mark.parametrize(("written", "found"), CONFIGS)
def test_a_policy_that_names_the_kind_changes_no_finding(written, found):
    obj = config(written, replicas=7)
    (admitted,) = parse_workloads(obj, NAMED.kinds)

    assert rules(obj) == rules(obj, NAMED)
    assert found == [one for one in rules(obj, NAMED) if one[0] != "rollout-skew"]
    assert (7, True) == (admitted.replicas, admitted.labels_known)
    evaluation = evaluate(admitted, NAMED.settings, None, LATEST)
    assert [rule for rule, _ in rules(obj, NAMED)] == [finding.rule for finding in evaluation.findings]


def test_a_policy_may_describe_a_deployment_config_itself():
    described = {"apiVersion": "apps.openshift.io/v1", "kind": "DeploymentConfig", "resource": "deploymentconfigs"}
    said = policy(workloads=[{**described, "podTemplate": "spec.template", "addedLabels": ["rev"]}])

    assert [] == rules(config(honoring(matchLabelKeys=["rev"])), said)


def test_a_part_of_a_deployment_config_is_a_patch_whether_or_not_a_policy_names_the_kind():
    obj = config(honoring(labelSelector=None))
    del obj["spec"]["template"]["metadata"]
    for found in (with_operators(built_in()), NAMED):
        (part,) = parse_workloads(obj, found.kinds)
        assert is_patch(part, obj)


TEMPLATE = """\
apiVersion: template.openshift.io/v1
kind: Template
metadata: {name: shop}
objects:
- {apiVersion: v1, kind: Service, metadata: {name: web}}
- apiVersion: apps/v1
  kind: StatefulSet
  metadata: {name: web}
  spec:
    replicas: ${{REPLICAS}}
    selector: {matchLabels: {app: web}}
    template:
      metadata: {labels: {app: web}}
      spec:
        containers: [{name: web, image: web}]
        topologySpreadConstraints:
        - maxSkew: %s
          topologyKey: kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
"""


@pytest.mark.parametrize("api_version", ["template.openshift.io/v1", "v1"])
def test_the_objects_of_a_template_are_judged_at_their_lines(api_version):
    text = TEMPLATE.replace("template.openshift.io/v1", api_version)
    found = judged(text % 0)

    assert ["17:11-21 invalid-constraint", "18:11-42 misspelt-topology-key"] == [
        one for one in shown(text % 0) if "tainted" not in one
    ]
    assert (2, (1, 1, 0)) == (found.objects, found.places)


def test_a_parameter_in_a_constraint_is_left_open():
    found = judged(TEMPLATE % "${{SKEW}}")

    assert ["misspelt-topology-key"] == [one.finding.rule for one in found.found]
    assert "oc process" in found.notes[0].advice
    assert (1, 0, 0) == found.places


def monitoring(name="cluster-monitoring-config", namespace="openshift-monitoring"):
    of = {"name": name, **({"namespace": namespace} if namespace else {})}
    head = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {json.dumps(of)}\ndata:\n  config.yaml: |\n    prometheus:\n"
    return (
        head
        + "      topologySpreadConstraints:\n      - maxSkew: 0\n        topologyKey: topology.kubernetes.io/zones\n"
    )


USER = "user-workload-monitoring-config"
MONITORING = [
    monitoring(),
    monitoring(namespace=""),
    monitoring(USER, "openshift-user-workload-monitoring"),
]


@pytest.mark.parametrize("text", MONITORING)
def test_constraints_of_openshifts_monitoring_are_whole(text):
    """What is absent is found, too, and nothing is repaired within a text."""
    found = judged(text, by())

    assert ["8:7 empty-selector", "8:7 invalid-constraint", "8:9 invalid-constraint", "9:9 misspelt-topology-key"] == [
        f"{one.line}:{one.column} {one.finding.rule}" for one in found.found
    ]
    assert {None} == {one.finding.edit for one in found.found}
    assert ((1, 0, 1), 1, []) == (found.places, found.objects, found.notes)


@pytest.mark.parametrize("text", [monitoring("sidecars", "shop"), monitoring(namespace="shop")])
def test_another_config_map_is_noted(text):
    found = judged(text, by())

    assert ([], (1, 0, 0), ["kind"]) == (found.found, found.places, [note.why for note in found.notes])


def test_a_monitoring_configuration_that_is_wrong_as_a_whole_is_no_crash():
    for written in ("[1]", "x", "{prometheus: 1}", "{prometheus: {topologySpreadConstraints: {a: 1}}}", "{{"):
        text = json.dumps(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": USER}, "data": {"config.yaml": written}}
        )
        assert [] == judged(text, by()).problems
