"""The claims of simulated Pods."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.claims import claim, csi_node, storage_class, two_zones, using, volume
from tests.support.placing import HOSTNAME, ZONE, attempted
from webhook.scheduler.attached_volumes import Attacher
from webhook.scheduler.framework import Framework
from webhook.scheduler.profile import VOLUME_BINDING
from webhook.simulation.claims import (
    Volumes,
    bound_on,
    own_volumes,
    unknown_topologies,
    with_made,
    without_claims,
)

TEMPLATE = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast"}}
SHARED = using("shared")["volumes"]


def test_the_pods_of_a_stateful_set_have_claims_of_their_own_and_those_that_all_have():
    volumes = Volumes("shop", {"volumes": SHARED}, (TEMPLATE,), "db")
    mounts, claims = volumes.of_pod(3, 9)

    assert ["data-db-3", "shared"] == [each.claim for each in mounts.claims]
    assert ["data-db-3"] == [each["metadata"]["name"] for each in claims]


def test_each_pod_has_ephemeral_volumes_of_its_own():
    volumes = Volumes("shop", {"volumes": [{"name": "d", "ephemeral": {"volumeClaimTemplate": TEMPLATE}}]})
    names = [volumes.of_pod(-1, serial)[0].claims[0].claim for serial in (1, 2)]

    assert names[0] != names[1]


def test_the_volumes_of_templates_are_not_those_that_all_pods_have():
    of_pod = {"volumes": [*using("data")["volumes"], *SHARED], "containers": []}

    assert {"volumes": SHARED} == own_volumes(of_pod, (TEMPLATE,))


def bound(on, *objects, name="data"):
    """What there is of volumes once a Pod with a claim is on a node."""
    cycle = attempted(*two_zones(), storage_class(), *objects, **using(name))
    plugin = Framework(cycle).plugin(VOLUME_BINDING)
    (chosen,) = plugin.bindings(cycle.snapshot.nodes.named_one(on))
    return bound_on(cycle.storage, cycle.mounts, chosen, cycle.snapshot.nodes.get(on))


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


def test_a_free_volume_is_bound_and_no_longer_free():
    storage = bound("a1", claim("data"), volume("pv-1", "a"))
    (taken,) = storage.volumes.values()

    assert ("pv-1", False, "data") == (taken.name, taken.available, taken.claim.name)
    assert ("pv-1", True) == (storage.claims["shop", "data"].volume_name, storage.claims["shop", "data"].bound)


def test_a_pod_without_claims_that_wait_changes_nothing():
    cycle = attempted(*two_zones())

    assert cycle.storage is bound_on(cycle.storage, cycle.mounts, None, cycle.snapshot.nodes.get("a1"))
    assert cycle.storage is with_made(cycle.storage, ())


def test_claims_go_with_their_volumes():
    cycle = attempted(*two_zones(), claim("data", "pv-1"), volume("pv-1", of="data"), claim("logs"), **using("data"))
    left = without_claims(cycle.storage, cycle.mounts)

    assert ([("shop", "logs")], []) == (list(left.claims), list(left.volumes))


def test_a_provisioner_that_no_csi_node_knows_is_named():
    local = storage_class("local", "rancher.io/local-path")
    wanted = [claim("data", of_class="local"), claim("known"), claim("bound", "pv-1")]
    cycle = attempted(*two_zones(), local, storage_class(), *wanted, **using("data", "known", "bound", "gone"))

    assert ["rancher.io/local-path"] == list(unknown_topologies(cycle.storage, cycle.mounts))


def test_the_claim_of_an_ephemeral_volume_is_still_its_pods_once_it_is_bound():
    volumes = Volumes("shop", {"volumes": [{"name": "d", "ephemeral": {"volumeClaimTemplate": TEMPLATE}}]})
    mounts, claims = volumes.of_pod(-1, 1)
    cycle = attempted(*two_zones(), storage_class())
    storage = with_made(cycle.storage, claims)
    cycle = replace(cycle, pod=replace(cycle.pod, mounts=mounts), snapshot=replace(cycle.snapshot, storage=storage))
    (chosen,) = Framework(cycle).plugin(VOLUME_BINDING).bindings(1)
    after = bound_on(storage, mounts, chosen, cycle.snapshot.nodes.get("a1"))

    assert after.claim("shop", mounts.claims[0].claim).bound
    assert 1 == len(list(Attacher(after, cycle.features).attached(mounts, None)))
