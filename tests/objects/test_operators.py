"""The kinds of operators, as a policy names them, and beside those that it describes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from webhook.objects.kinds import KINDS, Kind, Kinds, find_kinds
from webhook.objects.operators import kinds_named, names, places, with_operators
from webhook.objects.workload import parse_workloads

KAFKA = "kafka.strimzi.io/v1beta2"
NODE_PATH = ("spec", "kafka", "template", "pod", "topologySpreadConstraints")


def test_a_name_stands_for_each_place_in_each_version():
    found = list(kinds_named("strimzi-kafka"))

    assert {"kafka.strimzi.io/v1beta2", "kafka.strimzi.io/v1"} == {kind.api_version for kind in found}
    assert NODE_PATH in {kind.constraints for kind in found}
    assert {(True, False, "kafkas")} == {(kind.from_policy, kind.built_in, kind.resource) for kind in found}
    assert [] == list(kinds_named("strimzi"))


def test_the_names_are_in_their_order_and_each_has_a_place():
    assert sorted(names()) == list(names())
    assert set(names()) == {place.name for place in places()}


def test_a_place_is_a_pod_template_or_a_list_of_constraints():
    (template,) = {kind.template for kind in kinds_named("elastic-elasticsearch")}

    assert ("spec", "nodeSets", "*", "podTemplate") == template
    assert {None} == {kind.template for kind in kinds_named("strimzi-kafka")}


def test_the_kinds_that_are_there_stay_first():
    found = with_operators(KINDS)

    assert tuple(KINDS) == found[: len(KINDS)]
    assert len(found) == len(KINDS) + sum(len(place.versions) for place in places())
    assert found == with_operators(found)


@pytest.mark.parametrize("from_policy", [True, False])
def test_a_place_that_is_described_already_stays_as_described_and_the_others_are_added(from_policy):
    own = Kind(KAFKA, "Kafka", "kafkas", template=None, constraints=NODE_PATH, built_in=False, from_policy=from_policy)
    own = replace(own, labels=("spec", "labels"))
    found = find_kinds({"apiVersion": KAFKA, "kind": "Kafka"}, with_operators(Kinds([*KINDS, own])))

    assert [own] == [kind for kind in found if kind.constraints == NODE_PATH]
    assert len([place for place in places() if place.name == "strimzi-kafka"]) == len(found)


def test_the_pods_of_an_operator_have_labels_that_are_not_known():
    (raycluster, *_) = kinds_named("ray-raycluster")
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {}}
    spec = {"headGroupSpec": {"template": template}}
    obj = {"apiVersion": raycluster.api_version, "kind": "RayCluster", "spec": spec}
    (found,) = parse_workloads(obj, with_operators(KINDS))

    assert ({"app": "web"}, False) == (found.labels, found.labels_known)


def test_an_object_whose_keys_are_names_has_a_place_for_each():
    placement = {"mon": {"topologySpreadConstraints": [{}]}, "osd": {}, "mgr": []}
    obj = {"apiVersion": "ceph.rook.io/v1", "kind": "CephCluster", "spec": {"placement": placement}}
    found = parse_workloads(obj, with_operators(KINDS))

    assert [("spec", "placement", name, "topologySpreadConstraints") for name in placement] == [
        one.path for one in found
    ]
    assert [[{}], None, None] == [one.raw_constraints for one in found]


@pytest.mark.parametrize("placement", [None, [], "mon", {}, [{"topologySpreadConstraints": []}]])
def test_what_is_no_object_has_no_place(placement):
    obj = {"apiVersion": "ceph.rook.io/v1", "kind": "CephCluster", "spec": {"placement": placement}}

    assert () == parse_workloads(obj, with_operators(KINDS))
