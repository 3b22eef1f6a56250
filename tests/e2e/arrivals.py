"""Random clusters as real ones are, and the Pods that arrive there one after the other: the same in every run."""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import NamedTuple

from tests.support.build import HOSTNAME, ZONE, constraint, pod, service, term

SEED = 30  # With it four clusters of thirty Pods have every reason that the test asks for, whichever ties are taken.
POOL, DISK, GPU = "example.com/pool", "example.com/disk", "example.com/gpu"
NEWS = {"team": "news", "env": "prod"}
NAMESPACES = {"shop": {"team": "shop", "env": "prod"}, "news": NEWS, "test": {"team": "shop", "env": "test"}}
APPS = ("web", "api", "db", "cache", "queue", "batch", "agent", "search")
# What a kubelet leaves of a machine.
SIZES = (("1930m", "7000Mi"), ("3920m", "14655136Ki"), ("3920m", "14655136Ki"), ("7910m", "29Gi"), ("15890m", "60Gi"))
INFRA = {"key": "dedicated", "value": "infra", "effect": "NoSchedule"}
SPOT = {"key": "spot", "effect": "NoExecute"}
FLAKY = {"key": "flaky", "value": "yes", "effect": "PreferNoSchedule"}
SLOW = {"key": "slow", "effect": "PreferNoSchedule"}
CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
TOLERATIONS = (
    {"key": "dedicated", "operator": "Exists"},
    {"key": "spot", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
    {"key": "flaky", "operator": "Equal", "value": "yes", "effect": "PreferNoSchedule"},
    {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"},
    {"operator": "Exists"},
)
MIB = 1 << 20
IMAGES = {
    "docker.io/library/nginx:1.29": 72 * MIB,
    "registry.k8s.io/pause:3.10": MIB // 2,
    "registry.example.com:5000/shop/web:2.3": 455 * MIB + 17,
    "registry.example.com:5000/shop/tool": 131 * MIB,
    "ghcr.io/acme/trainer:nightly": 3100 * MIB,
    "quay.io/db/postgres:17": 421 * MIB + 3,
}
UNKNOWN_IMAGE = "registry.example.com/new:1"
FEATURES = ("RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport", "VolumeBindMountOptions")
PORTS, ADDRESSES = (80, 443, 9100), ("127.0.0.1", "10.0.0.7", "0.0.0.0")
REQUIRED, PREFERRED = (f"{when}DuringSchedulingIgnoredDuringExecution" for when in ("required", "preferred"))


class Arrivals(NamedTuple):
    """
    Namespaces with their labels, nodes in the order of their names, Services, ReplicaSets, and the Pods in their order.

    The names of namespaces and nodes are of no other number.
    """

    namespaces: dict[str, dict[str, str]]
    nodes: list[dict]
    services: list[dict]
    replica_sets: list[dict]
    pods: list[dict]


def arrivals(number: int, pods: int) -> Arrivals:
    """Make the cluster of this number, and so many Pods."""
    return RandomCluster(number).arrivals(pods)


class RandomCluster:
    """Draws what a cluster consists of, one thing after the other."""

    def __init__(self, number: int):
        self.number, self.random = number, Random(f"{SEED} {number}")
        self.namespaces = {f"{name}-{number}": labels for name, labels in NAMESPACES.items()}
        self.apps = {app: self.random.choice([*self.namespaces]) for app in self.random.sample(APPS, 6)}

    def often(self, share: float) -> bool:
        return self.random.random() < share

    def arrivals(self, number: int) -> Arrivals:
        share = self.random.choice((0.3, 0.6))  # of nodes that have an image
        nodes = [self.node(f"n{self.number}-{place:02}", share) for place in range(self.random.randint(6, 14))]
        templates = [self.template(app) for app in self.apps]
        services = [
            service(app, {"app": app}, namespace) | {"spec": {"selector": {"app": app}, "ports": [{"port": 80}]}}
            for app, namespace in self.apps.items()
            if self.often(0.6)
        ]
        replica_sets = [self.replica_set(template) for template in templates if self.often(0.6)]
        owners = {made["metadata"]["name"] for made in replica_sets}
        pods = []
        for place in range(number):
            arriving = deepcopy(self.random.choice(templates))
            name = arriving["metadata"]["name"]
            if name in owners:
                arriving["metadata"]["labels"]["pod-template-hash"] = _revision(name)
                arriving["metadata"]["ownerReferences"] = [_owner(name)]
            arriving["metadata"]["name"] = f"{name}-{place}"
            pods.append(arriving)
        return Arrivals(self.namespaces, nodes, services, replica_sets, pods)

    def node(self, name: str, share: float) -> dict:
        pool = self.random.choices(("general", "infra", "gpu"), (6, 2, 1))[0]
        labels = {HOSTNAME: name, ZONE: self.random.choice("abc"), POOL: pool, DISK: self.random.choice(("ssd", "hdd"))}
        for key, absent in ((ZONE, 0.06), (DISK, 0.3)):
            if self.often(absent):
                del labels[key]
        taints = [INFRA] if pool == "infra" and self.often(0.8) else []
        taints += [taint for taint, often in ((SPOT, 0.08), (FLAKY, 0.15), (SLOW, 0.08)) if self.often(often)]
        spec = {"unschedulable": True} if self.often(0.08) else {}
        cpu, memory = self.random.choice(SIZES)
        have = {"cpu": cpu, "memory": memory, "ephemeral-storage": "47093746742", "hugepages-2Mi": "0"}
        have |= {"pods": self.random.choice(("110", "29", "5"))} | ({GPU: "2"} if pool == "gpu" else {})
        images = [
            {"names": [f"{image.partition('@')[0].rpartition(':')[0]}@sha256:{place:064x}", _tagged(image)]}
            | {"sizeBytes": size}
            for place, (image, size) in enumerate(IMAGES.items())
            if self.often(share)
        ]
        declared = [feature for feature in FEATURES if self.often(0.7)]
        return {
            **{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}},
            "spec": {**spec, "taints": [*taints, *([CORDONED] if spec else [])]},
            "status": {
                **{"capacity": have, "allocatable": have, "images": images, "declaredFeatures": declared},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }

    def template(self, app: str) -> dict:
        labels = {"app": app, "tier": self.random.choice(("front", "back")), "version": self.random.choice("12")}
        spec = self.containers()
        affinity = self.pod_affinity(app)
        if self.often(0.25):
            affinity["nodeAffinity"] = self.node_affinity()
        if affinity:
            spec["affinity"] = affinity
        if self.often(0.1):
            spec["nodeSelector"] = {DISK: "ssd"}
        if self.often(0.3):
            spec["tolerations"] = self.random.sample(TOLERATIONS, self.random.randint(1, 2))
        if self.often(0.45):
            spec["topologySpreadConstraints"] = self.constraints(app)
        return pod(name=app, namespace=self.apps[app], labels=labels, spec=spec)

    def replica_set(self, template: dict) -> dict:
        metadata = template["metadata"]
        labels = {"app": metadata["labels"]["app"], "pod-template-hash": _revision(metadata["name"])}
        inner = {"metadata": {"labels": metadata["labels"] | labels}, "spec": template["spec"]}
        return {
            **{"apiVersion": "apps/v1", "kind": "ReplicaSet"},
            "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
            "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": inner},
        }

    def containers(self) -> dict:
        made = {"containers": [self.container(f"c{place}") for place in range(self.random.choice((1, 1, 2)))]}
        if self.often(0.2):
            always = {"restartPolicy": "Always"} if self.often(0.5) else {}
            made["initContainers"] = [self.container("first") | always]
        if self.often(0.15):
            requests = {"cpu": self.random.choice(("400m", "900m")), "memory": "1200Mi"}
            for container in (*made["containers"], *made.get("initContainers", ())):
                container["resources"] = {}
            made["resources"] = {"requests": requests}
        self.take_ports(made)
        self.need_features(made)
        return made

    def container(self, name: str) -> dict:
        image = UNKNOWN_IMAGE if self.often(0.1) else self.random.choice([*IMAGES])
        requests = {"cpu": self.random.choice(("50m", "250m", "0.5", "1300m"))} if self.often(0.8) else {}
        requests |= {"memory": self.random.choice(("64Mi", "700M", "2.5Gi"))} if self.often(0.7) else {}
        requests |= {"ephemeral-storage": "9G"} if self.often(0.1) else {}
        limits = {GPU: "1"} if self.often(0.06) else {}
        return {"name": name, "image": image, "resources": {"requests": requests | limits, "limits": limits}}

    def take_ports(self, spec: dict) -> None:
        if not self.often(0.25):
            return
        for port in self.random.sample(PORTS, self.random.choice((1, 1, 2))):
            protocol = {"protocol": self.random.choices(("TCP", "UDP"), (5, 1))[0]}
            address = {"hostIP": self.random.choice(ADDRESSES)} if self.often(0.4) else {}
            container = self.random.choice([*spec["containers"], *spec.get("initContainers", ())])
            container.setdefault("ports", []).append({"containerPort": port, "hostPort": port, **protocol, **address})

    def need_features(self, spec: dict) -> None:
        """Sometimes need what only some kubelets do."""
        if self.often(0.07):
            rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
            spec["containers"][0] |= {"restartPolicy": "Never", "restartPolicyRules": [rule]}

    def node_affinity(self) -> dict:
        expressions = (term(DISK, "In", "ssd"), term(ZONE, "NotIn", "a"), term(POOL, "In", "general", "gpu"))
        terms = [{"matchExpressions": [self.random.choice(expressions)]} for _ in range(self.random.choice((1, 2)))]
        if self.often(0.35):
            return {REQUIRED: {"nodeSelectorTerms": terms}}
        return {PREFERRED: [{"weight": self.random.randint(1, 100), "preference": preferred} for preferred in terms]}

    def pod_affinity(self, app: str) -> dict:
        kinds = (("podAntiAffinity", REQUIRED, 0.25), ("podAffinity", REQUIRED, 0.2))
        kinds += (("podAntiAffinity", PREFERRED, 0.4), ("podAffinity", PREFERRED, 0.3))
        made: dict[str, dict] = {}
        for kind, when, share in kinds:
            if self.often(share):
                terms = [self.pod_term(app) for _ in range(self.random.choice((1, 1, 2)))]
                made.setdefault(kind, {})[when] = terms if when == REQUIRED else [self.weighted(of) for of in terms]
        return made

    def weighted(self, of: dict) -> dict:
        return {"weight": self.random.choice((1, 29, 57, 100, self.random.randint(1, 100))), "podAffinityTerm": of}

    def pod_term(self, own: str) -> dict:
        """Mostly of the Pods of one application; it is the Pod's own as often as not."""
        app = own if self.often(0.5) else self.random.choice([*self.apps])
        selector = self.random.choices(
            (
                {"matchLabels": {"app": app}},
                {"matchExpressions": [term("app", "In", app, "other"), term("tier", "NotIn", "back")]},
                {"matchExpressions": [term("version", "In", "2")]},
                {},
            ),
            (8, 1, 1, 1),
        )[0]
        made = {"topologyKey": self.random.choices((HOSTNAME, ZONE, POOL), (5, 5, 1))[0], "labelSelector": selector}
        made |= self.reach(self.apps[own], self.apps[app])
        if self.often(0.1) and "version" not in str(selector):
            made[self.random.choice(("matchLabelKeys", "mismatchLabelKeys"))] = ["version"]
        return made

    def reach(self, own: str, wanted: str) -> dict:
        """Make the namespaces of a term; none are named where it means its own."""
        if own == wanted and self.often(0.7):
            return {}
        return self.random.choice(
            (
                {"namespaces": [wanted]},
                {"namespaceSelector": {}},
                {"namespaceSelector": {"matchLabels": self.namespaces[wanted]}},
                {"namespaceSelector": {"matchExpressions": [term("env", "NotIn", "prod")]}},
                {"namespaces": [own], "namespaceSelector": {"matchLabels": {"team": "news"}}},
            )
        )

    def constraints(self, app: str) -> list[dict]:
        made = []
        for key in self.random.sample((ZONE, HOSTNAME, POOL), self.random.choice((1, 1, 2))):
            fields = {"topologyKey": key, "maxSkew": self.random.choice((1, 1, 2, 3))}
            fields["labelSelector"] = {"matchLabels": {"app": app}}
            if self.often(0.5):
                fields["whenUnsatisfiable"] = "ScheduleAnyway"
            elif self.often(0.3):
                fields["minDomains"] = self.random.randint(2, 4)
            if self.often(0.2):
                fields["matchLabelKeys"] = ["version"]
            for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
                if self.often(0.3):
                    fields[policy] = self.random.choice(("Honor", "Ignore"))
            made.append(constraint(**fields))
        return made


def _tagged(image: str) -> str:
    return image if ":" in image.rpartition("/")[2] else f"{image}:latest"


def _revision(name: str) -> str:
    return f"{sum(name.encode()):x}"


def _owner(name: str) -> dict:
    """The uid is that of a ReplicaSet which is only made in the API server: it is written in then."""
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": "", "controller": True}
