"""Every kind that has a Pod template, and which of them an object is of."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import NamedTuple

import pytest

from tests.support.build import constraint, merged, nest, workload
from webhook.kubernetes.fields import path_text
from webhook.kubernetes.kinds import KINDS, Kind, Kinds, find_kinds, parse_path
from webhook.kubernetes.workload import parse_workloads

HASH, REVISION = "pod-template-hash", "controller-revision-hash"


STATEFUL = f"{REVISION} statefulset.kubernetes.io/pod-name apps.kubernetes.io/pod-index"


BATCH = "batch.kubernetes.io"


JOB = f"{BATCH}/job-name {BATCH}/controller-uid {BATCH}/job-completion-index job-name controller-uid"


KRUISE, JOBS = "apps.kruise.io", "spec.jobTemplate.spec"


CLONES, ARGO = f"{REVISION} {HASH} {KRUISE}/cloneset-instance-id", f"rollouts-{HASH}"


class Case(NamedTuple):
    """What differs: `path` to the template, `replicas` to the number, `added` by the controller."""

    kind: str
    path: str = "spec.template"
    replicas: str = "spec.replicas"
    added: str = ""
    api_version: str = "apps/v1"
    revision_key: str | None = None


CASES = [
    Case("Pod", "", "", api_version="v1"),
    Case("PodTemplate", "template", "", api_version="v1"),
    Case("ReplicationController", api_version="v1"),
    Case("Deployment", added=HASH, revision_key=HASH),
    Case("ReplicaSet"),
    Case("StatefulSet", added=STATEFUL, revision_key=REVISION),
    Case("DaemonSet", replicas="", added=f"{REVISION} pod-template-generation", revision_key=REVISION),
    Case("Job", replicas="spec.parallelism", added=JOB, api_version="batch/v1"),
    Case("CronJob", f"{JOBS}.template", f"{JOBS}.parallelism", added=JOB, api_version="batch/v1"),
    Case("Rollout", added=ARGO, revision_key=ARGO, api_version="argoproj.io/v1alpha1"),
    Case("CloneSet", added=CLONES, revision_key=REVISION, api_version=f"{KRUISE}/v1alpha1"),
    Case("StatefulSet", added=STATEFUL, revision_key=REVISION, api_version=f"{KRUISE}/v1alpha1"),
    Case("StatefulSet", added=STATEFUL, revision_key=REVISION, api_version=f"{KRUISE}/v1beta1"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.api_version} {case.kind}")
def test_where_a_kind_keeps_what_matters(case):
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"topologySpreadConstraints": [constraint()], "nodeName": "n1", "schedulerName": "gpu"},
    }
    obj = {"apiVersion": case.api_version, "kind": case.kind, "metadata": {"name": "web", "namespace": "shop"}}
    (found,) = parse_workloads(
        merged(merged(obj, nest(case.path, template)), nest(case.replicas, 5) if case.replicas else {})
    )

    prefix = f"{case.path}." if case.path else ""
    assert f"{prefix}spec.topologySpreadConstraints" == path_text(found.path)
    assert [constraint()] == found.raw_constraints
    assert ({"app": "web"}, "n1", "gpu") == (found.labels, found.node_name, found.scheduler_name)
    assert ("shop", "web", 5 if case.replicas else 1) == (found.namespace, found.name, found.replicas)
    assert frozenset(case.added.split()) == found.kind.addable
    assert (case.revision_key, "." not in case.api_version) == (found.kind.revision_key, found.kind.built_in)
    assert (case.kind == "Pod", True) == (found.is_pod, found.in_template)


def test_the_kinds_are_those_of_the_table():
    assert [(case.api_version, case.kind) for case in CASES] == [(kind.api_version, kind.kind) for kind in KINDS]


@pytest.mark.parametrize("of", ["v1 Deployment", "apps/v1beta1 Deployment", "v1 Service", "apps/v1 Pod", "apps/v1 "])
def test_another_kind_holds_no_workload(of):
    api_version, _, kind = of.partition(" ")

    assert () == parse_workloads(workload("Deployment") | {"apiVersion": api_version, "kind": kind})
    assert () == parse_workloads({}) == parse_workloads({"apiVersion": ["apps/v1"], "kind": {}})


def kind(**paths):
    """A kind of a policy, with each path as the policy has it."""
    return Kind("a/v1", "Fleet", "fleets", **{name: tuple(path.split(".")) for name, path in paths.items()})


def test_a_kind_of_the_policy_comes_before_the_built_in_of_that_name():
    own = replace(kind(template="spec.pods"), api_version="argoproj.io/v1alpha1", kind="Rollout", from_policy=True)
    rollout = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "spec": {"pods": {}, "template": {}}}

    assert ["spec.pods.spec.topologySpreadConstraints"] == [
        path_text(one.path) for one in parse_workloads(rollout, Kinds([*KINDS, own]))
    ]


def test_a_kind_may_have_templates_in_several_places():
    """As RayCluster has one for its head and a list for its workers."""
    kinds = [replace(kind(template=path), from_policy=True) for path in ("spec.head.template", "spec.groups.template")]
    obj = {"apiVersion": kinds[0].api_version, "kind": kinds[0].kind}
    obj["spec"] = {"head": {"template": {}}, "groups": {"template": {}}}

    assert 2 == len(parse_workloads(obj, Kinds(kinds)))


def test_kinds_are_found_by_apiversion_and_kind():
    own = replace(kind(template="spec.pods"), api_version="argoproj.io/v1alpha1", kind="Rollout", from_policy=True)
    kinds = Kinds([*KINDS, own])

    assert [own] == list(find_kinds({"apiVersion": own.api_version, "kind": "Rollout"}, kinds))
    assert [KINDS[0]] == list(find_kinds({"apiVersion": "v1", "kind": "Pod"}, kinds))
    assert [] == list(find_kinds({"apiVersion": ["v1"], "kind": {}}, kinds))
    assert [] == list(find_kinds({"apiVersion": "v1", "kind": "Service"}, kinds))


def test_kinds_stay_a_tuple_with_their_index_built_once():
    assert tuple(KINDS) == KINDS
    assert KINDS.by_name is KINDS.by_name
    assert tuple(KINDS) == pickle.loads(pickle.dumps(KINDS))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("spec.template", ("spec", "template")),
        ("spec.sets[*].template", ("spec", "sets", "*", "template")),
        ("spec.sets[*]", ("spec", "sets", "*")),
        ("a[*][*].b", ("a", "*", "*", "b")),
        ("spec.sets{*}.template", ("spec", "sets", "{*}", "template")),
        ("a[*].b{*}", ("a", "*", "b", "{*}")),
    ],
)
def test_a_path_has_lists_and_members_of_any_name_as_parts(text, path):
    assert path == parse_path(text)
