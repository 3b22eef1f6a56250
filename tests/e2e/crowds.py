"""Random clusters of 200 workloads over three zones, in which room is scarce: by a number, the same in every run."""

from __future__ import annotations

from functools import cached_property
from random import Random

from tests.e2e.futures import FOR_EVER, HIGH, LOW
from tests.support.build import API_VERSIONS, HOSTNAME, ZONE, constraint, pod

WORKLOADS = 200
ZONES = {"a": 9, "b": 11, "c": 10}
POOL, POOLS = "pool", {"general": 1.25, "spot": 1.0}  # CPU of a node of each, beside the others
NAMESPACES = ("shop", "bank", "ops")
PRIORITIES = {HIGH: 1000, "": 0, LOW: -10}
BUDGETS = 8
KINDS = {"Deployment": 72, "StatefulSet": 16, "ReplicaSet": 6, "Pod": 2, "Job": 2, "DaemonSet": 2}
FULL = 0.77  # The share of all CPU that is requested: without a zone, or a pool, there is not enough.
SOFT = {"whenUnsatisfiable": "ScheduleAnyway"}
ANY, SPREAD, SPREAD_SOFTLY, HONORING, APART, APART_BY_ZONE, PINNED, STAYING = (
    *("anywhere", "spread", "spread softly", "honoring", "apart", "apart by zone", "pinned", "staying"),
)
RULES = {ANY: 24, SPREAD: 16, SPREAD_SOFTLY: 24, HONORING: 10, APART: 8, APART_BY_ZONE: 5, PINNED: 10, STAYING: 3}


class Crowd:
    """The cluster of this number; each workload, and its Pods by the label app, has a name of its own."""

    def __init__(self, number: int):
        self.number, self.random = number, Random(f"crowd {number}")
        self.workloads = [self._workload(f"w{i}") for i in range(WORKLOADS)]
        self.kinds = {made["metadata"]["name"]: made["kind"] for made in self.workloads}

    def __str__(self) -> str:
        return f"crowd {self.number}"

    @cached_property
    def nodes(self) -> list[dict]:
        """So large that all Pods together request FULL of their CPU."""
        pools = [(f"{zone}{i:02}", zone, [*POOLS][i % 3 == 2]) for zone, number in ZONES.items() for i in range(number)]
        whole = sum(map(cpu_of, self.workloads)) / FULL
        unit = whole / sum(POOLS[pool] for _, _, pool in pools)
        return [node(name, {ZONE: zone, POOL: pool}, round(unit * POOLS[pool])) for name, zone, pool in pools]

    @cached_property
    def budgets(self) -> list[dict]:
        """Of workloads that always find room: they make it, and no constraint of theirs is hard."""
        high = [made for made in self.workloads if of_template(made).get("priorityClassName") == HIGH]
        return [budget(made) for made in high if made["spec"].get("replicas", 0) > 1][:BUDGETS]

    def _drawn(self, weights: dict[str, int]) -> str:
        return self.random.choices([*weights], [*weights.values()])[0]

    def _workload(self, name: str) -> dict:
        kind, rule = self._drawn(KINDS), self._drawn(RULES)
        size = self.random.choice((100, 200, 300, 500, 900)) if kind != "DaemonSet" else 50
        priority = self.random.choices([*PRIORITIES], (12, 68, 20))[0]
        if priority == HIGH:
            rule = self.random.choice((ANY, SPREAD_SOFTLY))
        if kind == "DaemonSet":
            rule = self.random.choice((ANY, PINNED))
        spec = {"containers": containers(size), **self._placing(rule, name)}
        spec |= {"priorityClassName": priority} if priority else {}
        labels, namespace = {"app": name}, self.random.choice(NAMESPACES)
        if kind == "Pod":
            return pod(name=name, namespace=namespace, labels=labels, spec=spec)
        number = 3 if rule == APART_BY_ZONE else self.random.choice((1, 2, 2, 3, 3, 4, 6))
        fields = {"selector": {"matchLabels": labels}}
        if kind == "Job":
            number = min(number, 2)  # It waits twice as long before each Pod that it makes anew.
            fields, spec["restartPolicy"] = {"parallelism": number, "completions": number}, "Never"
        elif kind != "DaemonSet":
            fields["replicas"] = number
        if kind == "StatefulSet":
            fields |= {"serviceName": name, "podManagementPolicy": self.random.choice(("OrderedReady", "Parallel"))}
        return {
            **{"apiVersion": API_VERSIONS.get(kind, "apps/v1"), "kind": kind},
            "metadata": {"name": name, "namespace": namespace},
            "spec": {**fields, "template": {"metadata": {"labels": labels}, "spec": spec}},
        }

    def _placing(self, rule: str, name: str) -> dict:
        """What the Pods of a workload ask of the nodes that take them."""
        own = {"labelSelector": {"matchLabels": {"app": name}}}
        skew = {"maxSkew": self.random.choice((1, 1, 2)), **own}
        if rule in (APART, APART_BY_ZONE):
            term = {**own, "topologyKey": HOSTNAME if rule == APART else ZONE}
            return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
        if rule == PINNED:
            key, values = self.random.choice(((ZONE, ZONES), (POOL, POOLS)))
            return {"nodeSelector": {key: self.random.choice([*values])}}
        if rule == STAYING:
            return {"tolerations": [FOR_EVER]}
        both = [constraint(topologyKey=key, **skew, **SOFT) for key in (ZONE, HOSTNAME)]
        hard = {SPREAD: {}, HONORING: {"nodeTaintsPolicy": "Honor"}}
        if rule in hard:
            both = [constraint(**skew, **hard[rule]), both[1]][: self.random.choice((1, 2))]
        return {} if rule == ANY else {"topologySpreadConstraints": both}


def of_template(workload: dict) -> dict:
    """The spec of its Pods."""
    spec = workload["spec"]
    return spec["template"]["spec"] if "template" in spec else spec


def cpu_of(workload: dict) -> int:
    """What its Pods request together, in thousandths of a CPU."""
    spec = workload["spec"]
    each = int(of_template(workload)["containers"][0]["resources"]["requests"]["cpu"].removesuffix("m"))
    usual = sum(ZONES.values()) if workload["kind"] == "DaemonSet" else 1
    return each * spec.get("replicas", spec.get("parallelism", usual))


def node(name: str, labels: dict[str, str], cpu: int) -> dict:
    have = {"cpu": f"{cpu}m", "memory": "64Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    return {
        "metadata": {"name": name, "labels": {HOSTNAME: name, **labels}},
        "status": {"capacity": have, "allocatable": have, "conditions": [ready]},
    }


def budget(of: dict) -> dict:
    """One Pod after the other."""
    name, namespace = of["metadata"]["name"], of["metadata"]["namespace"]
    return {
        **{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"},
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": name}}},
    }


def containers(cpu: int) -> list[dict]:
    return [{"name": "c", "image": "i", "resources": {"requests": {"cpu": f"{cpu}m", "memory": "64Mi"}}}]
