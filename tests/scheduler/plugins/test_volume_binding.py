"""VolumeBinding."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.scheduler.framework import Framework, find_feasible, message
from evenkeel.scheduler.incoming import read_incoming_pod
from evenkeel.scheduler.plugins.volume_binding import (
    NO_VOLUME,
    NOT_ENOUGH_SPACE,
    OUT_OF_REACH,
    UNBOUND,
    VOLUME_MISSING,
)
from evenkeel.scheduler.profile import VOLUME_BINDING
from tests.support.build import pod
from tests.support.claims import capacity, claim, csi_driver, csi_node, storage_class, using, volume
from tests.support.placing import HOSTNAME, ZONE, attempted, node
from webhook.kubernetes.reader import Reader

NODES = [node("a1", "a"), node("b1", "b")]
LOCAL = storage_class("local", "kubernetes.io/no-provisioner")
TRACKED = csi_driver(storageCapacity=True)


def tried(*objects, names=("data",), **fields):
    return attempted(*NODES, *objects, **using(*names), **fields)


def reasons(cycle):
    nodes = cycle.snapshot.nodes
    return {name: each.reasons for each in find_feasible(cycle).refusals for name in nodes.names(each.nodes)}


def local(name, size="1Gi", **fields):
    return claim(name, of_class="local", size=size, **fields)


def free(name, zone="a", size="1Gi", **fields):
    return volume(name, zone, of_class="local", size=size, **fields)


@pytest.mark.parametrize(
    ("objects", "said"),
    [
        ([claim("data", phase="Lost")], 'persistentvolumeclaim "data" bound to non-existent persistentvolume ""'),
        ([claim("data", of_class=None)], UNBOUND),
        ([claim("data", of_class="gone")], UNBOUND),
        ([claim("data", "pv-1", bound=False), storage_class()], UNBOUND),
        ([claim("data"), storage_class(mode="Immediate")], UNBOUND),
    ],
)
def test_claims_that_reject_a_pod(objects, said):
    cycle = tried(*objects)

    assert f"0/2 nodes are available: {said}." == message(cycle, find_feasible(cycle))


def test_one_claim_of_several_that_is_to_be_bound_before_rejects_a_pod():
    there = [claim("data"), storage_class(), claim("now", of_class="now"), storage_class("now", mode="Immediate")]

    assert UNBOUND == find_feasible(tried(*there, names=("data", "now"))).rejected


@pytest.mark.parametrize("going", [claim("data"), claim("data", "pv-1")])
def test_a_claim_that_is_being_deleted_rejects_a_pod(going):
    there = {**going, "metadata": {**going["metadata"], "deletionTimestamp": "t"}}

    assert 'persistentvolumeclaim "data" is being deleted' == find_feasible(tried(there, volume("pv-1"))).rejected


def own(*objects, uid="u1"):
    volumes = [{"name": "d", "ephemeral": {"volumeClaimTemplate": {}}}]
    cycle = attempted(*NODES, storage_class(), *objects)
    raw = pod(uid=uid, spec={"volumes": volumes})
    return replace(cycle, pod=read_incoming_pod(Reader(), raw, cycle.features))


def test_an_ephemeral_volume_waits_for_its_claim():
    waiting = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "web-1-d"'

    assert waiting == find_feasible(own()).rejected


@pytest.mark.parametrize(("uid", "rejected"), [("u1", False), ("u2", True)])
def test_and_must_own_it(uid, rejected):
    made = claim("web-1-d")
    made["metadata"]["ownerReferences"] = [{"uid": uid, "controller": True}]
    wrong = "PVC shop/web-1-d was not created for pod shop/web-1 (pod is not owner)"

    assert (wrong if rejected else "") == find_feasible(own(made)).rejected


def test_a_class_without_a_mode_is_an_error():
    cycle = tried(claim("data"), storage_class(mode=None))
    said = 'running PreFilter plugin "VolumeBinding": VolumeBindingMode not set for StorageClass "fast"'

    assert (said, 0) == (message(cycle, find_feasible(cycle)), Framework(cycle).feasible())


def test_a_node_reaches_the_volumes_of_bound_claims():
    bound = [
        claim("data", "pv-1"),
        volume("pv-1", "a", of="data"),
        claim("logs", "pv-2"),
        volume("pv-2", "b", of="logs"),
    ]

    assert {"b1": (OUT_OF_REACH,)} == reasons(tried(*bound))
    assert dict.fromkeys(("a1", "b1"), (OUT_OF_REACH,)) == reasons(tried(*bound, names=("data", "logs")))


def test_a_term_on_the_name_of_a_node_holds_for_every_node():
    named = {
        "required": {
            "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["x"]}]}]
        }
    }

    assert {} == reasons(tried(claim("data", "pv-1"), volume("pv-1", of="data", nodeAffinity=named)))


def test_a_volume_of_an_ephemeral_claim_that_is_not_there():
    made = claim("web-1-d", "pv-1")
    made["metadata"]["ownerReferences"] = [{"uid": "u1", "controller": True}]

    assert {"a1": (VOLUME_MISSING,), "b1": (VOLUME_MISSING,)} == reasons(own(made))


def test_the_smallest_free_volume_that_fits():
    there = [free("big", size="9Gi"), free("fit", size="2Gi"), free("small"), free("other", "b", size="2Gi")]
    cycle = tried(LOCAL, local("data", "2Gi"), *there)
    bindings = Framework(cycle).plugin(VOLUME_BINDING).bindings(cycle.snapshot.nodes.all)

    assert {} == reasons(cycle)
    assert {("fit",), ("other",)} == {tuple(taken.name for _, taken in each.free) for each in bindings}


@pytest.mark.parametrize(
    "fields",
    [
        {"size": "1Mi"},
        {"accessModes": ["ReadOnlyMany"]},
        {"volumeMode": "Block"},
        {"volumeAttributesClassName": "gold"},
        {"of": "other"},
        {"of_class": "else"},
    ],
)
def test_a_volume_that_does_not_fit(fields):
    there = volume("pv-1", "a", **{"of_class": "local", **fields})

    assert {"a1": (NO_VOLUME,), "b1": (NO_VOLUME,)} == reasons(tried(LOCAL, local("data"), there))


def test_a_volume_that_is_being_deleted_or_was_released():
    going, released = free("pv-1"), free("pv-2")
    there = [
        {**going, "metadata": {**going["metadata"], "deletionTimestamp": "t"}},
        {**released, "status": {"phase": "Released"}},
    ]

    assert {"a1": (NO_VOLUME,), "b1": (NO_VOLUME,)} == reasons(tried(LOCAL, local("data"), *there))


def test_the_labels_that_a_claim_selects():
    wanted = local("data", selector={"matchLabels": {"disk": "ssd"}})

    assert {"a1", "b1"} == reasons(tried(LOCAL, wanted, free("pv-1"))).keys()
    assert {"b1"} == reasons(tried(LOCAL, wanted, free("pv-1", labels={"disk": "ssd"}))).keys()


def test_a_volume_that_is_kept_for_the_claim_is_the_only_one():
    there = [free("kept", "b", size="9Gi", of="data"), free("smaller", "a")]

    assert {"a1": (NO_VOLUME,)} == reasons(tried(LOCAL, local("data"), *there))


def test_two_claims_do_not_get_the_same_volume():
    wanted = (local("data"), local("logs"))

    assert {"a1", "b1"} == reasons(tried(LOCAL, *wanted, free("pv-1"), names=("data", "logs"))).keys()
    assert {"b1"} == reasons(tried(LOCAL, *wanted, free("pv-1"), free("pv-2"), names=("data", "logs"))).keys()


def test_the_smaller_claim_chooses_first():
    there = [LOCAL, local("data", "2Gi"), local("logs"), free("fit", size="2Gi"), free("big", size="3Gi")]
    for names in (("data", "logs"), ("logs", "data")):
        cycle = tried(*there, names=names)
        (binding,) = Framework(cycle).plugin(VOLUME_BINDING).bindings(cycle.snapshot.nodes.all)

        assert {"logs": "fit", "data": "big"} == {claim.name: taken.name for claim, taken in binding.free}


def test_a_volume_by_the_name_of_a_host():
    there = volume("pv-1", "b1", key=HOSTNAME, of_class="local")

    assert {"a1": (NO_VOLUME,)} == reasons(tried(LOCAL, local("data"), there))


def test_a_class_makes_volumes_where_it_allows_them():
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}]

    assert {} == reasons(tried(storage_class(), claim("data")))
    assert {"a1": (NO_VOLUME,)} == reasons(tried(storage_class(allowedTopologies=allowed), claim("data")))


def test_a_claim_whose_volume_is_being_made_for_a_node():
    chosen = claim("data", annotations={"volume.kubernetes.io/selected-node": "b1"})

    other = claim("logs", annotations={"volume.kubernetes.io/selected-node": "a1"})

    assert {"a1": (NO_VOLUME,)} == reasons(tried(storage_class(), chosen))
    assert {"a1", "b1"} == reasons(tried(storage_class(), chosen, other, names=("data", "logs"))).keys()


@pytest.mark.parametrize(
    ("reported", "refused"),
    [
        ([capacity("a", "5Gi", "a"), capacity("b", "1Gi", "b")], {"b1"}),
        ([capacity("a", "5Gi", "a", maximumVolumeSize="1Gi")], {"a1", "b1"}),
        ([capacity("a", "5Gi", "a", of_class="else")], {"a1", "b1"}),
        ([capacity("a", "5Gi", "a", nodeTopology=None)], {"a1", "b1"}),
        ([capacity("a", "5Gi", "a", nodeTopology={})], set()),
    ],
)
def test_free_storage_where_a_driver_reports_it(reported, refused):
    found = reasons(tried(storage_class(), TRACKED, claim("data", size="2Gi"), *reported))

    assert dict.fromkeys(refused, (NOT_ENOUGH_SPACE,)) == found
    assert {} == reasons(tried(storage_class(), csi_driver(), claim("data", size="2Gi"), *reported))


def test_a_node_is_refused_for_all_reasons():
    there = [claim("data", "pv-1"), volume("pv-1", "a", of="data"), LOCAL, local("logs")]

    for names in (("data", "logs"), ("logs", "data")):
        assert {"a1": (NO_VOLUME,), "b1": (OUT_OF_REACH, NO_VOLUME)} == reasons(tried(*there, names=names))


def test_up_to_1_33_a_claim_with_attributes_is_an_error():
    cycle = tried(storage_class(), claim("data", volumeAttributesClassName="gold"), minor=33)

    assert "volumeAttributesClassName is set on claim shop/data when" in message(cycle, find_feasible(cycle))


def test_the_disk_of_a_cloud_is_where_its_driver_says_once_the_node_is_migrated():
    migrated = csi_node("a1")
    migrated["metadata"]["annotations"] = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}
    there = volume("pv-1", "a", of="data", awsElasticBlockStore={"volumeID": "vol-1"})

    assert {"b1"} == reasons(tried(claim("data", "pv-1"), there)).keys()
    assert {"a1", "b1"} == reasons(tried(claim("data", "pv-1"), there, migrated)).keys()  # It lacks the driver's label.


def test_a_disk_that_cannot_be_translated_is_an_error_where_it_is_to_be():
    migrated = csi_node("a1")
    migrated["metadata"]["annotations"] = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}
    there = volume("pv-1", of="data", awsElasticBlockStore={"volumeID": "aws://z/odd"})
    cycle = tried(claim("data", "pv-1"), there, migrated)

    assert "could not translate pv" in message(cycle, find_feasible(cycle))
    assert {} == reasons(tried(claim("data", "pv-1"), there))


def scores(*objects, names=("data",), minor=37, shape=None):
    cycle = tried(*objects, names=names, minor=minor)
    if shape is not None:
        cycle = replace(cycle, profile=replace(cycle.profile, free_storage=shape))
    parts = Framework(cycle).plugin(VOLUME_BINDING).scores(cycle.snapshot.nodes.all)
    return (
        None if parts is None else {name: score for nodes, score in parts for name in cycle.snapshot.nodes.names(nodes)}
    )


REPORTED = [storage_class(), TRACKED, claim("data", size="2Gi"), capacity("a", "8Gi", "a"), capacity("b", "4Gi", "b")]


def test_since_1_37_nodes_are_scored_by_the_storage_that_stays_free():
    assert {"a1": 75, "b1": 50} == scores(*REPORTED)
    assert {"a1": 25, "b1": 50} == scores(*REPORTED, shape=((0, 0), (100, 100)))
    assert None is scores(*REPORTED, minor=36)


def test_or_by_the_free_volumes_that_they_have():
    there = [LOCAL, local("data"), free("pv-1", "a", size="4Gi"), free("pv-2", "b", size="2Gi")]

    assert {"a1": 75, "b1": 50} == scores(*there)


def test_a_class_in_an_annotation_is_another_where_volumes_are_scored():
    """As kube-scheduler has it, although the claims find them by the annotation."""
    annotated = free("pv-1", "a", size="4Gi")
    there = [LOCAL, local("data", size="1Gi"), local("logs", size="3Gi"), free("pv-2", "a", size="8Gi"), annotated]
    assert 67 == scores(*there, names=("data", "logs"))["a1"]  # 4 of 12
    annotated["metadata"]["annotations"] = {"volume.beta.kubernetes.io/storage-class": "local"}
    del annotated["spec"]["storageClassName"]

    assert 69 == scores(*there, names=("data", "logs"))["a1"]  # 1 of 4, and 3 of 8


def test_two_claims_of_a_class_are_added_up():
    assert {"a1": 50, "b1": 0} == scores(*REPORTED, claim("logs", size="2Gi"), names=("data", "logs"))


def test_a_pod_without_claims_that_wait_is_not_scored():
    assert None is scores(claim("data", "pv-1"), volume("pv-1", of="data"))
    assert {"a1": 0, "b1": 0} == scores(storage_class(), claim("data"))  # Its driver reports nothing.


def test_two_claims_of_a_pod_get_volumes_of_their_own_on_each_of_many_nodes():
    names = [f"n{i}" for i in range(150)]
    there = [volume(f"{name}-{i}", name, key=HOSTNAME, of_class="local") for name in names for i in range(2)]
    cycle = attempted(
        *(node(name) for name in names), LOCAL, *there, local("data"), local("logs"), **using("data", "logs")
    )
    bindings = Framework(cycle).plugin(VOLUME_BINDING).bindings(cycle.snapshot.nodes.all)
    got = {
        name: [volume.name for _, volume in binding.free]
        for binding in bindings
        for name in cycle.snapshot.nodes.names(binding.nodes)
    }

    assert {name: [f"{name}-0", f"{name}-1"] for name in names} == got


def test_a_claim_that_is_in_a_pod_twice_gets_the_volume_that_is_kept_for_it_once():
    volumes = using("data")["volumes"]
    twice = {"volumes": [*volumes, {**volumes[0], "name": "again"}]}
    there = [free("kept", of="data"), free("free")]

    assert {"b1": (NO_VOLUME,)} == reasons(attempted(*NODES, LOCAL, local("data"), *there, **twice))
    assert {"a1", "b1"} == set(reasons(attempted(*NODES, LOCAL, local("data"), *there[:1], **twice)))
