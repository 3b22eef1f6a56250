"""Claims, volumes, classes and what drivers report, as raw JSON."""

from __future__ import annotations

import pytest

from evenkeel.scheduler.snapshot import from_objects
from evenkeel.scheduler.storage import Claim, ClaimRef, CSIDriver, CSINode, NodeDriver
from evenkeel.scheduler.storage_objects import names_class, read_claim
from tests.support.claims import capacity, claim, csi_driver, csi_node, storage_class, volume
from tests.support.placing import ZONE
from webhook.kubernetes.features import LATEST
from webhook.kubernetes.reader import Reader
from webhook.spread.affinity import NodeTerm
from webhook.spread.cluster_view import SnapshotError
from webhook.spread.selectors import IN, Requirement

GIB = 10**9 << 30


def storage(*objects):
    return from_objects(objects, LATEST).storage


def test_a_claim():
    owner = {"uid": "p1", "controller": True, "apiVersion": "v1", "kind": "Pod", "name": "web"}
    raw = claim("data", "pv-1", volumeMode="Block", volumeAttributesClassName="gold")
    raw["metadata"] |= {"uid": "u1", "ownerReferences": [owner]}

    assert Claim(
        "shop",
        "data",
        "u1",
        "fast",
        "pv-1",
        bound=True,
        access_modes=("ReadWriteOnce",),
        requested=GIB,
        mode="Block",
        attributes_class="gold",
        controller="p1",
    ) == read_claim(Reader(), raw)


@pytest.mark.parametrize(
    ("raw", "of_class", "named"),
    [
        (claim("d", of_class=None), "", False),
        (claim("d", of_class=""), "", True),
        (claim("d", of_class=None, annotations={"volume.beta.kubernetes.io/storage-class": "old"}), "old", True),
        (claim("d", annotations={"volume.beta.kubernetes.io/storage-class": "old"}), "old", True),
    ],
)
def test_the_class_of_a_claim(raw, of_class, named):
    assert (of_class, named) == (read_claim(Reader(), raw).class_name, names_class(raw))


def test_a_claim_is_bound_once_that_is_complete():
    half, lost = claim("d", "pv-1", bound=False), claim("d", "pv-1", phase="Lost")
    chosen = claim("d", annotations={"volume.kubernetes.io/selected-node": "n1"})

    assert (False, True) == (read_claim(Reader(), half).bound, read_claim(Reader(), lost).lost)
    assert ("n1", None) == (read_claim(Reader(), chosen).selected_node, read_claim(Reader(), half).selected_node)


def test_a_volume():
    csi = {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"}
    found = storage(volume("pv-1", "a", of="data", labels={"x": "y"}, csi=csi)).volumes["pv-1"]

    assert ("fast", GIB, ClaimRef("shop", "data"), False) == (
        found.class_name,
        found.capacity,
        found.claim,
        found.available,
    )
    assert (NodeTerm((Requirement(ZONE, IN, ("a",)),), ()),) == found.terms
    assert ("ebs.csi.aws.com", "vol-1", None) == (found.driver, found.handle, found.in_tree)


def test_a_volume_that_names_the_disk_of_a_cloud_is_translated():
    found = storage(volume("pv-1", "a", awsElasticBlockStore={"volumeID": "aws://a/vol-1"})).volumes["pv-1"]
    of_csi = storage(volume("pv-2")).volumes["pv-2"]

    assert ("ebs.csi.aws.com", "vol-1") == (found.translated().driver, found.translated().handle)
    assert "topology.ebs.csi.aws.com/zone" == found.translated().terms[0].expressions[0].key
    assert of_csi is of_csi.translated()


def test_a_class_allows_what_its_terms_name():
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}, {"matchLabelExpressions": []}, {}]
    classes = storage(storage_class(allowedTopologies=allowed), storage_class("any"), storage_class("x", "")).classes

    assert (NodeTerm((Requirement(ZONE, IN, ("a",)),), ()),) == classes["fast"].allowed
    assert (None, True, False) == (classes["any"].allowed, classes["any"].makes_volumes, classes["x"].makes_volumes)


def test_what_drivers_report():
    migrated = csi_node("n1", 5)
    migrated["metadata"]["annotations"] = {"storage.alpha.kubernetes.io/migrated-plugins": "a,b"}
    has = storage(migrated, csi_driver("d", storageCapacity=True, preventPodSchedulingIfMissing=True))
    (free,) = storage(capacity("c", "5Gi", "a", maximumVolumeSize="1Gi")).capacities

    assert CSINode((NodeDriver("ebs.csi.aws.com", 5, (ZONE,)),), frozenset("ab")) == has.csi_nodes["n1"]
    assert CSIDriver(True, True) == has.csi_drivers["d"]
    assert ("kube-system/c", 5 * GIB, GIB) == (free.name, free.capacity, free.limit)


def test_attachments_of_persistent_volumes():
    def attached(**source):
        spec = {"attacher": "d", "nodeName": "n1", "source": source}
        return {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": "a"}, "spec": spec}

    has = storage(attached(persistentVolumeName="pv-1"), attached(inlineVolumeSpec={}))

    assert {"n1": {("d", "pv-1")}} == has.attachments


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (claim("d", size="much"), 'PersistentVolumeClaim shop/d: spec.resources.requests.storage: found "much"'),
        (volume("p", size="much"), 'PersistentVolume p: spec.capacity.storage: found "much"'),
        (volume("p", nodeAffinity=5), "PersistentVolume p: spec.nodeAffinity: found 5, must be an object"),
        (storage_class(allowedTopologies=5), "StorageClass fast: allowedTopologies: found 5, must be an array"),
    ],
)
def test_a_field_of_a_wrong_type_is_named(raw, why):
    with pytest.raises(SnapshotError) as raised:
        storage(raw)

    assert str(raised.value).startswith(why)


def test_equal_nodes_are_one_in_memory():
    nodes = storage(csi_node("n1", 5), csi_node("n2", 5)).csi_nodes

    assert nodes["n1"] is nodes["n2"]
