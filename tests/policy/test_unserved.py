"""Kinds of the policy that a cluster does not serve, for whatever reason, are named with what to do."""

from __future__ import annotations

import pytest

from tests.support.build import policy
from webhook.kubernetes.kinds import Served
from webhook.policy.parsing import built_in
from webhook.policy.unserved import groups_of, unserved

FLEET = {"apiVersion": "example.com/v1", "kind": "Fleet", "resource": "fleets", "podTemplate": "spec.template"}
CLUSTER = {"builtIn": "cnpg-cluster"}
CRUNCHY = {"builtIn": "crunchy-postgrescluster"}  # evenkeel knows v1beta1 and v1
CNPG = "postgresql.cnpg.io"


def serving(*resources):
    """An API server that serves resources such as "example.com/v1 Fleet fleets"."""
    versions, kinds = {}, {}
    for api_version, kind, name in map(str.split, resources):
        group, version = api_version.split("/")
        versions[group] = tuple(dict.fromkeys((*versions.get(group, ()), version)))
        kinds.setdefault(api_version, {})[name] = kind
    return Served(versions, kinds)


def lines(served, *workloads):
    return list(unserved(policy(workloads=list(workloads)).kinds, served))


@pytest.mark.parametrize(
    ("workload", "resources"),
    [
        (FLEET, ["example.com/v1 Fleet fleets"]),
        (FLEET, ["example.com/v2 Fleet fleets", "example.com/v1 Fleet fleets"]),
        (CLUSTER, [f"{CNPG}/v1 Cluster clusters"]),
        (CRUNCHY, ["postgres-operator.crunchydata.com/v1 PostgresCluster postgresclusters"]),
        (CRUNCHY, ["postgres-operator.crunchydata.com/v1beta1 PostgresCluster postgresclusters"]),
        (CLUSTER, []),
        (CLUSTER, [f"{CNPG}/v1 Pooler poolers"]),
    ],
    ids=[
        *("as it is written", "in other versions, too", "a kind of an operator", "one of two versions"),
        *("the other of two", "an operator that is not installed", "a part of an operator"),
    ],
)
def test_what_is_served_or_has_no_objects_is_not_named(workload, resources):
    assert [] == lines(serving(*resources), workload)


@pytest.mark.parametrize(
    ("workload", "resources", "fix"),
    [
        (FLEET, ["example.com/v2 Fleet fleets"], "write example.com/v2 Fleet (fleets)"),
        (FLEET, ["example.com/v2 Fleet fleets", "example.com/v3 Fleet fleets"], "write example.com/v2 Fleet (fleets)"),
        (FLEET | {"resource": "fleet"}, ["example.com/v1 Fleet fleets"], "write example.com/v1 Fleet (fleets)"),
        (FLEET | {"kind": "fleet"}, ["example.com/v1 Fleet fleets"], "write example.com/v1 Fleet (fleets)"),
        (
            FLEET | {"kind": "Fleat", "resource": "fleats"},
            ["example.com/v1 Fleet fleets", "example.com/v1 Ship ships"],
            "write example.com/v1 Fleet (fleets)",
        ),
        (
            FLEET | {"apiVersion": "exmaple.com/v1"},
            ["example.com/v1 Fleet fleets"],
            "did you mean the API group example.com?",
        ),
        (FLEET, [], "correct or delete the entry, or install the CustomResourceDefinition"),
        (FLEET, ["example.com/v1 Ship ships"], "correct or delete the entry, or install the CustomResourceDefinition"),
        (CLUSTER, [f"{CNPG}/v2 Cluster clusters"], f"describe {CNPG}/v2 Cluster (clusters) in an entry of its own"),
    ],
    ids=[
        *("another version", "the preferred version", "the resource misspelt", "the kind misspelt", "both misspelt"),
        *("the group misspelt", "no such group", "no such kind", "an operator's newer version"),
    ],
)
def test_what_is_not_served_is_named_with_what_to_do(workload, resources, fix):
    (line,) = lines(serving(*resources), workload)

    assert line.startswith("workloads: the cluster does not serve ")
    assert line.endswith(f", so evenkeel judges no object of this kind; {fix}")


def test_an_entry_for_the_version_that_an_operator_has_now_settles_it():
    newer = {**FLEET, "apiVersion": f"{CNPG}/v2", "kind": "Cluster", "resource": "clusters"}

    assert [] == lines(serving(f"{CNPG}/v2 Cluster clusters"), CLUSTER, newer)


def test_kinds_that_every_policy_judges_are_named_in_another_version_only():
    kinds = built_in().kinds

    assert {"argoproj.io", "apps.kruise.io"} == groups_of(kinds)
    assert [] == list(unserved(kinds, serving()))
    (line,) = unserved(kinds, serving("argoproj.io/v1 Rollout rollouts"))
    assert "argoproj.io/v1alpha1 Rollout (rollouts)" in line
