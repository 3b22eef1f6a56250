"""
Disks of clouds that Kubernetes once attached itself ("in tree"), as the CSI drivers see them that attach them now.

upstream: csi-translation-lib (v1.37)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from evenkeel.scheduler.volumes import AWS_DISK, AZURE_DISK, CINDER_DISK, GCE_DISK, PORTWORX_DISK
from webhook.kubernetes.labels import Labels
from webhook.kubernetes.names import BETA_REGION, BETA_ZONE, REGION, ZONE
from webhook.spread.affinity import NodeTerm
from webhook.spread.selectors import IN, Requirement

MANY_ZONES = "__"  # Separates the zones in the label of a volume.
MANAGED = "managed"  # The only kind of an Azure disk that its driver attaches.
_AWS_URL, _AWS_VOLUME = "aws://", re.compile(r"vol-[^/]*")
_GCE_UNSPECIFIED = "UNSPECIFIED"


class InTreePlugin(NamedTuple):
    """A volume plugin of Kubernetes, and the CSI driver in its place."""

    name: str
    driver: str
    topology_key: str = ""  # That of the driver; "" if it has none.


IN_TREE: Mapping[str, InTreePlugin] = {
    AWS_DISK: InTreePlugin("kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone"),
    GCE_DISK: InTreePlugin("kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone"),
    AZURE_DISK: InTreePlugin("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    CINDER_DISK: InTreePlugin(
        "kubernetes.io/cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone"
    ),
    PORTWORX_DISK: InTreePlugin("kubernetes.io/portworx-volume", "pxd.portworx.com"),
}
BY_PROVISIONER: Mapping[str, InTreePlugin] = {plugin.name: plugin for plugin in IN_TREE.values()}
# Plugins that have CSI drivers, too, whose volumes the scheduler does not count.
UNCOUNTED_PROVISIONERS = ("kubernetes.io/azure-file", "kubernetes.io/vsphere-volume")


def driver_of(provisioner: str) -> str:
    """Return the CSI driver of a provisioner: that in place of an in-tree plugin, or the one of the same name."""
    plugin = BY_PROVISIONER.get(provisioner)
    return plugin.driver if plugin is not None else provisioner


class TranslationError(ValueError):
    """A disk that no CSI driver can attach; the message is that of kube-scheduler."""


def handle(kind: str, identity: str, labels: Labels, azure_kind: str = "") -> str:
    """
    Return the name by which the CSI driver knows a disk; `labels` are those of its PersistentVolume, if it has one.

    upstream: in_tree_volume.go:InTreePlugin.TranslateInTreePVToCSI (v1.37)
    """
    if kind == AZURE_DISK and azure_kind and azure_kind.lower() != MANAGED:
        raise TranslationError(f"kind({azure_kind}) is not supported in csi migration")
    if kind == AWS_DISK and identity.startswith(_AWS_URL):
        volume_id = identity[len(_AWS_URL) :].partition("/")[2].strip("/")
        if not _AWS_VOLUME.fullmatch(volume_id):
            wrong = f"Invalid format for AWS volume ({identity})"
            raise TranslationError(f"failed to translate Kubernetes ID to EBS Volume ID {wrong}")
        return volume_id
    return _gce_handle(identity, labels) if kind == GCE_DISK else identity


def _gce_handle(identity: str, labels: Labels) -> str:
    zones = (labels.get(BETA_ZONE) or labels.get(ZONE) or _GCE_UNSPECIFIED).split(MANY_ZONES)
    if len(zones) == 1:
        return f"projects/{_GCE_UNSPECIFIED}/zones/{zones[0]}/disks/{identity}"
    return f"projects/{_GCE_UNSPECIFIED}/regions/{_gce_region(zones)}/disks/{identity}"


def _gce_region(zones: Sequence[str]) -> str:
    """
    Return the region of zones such as `europe-west1-b`.

    upstream: gce_pd.go:gceGetRegionFromZones (v1.37)
    """
    failed = "failed to get region from zones:"
    for zone in zones:
        if zone.count("-") != 2:
            wanted = "zone in unexpected format, expected: {locale}-{region}-{zone}"
            raise TranslationError(f"{failed} {wanted}, got: {zone}")
    regions = sorted({zone.rpartition("-")[0] for zone in zones})
    if len(regions) > 1:
        got = " ".join(f"{region}:{{}}" for region in regions)
        raise TranslationError(f"{failed} multiple or no regions gotten from zones, got: map[{got}]")
    return regions[0]


def translated_terms(kind: str, terms: tuple[NodeTerm, ...] | None, labels: Labels) -> tuple[NodeTerm, ...] | None:
    """
    Return the node affinity of a volume with the topology key of its CSI driver in place of the zone's label.

    upstream: in_tree_volume.go:translateTopologyFromInTreeToCSI (v1.37)
    """
    key = IN_TREE[kind].topology_key
    if not key:
        return terms
    used_keys = {expression.key for term in terms or () for expression in term.expressions}
    is_beta = ZONE not in used_keys and (BETA_ZONE in used_keys or (ZONE not in labels and BETA_ZONE in labels))
    zone = BETA_ZONE if is_beta else ZONE
    keys = {BETA_REGION: REGION} if is_beta else {}
    if any(expression.values for expression in _of_key(zone, terms)):
        return _renamed(terms or (), {**keys, zone: key})
    zones = sorted({text.strip() for text in labels.get(zone, "").split(MANY_ZONES)} - {""})
    if not zones:
        return _renamed(terms, keys) if terms is not None else None
    in_zones = Requirement(key, IN, tuple(zones))
    renamed = _renamed(terms or (NodeTerm((), ()),), keys)
    return tuple([NodeTerm((*term.expressions, in_zones), term.fields) for term in renamed])


def _of_key(key: str, terms: Iterable[NodeTerm] | None) -> list[Requirement]:
    return [expression for term in terms or () for expression in term.expressions if expression.key == key]


def _renamed(terms: Iterable[NodeTerm], keys: Mapping[str, str]) -> tuple[NodeTerm, ...]:
    renamed: list[NodeTerm] = []
    for term in terms:
        expressions = [asked._replace(key=keys.get(asked.key, asked.key)) for asked in term.expressions]
        renamed.append(NodeTerm(tuple(expressions), term.fields))
    return tuple(renamed)
