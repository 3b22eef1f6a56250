"""Random clusters with volumes in zones, and the Pods that arrive there with claims: the same in every run."""

from __future__ import annotations

from random import Random

from tests.e2e.arrivals import Arrivals
from tests.support.build import HOSTNAME, ZONE, constraint, pod
from tests.support.claims import EBS, capacity, claim, csi_driver, csi_node, storage_class, using, volume
from tests.support.placing import requesting

SEED = 32
LVM = "lvm.example.com"
FAST, LOCAL, NOW, TRACKED = "fast", "local", "now", "tracked"
CLASSES = (
    storage_class(FAST),
    storage_class(LOCAL, "kubernetes.io/no-provisioner"),
    storage_class(NOW, "kubernetes.io/no-provisioner", "Immediate"),
    storage_class(TRACKED, LVM),
)
DRIVERS = (csi_driver(EBS, attachRequired=True), csi_driver(LVM, storageCapacity=True))
HOST = {"hostPath": {"path": "/data"}}  # Some source the API server asks for.
ONE_POD = {"accessModes": ["ReadWriteOncePod"]}


def claimants(number: int, pods: int) -> tuple[Arrivals, list[dict]]:
    """Make the cluster of this number with so many Pods, and the objects that its volumes depend on."""
    made = _Made(number)
    return made.arrivals(pods), made.storage


class _Made:
    """What is drawn, one after the other; `storage` is all but nodes and Pods."""

    def __init__(self, number: int):
        self.number, self.random = number, Random(f"{SEED} {number}")
        self.namespace, self.storage = f"claims-{number}", list[dict]()

    def often(self, share: float) -> bool:
        return self.random.random() < share

    def arrivals(self, number: int) -> Arrivals:
        nodes = [self.node(f"v{self.number}-{zone}{place}", zone) for zone in "abc" for place in range(2)]
        for zone in "abc":
            self.keep(capacity(f"{self.number}-{zone}", self.random.choice(("1Gi", "3Gi", "8Gi")), zone, TRACKED))
            for place in range(self.random.randint(0, 2)):
                size = f"{self.random.randint(1, 4)}Gi"
                self.keep(volume(f"local-{self.number}-{zone}{place}", zone, of_class=LOCAL, size=size, **HOST))
        self.keep(volume(f"now-{self.number}", self.random.choice("abc"), of_class=NOW, size="5Gi", **HOST))
        return Arrivals({self.namespace: {}}, nodes, [], [], [self.pod(place) for place in range(number)])

    def keep(self, made: dict) -> None:
        """Keep an object; names of the cluster's own are of no other number."""
        if made["kind"] == "PersistentVolumeClaim":
            made["metadata"]["namespace"] = self.namespace
        self.storage.append(made)

    def node(self, name: str, zone: str) -> dict:
        have = {"cpu": self.random.choice(("1", "4", "4")), "memory": "16Gi", "pods": "110"}
        if self.often(0.85):
            self.keep(_with_ids(csi_node(name, self.random.choice((1, 2, None)))))
        return {
            **{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {HOSTNAME: name, ZONE: zone}}},
            "spec": {"taints": []},
            "status": {"capacity": have, "allocatable": have, "conditions": [{"type": "Ready", "status": "True"}]},
        }

    def pod(self, place: int) -> dict:
        """A Pod with one claim or two, which mostly spreads over zones."""
        name = f"web-{self.number}-{place}"
        claims = [self.claim(f"{name}-{i}") for i in range(self.random.choice((1, 1, 1, 2)))]
        spread = [constraint(maxSkew=self.random.choice((1, 2)))] if self.often(0.7) else []
        spec = {"containers": requesting("100m"), **using(*claims), **_spreading(spread)}
        return pod(name=name, namespace=self.namespace, spec=spec)

    def claim(self, name: str) -> str:
        """Make a claim, bound or not; or name one that is not there, or that another Pod has, too."""
        kind = self.random.choices(("bound", "own", FAST, LOCAL, NOW, TRACKED, "gone"), (4, 2, 3, 4, 2, 3, 1))[0]
        size = f"{self.random.randint(1, 3)}Gi"
        if kind == "bound":
            self.bind(name, size, {})
        elif kind == "own":
            name = f"own-{self.number}-{self.random.randint(0, 1)}"
            if not any(made["metadata"]["name"] == name for made in self.storage):
                self.bind(name, size, ONE_POD)
        elif kind != "gone":
            self.keep(claim(name, of_class=kind, size=size))
        return name

    def bind(self, name: str, size: str, modes: dict) -> None:
        """Make a volume and its claim, which the controller then binds."""
        zone, of = self.random.choice("abc"), f"pv-{name}"
        csi = {"csi": {"driver": EBS, "volumeHandle": of}}
        made = volume(of, zone, of=name, size=size, **csi, **modes)
        made["spec"]["claimRef"]["namespace"] = self.namespace
        self.keep(made)
        self.keep(claim(name, of, size=size, bound=False, **modes))


def _spreading(constraints: list[dict]) -> dict:
    return {"topologySpreadConstraints": constraints} if constraints else {}


def _with_ids(made: dict) -> dict:
    """Return a CSINode as the API server takes it."""
    for driver in made["spec"]["drivers"]:
        driver["nodeID"] = made["metadata"]["name"]
    return made
