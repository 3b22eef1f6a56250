"""What volumes a node has already: how many it may have, by which drivers, and which no two Pods can have at once."""

from __future__ import annotations

from random import Random

from tests.oracle.clusters.cluster import Object, likely
from tests.oracle.clusters.storage import EBS, LVM, Site, at, bind, near, occupy, owned


def limits(random: Random, site: Site) -> None:
    """Have claims of a driver of which nodes have about as many volumes as they can."""
    _fill(random, site)
    taken = [claim for claim in site.claims if claim["metadata"]["namespace"] == site.namespace and _named(claim)]
    for _ in range(random.choice((1, 1, 2, 3))):
        match random.choice(("new", "new", "taken", "waiting", "legacy")):
            case "taken" if taken:
                claim = random.choice(taken)
            case "waiting":
                claim = site.claim(site.need_class("fast"))
            case "legacy":
                claim = site.claim(site.need_class("legacy"))
            case _:
                claim = site.bound(site.csi(), site.need_class("fast"))
        site.use_claim(claim)


def _fill(random: Random, site: Site) -> None:
    """Give Pods claims and nodes limits, and have volumes attached that no Pod has, or that do not count."""
    occupy(random, site, random.choice((0.6, 0.9)))
    for name in site.names:
        for _ in range(random.choice((0, 0, 1, 2))):
            _attach(random, site, name)
        if likely(random, 0.85):
            near_by = len(site.pods_on(name)) + random.choice((-2, -1, 0, 0, 1, 2, 3))
            site.limit(name, EBS, max(0, near_by))


def _attach(random: Random, site: Site, node: str) -> None:
    match random.choice(("stray", "stray", "again", "inline", "absent", "local", "nobody")):
        case "inline":
            site.attach(random, node, {"inlineVolumeSpec": {"accessModes": ["ReadWriteOnce"], **site.csi()}})
        case "absent":
            site.attach(random, node, {"persistentVolumeName": "pv-gone"})
        case "local":
            volume = site.volume({"hostPath": {"path": "/mnt"}})
            site.attach(random, node, {"persistentVolumeName": volume["metadata"]["name"]})
        case "nobody":
            volume = site.volume(site.csi())
            site.attach(random, node, {"persistentVolumeName": volume["metadata"]["name"]}, attacher="")
        case "again" if site.volumes:
            volume = random.choice(site.volumes)
            site.attach(random, node, {"persistentVolumeName": volume["metadata"]["name"]})
        case _:
            volume = site.volume(site.csi(random.choice((EBS, EBS, LVM))))
            site.attach(random, node, {"persistentVolumeName": volume["metadata"]["name"]})


def _named(claim: Object) -> bool:
    return "volumeName" in claim["spec"]


def missing_driver(random: Random, site: Site) -> None:
    """Have a claim of a driver that is not on every node, and that may say that Pods must not go there."""
    says = random.choice((True, True, True, False, None))
    site.need_driver(EBS, **({} if says is None else {"preventPodSchedulingIfMissing": says}))
    for name, one in site.csi_nodes.items():
        if likely(random, 0.4):
            one["spec"]["drivers"] = [driver for driver in one["spec"]["drivers"] if driver["name"] != EBS]
        elif likely(random, 0.3):
            site.limit(name, EBS, 25)
    if likely(random, 0.5):
        site.use_claim(site.claim(site.need_class(random.choice(("fast", "legacy")))))
    else:
        site.use_claim(site.bound(site.csi(), site.need_class("fast")))


def inline(random: Random, site: Site) -> None:
    """Have volumes without claims: those of a driver, which do not count, and disks, which do as the driver's."""
    _fill(random, site)
    site.use({"csi": {"driver": LVM, "volumeAttributes": {"size": "1Gi"}}})
    if likely(random, 0.5):
        site.use({"emptyDir": {}})
    for number in range(random.choice((1, 1, 2))):
        site.use({"awsElasticBlockStore": {"volumeID": f"vol-disk{number}"}})
    for pod in random.sample(site.pods, len(site.pods) // 6):
        site.use({"awsElasticBlockStore": {"volumeID": f"vol-{pod['metadata']['name']}"}}, pod)


def disks(random: Random, site: Site) -> None:
    """Have a disk that other Pods have, too: to read it, some kinds allow."""
    make = random.choice((_google, _amazon, _iscsi, _ceph))
    site.use(make(random, 0))
    share = random.choice((0.3, 0.6))
    for pod in site.pods:
        if likely(random, share):
            site.use(make(random, random.choice((0, 0, 1))), pod)


def _google(random: Random, number: int) -> Object:
    return {"gcePersistentDisk": {"pdName": f"disk-{number}", **_reading(random)}}


def _amazon(random: Random, number: int) -> Object:
    return {"awsElasticBlockStore": {"volumeID": f"vol-disk{number}", **_reading(random)}}


def _iscsi(random: Random, number: int) -> Object:
    target = {"targetPortal": f"10.0.0.{random.choice((1, 2))}:3260", "lun": random.choice((0, 1))}
    return {"iscsi": {**target, "iqn": f"iqn.2026-01.com.example:d{number}", **_reading(random)}}


def _ceph(random: Random, number: int) -> Object:
    monitors = random.sample(("10.0.0.1:6789", "10.0.0.2:6789", "10.0.0.3:6789"), random.choice((1, 2)))
    pool = {"pool": random.choice(("rbd", "rbd", "fast"))}
    return {"rbd": {"monitors": monitors, **pool, "image": f"image-{number}", **_reading(random)}}


def _reading(random: Random) -> Object:
    return {"readOnly": True} if likely(random, 0.6) else {}


def one_pod_only(random: Random, site: Site) -> None:
    """Have a claim that only one Pod may use, which a Pod of this namespace uses, or one of another."""
    zones = random.sample(("z1", "z2", "z3"), 2)
    claim = site.claim(site.need_class("fast"), accessModes=["ReadWriteOncePod"])
    affinity = near([at("topology.kubernetes.io/zone", *zones)])
    bind(claim, site.volume(site.csi(), "fast", accessModes=["ReadWriteOncePod"], nodeAffinity=affinity))
    site.use_claim(claim)
    here = [pod for pod in site.pods if pod["metadata"]["namespace"] == site.namespace]
    there = [pod for pod in site.pods if pod["metadata"]["namespace"] != site.namespace]
    if likely(random, 0.5) and here:
        site.use_claim(claim, random.choice(here))
    for pod in there[:2]:  # They mean another claim of that name, which need not be there.
        site.use_claim(claim, pod)


def foreign(random: Random, site: Site) -> None:
    """Let a Pod that runs have the claim of another for its own, which the limits of its node cannot be counted by."""
    limits(random, site)
    if not site.pods:
        return
    pod = random.choice(site.pods)
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}}}
    site.use({"ephemeral": {"volumeClaimTemplate": template}}, pod)
    claim = site.bound(site.csi(), site.need_class("fast"), pod["metadata"]["namespace"])
    owned(claim, pod)
    if likely(random, 0.8):
        claim["metadata"]["ownerReferences"][0]["uid"] = "uid-other"
