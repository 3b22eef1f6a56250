"""Disks of clouds as their CSI drivers see them."""

from __future__ import annotations

import pytest

from evenkeel.scheduler.in_tree_volumes import BY_PROVISIONER, IN_TREE, TranslationError, handle, translated_terms
from webhook.kubernetes.names import BETA_REGION, BETA_ZONE, REGION, ZONE
from webhook.spread.affinity import NodeTerm
from webhook.spread.selectors import IN, Requirement

AWS, GCE, AZURE, PORTWORX = "awsElasticBlockStore", "gcePersistentDisk", "azureDisk", "portworxVolume"
AWS_KEY = "topology.ebs.csi.aws.com/zone"


@pytest.mark.parametrize(
    ("kind", "identity", "labels", "named"),
    [
        (AWS, "vol-1", {}, "vol-1"),
        (AWS, "aws://eu-1a/vol-1", {}, "vol-1"),
        (AWS, "aws:///vol-1", {}, "vol-1"),
        (GCE, "d", {}, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"),
        (GCE, "d", {ZONE: "europe-west1-b"}, "projects/UNSPECIFIED/zones/europe-west1-b/disks/d"),
        (GCE, "d", {BETA_ZONE: "z", ZONE: "y"}, "projects/UNSPECIFIED/zones/z/disks/d"),
        (GCE, "d", {ZONE: "europe-west1-b__europe-west1-c"}, "projects/UNSPECIFIED/regions/europe-west1/disks/d"),
        (AZURE, "/uri", {}, "/uri"),
    ],
)
def test_the_name_by_which_a_driver_knows_a_disk(kind, identity, labels, named):
    assert named == handle(kind, identity, labels)


@pytest.mark.parametrize(
    ("kind", "identity", "labels", "azure_kind", "why"),
    [
        (AWS, "aws://z/odd", {}, "", "Invalid format for AWS volume (aws://z/odd)"),
        (GCE, "d", {ZONE: "z1__z2"}, "", "expected: {locale}-{region}-{zone}, got: z1"),
        (GCE, "d", {ZONE: "a-b-c__a-d-c"}, "", "got: map[a-b:{} a-d:{}]"),
        (AZURE, "/uri", {}, "Dedicated", "kind(Dedicated) is not supported in csi migration"),
    ],
)
def test_a_disk_of_which_no_driver_can_be_told(kind, identity, labels, azure_kind, why):
    with pytest.raises(TranslationError) as raised:
        handle(kind, identity, labels, azure_kind)

    assert why in str(raised.value)


def term(*pairs):
    return NodeTerm(tuple(Requirement(key, IN, values) for key, values in pairs), ())


@pytest.mark.parametrize(
    ("terms", "labels", "translated"),
    [
        (None, {}, None),
        ((term((ZONE, ("a",))),), {}, (term((AWS_KEY, ("a",))),)),
        ((term((BETA_ZONE, ("a",)), (BETA_REGION, ("r",))),), {}, (term((AWS_KEY, ("a",)), (REGION, ("r",))),)),
        (None, {ZONE: "a__b"}, (term((AWS_KEY, ("a", "b"))),)),
        (None, {BETA_ZONE: "a"}, (term((AWS_KEY, ("a",))),)),
        ((term(("disk", ("ssd",))),), {ZONE: "a"}, (term(("disk", ("ssd",)), (AWS_KEY, ("a",))),)),
        ((term(("disk", ("ssd",))),), {}, (term(("disk", ("ssd",))),)),
    ],
)
def test_the_zone_of_a_volume_becomes_the_topology_key_of_its_driver(terms, labels, translated):
    assert translated == translated_terms(AWS, terms, labels)


def test_a_driver_without_topology_changes_nothing():
    assert (term((ZONE, ("a",))),) == translated_terms(PORTWORX, (term((ZONE, ("a",))),), {ZONE: "b"})


def test_each_plugin_is_found_by_its_provisioner():
    assert {plugin.name for plugin in IN_TREE.values()} == BY_PROVISIONER.keys()
