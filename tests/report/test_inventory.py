"""Which workloads a cluster has, and whose the Pods are."""

from __future__ import annotations

from datetime import date

import pytest

from evenkeel.report.inventory import Packed, key_of, named
from tests.support.build import owned_by, pod, policy, workload
from tests.support.reporting import deployment, inventory, made_by, pods

ROLLOUT = workload("Rollout") | {"apiVersion": "argoproj.io/v1alpha1"}


def of(*objects, **options):
    """Each workload with its Pods by node, those that wait, and those that leave."""
    return {
        f"{one.ref.kind}/{one.ref.name}": (dict(one.nodes), one.waiting, one.leaving)
        for one in inventory(*objects, **options).workloads()
    }


def test_pods_are_those_of_what_made_their_maker():
    assert {"Deployment/web": ({"a1": 2, "b1": 1}, 1, 0)} == of(*deployment(), *pods("a1", "a1", "b1", ""))


def test_finished_pods_are_none_and_those_that_leave_are_apart():
    going = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    found = of(
        *deployment(),
        *pods("a1"),
        *pods("b1", phase="Succeeded"),
        *pods("b1", phase="Failed"),
        *pods("c1", "", **going),
    )

    assert {"Deployment/web": ({"a1": 1}, 0, 2)} == found


def test_a_pod_that_nobody_made_is_a_workload():
    (found,) = inventory(made_by("", "debug", "a1")).workloads()

    assert (True, "Pod shop/debug", {"a1": 1}) == (found.is_pod, str(found.ref), found.nodes)
    assert {"app": "web"} == found.labels


def test_a_pod_that_nobody_made_is_packed_and_is_what_it_was():
    """Unless something is in it that cannot be packed."""
    debug = made_by("", "debug", "a1", annotations={"note": "\U0001f600 \ud800", "number": 10**30})
    strange = made_by("", "strange", "a1") | {"status": {"time": date(2026, 1, 31)}}
    found, kept = inventory(debug, strange).workloads()

    assert isinstance(found.stored, Packed)
    assert debug == found.raw == found.newest.raw
    assert strange is kept.stored is kept.newest.raw


def test_what_pods_make_is_theirs():
    """As Spark's driver makes executors."""
    executor = made_by("Pod/driver", "executor", "b1", api_version="v1")

    assert {"Pod/driver": ({"a1": 1, "b1": 1}, 0, 0)} == of(made_by("", "driver", "a1"), executor)


def test_pods_of_an_owner_that_is_not_known_are_together():
    owned = [made_by("Cluster/db", f"db-{i}", on, api_version="postgresql.cnpg.io/v1") for i, on in enumerate("ab")]
    (found,) = inventory(*owned).workloads()

    assert ("Cluster shop/db", None, False, "postgresql.cnpg.io/v1") == (
        str(found.ref),
        found.raw,
        found.is_pod,
        found.ref.api_version,
    )
    assert {"a": 1, "b": 1} == found.nodes


def test_custom_resources_that_the_policy_knows():
    made = workload("ReplicaSet", name="web-1")
    made["metadata"] |= {**owned_by("Rollout/web")}
    made["metadata"]["ownerReferences"][0]["apiVersion"] = "argoproj.io/v1alpha1"
    objects = [ROLLOUT, made, made_by("ReplicaSet/web-1", "web-1-a", "a1")]

    assert {"Rollout/web": ({"a1": 1}, 0, 0)} == of(*objects)
    assert {"ReplicaSet/web-1": ({"a1": 1}, 0, 0)} == of(*objects[1:]), "the Rollout may not be listed"
    assert {} == of(made | {"spec": {**made["spec"], "replicas": 0}}), "an old revision"


def test_kinds_of_one_name_in_different_groups_are_told_apart():
    kruise = workload("StatefulSet") | {"apiVersion": "apps.kruise.io/v1beta1"}
    of_kruise = made_by("StatefulSet/web", "web-0", "a1", api_version="apps.kruise.io/v1alpha1")
    found = {
        one.ref.api_version: one.running for one in inventory(workload("StatefulSet"), kruise, of_kruise).workloads()
    }

    assert {"apps/v1": 0, "apps.kruise.io/v1beta1": 1} == found


def test_workloads_of_one_name_are_in_the_order_of_their_groups():
    versions = [f"{letter}.example.com/v1" for letter in "fbdaec"]
    owned = [made_by("Cluster/db", f"db-{i}", "a1", api_version=one) for i, one in enumerate(versions)]

    assert sorted(versions) == [one.ref.api_version for one in inventory(*owned).workloads()]


@pytest.mark.parametrize(
    ("obj", "shown"),
    [
        (workload("Deployment", spec={"replicas": 0}), True),
        (workload("CronJob"), True),
        (workload("Job"), False),
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}, False),
        (pod(annotations={"kubernetes.io/config.mirror": "x"}), False),
    ],
    ids=["no replicas", "between two runs", "a Job that has finished", "what makes no Pods", "a static Pod"],
)
def test_what_has_no_pods(obj, shown):
    assert shown == bool(of(obj))


def test_static_pods_are_counted_apart():
    assert 1 == inventory(pod(annotations={"kubernetes.io/config.mirror": "x"})).static


def test_owners_in_a_circle_are_workloads_each():
    circle = [workload("Deployment", name=name, owner=f"Deployment/{of}") for name, of in ("ab", "bc", "ca")]

    assert ["Deployment/a", "Deployment/b", "Deployment/c"] == [*of(*circle)]


def test_the_newest_pod_is_kept():
    old, new = (
        made_by("StatefulSet/web", f"web-{i}", "a1", creationTimestamp=f"2026-01-0{9 - i}T00:00:00Z") for i in (1, 0)
    )
    (found,) = inventory(workload("StatefulSet"), old, new).workloads()

    assert "web-0" == found.newest.name


def test_the_newest_pod_may_be_of_any_replica_set():
    old, new = (pods("a1", hash_=f"{i}d", creationTimestamp=f"2026-01-0{i}T00:00:00Z") for i in (1, 2))
    sets = (*deployment(hash_="1d"), deployment(hash_="2d")[1])

    assert ["web-2d-0"] * 2 == [
        inventory(*sets, *made).workloads()[0].newest.name for made in ((*old, *new), (*new, *old))
    ]


def test_who_makes_pods_with_which_labels():
    found = inventory(*deployment(), *pods("a1", "b1"), made_by("", "debug", "a1"))
    makers = {dict(labels).get("pod-template-hash"): named(keys) for labels, keys in found.makers("shop").items()}

    assert {"5d": {"Deployment/web": 2}, None: {"Pod/debug": 1}} == makers
    assert {} == found.makers("other")
    assert ["Deployment/web", "Pod/debug"] == [f"{key_of(one).kind}/{key_of(one).name}" for one in found.workloads()]


def test_pods_of_workloads_of_one_name_are_added_up():
    two, one = (
        [made_by("Cluster/db", f"{group}-{i}", "a1", api_version=f"{group}.example.com/v1") for i in range(number)]
        for group, number in (("a", 2), ("b", 1))
    )
    (keys,) = inventory(*two, *one).makers("shop").values()

    assert {"Cluster/db": 3} == named(keys)


def test_a_policy_names_further_kinds():
    described = {"apiVersion": "example.com/v1", "kind": "Web", "resource": "webs", "podTemplate": "spec.template"}
    kinds = policy(workloads=[described]).kinds
    web = workload("Web") | {"apiVersion": "example.com/v1"}

    assert {} == of(web)
    assert {"Web/web": ({}, 0, 0)} == of(web, kinds=kinds)
