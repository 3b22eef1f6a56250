"""Random clusters, each with a Pod that is to be placed: by a number, and the same in every run."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from tests.support.build import HOSTNAME, SELECTOR, ZONE, constraint, selecting, term

LAST = "example.com/last"
RACK, DISK, CORES, GPU = "example.com/rack", "disk", "cores", "example.com/gpu"
SEED = 7  # With it the first fifty have every reason that there is.
ZONES, RACKS = "abcd", "12345"
INFRA = {"key": "dedicated", "value": "infra", "effect": "NoSchedule"}
BUILD = {"key": "dedicated", "value": "build", "effect": "NoSchedule"}
LEAVING = {"key": "example.com/leaving", "effect": "NoExecute"}
OLD = {"key": "example.com/old", "value": "yes", "effect": "PreferNoSchedule"}
CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
TOLERATIONS = (
    {"key": "dedicated", "operator": "Exists"},
    {"key": "dedicated", "operator": "Equal", "value": "infra"},
    {"key": "dedicated", "operator": "Equal", "value": "infra", "effect": "NoExecute"},
    {"key": "example.com/leaving", "operator": "Exists", "effect": "NoExecute"},
    {"key": CORDONED["key"], "operator": "Exists", "effect": "NoSchedule"},
    {"operator": "Exists"},
)
SELECTORS = (
    selecting(tier="front"),
    selecting(term("app", "In", "web", "api")),
    selecting(term("tier", "NotIn", "back"), app="web"),
    selecting(app="other"),
    {"labelSelector": {}},
    {"labelSelector": None},
)
RUNNING, TERMINATING, FINISHED = "running", "terminating", "finished"


class Situation(NamedTuple):
    """
    Nodes, Pods on them, each with what is to become of it, and the Pod that is to be placed.

    Pods have no namespace: those of `elsewhere` are of another than the rest.  The last node has no Pod, and room for
    one; its label LAST is its name.
    """

    nodes: list[dict]
    there: list[tuple[dict, str]]
    elsewhere: list[dict]
    incoming: dict


def situation(number: int) -> Situation:
    """The cluster and the Pod of this number; the names of its nodes are of no other number."""
    made = _Made(number)
    nodes = [made.node(f"n{number}-{one}") for one in range(made.random.randint(3, 9))]
    names = [node["metadata"]["name"] for node in nodes]
    nodes.append(made.last(f"n{number}-last"))
    there = [made.bound(f"there-{one}", made.crowded(names)) for one in range(made.random.randint(6, 30))]
    fates = made.random.choices((RUNNING, TERMINATING, FINISHED), (8, 1, 1), k=len(there))
    elsewhere = [made.bound(f"elsewhere-{number}-{one}", made.random.choice(names)) for one in range(3)]
    return Situation(nodes, list(zip(there, fates, strict=True)), elsewhere, made.incoming(names))


class _Made:
    """What is drawn, one after the other."""

    def __init__(self, number: int):
        self.random = Random(f"{SEED} {number}")

    def often(self, share: float) -> bool:
        return self.random.random() < share

    def node(self, name: str) -> dict:
        labels = {HOSTNAME: name, ZONE: self.random.choice(ZONES[:3] if self.often(0.8) else ZONES)}
        labels |= {RACK: self.random.choice(RACKS), DISK: self.random.choice(("ssd", "hdd"))}
        labels[CORES] = self.random.choice(("4", "8", "many"))
        for key, absent in ((HOSTNAME, 0.08), (ZONE, 0.12), (RACK, 0.3), (DISK, 0.2), (CORES, 0.2)):
            if self.often(absent):
                del labels[key]
        taints = [taint for taint in (self.random.choice((INFRA, BUILD)), LEAVING, OLD) if self.often(0.2)]
        spec = {"unschedulable": True} if self.often(0.15) else {}
        taints += [CORDONED] if spec and self.often(0.7) else []
        have = {
            "cpu": self.random.choice(("1500m", "4", "16", "16")),
            "memory": self.random.choice(("1Gi", "4Gi", "64Gi", "64Gi")),
            "pods": self.random.choice(("2", "4", "110", "110", "110")),
            "ephemeral-storage": self.random.choice(("1Gi", "100Gi", "100Gi")),
            **({GPU: self.random.choice("012")} if self.often(0.3) else {}),
        }
        return {
            **{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}},
            "spec": {**spec, "taints": taints},
            "status": self.status(have),
        }

    def last(self, name: str) -> dict:
        """A node with room for one Pod, and no other; often it is in a zone of its own."""
        node = self.node(name)
        node["metadata"]["labels"] |= {LAST: name} | ({ZONE: "e", RACK: "6"} if self.often(0.6) else {})
        node["status"] = self.status({"cpu": "4", "memory": "4Gi", "pods": "1"})
        return node

    def status(self, have: dict[str, str]) -> dict:
        return {"capacity": have, "allocatable": have, "conditions": [{"type": "Ready", "status": "True"}]}

    def crowded(self, names: list[str]) -> str:
        """A node for a Pod: often one of the first two, seldom one that is gone."""
        return self.random.choices([*names, "gone"], [4, 3, *[1] * (len(names) - 1)])[0]

    def bound(self, name: str, node: str) -> dict:
        return _pod(name, self.labels("web", "web", "web", "api"), {"nodeName": node, **self.containers(0.3)})

    def labels(self, *apps: str) -> dict[str, str]:
        return {"app": self.random.choice(apps)} | (
            {"tier": self.random.choice(("front", "back"))} if self.often(0.6) else {}
        )

    def incoming(self, names: list[str]) -> dict:
        """A Pod with constraints; every third has little else that could keep it from a node."""
        spread_alone = self.often(0.35)
        spec = self.containers(0.1 if spread_alone else 0.45)
        if constraints := self.constraints():
            spec["topologySpreadConstraints"] = constraints
        if self.often(0.12) and not spread_alone:
            spec["nodeSelector"] = {DISK: "ssd"}
        if self.often(0.4) and not spread_alone:
            terms = [self.term(names) for _ in range(self.random.choice((1, 1, 2)))]
            required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
            spec["affinity"] = {"nodeAffinity": required}
        if self.often(0.3):
            spec["tolerations"] = self.random.sample(TOLERATIONS, self.random.randint(1, 2))
        return _pod("incoming", self.labels("web"), spec)

    def constraints(self) -> list[dict]:
        made = []
        for key in self.random.sample((ZONE, HOSTNAME, RACK), self.random.choice((0, 1, 2, 2, 3))):
            hard = self.often(0.85)
            selector = {"labelSelector": SELECTOR} if self.often(0.75) else self.random.choice(SELECTORS)
            fields = {"topologyKey": key, "maxSkew": self.random.choice((1, 1, 1, 1, 2, 3)), **selector}
            if not hard:
                fields["whenUnsatisfiable"] = "ScheduleAnyway"
            elif self.often(0.4):
                fields["minDomains"] = self.random.randint(2, 5)
            if selector["labelSelector"] is not None and "tier" not in str(selector) and self.often(0.2):
                fields["matchLabelKeys"] = ["tier"]
            for policy, share in (("nodeAffinityPolicy", 0.3), ("nodeTaintsPolicy", 0.4)):
                if self.often(share):
                    fields[policy] = self.random.choice(("Honor", "Ignore"))
            made.append(constraint(**fields))
        return made

    def term(self, names: list[str]) -> dict:
        """A term of a node affinity: sometimes of names, of none, or of no node at all."""
        expressions = [
            term(DISK, "In", "ssd", "nvme"),
            term(DISK, "NotIn", "hdd"),
            {"key": RACK, "operator": "Exists"},
            {"key": RACK, "operator": "DoesNotExist"},
            term(CORES, "Gt", "4"),
            term(CORES, "Lt", "8"),
            term(ZONE, "In", *self.random.sample(ZONES, 2)),
        ]
        made = {}
        if self.often(0.75):
            made["matchExpressions"] = self.random.sample(expressions, self.random.randint(1, 2))
        if self.often(0.45):
            operator, some = self.random.choice(("In", "In", "NotIn")), [*names, "gone"]
            number = 2 if self.often(0.5) else 1
            made["matchFields"] = [term("metadata.name", operator, self.random.choice(some)) for _ in range(number)]
        return made

    def containers(self, requesting: float) -> dict:
        """Containers of a Pod, some before them, and sometimes what it requests as a whole."""
        made = {"containers": [self.container(f"c{one}", requesting) for one in range(self.random.randint(1, 2))]}
        if self.often(0.2):
            always = {"restartPolicy": "Always"} if self.often(0.5) else {}
            made["initContainers"] = [self.container("first", requesting) | always]
        if self.often(0.1):
            made["resources"] = {"requests": {"cpu": "12", "memory": "16Gi"}}
        return made

    def container(self, name: str, requesting: float) -> dict:
        amounts = {
            "cpu": ("100m", "0.25", "1500m", "3"),
            "memory": ("100Mi", "1.5Gi", "3e9"),
            "ephemeral-storage": ("500M", "2Gi"),
        }
        shares = {"cpu": requesting, "memory": requesting / 1.5, "ephemeral-storage": requesting / 3}
        requests = {what: self.random.choice(amounts[what]) for what, share in shares.items() if self.often(share)}
        limits = {GPU: "1"} if self.often(requesting / 6) else {}
        return {"name": name, "image": "i", "resources": {"requests": requests | limits, "limits": limits}}


def _pod(name: str, labels: dict[str, str], spec: dict) -> dict:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}
