"""What the API server's own policies do about constraints without evenkeel, as docs/comparison.md says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy

import pytest
import yaml

from tests.e2e.plane import ControlPlane, Output
from tests.e2e.words import deployment
from tests.support import ROOT
from tests.support.build import ZONE, constraint
from tests.support.serving import until

REQUIRES_ZONE = list(
    yaml.safe_load_all((ROOT / "docs" / "examples" / "comparison" / "require-zone.yaml").read_text("utf-8"))
)
CHANGED = {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "web:2"}]}}}}
SOFT = constraint(whenUnsatisfiable="ScheduleAnyway")
BY_PATCH = {
    "patchType": "JSONPatch",
    "jsonPatch": {
        "expression": f"""
            [JSONPatch{{
              op: "add",
              path: "/spec/template/spec/topologySpreadConstraints",
              value: [Object.spec.template.spec.topologySpreadConstraints{{
                maxSkew: 1,
                topologyKey: "{ZONE}",
                whenUnsatisfiable: "ScheduleAnyway",
                labelSelector: Object.spec.template.spec.topologySpreadConstraints.labelSelector{{
                  matchLabels: object.spec.selector.matchLabels
                }}
              }}]
            }}]"""
    },
}
BY_CONFIGURATION = {
    "patchType": "ApplyConfiguration",
    "applyConfiguration": {
        "expression": f"""
            Object{{spec: Object.spec{{template: Object.spec.template{{spec: Object.spec.template.spec{{
              topologySpreadConstraints: [Object.spec.template.spec.topologySpreadConstraints{{
                maxSkew: 1,
                topologyKey: "{ZONE}",
                whenUnsatisfiable: "ScheduleAnyway",
                labelSelector: Object.spec.template.spec.topologySpreadConstraints.labelSelector{{
                  matchLabels: {{"app": "web"}}
                }}
              }}]
            }}}}}}}}"""
    },
}


def requiring(namespace: str, compares: bool = True) -> list[dict]:
    """The policy of the page, for one namespace; or without the part that compares with the old object."""
    policy, binding = deepcopy(REQUIRES_ZONE)
    (validation,) = policy["spec"]["validations"]
    expression, parted, _ = validation["expression"].partition(" || oldObject")
    assert parted
    if not compares:
        validation["expression"] = expression
    return limited(policy, binding, namespace)


def adding(namespace: str, mutation: Mapping) -> list[dict]:
    """A policy that adds a constraint to the Deployments of one namespace that have none."""
    policy, binding = deepcopy(REQUIRES_ZONE)
    del policy["spec"]["validations"], binding["spec"]["validationActions"]
    condition = {"name": "none-yet", "expression": "!has(object.spec.template.spec.topologySpreadConstraints)"}
    policy["spec"] |= {"mutations": [mutation], "matchConditions": [condition], "reinvocationPolicy": "Never"}
    for one in (policy, binding):
        one["kind"] = one["kind"].replace("Validating", "Mutating")
    return limited(policy, binding, namespace)


def limited(policy: dict, binding: dict, namespace: str) -> list[dict]:
    """They are named after the namespace, and hold in it alone."""
    policy["metadata"] = binding["metadata"] = {"name": namespace}
    labels = {"kubernetes.io/metadata.name": namespace}
    binding["spec"] |= {"policyName": namespace, "matchResources": {"namespaceSelector": {"matchLabels": labels}}}
    return [policy, binding]


@contextmanager
def in_force(plane: ControlPlane, namespace: str, objects: list[dict], probe: str) -> Iterator[None]:
    """A policy, from when the answer to a Deployment without constraints has `probe`, until it is gone."""
    output = plane.apply(*objects)
    assert 0 == output.code, output
    try:
        until(lambda: probe in str(apply(plane, namespace, "--dry-run=server", name="probe")), "the policy")
        yield
    finally:
        for one in reversed(objects):
            plane.kubectl("delete", one["kind"], namespace)
        until(lambda: probe not in str(apply(plane, namespace, "--dry-run=server", name="probe")), "no policy")


def apply(plane: ControlPlane, namespace: str, *options: str, constraints=(), **metadata) -> Output:
    made = deployment(namespace, *constraints)
    made["metadata"] |= metadata
    return plane.kubectl("apply", "-o", "json", *options, "-f", "-", stdin=json.dumps(made))


def constraints_of(output: Output) -> list | None:
    assert 0 == output.code, output
    return json.loads(output.stdout)["spec"]["template"]["spec"].get("topologySpreadConstraints")


def test_one_requires_a_constraint(plane, namespace):
    with in_force(plane, namespace, requiring(namespace), "need a constraint"):
        assert "three replicas or more need a constraint" in apply(plane, namespace).stderr
        assert [SOFT] == constraints_of(apply(plane, namespace, constraints=[SOFT]))


@pytest.mark.parametrize("compares", [True, False])
def test_what_was_there_before_can_be_changed_only_if_the_expression_compares(plane, namespace, compares):
    web = ("deployment/web", "-n", namespace)
    assert constraints_of(apply(plane, namespace)) is None

    with in_force(plane, namespace, requiring(namespace, compares), "need a constraint"):
        done = [plane.kubectl("label", *web, "team=a"), plane.kubectl("patch", *web, "-p", json.dumps(CHANGED))]

    assert [not compares] * 2 == ["need a constraint" in one.stderr for one in done]


@pytest.mark.parametrize("options", [(), ("--server-side",)])
def test_one_adds_a_constraint_with_a_selector_which_stays_when_the_policy_is_gone(plane, namespace, options):
    """Also where the manifest, which has none, is applied again."""
    with in_force(plane, namespace, adding(namespace, BY_PATCH), "topologySpreadConstraints"):
        assert [SOFT] == constraints_of(apply(plane, namespace, *options))

    assert [SOFT] == constraints_of(apply(plane, namespace, *options, labels={"team": "a"}))


def test_by_an_apply_configuration_none_adds_a_selector(plane, namespace):
    with in_force(plane, namespace, adding(namespace, BY_CONFIGURATION), "may not mutate atomic"):
        assert "labelSelector" in apply(plane, namespace).stderr
