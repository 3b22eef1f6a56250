"""A cluster while it is made: its nodes, its namespaces, and the workloads whose Pods run or are to be placed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from random import Random

Object = dict[str, object]

HOSTNAME, ZONE, REGION = "kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
RACK = "example.com/rack"
# By name, as the API server lists them: ImageLocality takes the size of an image from the first node.
NODE_NUMBERS = (1, *[2, 3, 4] * 2, *[5, 6, 7, 8, 9, 10, 11, 12] * 2, 30)
SIZES = (("4", "8Gi"), ("8", "16Gi"), ("8", "32Gi"), ("16", "64Gi"))
MOST_PODS, PODS_OF_A_NODE = 60, 8

NAMESPACES = {
    "data": {"team": "data", "env": "prod"},
    "default": {},
    "kube-system": {"env": "prod"},
    "shop": {"team": "shop", "env": "prod"},
    "shop-test": {"team": "shop", "env": "test"},
}
GHOST = "ghost"  # A namespace that Pods are in and that no Namespace object is there of.
APPS = ("web", "api", "db", "cache", "worker", "agent", "log")


@dataclass
class Workload:
    """Pods of one template, and the nodes that they run on, one Pod for each mention."""

    template: Object
    nodes: list[str]

    @property
    def namespace(self) -> str:
        return self.template["metadata"]["namespace"]

    @property
    def labels(self) -> dict[str, str]:
        return self.template["metadata"]["labels"]

    @property
    def spec(self) -> Object:
        return self.template["spec"]


@dataclass
class Cluster:
    """What features change."""

    nodes: list[Object]
    namespaces: list[Object]
    workloads: list[Workload]
    incoming: Workload  # One of those that run, or one that does not run yet.
    config: Object = field(default_factory=lambda: {"defaultingType": "System", "defaultConstraints": []})
    services: list[Object] = field(default_factory=list)
    replica_sets: list[Object] = field(default_factory=list)

    @property
    def others(self) -> list[Workload]:
        """The workloads of which the incoming Pod is none."""
        return [one for one in self.workloads if one is not self.incoming]


Feature = Callable[[Random, Cluster], None]


def likely(random: Random, chance: float) -> bool:
    """Draw yes or no."""
    return random.random() < chance


def plain(random: Random, numbers: Sequence[int] = NODE_NUMBERS, most_pods: int = MOST_PODS) -> Cluster:
    """Return a cluster with nothing but nodes, of which there is one of those numbers, and Pods: most have room."""
    nodes = [_node(random, number) for number in range(random.choice(numbers))]
    namespaces = {name: labels for name, labels in NAMESPACES.items() if name == "default" or likely(random, 0.7)}
    names = [*namespaces, GHOST] if likely(random, 0.08) else [*namespaces]
    workloads = _workloads(random, names, [node["metadata"]["name"] for node in nodes], most_pods)
    if workloads and likely(random, 0.5):
        incoming = random.choice(workloads)
    else:
        incoming = Workload(_template(random, random.choice(names), random.choice(APPS)), [])
    return Cluster(nodes, [_namespace(name, labels) for name, labels in namespaces.items()], workloads, incoming)


def running(random: Random, cluster: Cluster) -> list[Object]:
    """Return the Pods of all workloads: a few of them are terminating, or on a node that is gone."""
    placed = [(workload, node) for workload in cluster.workloads for node in workload.nodes]
    random.shuffle(placed)
    seconds = random.sample(range(86400), len(placed))
    return [_pod(random, number, *one, seconds[number]) for number, one in enumerate(placed)]


def case(random: Random, name: str, cluster: Cluster) -> Object:
    """Return the cluster in the form of the recordings of mode profile."""
    incoming = deepcopy(cluster.incoming.template)
    incoming["metadata"] = {"name": "incoming", **incoming["metadata"]}
    return {
        "id": name,
        "config": cluster.config,
        "pod": {"apiVersion": "v1", "kind": "Pod", **incoming},
        "nodes": cluster.nodes,
        "pods": running(random, cluster),
        "services": cluster.services,
        "replicationControllers": [],
        "replicaSets": cluster.replica_sets,
        "statefulSets": [],
        "namespaces": cluster.namespaces,
    }


def _node(random: Random, number: int) -> Object:
    name = f"node-{number:02}"
    labels = {
        HOSTNAME: name if likely(random, 0.95) else None,
        ZONE: random.choice(("z1", "z2", "z3")) if likely(random, 0.9) else None,
        REGION: "r1" if likely(random, 0.9) else None,
        RACK: random.choice("abcd") if likely(random, 0.4) else None,
        "disk": random.choice(("ssd", "hdd")),
    }
    if likely(random, 0.01):
        labels = {}
    cpu, memory = random.choice(SIZES)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {key: value for key, value in labels.items() if value}},
        "spec": {},
        "status": {
            "allocatable": {"cpu": cpu, "memory": memory, "pods": "110", "ephemeral-storage": "100Gi"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _namespace(name: str, labels: dict[str, str]) -> Object:
    labels = {"kubernetes.io/metadata.name": name, **labels}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def _workloads(random: Random, namespaces: list[str], nodes: list[str], most_pods: int) -> list[Workload]:
    most = min(random.randint(0, most_pods), PODS_OF_A_NODE * len(nodes))
    found, pods = [], 0
    for app in random.sample(APPS, len(APPS)):
        namespace = random.choice(namespaces)
        count = min(random.choice((1, 2, 3, 3, 5, 8, 13)), most - pods)
        pods += count
        if count:
            found.append(Workload(_template(random, namespace, app), random.choices(nodes, k=count)))
    return found


def _template(random: Random, namespace: str, app: str) -> Object:
    labels = {"app": app, "tier": random.choice(("front", "back")), "version": random.choice(("v1", "v2"))}
    if likely(random, 0.3):
        labels["track"] = random.choice(("stable", "canary"))
    containers = [_container(random, f"c{number}") for number in range(random.choice((1, 1, 1, 2, 3)))]
    metadata = {"namespace": namespace, "labels": labels}
    return {"metadata": metadata, "spec": {"containers": containers, "priority": random.choice((0, 0, 0, 0, 1000))}}


def _container(random: Random, name: str) -> Object:
    found = {"name": name, "image": "registry.example.com/app:1"}
    if likely(random, 0.8):
        requests = {"cpu": random.choice(("50m", "100m", "250m")), "memory": random.choice(("64Mi", "200Mi", "512Mi"))}
        found["resources"] = {"requests": requests}
    return found


def _pod(random: Random, number: int, workload: Workload, node: str, second: int) -> Object:
    template = deepcopy(workload.template)
    metadata = {"name": f"p{number}", "uid": f"u{number}", **template["metadata"]}
    if likely(random, 0.06):
        metadata |= {"deletionTimestamp": "2026-01-03T00:00:00Z", "deletionGracePeriodSeconds": 30}
    gone = likely(random, 0.03)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {**template["spec"], "nodeName": "gone-0" if gone else node},
        "status": {"phase": "Running", "startTime": f"2026-01-02T{_clock(second)}Z"},
    }


def _clock(second: int) -> str:
    return f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
