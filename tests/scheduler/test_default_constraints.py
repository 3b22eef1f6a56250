"""The scheduler's own defaults: the selector it derives, the constraints in force, the arguments it refuses."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.support.build import API_VERSIONS, FEATURES, HOSTNAME, ZONE, constraint, owned_by, service, snapshot
from webhook.objects.fields import path_text
from webhook.objects.references import controller_of
from webhook.scheduler.default_constraints import SYSTEM_DEFAULTS, constraints_in_force, default_selector, validate_args
from webhook.scheduler.selectors import EVERYTHING, NOTHING, equals

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


def web():
    """The selector that is derived from one Service."""
    return EVERYTHING.add(equals({"app": "web"}))


def in_force(raw, *defaults, selector=None):
    return constraints_in_force(raw, LABELS, defaults, selector or web(), FEATURES)


def test_a_pod_without_constraints_gets_the_defaults_with_the_derived_selector():
    for raw in (None, []):
        hard, soft = in_force(raw, constraint(labelSelector=None), SYSTEM_DEFAULTS[0])

        assert (ZONE, True, web()) == (hard.topology_key, hard.hard, hard.selector)
        assert (HOSTNAME, True, web()) == (soft.topology_key, soft.soft, soft.selector)


def test_a_constraint_of_its_own_keeps_the_defaults_away():
    (own,) = in_force([constraint(labelSelector=None)], *SYSTEM_DEFAULTS)

    assert (ZONE, NOTHING) == (own.topology_key, own.selector)


def test_no_default_applies_where_nothing_selects_the_pod():
    assert () == in_force(None, *SYSTEM_DEFAULTS, selector=EVERYTHING)


def test_match_label_keys_of_a_default_are_ignored():
    (default,) = in_force(None, {**SYSTEM_DEFAULTS[0], "matchLabelKeys": ["tier"]})

    assert "app=web" == str(default.selector)


def test_the_other_fields_of_a_default_are_not():
    given = constraint(
        minDomains=3, maxSkew=2, nodeAffinityPolicy="Ignore", nodeTaintsPolicy="Honor", labelSelector=None
    )
    (found,) = in_force(None, given)

    assert (2, 3) == (found.max_skew, found.min_domains)
    assert ("Ignore", "Honor") == (found.node_affinity_policy, found.node_taints_policy)


def test_the_system_defaults():
    found = [(one.max_skew, one.topology_key, one.soft) for one in in_force(None, *SYSTEM_DEFAULTS)]

    assert [(3, HOSTNAME, True), (5, ZONE, True)] == found


class Args(NamedTuple):
    name: str
    constraints: tuple
    errors: str = ""
    type: str = "List"


def default(**fields):
    return constraint(**{"labelSelector": None} | fields)


ARGS = [
    Args("a list", (default(), default(whenUnsatisfiable="ScheduleAnyway"), default(topologyKey=HOSTNAME))),
    Args("an empty list", ()),
    Args("System", (), type="System"),
    Args("System with a list", (default(),), "Invalid defaultingType", "System"),
    Args("another type", (), "NotSupported defaultingType", "Both"),
    Args("maxSkew 0", (default(maxSkew=0),), "Invalid [0].maxSkew"),
    Args("no maxSkew", (default(maxSkew=None),), "Invalid [0].maxSkew"),
    Args("no topologyKey", (default(topologyKey=None),), "Required [0].topologyKey"),
    Args("an empty topologyKey", (default(topologyKey=""),), "Required [0].topologyKey"),
    Args("a topologyKey that is no label", (default(topologyKey="a b"),), "Invalid [0].topologyKey"),
    Args("no whenUnsatisfiable", (default(whenUnsatisfiable=None),), "Required [0].whenUnsatisfiable"),
    Args("another whenUnsatisfiable", (default(whenUnsatisfiable="Never"),), "NotSupported [0].whenUnsatisfiable"),
    Args("a selector", (default(labelSelector={}),), "Forbidden [0].labelSelector"),
    Args("one twice", (default(), default(maxSkew=2)), "Duplicate [1]"),
    Args("one three times", (default(),) * 3, "Duplicate [1], Duplicate [2]"),
    Args(
        "it does not look at the rest",
        (default(minDomains=0, nodeAffinityPolicy="Bogus", matchLabelKeys=["a b"]),),
    ),
    Args("all at once", ({},), "Invalid [0].maxSkew, Required [0].topologyKey, Required [0].whenUnsatisfiable"),
]


@pytest.mark.parametrize("case", ARGS, ids=lambda case: case.name)
def test_arguments_that_the_scheduler_refuses(case):
    errors = validate_args(case.type, case.constraints, ("args",))
    shown = [f"{e.type[len('FieldValue') :]} {path_text(e.path[1:])}".replace("defaultConstraints", "") for e in errors]

    assert case.errors == ", ".join(shown)
