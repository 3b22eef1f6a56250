"""
Churn in a cluster of some sixty nodes: workloads that come, grow, roll out and go, on nodes that come and go, too.

What is asked of the cluster is by a number the same in every run; what becomes of it, and when, is not.

    with ControlPlane(folder, FLAGS) as plane:
        configure(plane)
        drive(plane, Churn(1), pods=3000)
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from itertools import count, takewhile
from typing import NamedTuple

from tests.e2e import configuration
from tests.e2e.api import JSON, MERGE, ApiError
from tests.e2e.arrivals import APPS, CORDONED, DISK, GPU, IMAGES, NAMESPACES, POOL, REQUIRED, SPOT, RandomCluster
from tests.e2e.crowds import budget
from tests.e2e.futures import HIGH, LOW
from tests.e2e.kubelet import OVERTAKEN
from tests.e2e.plane import ControlPlane
from tests.e2e.programs import version
from tests.e2e.site import GRACE
from tests.e2e.stored import (
    PATHS,
    Provisioner,
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
from tests.support.build import API_VERSIONS, HOSTNAME, ZONE, pod, priority_class, service
from webhook.objects.quantities import parse_quantity

NODES, ZONES = 60, "abc"
QUIET = 3.0  # Seconds, longer than the part of the log that is looked at around a decision.
RATE = 14.0  # Pods that are asked for in a second.
# Other than in most tests, controllers taint nodes and evict Pods.  They take a node for lost after an hour: nobody
# renews its Lease.
FLAGS = {
    "kube-controller-manager": {
        "controllers": "*,-persistentvolume-attach-detach-controller",
        **{"node-monitor-grace-period": "1h", "node-startup-grace-period": "1h"},
    },
}
CONNECTION = {"qps": 50, "burst": 100}  # kube-scheduler's own defaults
POLITE = "polite"  # It preempts nobody.
PRIORITIES = {HIGH: 1000, POLITE: 500, LOW: -10}
# The share of CPU or memory that workloads are to request, by phases of so many actions.
FULL, ACTIONS_OF_A_PHASE = (0.75, 1.0, 0.8, 1.2), 60
SOON, LIFE = 25, 100  # The most actions after which what was made or changed is taken back.
KINDS = {"Deployment": 76, "StatefulSet": 12, "ReplicaSet": 8, "ReplicationController": 4}
MODEST = {"cpu": "350m", "memory": "400M"}
REPLICAS, MOST_REPLICAS = (1, 2, 3, 4, 6, 8, 10), 16
DISK_DRIVER, LOCAL_CLASS, MADE_CLASS, ONE_POD = "disk.example.com", "local", "made", "ReadWriteOncePod"
STORAGE = [
    storage_class(LOCAL_CLASS),
    storage_class(MADE_CLASS, DISK_DRIVER),
    csi_driver(DISK_DRIVER, storageCapacity=True),
    *(
        capacity(f"made-{zone}", MADE_CLASS, size, zone)
        for zone, size in zip(ZONES, ("100Gi", "30Gi", "3Gi"), strict=True)
    ),
]
DECLARED_SINCE = 36  # The minor version of RestartAllContainersOnContainerExits.
POD_RESOURCES_SINCE = 34  # Before, the API server drops what a Pod requests as a whole.
GATE = "example.com/gate"
HARD = ("DoNotSchedule", "nodeSelector'", "hostPort", GPU)  # as they stand in the text of a Pod's spec
HARD += tuple(f"{kind}': {{'{REQUIRED}" for kind in ("nodeAffinity", "podAffinity", "podAntiAffinity"))
NOW = {"gracePeriodSeconds": 0}


class Request(NamedTuple):
    """One request to the API server; "EVICT" for the method means all Pods of the node that the path names."""

    method: str
    path: str
    body: object = None
    content_type: str = JSON


class Churn(RandomCluster):
    """
    Draws what is asked of the cluster, by its own account of what it has asked for before.

    `pods` is how many Pods it has asked for.
    """

    def __init__(self, number: int, nodes: int = NODES):
        super().__init__(number)
        self.namespaces, self.apps = dict(NAMESPACES), {}
        self.size, self.pods, self.done = nodes, 0, 0
        self.names = count(1)
        self.nodes: dict[str, dict] = {}
        self.workloads: dict[str, dict] = {}
        self.due: dict[int, list[Request]] = defaultdict(list)  # by the number of the action that they come before

    def ground(self) -> Iterator[Request]:
        """Yield what is made before the first workload; namespaces need more than a request."""
        for name, value in PRIORITIES.items():
            never = {"preemptionPolicy": "Never"} if name == POLITE else {}
            yield Request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", priority_class(name, value, **never))
        for made in STORAGE:
            yield Request("POST", path_of(made["kind"], "default"), made)
        for _ in range(self.size):
            yield from self.add_node()

    def beginning(self) -> Iterator[Request]:
        """Yield the first workloads."""
        yield Request("POST", path_of("DaemonSet", "test"), self.daemon_set())
        while self.is_to_grow:
            yield from self.add_workload()

    def actions(self) -> Iterator[list[Request]]:
        """Yield without end what is done next."""
        while True:
            (action,) = self.random.choices([*ACTIONS], [*ACTIONS.values()])
            self.done += 1
            yield [*self.due.pop(self.done, ()), *action(self)]

    @property
    def full(self) -> float:
        """The share that workloads request of what there is on nodes without taints, of CPU or memory."""
        usable = [made["status"]["allocatable"] for made in self.nodes.values() if not made["spec"]["taints"]]
        return max(
            sum(requested(made, what) for made in self.workloads.values())
            / sum(parse_quantity(have[what]) for have in usable)
            for what in MODEST
        )

    @property
    def is_to_grow(self) -> bool:
        return self.full < FULL[self.done // ACTIONS_OF_A_PHASE % len(FULL)]

    def later(self, most: int, *requests: Request) -> None:
        """Send requests before one of the next actions, of which `most` is the last."""
        self.due[self.done + self.random.randint(1, most)] += requests

    def new(self, name: str) -> str:
        return f"{name}-{next(self.names)}"

    # Workloads

    def scale(self) -> Iterator[Request]:
        """Scale a workload up, or down where the cluster is as full as it is to be."""
        made = self.any_workload()
        spec, by = made["spec"], self.random.choice((1, 3, 5, 8, 10))
        before = spec["replicas"]
        spec["replicas"] = max(0, min(MOST_REPLICAS, before + (by if self.is_to_grow else -by)))
        self.pods += max(0, spec["replicas"] - before)
        yield Request("PATCH", path_to(made), {"spec": {"replicas": spec["replicas"]}}, MERGE)

    def roll_out(self) -> Iterator[Request]:
        """Change the label `version` and an image of a workload's Pods, which are made anew one after the other."""
        made = self.any_workload("Deployment", "StatefulSet")
        template = made["spec"]["template"]
        template["metadata"]["labels"]["version"] = self.random.choice("1234")
        self.random.choice(template["spec"]["containers"])["image"] = self.random.choice([*IMAGES])
        self.pods += made["spec"]["replicas"]
        yield Request("PATCH", path_to(made), {"spec": {"template": template}}, MERGE)

    def replace(self) -> Iterator[Request]:
        """Delete a workload, and make two others, or at most one where the cluster is as full as it is to be."""
        made = self.any_workload()
        name = made["metadata"]["name"]
        del self.workloads[name], self.apps[name]
        for kind in (made["kind"], "Service", "PodDisruptionBudget"):
            yield Request("DELETE", path_to({**made, "kind": kind}), {"propagationPolicy": "Background"})
        for _ in range(2 if self.is_to_grow else self.random.choice((0, 1))):
            yield from self.add_workload()

    def crowd(self) -> Iterator[Request]:
        """Make one workload more, of many Pods at once."""
        yield from self.add_workload(self.random.choice((15, 20)))

    def any_workload(self, *kinds: str) -> dict:
        return self.random.choice([made for made in self.workloads.values() if not kinds or made["kind"] in kinds])

    def add_workload(self, replicas: int = 0) -> Iterator[Request]:
        app = self.new(self.random.choice(APPS))
        self.apps[app] = namespace = self.random.choice([*NAMESPACES])
        kind = self.random.choices([*KINDS], [*KINDS.values()])[0]
        template, labels = self.template(app), {"app": app}
        priority = self.random.choices(["", *PRIORITIES], (64, 12, 6, 18))[0]
        template["spec"] |= {"priorityClassName": priority} if priority else {}
        spec = {"replicas": replicas or self.random.choice(REPLICAS)}
        spec["selector"] = labels if kind == "ReplicationController" else {"matchLabels": labels}
        spec["template"] = {"metadata": {"labels": template["metadata"]["labels"]}, "spec": template["spec"]}
        if kind == "Deployment":
            spec["revisionHistoryLimit"] = 1
        if kind == "StatefulSet":
            spec |= {"serviceName": app, "podManagementPolicy": self.random.choice(("OrderedReady", "Parallel"))}
        if self.often(0.6):
            made = service(app, labels, namespace)
            made["spec"]["ports"] = [{"port": 80}]
            yield Request("POST", path_of("Service", namespace), made)
        self.workloads[app] = made = {
            **{"apiVersion": API_VERSIONS.get(kind, "apps/v1"), "kind": kind},
            **{"metadata": {"name": app, "namespace": namespace}, "spec": spec},
        }
        self.pods += spec["replicas"]
        yield Request("POST", path_of(kind, namespace), deepcopy(made))
        if self.often(0.25):
            yield Request("POST", path_of("PodDisruptionBudget", namespace), budget(made))

    def daemon_set(self) -> dict:
        labels, tiny = {"app": "agent"}, {"cpu": "10m", "memory": "10Mi"}
        containers = [{"name": "c", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": tiny}}]
        template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
        self.pods += self.size
        return {
            **{"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent", "namespace": "test"}},
            "spec": {"selector": {"matchLabels": labels}, "template": template},
        }

    # What a Pod asks for

    def template(self, app: str) -> dict:
        """Draw a Pod that asks for one hard thing, seldom for two: else few nodes would be left."""
        most = 2 if self.often(0.15) else 1
        while True:
            made = super().template(app)
            if sum(hard in str(made["spec"]) for hard in HARD) <= most:
                return made

    def pod_affinity(self, app: str) -> dict:
        """Draw terms that most nodes meet where they are hard: apart by node, its own together in a zone or pool."""
        made = super().pod_affinity(app)
        for kind, key in (("podAntiAffinity", HOSTNAME), ("podAffinity", self.random.choice((ZONE, POOL)))):
            if hard := made.get(kind, {}).get(REQUIRED):
                own = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
                reach = self.random.choice(({}, {"namespaceSelector": {}}))
                hard[:] = [hard[0] | own if kind == "podAntiAffinity" else own | reach]
        return made

    def constraints(self, app: str) -> list[dict]:
        """Draw constraints that most nodes meet where they are hard: pools are no domains, zones are three."""
        made = super().constraints(app)
        for of in made:
            if of["topologyKey"] == POOL:
                of["whenUnsatisfiable"] = "ScheduleAnyway"
                of.pop("minDomains", None)
            elif self.often(0.4):
                of["whenUnsatisfiable"] = "DoNotSchedule"
            if of["topologyKey"] == ZONE and "minDomains" in of:
                of["minDomains"] = len(ZONES)
        return made

    def need_features(self, spec: dict) -> None:
        """Draw what only some kubelets do, where the API server has heard of it."""
        if version().minor >= DECLARED_SINCE:
            super().need_features(spec)

    def take_ports(self, spec: dict) -> None:
        """Draw ports, of which there are enough for all workloads."""
        super().take_ports(spec)
        for container in (*spec["containers"], *spec.get("initContainers", ())):
            for port in container.get("ports", ()):
                port["hostPort"] += 1000 * self.random.randrange(5)

    def container(self, name: str) -> dict:
        """Draw a container, seldom a large one."""
        made = super().container(name)
        requests = made["resources"]["requests"]
        if not self.often(0.2):
            requests |= {what: amount for what, amount in MODEST.items() if what in requests}
        return made

    def small(self) -> dict:
        """Return the spec of a Pod that finds room on most nodes."""
        requests = {"cpu": self.random.choice(("50m", "100m", "200m")), "memory": "64Mi"}
        return {
            "containers": [{"name": "c", "image": self.random.choice([*IMAGES]), "resources": {"requests": requests}}]
        }

    # Single Pods

    def add_single(self) -> Iterator[Request]:
        """Make some Pods that nobody owns."""
        for _ in range(self.random.choice((1, 2, 3, 5))):
            yield from self.create(self.single())

    def single(self, **spec: object) -> dict:
        made = self.template(self.any_workload()["metadata"]["name"])
        made["metadata"]["name"] = self.new("single")
        made["spec"] |= spec
        if "priorityClassName" not in spec and self.often(0.3):
            made["spec"]["priorityClassName"] = self.random.choice([*PRIORITIES])
        return made

    def add_urgent(self) -> Iterator[Request]:
        """Make large Pods of a high priority."""
        for _ in range(self.random.choice((2, 3, 4))):
            requests = {"cpu": self.random.choice(("1500m", "3", "6")), "memory": "1Gi"}
            containers = [{"name": "c", "image": self.random.choice([*IMAGES]), "resources": {"requests": requests}}]
            large = {"containers": containers, "resources": None, "initContainers": None}
            yield from self.create(self.single(priorityClassName=HIGH, **large))

    def add_gated(self) -> Iterator[Request]:
        """Make a Pod that waits until its gate is lifted."""
        made = self.single(schedulingGates=[{"name": GATE}])
        self.later(SOON, Request("PATCH", path_to(made), {"spec": {"schedulingGates": []}}, MERGE))
        yield from self.create(made)

    def add_unscheduled(self) -> Iterator[Request]:
        """Make a Pod that kube-scheduler leaves alone: it has a node, or another scheduler."""
        made = pod(name=self.new("single"), namespace="test", labels={"app": "unscheduled"})
        made["spec"]["containers"] = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "20m"}}}]
        made["spec"] |= self.random.choice(({"nodeName": self.any_node()}, {"schedulerName": "another"}))
        yield from self.create(made)

    def create(self, made: dict, life: int = LIFE) -> Iterator[Request]:
        """Yield what makes a Pod, which goes later."""
        self.pods += 1
        self.later(life, Request("DELETE", path_to(made)))
        yield Request("POST", path_of("Pod", made["metadata"]["namespace"]), made)

    # Volumes

    def add_stored(self) -> Iterator[Request]:
        """Make a Pod with a volume that is bound before, or when the Pod gets its node."""
        kind = self.random.choices((self.of_a_zone, self.of_one_pod, self.of_nodes, self.of_a_driver), (4, 1, 3, 2))[0]
        name, namespace = self.new("stored"), self.random.choice([*NAMESPACES])
        spec, volumes = kind(name, namespace)
        for made in volumes:
            yield Request("POST", PATHS["PersistentVolume"], made)
        made = claim(name, spec, namespace)
        yield Request("POST", path_of("PersistentVolumeClaim", namespace), made)
        self.later(LIFE, *(Request("DELETE", path_to(of)) for of in (made, *volumes)))
        for place in range(1 + (kind == self.of_one_pod)):
            made = pod(name=f"{name}-{place}", namespace=namespace, labels={"app": "stored"}, spec=self.small())
            made["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]
            yield from self.create(made, SOON if kind == self.of_one_pod else LIFE)

    def of_a_zone(self, name: str, namespace: str) -> tuple[dict, list[dict]]:
        """Return the spec of a claim that has a volume of one zone or two."""
        zones = self.random.sample(ZONES, self.random.choice((1, 2)))
        return claim_spec("") | {"volumeName": name}, [volume(name, "", "5Gi", **near(ZONE, *zones))]

    def of_one_pod(self, name: str, namespace: str) -> tuple[dict, list[dict]]:
        """Return the spec of a claim for one Pod alone; it has a volume."""
        spec = claim_spec("", mode=ONE_POD) | {"volumeName": name}
        return spec, [volume(name, "", "5Gi", accessModes=[ONE_POD])]

    def of_nodes(self, name: str, namespace: str) -> tuple[dict, list[dict]]:
        """Return the spec of a claim that waits for a Pod, and disks of a few nodes; other claims take them, too."""
        nodes = self.random.sample([*self.nodes], 4)
        disks = [local(f"{name}-{on}", LOCAL_CLASS, f"{self.random.randint(4, 40)}Gi", (HOSTNAME, on)) for on in nodes]
        return claim_spec(LOCAL_CLASS, self.random.choice(("4Gi", "8Gi"))), disks

    def of_a_driver(self, name: str, namespace: str) -> tuple[dict, list[dict]]:
        """Return the spec of a claim for which a volume is made where its Pod gets a node, if there is room."""
        return claim_spec(MADE_CLASS, self.random.choice(("2Gi", "20Gi", "60Gi"))), []

    # Nodes

    def any_node(self) -> str:
        return self.random.choice([*self.nodes])

    def add_node(self) -> Iterator[Request]:
        name = self.new("node")
        made = self.node(name, 0.4)
        have, spec = made["status"]["allocatable"], made["spec"]
        have["pods"] = self.random.choice(("110", "40", "15"))
        if GPU in have or self.often(0.2):
            have[GPU] = "8"
        if self.often(0.3):
            made["metadata"]["labels"][DISK] = "ssd"
        if self.often(0.6):
            spec["unschedulable"] = False
            spec["taints"] = [taint for taint in spec["taints"] if taint["effect"] == "PreferNoSchedule"]
        self.nodes[name] = made
        yield Request("POST", "/api/v1/nodes", made)
        yield Request("POST", PATHS["CSINode"], csi_node(name, {DISK_DRIVER: self.random.choice((1, 2, None))}))

    def remove_node(self) -> Iterator[Request]:
        """Remove a node, mostly when its Pods are gone, and add another."""
        name = self.any_node()
        path = f"/api/v1/nodes/{name}"
        if self.often(0.7):
            yield from self.drained(name)
        del self.nodes[name]
        yield Request("DELETE", path, NOW)
        yield Request("DELETE", f"{PATHS['CSINode']}/{name}")
        yield from self.add_node()
        self.pods += 1

    def cordon(self) -> Iterator[Request]:
        yield from self.for_a_while(self.any_node(), {"unschedulable": True}, {"unschedulable": None})

    def drain(self) -> Iterator[Request]:
        yield from self.drained(self.any_node())

    def drained(self, name: str) -> Iterator[Request]:
        yield from self.for_a_while(name, {"unschedulable": True}, {"unschedulable": None})
        yield Request("EVICT", name)

    def taint(self) -> Iterator[Request]:
        name = self.any_node()
        taints = [taint for taint in self.nodes[name]["spec"]["taints"] if taint["key"] != CORDONED["key"]]
        another = self.random.choice((SPOT, SPOT | {"effect": "NoSchedule"}, SPOT | {"effect": "PreferNoSchedule"}))
        yield from self.for_a_while(name, {"taints": [*taints, another]}, {"taints": taints})

    def for_a_while(self, name: str, change: dict, back: dict) -> Iterator[Request]:
        """Yield what changes a node, which is changed back later."""
        path = f"/api/v1/nodes/{name}"
        yield Request("PATCH", path, {"spec": change}, MERGE)
        self.later(LIFE, Request("PATCH", path, {"spec": back}, MERGE))

    def relabel_namespace(self) -> Iterator[Request]:
        name = self.random.choice([*NAMESPACES])
        labels = {"team": self.random.choice(("shop", "news")), "env": self.random.choice(("prod", "test"))}
        yield Request("PATCH", f"/api/v1/namespaces/{name}", {"metadata": {"labels": labels}}, MERGE)


# What is done, and how often.
ACTIONS: dict[Callable[[Churn], Iterator[Request]], int] = {
    **{Churn.scale: 34, Churn.roll_out: 10, Churn.replace: 16, Churn.crowd: 3},
    **{Churn.add_single: 12, Churn.add_urgent: 4, Churn.add_gated: 3, Churn.add_unscheduled: 2, Churn.add_stored: 10},
    **{Churn.cordon: 3, Churn.drain: 2, Churn.taint: 3, Churn.remove_node: 2, Churn.relabel_namespace: 2},
}
# Where objects of a kind are, beside those that volumes depend on.
RESOURCES = {
    **{"Pod": "/api/v1/namespaces/{namespace}/pods", "Service": "/api/v1/namespaces/{namespace}/services"},
    "ReplicationController": "/api/v1/namespaces/{namespace}/replicationcontrollers",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets",
    **{
        kind: f"/apis/apps/v1/namespaces/{{namespace}}/{kind.lower()}s"
        for kind in ("Deployment", "StatefulSet", "ReplicaSet", "DaemonSet")
    },
    **PATHS,
}


def path_of(kind: str, namespace: str) -> str:
    """Return the path of all objects of a kind in a namespace."""
    return RESOURCES[kind].format(namespace=namespace)


def path_to(made: dict) -> str:
    metadata = made["metadata"]
    return f"{path_of(made['kind'], metadata.get('namespace', ''))}/{metadata['name']}"


def requested(workload: dict, what: str) -> int:
    """Return the CPU or memory that the replicas of a workload request together, in nanos."""
    spec = workload["spec"]["template"]["spec"]
    as_a_whole = "resources" in spec and version().minor >= POD_RESOURCES_SINCE
    of_all = [spec] if as_a_whole else spec["containers"]
    amounts = (parse_quantity(of["resources"].get("requests", {}).get(what, "0")) for of in of_all)
    return workload["spec"]["replicas"] * sum(amounts)


def configure(plane: ControlPlane) -> None:
    """Give kube-scheduler its own limit of requests, and a Lease; let Pods take a moment to end."""
    plane.kubelet.grace = GRACE
    connection = configuration.scheduler(plane.folder, {})["clientConnection"] | CONNECTION
    plane.configure_scheduler(clientConnection=connection, leaderElection={"leaderElect": True})


def drive(plane: ControlPlane, churn: Churn, pods: int, rate: float = RATE) -> None:
    """Make the cluster, and ask it for so many Pods in all; `rate` is the most in a second."""
    for name, labels in churn.namespaces.items():
        plane.create_namespace(name, **labels)
    for request in churn.ground():
        send(plane, request)
    time.sleep(QUIET)
    with Provisioner(plane.api):
        # Faster than kube-scheduler writes, it would be late for a while, and nobody could tell what it had seen.
        pace(plane, churn, ([request] for request in churn.beginning()), 2 * rate)
        pace(plane, churn, takewhile(lambda _: churn.pods < pods, churn.actions()), rate)


def pace(plane: ControlPlane, churn: Churn, actions: Iterable[list[Request]], rate: float) -> None:
    """Do one action after the other; `rate` is the most Pods that are asked for in a second."""
    before, began = churn.pods, time.monotonic()
    for requests in actions:
        for request in requests:
            send(plane, request)
        plane.check()
        time.sleep(max(0.0, began + (churn.pods - before) / rate - time.monotonic()))


def send(plane: ControlPlane, request: Request) -> None:
    """Send a request, whose object may be gone."""
    if request.method == "EVICT":
        for there in plane.api.call("GET", f"/api/v1/pods?fieldSelector=spec.nodeName={request.path}")["items"]:
            name = {name: there["metadata"][name] for name in ("namespace", "name")}
            eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": name}
            attempt(plane, Request("POST", f"{path_to({'kind': 'Pod', 'metadata': name})}/eviction", eviction))
    else:
        attempt(plane, request)


def attempt(plane: ControlPlane, request: Request) -> None:
    try:
        plane.api.call(*request)
    except ApiError as error:
        if error.status not in (*OVERTAKEN, 429):  # 429: a PodDisruptionBudget
            raise
