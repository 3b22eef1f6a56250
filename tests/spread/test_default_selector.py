"""The selector that kube-scheduler derives for a Pod without constraints of its own."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.support.build import API_VERSIONS, owned_by, service, snapshot
from webhook.kubernetes.references import controller_of
from webhook.spread.default_selector import default_selector

LABELS = {"app": "web", "tier": "back", "pod-template-hash": "55fb"}
EXISTS = {
    "matchExpressions": [{"key": "tier", "operator": "Exists"}, {"key": "app", "operator": "In", "values": ["web"]}]
}


def controller(kind, selector, name="web", namespace="shop"):
    api_version = API_VERSIONS.get(kind, "apps/v1")
    metadata = {"name": name, "namespace": namespace, "uid": "another"}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": {"selector": selector}}


def headless(obj):
    return {**obj, "spec": {**obj["spec"], "clusterIP": "None"}}


def labelled(**labels):
    return {"matchLabels": labels}


def replica_set(selector, **given):
    return controller("ReplicaSet", selector, **given)


class Case(NamedTuple):
    name: str
    objects: list
    owner: str = ""
    selector: str = ""
    tweak: dict | None = None


OWN = "ReplicaSet/web"
BOTH = {"app": "web", "tier": "back"}
CASES = [
    Case("nothing selects or owns it", []),
    Case("a Service", [service()], selector="app=web"),
    Case("two Services are merged", [service(), service("all", BOTH)], selector="app=web,tier=back"),
    Case("a Service that selects another Pod", [service(selector={"app": "api"})]),
    Case("a Service of another namespace", [service(namespace="elsewhere")]),
    Case("a Service with {}", [service(selector={})]),
    Case("a Service without a selector", [{**service(), "spec": {}}]),
    Case("a headless Service counts", [headless(service())], selector="app=web"),
    Case("a ReplicaSet", [replica_set(labelled(app="web"))], OWN, "app=web"),
    Case("a ReplicaSet's expressions are kept", [replica_set(EXISTS)], OWN, "app in (web),tier"),
    Case("a ReplicaSet that is not the owner", [replica_set(EXISTS)]),
    Case("duplicates are kept", [service(), replica_set(labelled(**BOTH))], OWN, "app=web,app=web,tier=back"),
    Case("a StatefulSet", [controller("StatefulSet", EXISTS)], "StatefulSet/web", "app in (web),tier"),
    Case(
        "a ReplicationController's selector is merged as a map",
        [service(), controller("ReplicationController", BOTH)],
        "ReplicationController/web",
        "app=web,tier=back",
    ),
    Case(
        "where the maps conflict, the ReplicationController's value stays",
        [service(), controller("ReplicationController", {"app": "api"})],
        "ReplicationController/web",
        "app=api",
    ),
    Case("an owner that does not exist", [service()], OWN, "app=web"),
    Case("an owner of another name", [replica_set(EXISTS, name="api")], OWN),
    Case("an owner in another namespace", [replica_set(EXISTS, namespace="elsewhere")], OWN),
    Case("an owner with {}", [replica_set({})], OWN),
    Case("an owner with null", [replica_set(None)], OWN),
    Case("an owner whose selector is invalid", [replica_set(labelled(app="?"))], OWN),
    Case("an owner that does not control it", [replica_set(EXISTS)], OWN, tweak={"controller": False}),
    Case("an owner that may control it", [replica_set(EXISTS)], OWN, tweak={"controller": None}),
    Case("an owner by an older version", [replica_set(EXISTS)], OWN, tweak={"apiVersion": "apps/v1beta2"}),
    Case("an owner of another group", [replica_set(EXISTS)], OWN, tweak={"apiVersion": "apps.kruise.io/v1beta1"}),
    Case("a Deployment owns no Pods", [controller("Deployment", EXISTS)], "Deployment/web"),
    Case("a DaemonSet gives none", [controller("DaemonSet", EXISTS)], "DaemonSet/web"),
    Case("a Job gives none", [controller("Job", EXISTS)], "Job/web"),
    Case("a DaemonSet behind a Service", [service(), controller("DaemonSet", EXISTS)], "DaemonSet/web", "app=web"),
    Case("a Job behind a Service", [service(), controller("Job", EXISTS)], "Job/web", "app=web"),
]


def derived(objects, owner="", tweak=None):
    metadata = owned_by(owner) if owner else {}
    for reference in metadata.get("ownerReferences", []):
        reference |= tweak or {}
    return default_selector("shop", LABELS, controller_of(metadata), snapshot(*objects))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_derived_selector(case):
    assert case.selector == str(derived(case.objects, case.owner, case.tweak).selector)


def test_it_says_what_it_was_derived_from():
    services = [service("b"), service("a"), service("c", {"app": "api"})]

    assert ("Service/b", "Service/a", OWN) == derived([*services, replica_set(EXISTS)], OWN).sources
    assert ("Service/b", "Service/a") == derived([*services, replica_set({})], OWN).sources
    assert () == derived([]).sources
