"""Random pairs of folders, what a cluster has and what is to come: by a number, and the same in every run."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from random import Random
from typing import NamedTuple

from tests.e2e.futures import ALL_AT_ONCE, INFRA, PARALLEL, REVISION, STRATEGIES, TWO_AT_ONCE
from tests.support.build import HOSTNAME, ZONE, constraint, workload
from tests.support.placing import node, requesting

ONE_LESS = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}}
STRATEGIES_OF = {"Deployment": (*STRATEGIES, ONE_LESS, ALL_AT_ONCE), "StatefulSet": ({}, TWO_AT_ONCE)}
SIZES, CPUS = ("200m", "300m", "500m"), ("800m", "1", "1")  # of Pods, and of nodes
Folder = Mapping[str, dict]  # the Deployments and StatefulSets in it, by `Kind/name`


class Pair(NamedTuple):
    """Nodes, and two folders."""

    number: int
    nodes: tuple[dict, ...]
    before: Folder
    after: Folder

    @property
    def rolled_out(self) -> set[str]:
        """The workloads that are new, or have another template, or another number of replicas."""
        return {name for name, made in self.after.items() if relevant(made) != relevant(self.before.get(name))}

    def __str__(self) -> str:
        return f"pair {self.number}"


def relevant(made: dict | None) -> list[object]:
    """What a rollout is of."""
    return [made and made["spec"][field] for field in ("template", "replicas")]


def pair(number: int) -> Pair:
    """The one of this number; the names of its nodes are of no other number."""
    made = _Made(number)
    nodes = made.nodes()
    before = [made.workload(f"w{i}") for i in range(made.random.randint(1, 3))]
    after = [made.changed(one) if i == 0 or made.often(0.7) else one for i, one in enumerate(before)]
    after += [made.workload("new")] if made.often(0.4) else []
    return Pair(number, nodes, named(before), named(after))


def named(workloads: list[dict]) -> Folder:
    return {f"{made['kind']}/{made['metadata']['name']}": made for made in workloads}


class _Made:
    """What is drawn, one after the other."""

    def __init__(self, number: int):
        self.number, self.random = number, Random(f"folders {number}")
        self.zones = self.random.choice(("ab", "abc"))

    def often(self, share: float) -> bool:
        return self.random.random() < share

    def nodes(self) -> tuple[dict, ...]:
        """Of one zone after the other; sometimes one is closed to all Pods."""
        zones = (self.zones * 5)[: self.random.randint(2, 5)]
        made = [node(f"f{self.number}-{i}", zone, cpu=self.random.choice(CPUS)) for i, zone in enumerate(zones)]
        if len(made) > 2 and self.often(0.3):
            made[-1]["spec"]["taints"] = [INFRA]
        return tuple(made)

    def workload(self, name: str) -> dict:
        kind, labels = self.random.choices(("Deployment", "StatefulSet"), (3, 1))[0], {"app": name}
        spec = {"replicas": self.random.randint(1, 4), "selector": {"matchLabels": labels}, **self.strategy(kind)}
        if kind == "StatefulSet":
            spec |= {"serviceName": name, **self.random.choice(({}, PARALLEL))}
        made = workload(kind, labels=dict(labels), spec=spec, name=name)
        del made["metadata"]["namespace"]
        made["spec"]["template"]["spec"] = {"containers": requesting(self.random.choice(SIZES)), **self.spread(made)}
        return made

    def strategy(self, kind: str) -> dict:
        return self.random.choice(STRATEGIES_OF[kind])

    def spread(self, made: dict) -> dict:
        """Constraints on zones or nodes, or on both, hard or soft, which may count new Pods alone; or none."""
        keys = self.random.choices(((ZONE,), (HOSTNAME,), (ZONE, HOSTNAME), ()), (4, 3, 2, 1))[0]
        return {"topologySpreadConstraints": [self.constraint(made, key) for key in keys]} if keys else {}

    def constraint(self, made: dict, key: str) -> dict:
        fields = {"topologyKey": key, "labelSelector": made["spec"]["selector"]}
        fields |= {"maxSkew": 2} if self.often(0.2) else {}
        fields |= {"whenUnsatisfiable": "ScheduleAnyway"} if self.often(0.25) else {}
        fields |= {"matchLabelKeys": [REVISION[made["kind"]]]} if self.often(0.3) else {}
        fields |= {"nodeTaintsPolicy": "Honor"} if self.often(0.3) else {}
        return constraint(**fields)

    def changed(self, before: dict) -> dict:
        """The workload with another template, other replicas or another strategy, or several of these."""
        made = deepcopy(before)
        spec = made["spec"]
        template = spec["template"]
        for change in self.random.sample(("size", "label", "spread", "pin", "replicas", "strategy"), k=2):
            if change == "size":
                template["spec"]["containers"] = requesting(self.random.choice(SIZES))
            elif change == "label":
                template["metadata"]["labels"]["version"] = "2"
            elif change == "spread":
                template["spec"].pop("topologySpreadConstraints", None)
                template["spec"] |= self.spread(made)
            elif change == "pin":
                template["spec"]["nodeSelector"] = {ZONE: self.random.choice(self.zones)}
            elif change == "replicas":
                spec["replicas"] = self.random.randint(1, 5)
            else:
                for name in ("strategy", "updateStrategy"):
                    spec.pop(name, None)
                spec |= self.strategy(made["kind"])
        return made
