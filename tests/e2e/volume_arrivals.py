"""Random clusters with volumes, and the Pods and StatefulSets that arrive there: the same in every run."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from tests.e2e.arrivals import Arrivals
from tests.e2e.stored import (
    IMMEDIATE,
    capacity,
    claim,
    claim_spec,
    csi_driver,
    csi_node,
    local,
    near,
    storage_class,
    volume,
)
from tests.support.build import HOSTNAME, ZONE, constraint, pod, workload

SEED = 41
ZONES = "abc"
HUGE, ONE_POD = "500Gi", "ReadWriteOncePod"


class VolumeArrivals(NamedTuple):
    """Nodes and Pods, what there is of volumes, and StatefulSets that have no replicas yet."""

    given: Arrivals
    objects: list[dict]
    sets: list[dict]


def volume_arrivals(number: int, pods: int) -> VolumeArrivals:
    """Make the cluster of this number, and so many Pods."""
    return _Made(number).arrivals(pods)


class _Made:
    """What is drawn, one after the other."""

    def __init__(self, number: int):
        self.number, self.random = number, Random(f"{SEED} {number}")
        self.namespace = f"volumes-{number}"
        self.waiting, self.immediate, self.room, self.plain = (
            f"{name}-{number}" for name in ("waiting", "immediate", "room", "plain")
        )
        self.drivers = [f"{name}.csi.example.com" for name in (self.room, self.plain)]

    def often(self, share: float) -> bool:
        return self.random.random() < share

    def arrivals(self, number: int) -> VolumeArrivals:
        nodes = [self.node(f"v{self.number}-{place}", ZONES[place % 3]) for place in range(self.random.randint(6, 8))]
        names = [one["metadata"]["name"] for one in nodes]
        claims = self.claims()
        objects = [*self.classes(), *self.drivers_of(names), *self.volumes(names), *claims, *self.attachments(names)]
        there = [one["metadata"]["name"] for one in claims]
        arriving = [self.pod(f"p{place}", there) for place in range(number)]
        given = Arrivals({self.namespace: {}}, nodes, [], [], arriving)
        return VolumeArrivals(
            given, objects, [self.stateful_set(name) for name in (self.waiting, self.room, self.plain)]
        )

    def node(self, name: str, zone: str) -> dict:
        have = {"cpu": self.random.choice(("4", "8")), "memory": "16Gi", "pods": "110"}
        return {
            **{"apiVersion": "v1", "kind": "Node"},
            "metadata": {"name": name, "labels": {HOSTNAME: name, ZONE: zone}},
            "spec": {"taints": []},
            "status": {"capacity": have, "allocatable": have, "conditions": [{"type": "Ready", "status": "True"}]},
        }

    def classes(self) -> list[dict]:
        allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a", "b"]}]}] if self.often(0.5) else None
        return [
            storage_class(self.waiting),
            storage_class(self.immediate, mode=IMMEDIATE),
            storage_class(self.room, self.drivers[0]),
            storage_class(self.plain, self.drivers[1], **({"allowedTopologies": allowed} if allowed else {})),
        ]

    def drivers_of(self, names: list[str]) -> list[dict]:
        """Drivers, of which the first tells its room, and the second has limits."""
        room, plain = self.drivers
        made = [csi_driver(room, storageCapacity=True), csi_driver(plain)]
        made += [
            csi_node(name, {room: None, plain: self.random.choice((1, 2, 3))}) for name in names if self.often(0.9)
        ]
        for zone, size in zip(ZONES, self.random.sample(("100Gi", "20Gi", "2Gi", ""), 3), strict=True):
            if size:
                made.append(capacity(f"{room}-{zone}", self.room, size, zone))
        return made

    def volumes(self, names: list[str]) -> list[dict]:
        """By hostname and by zone, free; and those that claims name."""
        sizes = iter(range(5, 100))
        made = [
            local(f"{name}-{place}", self.waiting, f"{next(sizes)}Gi", (HOSTNAME, name))
            for name in self.random.sample(names, 3)
            for place in range(self.random.choice((1, 2)))
        ]
        for class_name in (self.waiting, self.immediate):
            for zone in ZONES:
                if self.often(0.8):
                    made.append(volume(f"{class_name}-{zone}", class_name, f"{next(sizes)}Gi", **near(ZONE, zone)))
        for name, zone in (("labelled", "a"), ("labelled-b", "b")):
            kept = volume(f"{name}-{self.number}", "", "5Gi", claimRef={"name": name, "namespace": self.namespace})
            kept["metadata"]["labels"] = {ZONE: zone}
            made.append(kept)
        one_pod = {"claimRef": {"name": "one-pod", "namespace": self.namespace}, "accessModes": [ONE_POD]}
        limited = {"claimRef": {"name": "limited", "namespace": self.namespace}, **near(ZONE, *"ab")}
        limited["csi"] = {"driver": self.drivers[1], "volumeHandle": "limited"}
        return [
            *made,
            volume(f"one-pod-{self.number}", "", "5Gi", **one_pod),
            volume(f"limited-{self.number}", "", "5Gi", **limited),
        ]

    def claims(self) -> list[dict]:
        """Bound at once, waiting for a Pod, never to be bound."""
        kept = (("labelled", {}), ("labelled-b", {}), ("one-pod", {"mode": ONE_POD}), ("limited", {}))
        specs = [
            (name, claim_spec("", **fields) | {"volumeName": f"{name}-{self.number}"}, True) for name, fields in kept
        ]
        specs += [(f"wait-{size}", claim_spec(self.waiting, f"{size}Gi"), False) for size in (4, 7, 9)]
        specs += [
            ("wait-huge", claim_spec(self.waiting, HUGE), False),
            ("now-huge", claim_spec(self.immediate, HUGE), False),
        ]
        specs += [(f"room-{size}", claim_spec(self.room, f"{size}Gi"), False) for size in (1, 10, 500)]
        specs += [(f"plain-{place}", claim_spec(self.plain), False) for place in range(3)]
        specs += [("nowhere", claim_spec("") | {"volumeName": "gone"}, False)]
        return [claim(name, spec, self.namespace, bound) for name, spec, bound in specs]

    def attachments(self, names: list[str]) -> list[dict]:
        """Volumes that are still on a node, and no Pod uses them."""
        return [
            {
                **{"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment"},
                "metadata": {"name": f"csi-{self.number}-{name}"},
                "spec": {
                    **{"attacher": self.drivers[1], "nodeName": name},
                    "source": {"persistentVolumeName": f"limited-{self.number}"},
                },
            }
            for name in self.random.sample(names, 2)
        ]

    def pod(self, name: str, claims: list[str]) -> dict:
        kind = self.random.choices(("claims", "ephemeral", "missing", "one-pod"), (10, 4, 1, 2))[0]
        if kind == "one-pod":
            volumes = [_of_claim(kind)]
        elif kind == "missing":
            volumes = [_of_claim("missing")]
        elif kind == "ephemeral":
            volumes = [self.ephemeral()]
        else:
            volumes = [_of_claim(one) for one in self.random.sample(claims, self.random.choice((1, 1, 1, 2)))]
        return pod(*self.constraints(), name=name, namespace=self.namespace, spec=self.spec(volumes))

    def spec(self, volumes: list[dict]) -> dict:
        requests = {"cpu": self.random.choice(("100m", "500m", "1")), "memory": "64Mi"}
        spec = {"containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}]}
        spec |= {"volumes": volumes} if volumes else {}
        return spec | ({"nodeSelector": {ZONE: self.random.choice(ZONES)}} if self.often(0.15) else {})

    def ephemeral(self) -> dict:
        class_name = self.random.choice((self.waiting, self.room, self.plain))
        spec = claim_spec(class_name, self.random.choice(("4Gi", "15Gi")))
        return {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}

    def constraints(self) -> list[dict]:
        return [constraint(topologyKey=self.random.choice((ZONE, HOSTNAME)))] if self.often(0.2) else []

    def stateful_set(self, class_name: str) -> dict:
        name = f"set-{class_name}"
        spec = {"replicas": 0, "serviceName": name, "podManagementPolicy": "Parallel"}
        spec |= {"selector": {"matchLabels": {"app": name}}}
        spec |= {"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim_spec(class_name)}]}
        labels = {"app": name}
        made = workload("StatefulSet", name=name, namespace=self.namespace, labels=labels, spec=spec)
        made["spec"]["template"]["spec"] = self.spec([])
        return made


def _of_claim(name: str) -> dict:
    return {"name": name, "persistentVolumeClaim": {"claimName": name}}
