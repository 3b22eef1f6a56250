"""
Clusters with volumes, made at random: the first inputs of the kind volumes.

    number --> nodes and Pods, as of whole_profile --> CSINodes, claims that run --> claims and volumes of the Pod
"""

from __future__ import annotations

from random import Random

from tests.oracle.clusters.affinity import own_anti_affinity
from tests.oracle.clusters.binding import (
    broken,
    by_labels,
    capacity,
    ephemeral,
    free_volumes,
    immediate,
    in_zones,
    migrated,
    odd_affinity,
    on_a_node,
    provisioned,
    shared,
)
from tests.oracle.clusters.cluster import Feature, Object, case, likely, plain
from tests.oracle.clusters.features import images, node_affinity, resources, spread, taints
from tests.oracle.clusters.limits import disks, foreign, inline, limits, missing_driver, one_pod_only
from tests.oracle.clusters.storage import Site, VolumeFeature, add_csi_nodes, label_nodes, occupy

NUMBER, LETTER = 1000, "v"
NODE_NUMBERS, MOST_PODS = (4, 5, 6, 7, 8, 9, 10), 30
# Each with how often it is alone, and how likely it is beside others.
VOLUMES: tuple[tuple[VolumeFeature, int, float], ...] = (
    (in_zones, 2, 10),
    (on_a_node, 1, 1),
    (by_labels, 2, 8),
    (odd_affinity, 2, 3),
    (broken, 7, 0.8),
    (immediate, 4, 0.5),
    (provisioned, 3, 8),
    (free_volumes, 5, 10),
    (capacity, 4, 8),
    (ephemeral, 5, 5),
    (shared, 1, 6),
    (migrated, 3, 4),
    (limits, 5, 9),
    (missing_driver, 2, 5),
    (inline, 2, 4),
    (disks, 3, 7),
    (one_pod_only, 2, 3),
    (foreign, 2, 1.2),
)
ALONE = tuple(feature for feature, times, _ in VOLUMES for _ in range(times))
BESIDE: tuple[tuple[Feature, float], ...] = (
    (spread, 0.2),
    (taints, 0.2),
    (node_affinity, 0.12),
    (resources, 0.1),
    (own_anti_affinity, 0.1),
    (images, 0.3),
)


def volumes() -> list[Object]:
    """Return the cases of that kind, in order."""
    return [with_volumes(number) for number in range(NUMBER)]


def with_volumes(number: int) -> Object:
    """Return the case of that number: beyond NUMBER, one that is not recorded."""
    random = Random(f"{LETTER}{number}")
    alone = number % 5 < 2
    cluster = plain(random, NODE_NUMBERS, MOST_PODS)
    for feature, chance in BESIDE:
        if not alone and likely(random, chance):
            feature(random, cluster)
    found = case(random, f"{LETTER}{number}", cluster)
    found["pod"]["metadata"]["uid"] = "uid-incoming"
    site = Site(found["pod"], found["nodes"], found["pods"])
    label_nodes(random, site.nodes)
    add_csi_nodes(random, site)
    occupy(random, site, random.choice((0, 0, 0.3)))
    for one in [ALONE[_alone(number)]] if alone else _chosen(random):
        one(random, site)
    return found | objects(site)


def _alone(number: int) -> int:
    """Return which feature is alone: each as often as any."""
    return (number // 5 * 2 + number % 5) % len(ALONE)


def _chosen(random: Random) -> list[VolumeFeature]:
    """Return one feature, two or three, each once."""
    chosen: dict[VolumeFeature, None] = {}
    shares = [share for _, _, share in VOLUMES]
    for _ in range(random.choice((1, 1, 1, 2, 2, 3))):
        chosen[random.choices(VOLUMES, shares)[0][0]] = None
    return [*chosen]


def objects(site: Site) -> Object:
    """Return what the cluster of a case has for volumes."""
    return {
        "persistentVolumes": site.volumes,
        "persistentVolumeClaims": site.claims,
        "storageClasses": [*site.classes.values()],
        "csiNodes": [*site.csi_nodes.values()],
        "csiDrivers": [*site.drivers.values()],
        "csiStorageCapacities": site.capacities,
        "volumeAttachments": site.attachments,
    }
