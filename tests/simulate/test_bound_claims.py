"""The claims of simulated Pods."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.objects.quantities import size_text
from evenkeel.objects.workload_object import read_workload_object
from evenkeel.scheduler.attached_volumes import Attacher
from evenkeel.scheduler.framework import Framework
from evenkeel.scheduler.profile import VOLUME_BINDING
from evenkeel.simulate.bound_claims import (
    bound_on,
    read_volume_templates,
    unknown_topologies,
    with_made,
    without_claims,
)
from tests.support.claims import capacity, claim, csi_driver, csi_node, storage_class, two_zones, using, volume
from tests.support.placing import HOSTNAME, ZONE, attempted

TEMPLATE = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast"}}
SHARED = using("shared")["volumes"]


OF_CLASS = {"spec": {"accessModes": ["ReadWriteOnce"]}}  # It names none.
EPHEMERAL = {"volumes": [{"name": "d", "ephemeral": {"volumeClaimTemplate": OF_CLASS}}]}
SET = {
    **{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "namespace": "shop"}},
    "spec": {"volumeClaimTemplates": [TEMPLATE]},
}


def templates(spec, *objects, owner=None):
    storage = attempted(*two_zones(), *objects).storage
    return read_volume_templates("shop", spec, storage, read_workload_object(owner) if owner else None)


def test_the_pods_of_a_stateful_set_have_claims_of_their_own_and_those_that_all_have():
    """A volume with the name of a template gives way to it."""
    mounts, claims = templates({"volumes": [*using("data")["volumes"], *SHARED]}, owner=SET).of_pod(3, 9)

    assert ["data-db-3", "shared"] == [each.claim for each in mounts.claims]
    assert [("shop", "data-db-3", "fast", True)] == [
        (each.namespace, each.name, each.class_name, each.expected) for each in claims
    ]


def test_a_volume_whose_name_is_no_text_is_passed_over():
    assert () == templates({"volumes": [{"name": {}, "emptyDir": {}}]}, owner=SET).volumes


def test_each_pod_has_ephemeral_volumes_of_its_own():
    volumes = templates(EPHEMERAL, storage_class(default=True))
    (first, (claim_of_first,)), (second, _) = (volumes.of_pod(-1, serial) for serial in (1, 2))

    assert first.claims[0].claim != second.claims[0].claim
    assert (first.claims[0].claim, "fast", first.uid) == (
        claim_of_first.name,
        claim_of_first.class_name,
        claim_of_first.controller,
    )


def bound(on, *objects, names=("data",)):
    """What there is of volumes once a Pod with these claims is on a node."""
    cycle = attempted(*two_zones(), storage_class(), *objects, **using(*names))
    plugin = Framework(cycle).plugin(VOLUME_BINDING)
    (chosen,) = plugin.bindings(cycle.snapshot.nodes.named_one(on))
    return bound_on(cycle.storage, chosen, cycle.snapshot.nodes.get(on))


def terms(found):
    return [(each.key, each.values) for term in found.terms or () for each in term.expressions]


def test_a_claim_that_waits_gets_a_volume_in_the_zone_of_its_pod():
    storage = bound("b1", claim("data"))
    made = storage.claims["shop", "data"]

    assert made.bound and [(ZONE, ("b",))] == terms(storage.volumes[made.volume_name])


@pytest.mark.parametrize(("keys", "there"), [((HOSTNAME,), [(HOSTNAME, ("b1",))]), ((), [])])
def test_where_a_volume_can_be_used_is_as_its_driver_says(keys, there):
    storage = bound("b1", claim("data"), csi_node("b1", keys=keys))

    assert there == terms(storage.volumes[storage.claims["shop", "data"].volume_name])


def test_a_new_volume_of_a_cloud_is_one_of_the_driver_that_makes_it_now():
    storage = bound("b1", claim("data", of_class="gp2"), storage_class("gp2", "kubernetes.io/aws-ebs"))
    made = storage.volumes[storage.claims["shop", "data"].volume_name]

    assert ("ebs.csi.aws.com", [(ZONE, ("b",))]) == (made.driver, terms(made))


def test_a_new_volume_takes_free_storage():
    reported = csi_driver(storageCapacity=True), capacity("a", "9Gi", "a", maximumVolumeSize="8Gi")
    storage = bound("a1", claim("data", size="3Gi"), *reported, capacity("b", "9Gi", "b"))

    assert [("6Gi", "6Gi"), ("9Gi", None)] == [
        (size_text(each.capacity), each.largest and size_text(each.largest)) for each in storage.capacities
    ]


def test_all_new_volumes_of_a_pod_take_free_storage():
    reported = csi_driver(storageCapacity=True), capacity("a", "9Gi", "a")
    claims = claim("data", size="3Gi"), claim("logs", size="2Gi")
    storage = bound("a1", *claims, *reported, names=("data", "logs"))

    assert ["4Gi"] == [size_text(each.capacity) for each in storage.capacities]


def test_a_free_volume_is_bound_and_no_longer_free():
    storage = bound("a1", claim("data"), volume("pv-1", "a"))
    (taken,) = storage.volumes.values()

    assert ("pv-1", False, "data") == (taken.name, taken.available, taken.claim.name)
    assert ("pv-1", True) == (storage.claims["shop", "data"].volume_name, storage.claims["shop", "data"].bound)


def test_a_pod_without_claims_that_wait_changes_nothing():
    cycle = attempted(*two_zones())

    assert cycle.storage is bound_on(cycle.storage, None, cycle.snapshot.nodes.get("a1"))
    assert cycle.storage is with_made(cycle.storage, ())


def test_claims_go_with_their_volumes():
    storage = attempted(*two_zones(), claim("data", "pv-1"), volume("pv-1", of="data"), claim("logs")).storage
    left = without_claims(storage, [storage.claims["shop", "data"]])

    assert ([("shop", "logs")], []) == (list(left.claims), list(left.volumes))


def test_a_provisioner_that_no_csi_node_knows_is_named():
    local = storage_class("local", "rancher.io/local-path")
    wanted = [claim("data", of_class="local"), claim("known"), claim("bound", "pv-1")]
    cycle = attempted(*two_zones(), local, storage_class(), *wanted, **using("data", "known", "bound", "gone"))

    wanted_of_cloud = claim("cloud", of_class="gp2"), storage_class("gp2", "kubernetes.io/aws-ebs")
    of_cloud = attempted(*two_zones(), *wanted_of_cloud, **using("cloud"))

    assert [] == list(unknown_topologies(of_cloud.storage, of_cloud.mounts))
    assert ["rancher.io/local-path"] == list(unknown_topologies(cycle.storage, cycle.mounts))


def test_the_claim_of_an_ephemeral_volume_is_still_its_pods_once_it_is_bound():
    cycle = attempted(*two_zones(), storage_class(default=True))
    mounts, claims = templates(EPHEMERAL, storage_class(default=True)).of_pod(-1, 1)
    storage = with_made(cycle.storage, claims)
    cycle = replace(cycle, pod=replace(cycle.pod, mounts=mounts), snapshot=replace(cycle.snapshot, storage=storage))
    (chosen,) = Framework(cycle).plugin(VOLUME_BINDING).bindings(1)
    after = bound_on(storage, chosen, cycle.snapshot.nodes.get("a1"))

    assert after.claim("shop", mounts.claims[0].claim).bound
    assert 1 == len(list(Attacher(after, cycle.features).attached(mounts, None)))
