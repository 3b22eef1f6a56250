"""
Clusters that are full, made at random, and a Pod of higher priority: the first inputs of the kind preemption.

    number --> nodes and Pods, as of whole_profile --> priorities, start times --> nodes without room --> budgets
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from random import Random

from tests.oracle.clusters.affinity import others_anti_affinity, own_affinity, own_anti_affinity
from tests.oracle.clusters.binding import broken, immediate
from tests.oracle.clusters.cluster import Cluster, Feature, Object, case, likely, plain
from tests.oracle.clusters.features import host_ports, node_affinity, spread, taints
from tests.oracle.clusters.limits import disks, limits, one_pod_only
from tests.oracle.clusters.storage import Site, VolumeFeature, add_csi_nodes, label_nodes, occupy
from tests.oracle.clusters.volumes import objects

NUMBER, LETTER = 1000, "p"
NODE_NUMBERS, MOST_PODS = (1, 2, 3, 3, 4, 4, 5, 6, 8, 10), 40
BESIDE: tuple[tuple[Feature, float], ...] = (
    (own_anti_affinity, 0.15),
    (others_anti_affinity, 0.15),
    (own_affinity, 0.08),
    (host_ports, 0.15),
    (spread, 0.25),
    (taints, 0.12),
    (node_affinity, 0.1),
)
WITH_VOLUMES: tuple[VolumeFeature, ...] = (limits, disks, one_pod_only, broken, immediate)
PRIORITIES, SYSTEM_PRIORITY = (-100, -10, 0, 0, 0, 100, 1000), 2_000_000_000
INCOMING_PRIORITIES = (0, 100, 1000, 1000, 5000, 5000)
PREEMPTED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "PreemptionByScheduler",
    "lastTransitionTime": "2026-01-03T00:00:00Z",
}
MIB = {"Mi": 1, "Gi": 1024}


def preempting() -> list[Object]:
    """Return the cases of that kind, in order."""
    return [_case(number) for number in range(NUMBER)]


def _case(number: int) -> Object:
    random = Random(f"{LETTER}{number}")
    cluster = plain(random, NODE_NUMBERS, MOST_PODS)
    for feature, chance in BESIDE:
        if likely(random, chance):
            feature(random, cluster)
    _prioritize(random, cluster)
    found = case(random, f"{LETTER}{number}", cluster)
    found["pod"]["metadata"]["uid"] = "uid-incoming"
    found["pods"] = [*_with_free_ports(found["pods"])]
    if likely(random, 0.2):
        found |= _volumes(random, found)
    _start(random, found["pods"])
    _fill(random, found)
    found["waiting"] = [*_waiting(random, found, cluster)]
    _nominate(random, found)
    found["podDisruptionBudgets"] = [*_budgets(random, found)]
    return found


def _prioritize(random: Random, cluster: Cluster) -> None:
    for workload in cluster.workloads:
        workload.spec["priority"] = SYSTEM_PRIORITY if likely(random, 0.06) else random.choice(PRIORITIES)
    spec = cluster.incoming.spec
    spec["priority"] = random.choice(INCOMING_PRIORITIES)
    if likely(random, 0.05):
        spec["preemptionPolicy"] = "Never"
    elif likely(random, 0.3):
        spec["preemptionPolicy"] = "PreemptLowerPriority"
    if likely(random, 0.8):
        requests = {"cpu": random.choice(("200m", "500m", "900m")), "memory": random.choice(("128Mi", "1Gi"))}
        spec["containers"][0]["resources"] = {"requests": requests}


def _volumes(random: Random, found: Object) -> Object:
    site = Site(found["pod"], found["nodes"], found["pods"])
    label_nodes(random, site.nodes)
    add_csi_nodes(random, site)
    occupy(random, site, random.choice((0, 0.3)))
    random.choice(WITH_VOLUMES)(random, site)
    return objects(site)


def _with_free_ports(pods: list[Object]) -> Iterator[Object]:
    """Leave out Pods on a node of which another has a port: kube-scheduler would not have placed them there."""
    taken: set[tuple[str, int]] = set()
    for pod in pods:
        containers = (*pod["spec"]["containers"], *pod["spec"].get("initContainers", []))
        ports = {port["hostPort"] for one in containers for port in one.get("ports", []) if "hostPort" in port}
        asked = {(pod["spec"]["nodeName"], port) for port in ports}
        if not asked & taken:
            taken |= asked
            yield pod


def _start(random: Random, pods: list[Object]) -> None:
    """Have some Pods start at once, and some not yet; have others that are being deleted be preempted."""
    if likely(random, 0.4):
        moments = [f"2026-01-02T00:00:0{second}Z" for second in range(random.choice((1, 2, 4)))]
        for pod in pods:
            pod["status"]["startTime"] = random.choice(moments)
    for pod in pods:
        if likely(random, 0.04):
            del pod["status"]["startTime"]
        if "deletionTimestamp" in pod["metadata"] and likely(random, 0.6):
            pod["status"]["conditions"] = [dict(PREEMPTED)]


def _fill(random: Random, found: Object) -> None:
    """Give most nodes less room than the Pod asks for, and a few less than it could ever have."""
    asked_cpu, asked_memory = _asked([found["pod"]])
    fullness = random.choice((0.6, 0.85, 1))
    for node in found["nodes"]:
        if not likely(random, fullness):
            continue
        there = [pod for pod in found["pods"] if pod["spec"]["nodeName"] == node["metadata"]["name"]]
        cpu, memory = _asked(there)
        allocatable = node["status"]["allocatable"]
        match random.choice(("cpu", "cpu", "cpu", "memory", "both", "pods", "small")):
            case "cpu":
                allocatable["cpu"] = f"{cpu + random.randint(0, max(0, asked_cpu - 1))}m"
            case "memory":
                allocatable["memory"] = f"{memory + random.randint(0, max(0, asked_memory - 1))}Mi"
            case "both":
                allocatable["cpu"] = f"{cpu + asked_cpu // 2}m"
                allocatable["memory"] = f"{memory + asked_memory // 2}Mi"
            case "pods":
                allocatable["pods"] = str(max(1, len(there) - random.choice((0, 0, 1))))
            case "small":
                allocatable["cpu"] = f"{max(1, asked_cpu - 1)}m"


def _asked(pods: list[Object]) -> tuple[int, int]:
    """Return what Pods request of CPU, in thousandths, and of memory, in MiB."""
    cpu = memory = 0
    for pod in pods:
        for container in pod["spec"]["containers"]:
            requests = container.get("resources", {}).get("requests", {})
            cpu += int(requests["cpu"][:-1]) if "cpu" in requests else 0
            memory += _mebibytes(requests["memory"]) if "memory" in requests else 0
    return cpu, memory


def _mebibytes(quantity: str) -> int:
    return int(quantity[:-2]) * MIB[quantity[-2:]]


def _waiting(random: Random, found: Object, cluster: Cluster) -> Iterator[Object]:
    """Make Pods that wait for a node which is nominated for them."""
    for number in range(random.choice((0, 0, 0, 1, 2, 3)) if cluster.workloads else 0):
        template = deepcopy(random.choice([cluster.incoming, *cluster.workloads]).template)
        template["spec"]["priority"] = random.choice((-100, 0, 1000, 5000, 10000))
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            **template,
            "metadata": {"name": f"nominated-{number}", "uid": f"n{number}", **template["metadata"]},
            "status": {"phase": "Pending", "nominatedNodeName": random.choice(found["nodes"])["metadata"]["name"]},
        }


def _nominate(random: Random, found: Object) -> None:
    """Have the Pod itself wait for a node, on which Pods may still be ending that were preempted for it."""
    if not likely(random, 0.2):
        return
    names = [node["metadata"]["name"] for node in found["nodes"]]
    name = random.choice([*names, "gone-0"])
    found["pod"]["status"] = {"phase": "Pending", "nominatedNodeName": name}
    for pod in found["pods"]:
        if pod["spec"]["nodeName"] == name and likely(random, 0.2):
            pod["metadata"]["deletionTimestamp"] = "2026-01-03T00:00:00Z"
            pod["status"]["conditions"] = [{**PREEMPTED, "status": random.choice(("True", "True", "False"))}]


def _budgets(random: Random, found: Object) -> Iterator[Object]:
    """Make PodDisruptionBudgets, most over Pods that run."""
    for number in range(random.choice((0, 0, 1, 1, 2, 3))):
        over = random.choice(found["pods"] or [found["pod"]])["metadata"]
        app = over["labels"]["app"]
        selector = random.choice(
            (
                *({"matchLabels": {"app": app}},) * 4,
                {"matchExpressions": [{"key": "app", "operator": "In", "values": [app, "web", "db"]}]},
                {"matchExpressions": [{"key": "tier", "operator": "Exists"}]},
                {},
                None,
            )
        )
        same = [pod["metadata"]["name"] for pod in found["pods"] if pod["metadata"]["labels"]["app"] == app]
        disrupted = {name: "2026-01-03T00:00:00Z" for name in same if likely(random, 0.15)}
        status = {"disruptionsAllowed": random.choice((0, 0, 1, 1, 2, 3))}
        metadata = {"name": f"budget-{number}", "namespace": over["namespace"]}
        yield {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": metadata,
            "spec": {"minAvailable": 1} | ({} if selector is None else {"selector": selector}),
            "status": status | ({"disruptedPods": disrupted} if disrupted else {}),
        }
