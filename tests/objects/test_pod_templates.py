"""Pods and ReplicaSets that controllers make of templates."""

from __future__ import annotations

import pytest

from evenkeel.objects.pod_templates import (
    DAEMON_TOLERATIONS,
    MADE_UP_LABEL,
    find_new_replica_set,
    new_replica_set,
    pod_from_template,
    replica_sets,
    template_of,
    with_new_template,
    with_revision,
)
from evenkeel.objects.workload_object import read_workload_object
from tests.support.build import workload
from webhook.kubernetes.labels import labels_in
from webhook.kubernetes.names import REVISION_ANNOTATION, REVISION_HASH, TEMPLATE_HASH
from webhook.kubernetes.references import ObjectRef
from webhook.kubernetes.workload import parse_workloads

OWNED = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True}


def replica_set(name, owner="web", image="a", revision="", hash_="1"):
    raw = workload(
        "ReplicaSet", name=name, labels={"app": "web", TEMPLATE_HASH: hash_}, ownerReferences=[OWNED | {"name": owner}]
    )
    raw["metadata"]["annotations"] = {REVISION_ANNOTATION: revision}
    raw["spec"]["template"]["spec"] = {"nodeSelector": {"disk": image}}
    return raw


def deployment(image="a", revision=""):
    raw = replica_set("web", revision=revision)
    raw["kind"], raw["spec"]["template"]["metadata"]["labels"] = "Deployment", {"app": "web"}
    raw["spec"]["template"]["spec"] = {"nodeSelector": {"disk": image}}
    return read_workload_object(raw)


def owned(*sets):
    others = {ObjectRef.of(raw).key: raw for raw in sets}
    return list(replica_sets(deployment().ref, others))


def test_only_what_names_the_deployment_as_its_controller_is_owned():
    assert ["web-1"] == [found.ref.name for found in owned(replica_set("web-1"), replica_set("x-1", owner="x"))]


@pytest.mark.parametrize(
    ("revision", "sets", "name"),
    [
        ("", [], None),
        ("", [replica_set("old", image="b")], None),
        ("1", [replica_set("r1", revision="1"), replica_set("r2", revision="2")], "r1"),
        ("", [replica_set("r1", revision="1"), replica_set("r2", revision="2")], "r2"),
    ],
    ids=["none", "another template", "the Deployment's revision", "the newest"],
)
def test_the_replica_set_with_the_template_as_it_is_now(revision, sets, name):
    made = deployment(revision=revision)
    found = find_new_replica_set(made, made.template, owned(*sets))

    assert name == (found and found.ref.name)


def test_the_replica_set_to_come_selects_what_it_makes():
    raw = new_replica_set(deployment(), "next")
    read = read_workload_object(raw)

    assert ("web-next", 0) == (read.ref.name, read.replicas)
    assert "next" == read.selector["matchLabels"][TEMPLATE_HASH] == labels_in(read.template)[TEMPLATE_HASH]


def pod_of(raw, owner=None):
    (made,) = parse_workloads(raw)
    return pod_from_template(template_of(raw, made), made, owner)


def test_a_pod_has_the_labels_that_its_owner_knows():
    raw = deployment().raw

    assert {"app": "web", TEMPLATE_HASH: MADE_UP_LABEL} == labels_in(pod_of(raw))
    made = pod_of(raw, read_workload_object(replica_set("web-1", hash_="77")))
    assert {"app": "web", TEMPLATE_HASH: "77"} == labels_in(made)
    assert "web-1" == made["metadata"]["ownerReferences"][0]["name"]


def test_a_pod_of_a_stateful_set_has_the_revision_of_its_status():
    raw = workload("StatefulSet", labels={"app": "db"}) | {"status": {"updateRevision": "db-2"}}

    assert "db-2" == labels_in(pod_of(raw, read_workload_object(raw)))[REVISION_HASH]
    changed = with_new_template(raw)
    assert MADE_UP_LABEL == labels_in(pod_of(changed, read_workload_object(changed)))[REVISION_HASH]
    assert "db-3" == labels_in(with_revision(pod_of(raw), "db-3"))[REVISION_HASH]


@pytest.mark.parametrize(("on_host", "number"), [(True, 7), (False, 6)])
def test_a_pod_of_a_daemon_set_tolerates_nodes_that_are_not_ready(on_host, number):
    raw = workload("DaemonSet", spec={"template": {"spec": {"hostNetwork": on_host, "tolerations": [{"key": "mine"}]}}})

    assert [{"key": "mine"}, *DAEMON_TOLERATIONS[:number]] == pod_of(raw)["spec"]["tolerations"]
