"""Ten clusters made at random, the same each time: zones, nodes, workloads with constraints, and Pods that wait."""

from __future__ import annotations

from random import Random

SEEDS = range(10)
NAMESPACES = ("shop", "team")
HARD_OR_SOFT = ("DoNotSchedule", "ScheduleAnyway")
ZONE, HOSTNAME, REGION = ("topology.kubernetes.io/zone", "kubernetes.io/hostname", "topology.kubernetes.io/region")
SINCE = "2026-01-01T00:00:00Z"


def cluster(seed: int) -> list[dict]:
    """Return all objects of the cluster of a seed."""
    random = Random(seed)
    nodes = [_node(random, number) for number in range(random.randint(4, 9))]
    objects = [*nodes]
    for number in range(random.randint(3, 6)):
        objects += _workload(random, number, [node["metadata"]["name"] for node in nodes])
    return objects


def workloads(objects: list[dict]) -> list[dict]:
    """Return the Deployments and StatefulSets of a cluster."""
    return [obj for obj in objects if obj["kind"] in ("Deployment", "StatefulSet")]


def _node(random: Random, number: int) -> dict:
    name = f"n{number}"
    labels = {HOSTNAME: name, "disk": random.choice(("ssd", "hdd")), REGION: "r"}
    if random.random() < 0.9:
        labels[ZONE] = random.choice("abc")
    taints = [
        {"key": "dedicated", "value": "x", "effect": random.choice(("NoSchedule", "PreferNoSchedule", "NoExecute"))}
    ]
    spec = {"taints": taints} if random.random() < 0.25 else {}
    if random.random() < 0.1:
        spec["unschedulable"] = True
    room = {"cpu": random.choice(("2", "4")), "memory": "8Gi", "pods": random.choice(("6", "110"))}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "creationTimestamp": SINCE},
        "spec": spec,
        "status": {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def _workload(random: Random, number: int, nodes: list[str]) -> list[dict]:
    name, namespace = f"app{number}", random.choice(NAMESPACES)
    app = {"app": name}
    kind = random.choice(("Deployment", "Deployment", "StatefulSet"))
    spec = _pod_spec(random, app)
    meta = {"namespace": namespace, "creationTimestamp": SINCE}
    replicas = random.randint(1, 6)
    workload = {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "labels": app, "uid": f"{name}-uid", **meta},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": app},
            "template": {"metadata": {"labels": app}, "spec": spec},
        },
    }
    objects, owner, labels = [workload], workload, app
    if kind == "Deployment":
        if random.random() < 0.5:
            workload["spec"]["strategy"] = {
                "rollingUpdate": {"maxSurge": random.choice((1, "25%")), "maxUnavailable": 0}
            }
        workload["metadata"]["annotations"] = {"deployment.kubernetes.io/revision": "1"}
        labels = {**app, "pod-template-hash": "5d"}
        owner = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": f"{name}-5d",
                "labels": labels,
                "uid": f"{name}-5d-uid",
                "annotations": {"deployment.kubernetes.io/revision": "1"},
                "ownerReferences": [_owner(workload)],
                **meta,
            },
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": spec},
            },
        }
        objects.append(owner)
    else:
        workload["spec"]["serviceName"] = name
    objects += [_pod(random, owner, labels, spec, index, nodes) for index in range(replicas)]
    objects += _companions(random, workload, app, meta)
    return objects


def _companions(random: Random, workload: dict, app: dict, meta: dict) -> list[dict]:
    """Return the Service, budget and autoscaler that a workload may have."""
    name, objects = workload["metadata"]["name"], []
    if random.random() < 0.6:
        service = {"selector": app, "ports": [{"port": 80}]}
        objects.append({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, **meta}, "spec": service})
    if random.random() < 0.4:
        budget = {"selector": {"matchLabels": app}, "maxUnavailable": 1}
        objects.append(
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": name, **meta},
                "spec": budget,
            }
        )
    if random.random() < 0.3:
        target = {"apiVersion": "apps/v1", "kind": workload["kind"], "name": name}
        scaled = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 8}
        objects.append(
            {
                "apiVersion": "autoscaling/v2",
                "kind": "HorizontalPodAutoscaler",
                "metadata": {"name": name, **meta},
                "spec": scaled,
            }
        )
    return objects


def _pod_spec(random: Random, app: dict) -> dict:
    spec: dict = {
        "schedulerName": "default-scheduler",
        "containers": [
            {
                "name": "app",
                "image": "app:1",
                "resources": {"requests": {"cpu": random.choice(("100m", "500m", "1")), "memory": "256Mi"}},
            }
        ],
    }
    constraints = [_constraint(random, app) for _ in range(random.choice((0, 1, 1, 2)))]
    keys = [constraint["topologyKey"] for constraint in constraints]
    if constraints and len(set(keys)) == len(keys):
        spec["topologySpreadConstraints"] = constraints
    if random.random() < 0.3:
        spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    if random.random() < 0.2:
        spec["nodeSelector"] = {"disk": "ssd"}
    return spec


def _constraint(random: Random, app: dict) -> dict:
    selected = {"matchLabels": app if random.random() < 0.85 else {"app": "other"}}
    constraint: dict = {
        "topologyKey": random.choice((ZONE, ZONE, HOSTNAME)),
        "maxSkew": random.choice((1, 1, 2)),
        "whenUnsatisfiable": random.choice(HARD_OR_SOFT),
        "labelSelector": selected,
    }
    if random.random() < 0.2 and constraint["whenUnsatisfiable"] == "DoNotSchedule":
        constraint["minDomains"] = random.randint(2, 4)
    if random.random() < 0.2:
        constraint["nodeTaintsPolicy"] = "Honor"
    if random.random() < 0.2:
        constraint["matchLabelKeys"] = ["pod-template-hash"]
    return constraint


def _pod(random: Random, owner: dict, labels: dict, spec: dict, index: int, nodes: list[str]) -> dict:
    name = f"{owner['metadata']['name']}-{index}"
    node = random.choice(nodes) if random.random() < 0.8 else ""
    if node:
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": SINCE}]}
    else:
        waits = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/1 nodes are available.",
        }
        status = {"phase": "Pending", "conditions": [waits]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": owner["metadata"]["namespace"],
            "labels": labels,
            "uid": f"{name}-uid",
            "creationTimestamp": SINCE,
            "ownerReferences": [_owner(owner)],
        },
        "spec": {**spec, **({"nodeName": node} if node else {})},
        "status": status,
    }


def _owner(obj: dict) -> dict:
    names = {key: obj["metadata"][key] for key in ("name", "uid")}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "controller": True, **names}
