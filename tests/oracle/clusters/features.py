"""What else of Pods and nodes the default profile heeds: ports, images, declared features, and what it long has."""

from __future__ import annotations

from hashlib import sha256
from random import Random

from tests.oracle.clusters.cluster import HOSTNAME, RACK, ZONE, Cluster, Object, Workload, likely

MIB = 1 << 20
PORTS = (80, 443, 8080, 9100)
ADDRESSES = ("0.0.0.0", "127.0.0.1", "10.0.0.7", "::", "fd00::7")
# Names as a Pod may have them, and sizes in MiB.
IMAGES = (
    ("docker.io/library/nginx:1.27", 70),
    ("registry.k8s.io/pause:3.10", 1),
    ("registry.example.com:5000/shop/web:2.3", 450),
    ("registry.example.com:5000/shop/tool", 130),
    ("ghcr.io/acme/trainer:latest", 3000),
    ("quay.io/db/postgres:17", 420),
    ("localhost/base", 900),
    ("registry.example.com/app:1", 240),
)
DECLARED = ("RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport", "VolumeBindMountOptions")
UNHEEDED = ("ExtendWebSocketsToKubelet", "InPlacePodLevelResourcesVerticalScaling", "NewerThanAll")
UNREACHABLE = "node.kubernetes.io/unreachable"
TAINTS = (
    {"key": "dedicated", "value": "infra", "effect": "NoSchedule"},
    {"key": "gpu", "effect": "NoSchedule"},
    {"key": "flaky", "value": "yes", "effect": "PreferNoSchedule"},
    {"key": UNREACHABLE, "effect": "NoExecute", "timeAdded": "2026-01-02T00:00:00Z"},
)
CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": "2026-01-02T00:00:00Z"}


def host_ports(random: Random, cluster: Cluster) -> None:
    """Have the Pod want ports of its node, and Pods on many nodes hold some."""
    taken = _ports(random)
    _listen(random, cluster.incoming, taken)
    names = [node["metadata"]["name"] for node in cluster.nodes]
    for workload in random.sample(cluster.others, min(len(cluster.others), random.choice((1, 1, 2)))):
        again = [{**port, **_address(random)} if likely(random, 0.4) else port for port in taken]
        _listen(random, workload, again if likely(random, 0.8) else _ports(random))
        workload.nodes = random.sample(names, random.randint((len(names) + 1) // 2, len(names)))


def images(random: Random, cluster: Cluster) -> None:
    """Have nodes tell which images they have, and Pods use some of those."""
    differing = likely(random, 0.25)
    for name, size in IMAGES:
        share = random.choice((0.2, 0.5, 0.8, 1))
        for node in cluster.nodes:
            if likely(random, share):
                factor = random.choice((0.5, 1, 1.3)) if differing else 1
                node["status"].setdefault("images", []).append(_image(random, name, int(size * factor * MIB)))
    for workload in {id(one): one for one in (cluster.incoming, *cluster.others)}.values():
        _use(random, workload)


def declared_features(random: Random, cluster: Cluster) -> None:
    """Have nodes declare features of theirs, and the Pod need one or two of them."""
    share = random.choice((0, 0.4, 0.7, 0.9))
    for node in cluster.nodes:
        declared = [name for name in (*DECLARED, *UNHEEDED) if likely(random, share)]
        if declared:
            node["status"]["declaredFeatures"] = sorted(declared)
    for need in random.sample((_restart_all, _own_users, _bind_options), random.choice((1, 1, 1, 2))):
        need(random, cluster.incoming.spec)


def spread(random: Random, cluster: Cluster) -> None:
    """Spread the Pod by constraints of its own, or by those that a Service or a ReplicaSet calls for."""
    incoming, app = cluster.incoming, cluster.incoming.labels["app"]
    if likely(random, 0.65):
        incoming.spec["topologySpreadConstraints"] = [
            _constraint(random, key) | {"labelSelector": {"matchLabels": {"app": app}}}
            for key in random.sample((ZONE, HOSTNAME, RACK), random.choice((1, 1, 2)))
        ]
        return
    if likely(random, 0.5):
        constraints = [_constraint(random, key) for key in random.sample((ZONE, HOSTNAME), random.choice((1, 2)))]
        cluster.config = {"defaultingType": "List", "defaultConstraints": constraints}
    if likely(random, 0.6):
        metadata = {"name": "s0", "namespace": incoming.namespace}
        cluster.services.append(
            {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"selector": {"app": app}}}
        )
    if likely(random, 0.6):
        metadata = {"name": "rs0", "namespace": incoming.namespace}
        template = {"metadata": {"labels": {"app": app}}, "spec": {"containers": []}}
        spec = {"selector": {"matchLabels": {"app": app}}, "template": template}
        cluster.replica_sets.append({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec})
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs0", "uid": "o1", "controller": True}
        incoming.template["metadata"]["ownerReferences"] = [owner]


def taints(random: Random, cluster: Cluster) -> None:
    """Taint and cordon nodes, and let the Pod tolerate some of it."""
    share = random.choice((0.2, 0.4, 0.7))
    for node in cluster.nodes:
        found = [dict(random.choice(TAINTS))] if likely(random, share) else []
        if likely(random, 0.12):
            node["spec"]["unschedulable"] = True
            found.append(dict(CORDONED))
        if found:
            node["spec"]["taints"] = found
    tolerations = [
        {"key": "dedicated", "operator": "Equal", "value": "infra", "effect": "NoSchedule"},
        {"key": "gpu", "operator": "Exists"},
        {"key": "flaky", "operator": "Exists", "effect": "PreferNoSchedule"},
        {"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
    ]
    cluster.incoming.spec["tolerations"] = random.sample(tolerations, random.randint(1, 3))


def node_affinity(random: Random, cluster: Cluster) -> None:
    """Have the Pod require or prefer some nodes."""
    spec = cluster.incoming.spec
    match random.choice(("selector", "required", "preferred", "preferred")):
        case "selector":
            spec["nodeSelector"] = {"disk": random.choice(("ssd", "hdd"))}
        case "required":
            terms = [_node_term(random) for _ in range(random.choice((1, 2)))]
            required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
            spec.setdefault("affinity", {})["nodeAffinity"] = required
        case _:
            terms = [{"weight": random.randint(1, 100), "preference": _node_term(random)} for _ in range(2)]
            preferred = {"preferredDuringSchedulingIgnoredDuringExecution": terms}
            spec.setdefault("affinity", {})["nodeAffinity"] = preferred


def resources(random: Random, cluster: Cluster) -> None:
    """Have the Pod request much, or what few nodes have; and fill nodes with Pods."""
    requests = {"cpu": random.choice(("1", "2500m", "3900m")), "memory": random.choice(("1Gi", "4Gi", "7Gi"))}
    if likely(random, 0.3):
        requests["example.com/gpu"] = "1"
        for node in cluster.nodes:
            if likely(random, 0.5):
                node["status"]["allocatable"]["example.com/gpu"] = random.choice(("1", "4"))
    limits = {name: value for name, value in requests.items() if "/" in name}
    wanted = {"requests": requests, "limits": limits} if limits else {"requests": requests}
    cluster.incoming.spec["containers"][0]["resources"] = wanted
    for node in cluster.nodes:
        if likely(random, 0.25):
            node["status"]["allocatable"]["pods"] = str(random.randint(1, 8))


def _ports(random: Random) -> list[Object]:
    return [_port(random, number) for number in random.sample(PORTS, random.choice((1, 1, 2)))]


def _port(random: Random, number: int) -> Object:
    protocol = random.choices(("TCP", "UDP", "SCTP", None), (75, 12, 8, 5))[0]
    port = {"containerPort": number, "hostPort": number, "protocol": protocol}
    return {name: value for name, value in port.items() if value} | _address(random)


def _address(random: Random) -> Object:
    return {"hostIP": random.choice(ADDRESSES)} if likely(random, 0.4) else {}


def _listen(random: Random, workload: Workload, ports: list[Object]) -> None:
    """Give ports to a container, to a sidecar, or, which does not count, to a plain init container."""
    spec = workload.spec
    if likely(random, 0.25):
        restart = {"restartPolicy": "Always"} if likely(random, 0.6) else {}
        sidecar = {"name": "side", "image": "registry.example.com/app:1", **restart, "ports": ports[:1]}
        spec.setdefault("initContainers", []).append(sidecar)
        ports = ports[1:]
    elif likely(random, 0.2):  # The API server writes down the port of the node.
        spec["hostNetwork"] = True
        ports = [{**port, "hostPort": port["containerPort"]} for port in ports]
    elif likely(random, 0.3):
        ports = [{"containerPort": 8443, "protocol": "TCP"}, *ports]
    for port in ports:
        random.choice(spec["containers"]).setdefault("ports", []).append(port)


def _image(random: Random, name: str, size: int) -> Object:
    tagged = name if ":" in name.rpartition("/")[2] else f"{name}:latest"
    names = [_digest(name), tagged]
    if likely(random, 0.1):
        names.append(f"{tagged}-again")
    return {"names": names[1:] if likely(random, 0.05) else names, "sizeBytes": size}


def _digest(name: str) -> str:
    return f"{name.rpartition(':')[0] or name}@sha256:{sha256(name.encode()).hexdigest()}"


def _use(random: Random, workload: Workload) -> None:
    spec = workload.spec
    if likely(random, 0.25):
        spec.setdefault("initContainers", []).append({"name": "init"})
    for container in (*spec["containers"], *spec.get("initContainers", [])):
        container["image"] = _used(random)
    if likely(random, 0.2):
        reference = {"reference": _used(random), "pullPolicy": "IfNotPresent"}
        spec.setdefault("volumes", []).append({"name": "image", "image": reference})
        spec["containers"][0].setdefault("volumeMounts", []).append({"name": "image", "mountPath": "/image"})


def _used(random: Random) -> str:
    if likely(random, 0.1):
        return "registry.example.com/unknown:1"
    name, _ = random.choice(IMAGES)
    return _digest(name) if likely(random, 0.15) else name


def _restart_all(random: Random, spec: Object) -> None:
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
    own = [one for one in spec.get("initContainers", []) if "restartPolicy" not in one]
    chosen = random.choice((*spec["containers"], *own))
    chosen |= {"restartPolicy": "Never", "restartPolicyRules": [rule]}


def _own_users(random: Random, spec: Object) -> None:
    spec["hostNetwork"] = likely(random, 0.8)
    spec["hostUsers"] = likely(random, 0.1)
    if spec["hostNetwork"]:
        for container in (*spec["containers"], *spec.get("initContainers", [])):
            for port in container.get("ports", []):
                port["hostPort"] = port["containerPort"]


def _bind_options(random: Random, spec: Object) -> None:
    spec.setdefault("volumes", []).append({"name": "data", "emptyDir": {}})
    mount = {"name": "data", "mountPath": "/data", "bindMountOptions": ["noexec"]}
    random.choice(spec["containers"]).setdefault("volumeMounts", []).append(mount)


def _constraint(random: Random, key: str) -> Object:
    when = random.choice(("DoNotSchedule", "ScheduleAnyway"))
    return {"maxSkew": random.choice((1, 1, 2, 5)), "topologyKey": key, "whenUnsatisfiable": when}


def _node_term(random: Random) -> Object:
    expression = random.choice(
        (
            {"key": "disk", "operator": "In", "values": ["ssd"]},
            {"key": ZONE, "operator": "NotIn", "values": ["z1"]},
            {"key": RACK, "operator": "Exists"},
            {"key": HOSTNAME, "operator": "In", "values": ["node-00", "node-01", "node-02"]},
        )
    )
    return {"matchExpressions": [expression]}
