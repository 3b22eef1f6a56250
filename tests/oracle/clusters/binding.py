"""Claims of the Pod: bound and not, with volumes that are free, with room for new ones, and those that stop it."""

from __future__ import annotations

from random import Random

from tests.oracle.clusters.cluster import HOSTNAME, RACK, REGION, ZONE, Object, likely
from tests.oracle.clusters.storage import (
    BETA_REGION,
    BETA_ZONE,
    CLASS_ANNOTATION,
    EBS_ZONE,
    LVM,
    NFS,
    Site,
    at,
    bind,
    bind_to_nothing,
    near,
    owned,
    reference,
)

SIZES = ("1Gi", "5Gi", "8Gi", "20Gi")
DELETED = {"deletionTimestamp": "2026-01-03T00:00:00Z", "finalizers": ["kubernetes.io/pvc-protection"]}
LOCAL = {"local": {"path": "/mnt/disks/d0"}}


def in_zones(random: Random, site: Site) -> None:
    """Have a volume that can be used in one zone or two."""
    key = random.choices((ZONE, EBS_ZONE, BETA_ZONE), (8, 2, 1))[0]
    zones = random.sample(values := site.values(key), min(len(values), random.choice((1, 2, 2))))
    terms = [[at(key, zone)] for zone in zones] if likely(random, 0.3) else [[at(key, *zones)]]
    site.use_claim(site.bound(site.csi(), site.need_class("fast"), nodeAffinity=near(*terms)))


def on_a_node(random: Random, site: Site) -> None:
    """Have a local volume, whose node may be gone."""
    hosts = site.values(HOSTNAME)
    chosen = random.sample(hosts, min(len(hosts), random.choice((1, 1, 1, 3))))
    gone = ["gone-0"] if likely(random, 0.06) else chosen
    site.use_claim(site.bound(LOCAL, site.need_class("local"), nodeAffinity=near([at(HOSTNAME, *gone)])))


def by_labels(random: Random, site: Site) -> None:
    """Have a volume with labels of its zones and its region, in place of an affinity."""
    zones = "__".join(random.sample(("z1", "z2", "z3"), random.choice((1, 2, 2))))
    zone, region = random.choice(((ZONE, REGION), (ZONE, REGION), (BETA_ZONE, BETA_REGION)))
    claim = site.bound(site.csi(), site.need_class("fast"))
    labels = {zone: random.choice(("", "z1_z2")) if likely(random, 0.06) else zones}
    if likely(random, 0.5):
        labels[region] = "r2" if likely(random, 0.15) else "r1"
    site.volumes[-1]["metadata"]["labels"] = labels
    site.use_claim(claim)


def odd_affinity(random: Random, site: Site) -> None:
    """Have a volume with terms of all kinds."""
    host = random.choice(site.names)
    field = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [host]}]}
    shapes = (
        [{"matchExpressions": [at("disk", "ssd")]}, {"matchExpressions": [at(ZONE, "z1"), at("disk", "hdd")]}],
        [{"matchExpressions": [{"key": ZONE, "operator": "NotIn", "values": ["z1", "z2"]}]}],
        [{"matchExpressions": [{"key": RACK, "operator": "Exists"}]}],
        [{"matchExpressions": [{"key": RACK, "operator": "DoesNotExist"}]}],
        [{"matchExpressions": [{"key": "disk", "operator": "Gt", "values": ["1"]}]}, {}],
        [field],
        [field, {"matchExpressions": [at("disk", "ssd")]}],
        [{}, {"matchExpressions": [at("disk", "hdd")]}],
        [{}],
    )
    affinity = {"required": {"nodeSelectorTerms": random.choice(shapes)}}
    site.use_claim(site.bound(site.csi(), site.need_class("fast"), nodeAffinity=affinity))


def broken(random: Random, site: Site) -> None:
    """Have a claim that keeps the Pod off every node, whatever node it is."""
    match random.choice((*["no volume", "no claim", "deleted", "lost"] * 2, "no volume", "half bound")):
        case "no claim":
            site.use({"persistentVolumeClaim": {"claimName": "absent"}})
        case "no volume":
            claim = site.claim(site.need_class("fast"))
            bind_to_nothing(claim)
            site.use_claim(claim)
        case "deleted":
            claim = site.bound(site.csi(), site.need_class("fast"))
            claim["metadata"] |= DELETED
            site.use_claim(claim)
        case "lost":
            claim = site.claim(site.need_class("fast"))
            bind_to_nothing(claim, "pv-lost")
            claim["status"]["phase"] = "Lost"
            site.use_claim(claim)
        case _:
            claim = site.bound(site.csi(), site.need_class(random.choice(("fast", "local"))))
            del claim["metadata"]["annotations"]
            site.use_claim(claim)


def immediate(random: Random, site: Site) -> None:
    """Have a claim that no Pod is waited for, or that has no class to wait with; a few classes do not say."""
    match random.choice(("immediate", "absent", "none", "nil", "silent", "silent")):
        case "nil":
            if likely(random, 0.6):
                site.need_class("fast")
                default = {"storageclass.kubernetes.io/is-default-class": "true"}
                site.classes["fast"]["metadata"]["annotations"] = default
            claim = site.claim(None)
        case "none":
            claim = site.claim("")
            site.volume(site.csi(), "")
        case "silent":
            claim = site.claim(site.need_class("silent"))
            site.classes["silent"].pop("volumeBindingMode", None)
        case "absent":
            claim = site.claim("absent")
        case _:
            claim = site.claim(site.need_class("immediate"))
    site.use_claim(claim)


def provisioned(random: Random, site: Site) -> None:
    """Have a claim whose volume is made where the Pod goes, as far as its class and its annotation allow."""
    name = site.need_class(random.choice(("fast", "fast", "legacy")))
    if likely(random, 0.6):
        site.classes[name]["allowedTopologies"] = _topologies(random, site)
    claim = site.claim(name, **_size(random))
    if likely(random, 0.25):
        annotation = random.choice((*site.names, "gone-0"))
        claim["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": annotation}
    elif likely(random, 0.2):
        claim["metadata"]["annotations"] = {CLASS_ANNOTATION: claim["spec"].pop("storageClassName")}
    site.use_claim(claim)


def _topologies(random: Random, site: Site) -> list[Object]:
    key = random.choice((ZONE, ZONE, EBS_ZONE, BETA_ZONE))
    zones = random.sample(values := site.values(key), min(len(values), 2))
    shapes = (
        [{"matchLabelExpressions": [{"key": key, "values": zones}]}],
        [{"matchLabelExpressions": [{"key": key, "values": zones[:1]}]}],
        [{"matchLabelExpressions": [{"key": key, "values": [zone]}]} for zone in zones],
        [{"matchLabelExpressions": [{"key": key, "values": zones}, {"key": REGION, "values": ["r1"]}]}],
        [{"matchLabelExpressions": [{"key": key, "values": zones[:1]}]}, {}],
    )
    return random.choice(shapes)


def free_volumes(random: Random, site: Site) -> None:
    """Have a claim, or two, that want volumes which are there; where none is, some classes have new ones made."""
    name = site.need_class(random.choices(("local", "fast"), (4, 1))[0])
    wanted = [_wanting(random, site, name) for _ in range(random.choice((1, 1, 2)))]
    hosts = random.sample(site.names, random.randint(len(site.names) * 2 // 3, len(site.names)))
    sizes = random.sample(range(5, 60), 2 * len(hosts))
    for host in hosts:
        for _ in range(random.choice((1, 2, 2))):
            _free(random, site, name, host, f"{sizes.pop()}Gi")
    if likely(random, 0.2):
        _reserve(random.choice(site.volumes[-len(hosts) :]), wanted[0])
    for claim in wanted:
        site.use_claim(claim)
    if likely(random, 0.04):
        site.use_claim(wanted[0])


def _reserve(volume: Object, claim: Object) -> None:
    """Mean a volume for a claim, before the claim is bound."""
    volume["spec"]["claimRef"] = reference(claim)


def _wanting(random: Random, site: Site, name: str) -> Object:
    more = {}
    if likely(random, 0.15):
        more["selector"] = {"matchLabels": {"tier": random.choice(("gold", "silver"))}}
    if likely(random, 0.08):
        more["volumeMode"] = "Block"
    if likely(random, 0.1):
        more["accessModes"] = random.choice((["ReadWriteMany"], ["ReadWriteOnce", "ReadOnlyMany"]))
    if likely(random, 0.1):
        more["volumeAttributesClassName"] = random.choice(("gold", "silver"))
    claim = site.claim(name, **_size(random), **more)
    if likely(random, 0.06):
        claim["metadata"]["annotations"] = {CLASS_ANNOTATION: claim["spec"].pop("storageClassName")}
    return claim


def _free(random: Random, site: Site, name: str, host: str, size: str) -> None:
    labels = next(node for node in site.nodes if node["metadata"]["name"] == host)["metadata"]["labels"]
    key = random.choice((HOSTNAME, HOSTNAME, HOSTNAME, ZONE))
    more = {"nodeAffinity": near([at(key, labels.get(key, host))])}
    if likely(random, 0.15):
        more["volumeMode"] = "Block"
    if likely(random, 0.3):
        more["accessModes"] = random.choice((["ReadWriteMany"], ["ReadWriteOnce", "ReadOnlyMany"], ["ReadOnlyMany"]))
    if likely(random, 0.1):
        more["volumeAttributesClassName"] = random.choice(("gold", "silver"))
    if likely(random, 0.08):
        claim = {"metadata": {"name": "another", "namespace": site.namespace, "uid": "uid-another"}}
        more["claimRef"] = reference(claim)
    volume = site.volume(LOCAL, name, **more, capacity={"storage": size})
    volume["metadata"]["labels"] = {"tier": random.choice(("gold", "gold", "silver"))}
    volume["status"]["phase"] = random.choices(("Available", "Released", "Failed", "Pending"), (20, 1, 1, 1))[0]
    if likely(random, 0.05):
        volume["metadata"]["deletionTimestamp"] = "2026-01-03T00:00:00Z"
    if likely(random, 0.05):
        volume["metadata"]["annotations"] = {CLASS_ANNOTATION: volume["spec"].pop("storageClassName")}


def capacity(random: Random, site: Site) -> None:
    """Have a claim, or two, of a driver that tells how much room there is, or that does not."""
    tells = random.choices((True, False, None), (8, 1, 1))[0]
    site.need_driver(LVM, **({} if tells is None else {"storageCapacity": tells}))
    name = site.need_class("lvm")
    key = random.choice((HOSTNAME, HOSTNAME, ZONE))
    for value in site.values(key):
        if likely(random, 0.85):
            selector = {"matchLabels": {key: value}} if likely(random, 0.7) else {"matchExpressions": [at(key, value)]}
            _room(random, site, name, selector)
    if likely(random, 0.3):
        _room(random, site, name, None)
    if likely(random, 0.3):
        _room(random, site, "other", {})
    for _ in range(random.choice((1, 1, 2))):
        site.use_claim(site.claim(name, **_size(random)))
    if likely(random, 0.2):
        host = random.choice(site.values(HOSTNAME))
        size = f"{random.randint(20, 40)}Gi"
        site.volume(site.csi(LVM), name, nodeAffinity=near([at(HOSTNAME, host)]), capacity={"storage": size})


def _room(random: Random, site: Site, name: str, selector: Object | None) -> None:
    """Add a CSIStorageCapacity; no node can reach two of one class that have room, or chance would choose the score."""
    made = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": f"csisc-{len(site.capacities)}", "namespace": "kube-system"},
        "storageClassName": name,
    }
    if selector is not None:
        made["nodeTopology"] = selector
    if likely(random, 0.95):
        made["capacity"] = f"{random.choice((0, 3, 6, 10, 25, 40, 100))}Gi"
        if likely(random, 0.3):  # Alone, it has kube-scheduler 1.37 crash.
            made["maximumVolumeSize"] = random.choice(SIZES)
    site.capacities.append(made)


def ephemeral(random: Random, site: Site) -> None:
    """Have a volume that lives as long as the Pod, whose claim the Pod owns, or another does, or that has none yet."""
    name = site.need_class("fast")
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}}}
    site.use({"ephemeral": {"volumeClaimTemplate": template}})
    shape = random.choice((*["bound", "unbound", "no volume", "absent"] * 2, "bound", "other"))
    if shape == "absent":
        return
    claim = site.claim(name, **_size(random))
    owned(claim, site.incoming)
    if shape == "bound":
        terms = [at(random.choice((ZONE, ZONE, EBS_ZONE)), *random.sample(("z1", "z2", "z3"), 2))]
        bind(claim, site.volume(site.csi(), name, nodeAffinity=near(terms)))
        if likely(random, 0.3):
            site.volumes[-1]["metadata"]["labels"] = {ZONE: "z1"}
    elif shape == "no volume":
        bind_to_nothing(claim)
    elif shape == "other":
        owner = claim["metadata"]["ownerReferences"][0]
        owner |= {"uid": "uid-other"} if likely(random, 0.6) else {"controller": False}


def shared(random: Random, site: Site) -> None:
    """Have a volume that any node can use, and Pods that use it already."""
    source = random.choice((site.csi(NFS), {"nfs": {"server": "10.0.0.2", "path": "/"}}))
    claim = site.bound(source, site.need_class("shared"), accessModes=["ReadWriteMany"])
    claim["spec"]["accessModes"] = ["ReadWriteMany"]
    site.use_claim(claim)
    for pod in site.pods:
        if pod["metadata"]["namespace"] == site.namespace and likely(random, 0.3):
            site.use_claim(claim, pod)


def _size(random: Random) -> Object:
    return {"resources": {"requests": {"storage": random.choice(SIZES)}}}


def migrated(random: Random, site: Site) -> None:
    """Have a volume of a kind that a CSI driver has taken over, which has a zone of its own on some nodes."""
    source, key = random.choice(
        (
            ({"awsElasticBlockStore": {"volumeID": "aws://z1/vol-0123abcd"}}, EBS_ZONE),
            ({"awsElasticBlockStore": {"volumeID": "vol-0123abcd"}}, EBS_ZONE),
            ({"gcePersistentDisk": {"pdName": "disk-0"}}, "topology.gke.io/zone"),
            ({"azureDisk": {"diskName": "d0", "diskURI": "/d0"}}, "topology.disk.csi.azure.com/zone"),
            ({"cinder": {"volumeID": "c0"}}, "topology.cinder.csi.openstack.org/zone"),
            ({"awsElasticBlockStore": {"volumeID": "aws://z1/odd"}}, EBS_ZONE),
        )
    )
    share = random.choice((0.5, 0.8, 1))
    for node in site.nodes:
        labels = node["metadata"]["labels"]
        if ZONE in labels and likely(random, share):
            labels[key] = labels[ZONE]
    claim = site.bound(source, site.need_class("legacy"))
    volume, zone = site.volumes[-1], random.choice((ZONE, ZONE, BETA_ZONE))
    zones = random.sample(("z1", "z2", "z3"), random.choice((1, 2)))
    if likely(random, 0.7):
        volume["spec"]["nodeAffinity"] = near([at(zone, *zones)])
    if likely(random, 0.5):
        volume["metadata"]["labels"] = {zone: "__".join(zones)}
    site.use_claim(claim)
