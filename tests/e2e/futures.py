"""Random clusters with one workload, and what is then done to them: by a number, and the same in every run."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from types import MappingProxyType
from typing import NamedTuple

from tests.e2e.stored import csi_driver, csi_node
from tests.support.build import HOSTNAME, SELECTOR, ZONE, constraint, pod, workload
from tests.support.claims import claim, storage_class, using, volume

SEED = 11
INFRA = {"key": "dedicated", "value": "infra", "effect": "NoSchedule"}
OLD = {"key": "example.com/old", "value": "yes", "effect": "PreferNoSchedule"}
FOR_EVER = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
NAME = "web"
SCALER = "HorizontalPodAutoscaler"
HIGH, LOW = "high", "placeholder"  # PriorityClasses, of which the latter is the name of a workload, too.
OTHERS = {"matchLabels": {"app": "neighbour"}}
HARD, SOFT, BOTH = "hard", "soft", "both"
SPREADS = (HARD, SOFT, BOTH)
SCALED_UP, SCALED_DOWN, ROLLED_OUT, DRAINED, CORDONED, TAINTED, ADDED, DELETED, LOST = (
    *("scaled up", "scaled down", "rolled out", "drained", "cordoned", "tainted", "added", "deleted", "lost"),
)
KINDS_OF_STEP = (SCALED_UP, SCALED_DOWN, ROLLED_OUT, DRAINED, CORDONED, TAINTED, ADDED, DELETED, LOST)
REVISION = {"Deployment": "pod-template-hash", "StatefulSet": "controller-revision-hash"}
STRATEGIES = (
    {},
    {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}},
    {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 2}}},
    {"strategy": {"type": "Recreate"}},
)
ALL_AT_ONCE = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "100%", "maxUnavailable": 0}}}
HOST_PATH = {"hostPath": {"path": "/data"}}
PARALLEL = {"podManagementPolicy": "Parallel"}
NOT_KEPT = {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Delete"}}
TWO_AT_ONCE = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}}


class Situation(NamedTuple):
    """
    Nodes, Pods that nothing replaces, a workload, and steps as `evenkeel simulate` takes them.

    `late` nodes join once the replicas have been placed; `aged` says whether these have then run for different times,
    and some are dearer than others.  What is done `before` is not simulated.  Objects have no namespace; those of
    `storage` belong to none.  If fields of the spec are `applied`, a step `rollout` is that of a file with these.
    """

    number: int
    nodes: tuple[dict, ...]
    late: tuple[dict, ...]
    bare: tuple[dict, ...]
    workload: dict
    others: tuple[dict, ...]
    aged: bool
    steps: tuple[str, ...]
    before: tuple[str, ...] = ()
    storage: tuple[dict, ...] = ()
    applied: Mapping[str, object] = MappingProxyType({})

    @property
    def constraints(self) -> tuple[dict, ...]:
        """Those of the workload's template."""
        return tuple(self.workload["spec"]["template"]["spec"]["topologySpreadConstraints"])

    @property
    def tolerations(self) -> tuple[dict, ...]:
        """Those of the template; all say Exists."""
        return tuple(self.workload["spec"]["template"]["spec"].get("tolerations", ()))

    def __str__(self) -> str:
        spec = self.workload["spec"]
        replicas = spec.get("replicas", spec.get("parallelism"))
        return f"{self.number}: {self.workload['kind']} of {replicas}, {' '.join(self.steps)}"


def situation(number: int) -> Situation:
    """
    The one of this number; the names of its nodes are of no other number.

    Nine in a row begin with each kind of step once, and 27 with each kind of step under constraints of each kind.
    """
    made = _Made(number)
    nodes = made.nodes()
    first = max(1, len(nodes) * 2 // 3) if made.often(0.3) else len(nodes)
    made_workload = made.workload()
    others = (made.budget(made_workload),) if made.often(0.6) else ()
    others += (made.neighbour(),) if made.often(0.4) else ()
    return Situation(
        number,
        tuple(nodes[:first]),
        tuple(nodes[first:]),
        tuple(made.bare(one, number) for number, one in enumerate(nodes[:first]) if made.often(0.4)),
        made_workload,
        others,
        made.often(0.6),
        made.steps(made_workload, nodes),
    )


def soft(number: int) -> Situation:
    """
    One of three under soft constraints, in which ties decide; what there is at first is the same in every repetition.

    0: one replica more than there are zones.  1: over zones and nodes of different sizes, some of which are used.
    2: Pods of a drained zone, which go where others are already.
    """
    made = _Made(1000 + number)
    nodes = [
        made.node(f"soft{number}-{zone}{i}", zone, "4" if number == 1 and i % 2 == 0 else "8")
        for i, zone in enumerate("aabbcc")
    ]
    names = [one["metadata"]["name"] for one in nodes]
    keys = (ZONE,) if number == 0 else (ZONE, HOSTNAME)
    constraints = [constraint(topologyKey=key, whenUnsatisfiable="ScheduleAnyway") for key in keys]
    there = {0: [], 1: [names[0], names[2]], 2: [names[i] for i in (0, 0, 1, 2, 3, 4)]}[number]
    kind, replicas = ("ReplicaSet", len(there)) if number == 2 else ("Deployment", 0)
    of = workload(kind, *constraints, namespace=None, labels={"app": NAME}, spec={"replicas": replicas})
    of["spec"]["template"]["spec"] |= {"containers": _containers("500m")}
    bare = [
        pod(name=f"there-{i}", namespace=None, spec={"nodeName": name, "containers": _containers("500m")})
        for i, name in enumerate(there)
    ]
    steps = {0: ("scale=4",), 1: ("scale=5",), 2: (f"drain={ZONE}=a",)}[number]
    return Situation(number, tuple(nodes), (), tuple(bare), of, (), False, steps)


def slow(number: int) -> Situation:
    """
    One of three whose Pods are available only some seconds after they are ready, and which is rolled out.

    0: new Pods all come beside all old ones, and no old one goes before all are placed.  1: a few after the other.
    2: a StatefulSet, of which two may be unavailable since 1.37.
    """
    made = _Made(3000 + number)
    nodes = [made.node(f"slow{number}-{zone}{i}", zone, "8") for i, zone in enumerate("aaabbbccc")]
    kind, fields = (
        ("Deployment", {"minReadySeconds": 10, **ALL_AT_ONCE}),
        ("Deployment", {"minReadySeconds": 3}),
        ("StatefulSet", {"minReadySeconds": 3, "serviceName": NAME, "podManagementPolicy": "Parallel", **TWO_AT_ONCE}),
    )[number]
    spec = {"replicas": 5 if kind == "StatefulSet" else 9, **fields}
    of = workload(kind, constraint(), namespace=None, labels={"app": NAME}, spec=spec)
    of["spec"]["template"]["spec"] |= {"containers": _containers("100m")}
    return Situation(number, tuple(nodes), (), (), of, (), False, ("rollout",))


def amid(number: int) -> Situation:
    """
    One of three that begin with a StatefulSet amid a rollout, whose revisions are spread each by itself.

    0: a partition keeps the first two Pods, in two zones, and two of three go.  1: a zone is closed, so that the third
    new Pod waits.  2: a second rollout behind a partition, after which Pods of a zone are made anew.
    """
    made = _Made(4000 + number)
    nodes = [made.node(f"amid{number}-{zone}{i}", zone, "8") for i, zone in enumerate("aabbcc")]
    held = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}}
    fields = ({**held, "replicas": 5}, {"replicas": 4}, {**held, "replicas": 6, "podManagementPolicy": "Parallel"})
    spread = constraint(matchLabelKeys=[REVISION["StatefulSet"]])
    spec = {"serviceName": NAME, **fields[number]}
    of = workload("StatefulSet", spread, namespace=None, labels={"app": NAME}, spec=spec)
    of["spec"]["template"]["spec"] |= {"containers": _containers("100m")}
    before = ("rollout",) if number != 1 else (f"cordon={ZONE}=a", "rollout")
    steps = (f"delete={ZONE}=a delete={ZONE}=b scale=7", f"add=1,{ZONE}=a", f"rollout delete={ZONE}=b")[number]
    return Situation(number, tuple(nodes), (), (), of, (), False, tuple(steps.split()), before)


def updated(number: int) -> Situation:
    """
    One of five with a StatefulSet that 1.38 updates otherwise than 1.37, which refuses the last two.

    0: half of the Pods from the partition on may be unavailable, and no node takes new ones.  1: one may be, and two
    below the partition are.  2: a file moves the ordinals, so that one Pod is too many while another is missing.
    3: Recreate, after a zone is closed.  4: Recreate, after nobody reaches a node, where an old Pod stays.
    """
    made = _Made(9800 + number)
    nodes = [made.node(f"updated{number}-{zone}{i}", zone, "8") for i, zone in enumerate("abca")]
    names = [one["metadata"]["name"] for one in nodes]
    by_revision = constraint(topologyKey=HOSTNAME, matchLabelKeys=[REVISION["StatefulSet"]])
    recreate = {"updateStrategy": {"type": "Recreate"}}
    fields, before, steps = (
        ({"replicas": 8, **PARALLEL, **_rolling(maxUnavailable="50%", partition=4)}, _closed("abc"), "rollout"),
        ({"replicas": 2, **PARALLEL, **_rolling(partition=2)}, f"scale=6 unready={names[0]}", "rollout"),
        ({"replicas": 3, **PARALLEL, **_rolling(partition=9)}, "", "rollout"),
        ({"replicas": 6, **recreate}, "", f"{_closed('a')} rollout add=1,{ZONE}=a"),
        ({"replicas": 6, **recreate, **PARALLEL}, "", f"lose={names[1]} rollout scale=8 delete={names[1]}"),
    )[number]
    spread, first = (by_revision, 1) if number == 1 else (constraint(), len(nodes))
    of = workload("StatefulSet", spread, namespace=None, labels={"app": NAME}, spec={"serviceName": NAME, **fields})
    of["spec"]["template"]["spec"] |= {"containers": _containers("100m")}
    return Situation(
        *(number, tuple(nodes[:first]), tuple(nodes[first:]), (), of, (), False),
        *(tuple(steps.split()), tuple(before.split())),
        applied={"ordinals": {"start": 1}} if number == 2 else {},
    )


def _closed(zones: str) -> str:
    return " ".join(f"cordon={ZONE}={zone}" for zone in zones)


def _rolling(**fields: object) -> dict:
    return {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": fields}}


def sick(number: int) -> Situation:
    """
    One of four whose Pods on a node are not ready when it is drained, under a budget that allows one disruption.

    0: all others are ready, and so it goes.  1: two are not ready, and stay.  2: the budget always lets such Pods go.
    3: nobody reaches the node, where Pods stay for ever: no other node is drained, and they go first if some must.
    """
    made = _Made(5000 + number)
    nodes = [made.node(f"sick{number}-{zone}", zone, "8") for zone in "abc"]
    spread = constraint(**({} if number == 3 else {"nodeTaintsPolicy": "Honor"}))
    spec = {"replicas": 3 if number == 0 else 6}
    of = workload("Deployment", spread, namespace=None, labels={"app": NAME}, spec=spec)
    of["spec"]["template"]["spec"] |= {"containers": _containers("100m")}
    always = {"unhealthyPodEvictionPolicy": "AlwaysAllow"} if number == 2 else {}
    budget = _budget({"maxUnavailable": 1, **always})
    first = nodes[0]["metadata"]["name"]
    steps, before = (f"drain={first}",), (f"unready={first}",)
    if number == 3:
        of["spec"]["template"]["spec"]["tolerations"] = [FOR_EVER]
        steps, before = (f"lose={first}", f"drain={nodes[1]['metadata']['name']}", "scale=4"), ()
    return Situation(number, tuple(nodes), (), (), of, (budget,), False, steps, before)


def keeping(number: int) -> Situation:
    """
    One of four whose Pods have claims on volumes in zones, which pin them once they are bound.

    0: a StatefulSet that gets fewer replicas and then more again, as its claims are kept, and loses a zone to a drain.
    1: one that makes all Pods at once, where a zone is closed and a node deleted.  2: a Deployment whose Pods share a
    claim.  3: a StatefulSet that deletes the claims of the Pods that it has no longer.
    """
    made = _Made(6000 + number)
    nodes = [made.node(f"keeping{number}-{zone}{i}", zone, "8") for i, zone in enumerate("aabbcc")]
    named = f"keeping-{number}"
    local = storage_class(named, "kubernetes.io/no-provisioner")
    volumes = [volume(f"{named}-{zone}{i}", zone, of_class=named, **HOST_PATH) for zone in "abc" for i in range(3)]
    first = nodes[0]["metadata"]["name"]
    kind, spread, fields, steps = (
        ("StatefulSet", {}, {"replicas": 3}, f"scale=5 scale=2 scale=5 drain={ZONE}=a"),
        ("StatefulSet", {}, {"replicas": 4, **PARALLEL}, f"cordon={ZONE}=b scale=6 delete={first}"),
        ("Deployment", {"topologyKey": HOSTNAME, "maxSkew": 5}, {"replicas": 2}, f"scale=4 rollout drain={ZONE}=c"),
        ("StatefulSet", {}, {"replicas": 4, **NOT_KEPT, **PARALLEL}, "scale=1 scale=4 rollout"),
    )[number]
    of = workload(kind, constraint(**spread), namespace=None, labels={"app": NAME}, spec=fields)
    of["spec"]["template"]["spec"] |= {"containers": _containers("100m")}
    wanted = claim("data", of_class=named)
    others: tuple[dict, ...] = ()
    if kind == "StatefulSet":
        template = {"metadata": {"name": "data"}, "spec": wanted["spec"]}
        of["spec"] |= {"serviceName": NAME, "volumeClaimTemplates": [template]}
    else:
        of["spec"]["template"]["spec"] |= using("data")
        others = ({"apiVersion": "v1", "kind": wanted["kind"], "metadata": {"name": "data"}, "spec": wanted["spec"]},)
    return Situation(number, tuple(nodes), (), (), of, others, False, tuple(steps.split()), storage=(local, *volumes))


def graceless(number: int) -> Situation:
    """
    One of three whose Pods are gone as they are deleted, also on nodes that nobody reaches.

    0: a StatefulSet that makes them again.  1: a Deployment under a constraint that the lost zone bars.  2: a drain,
    and a rollout of a StatefulSet.
    """
    made = _Made(9000 + number)
    nodes = [made.node(f"graceless{number}-{zone}{i}", zone, "8") for i, zone in enumerate("aabbcc")]
    kind, skew, fields, steps = (
        ("StatefulSet", 3, {"replicas": 5}, f"lose={ZONE}=a scale=7"),
        ("Deployment", 1, {"replicas": 6}, f"lose={ZONE}=b rollout"),
        ("StatefulSet", 1, {"replicas": 6, **PARALLEL}, f"drain={ZONE}=c rollout lose={ZONE}=a"),
    )[number]
    of = workload(kind, constraint(maxSkew=skew), namespace=None, labels={"app": NAME}, spec=fields)
    of["spec"]["template"]["spec"] |= {"containers": _containers("100m"), "terminationGracePeriodSeconds": 0}
    if kind == "StatefulSet":
        of["spec"] |= {"serviceName": NAME}
    return Situation(number, tuple(nodes), (), (), of, (), False, tuple(steps.split()))


def autoscaled(number: int) -> Situation:
    """One of two with an autoscaler, which brings it within its bounds: 0 from above, 1 from below, and then off."""
    made = _Made(9500 + number)
    nodes = [made.node(f"autoscaled{number}-{zone}{i}", zone, "8") for i, zone in enumerate("abc")]
    of = workload("Deployment", constraint(), namespace=None, labels={"app": NAME}, spec={"replicas": 4})
    of["spec"]["template"]["spec"] |= {"containers": _containers("100m")}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": of["metadata"]["name"]}
    spec = {"minReplicas": 3, "maxReplicas": 5, "scaleTargetRef": target}
    scaler = {"apiVersion": "autoscaling/v2", "kind": SCALER, "metadata": {"name": NAME}, "spec": spec}
    steps = ("scale=11",) if number == 0 else ("scale=1", "scale=0")
    return Situation(number, tuple(nodes), (), (), of, (scaler,), False, steps)


def working(number: int) -> Situation:
    """
    One of four with a Job, which waits 10 seconds before it makes the first Pod again, and then ever longer.

    So a repetition takes a minute, and no number may depend on how kube-scheduler breaks ties.

    0: more parallelism and less.  1: a drained node, and one that nobody reaches.  2: a Job that replaces failed Pods
    only.  3: one that fails with its second Pod.
    """
    made = _Made(9700 + number)
    nodes = [made.node(f"working{number}-{zone}{i}", zone, "8") for i, zone in enumerate("aabbcc")]
    names = [one["metadata"]["name"] for one in nodes]
    fields, steps = (
        ({"completions": 9}, "scale=3 scale=6 scale=12"),
        ({"completions": 9, "parallelism": 3}, f"drain={names[0]} lose={names[2]}"),
        ({"completions": 6, "completionMode": "Indexed", "podReplacementPolicy": "Failed"}, f"lose={ZONE}=a scale=7"),
        ({"completions": 9, "parallelism": 3, "backoffLimit": 1}, f"drain={names[0]} drain={names[1]}"),
    )[number]
    spec = {"parallelism": 6, **fields}
    of = workload("Job", constraint(), namespace=None, labels={"app": NAME}, spec=spec)
    of["spec"]["template"]["spec"] |= {"containers": _containers("100m"), "restartPolicy": "Never"}
    del of["spec"]["selector"], of["spec"]["replicas"]  # A Job gets a selector from the API server.
    return Situation(number, tuple(nodes), (), (), of, (), False, tuple(steps.split()))


def daemons(number: int) -> Situation:
    """
    One of five with a DaemonSet.

    0: half may be unavailable, and a node is added.  1: two more Pods at a time, also on a cordoned node.  2: no node
    has room for a second Pod, and one is deleted.  3: a node that nobody reaches, so that no other Pod is replaced, and
    a drain.  4: taints, on nodes that keep their Pods until they are replaced, and on one that does not.
    """
    made = _Made(9800 + number)
    nodes = [made.node(f"daemons{number}-{zone}{i}", zone, "1") for i, zone in enumerate("aabbcc")]
    names = [one["metadata"]["name"] for one in nodes]
    update, steps = (
        ({"maxUnavailable": "50%"}, f"rollout add=1,{ZONE}=a rollout"),
        ({"maxUnavailable": 0, "maxSurge": 2}, f"rollout cordon={names[0]} rollout"),
        ({"maxUnavailable": 0, "maxSurge": "100%"}, f"rollout delete={names[0]}"),
        ({}, f"lose={names[0]} rollout drain={names[1]}"),
        (
            {"maxUnavailable": 0, "maxSurge": 1},
            f"taint={names[0]},old=yes:NoSchedule rollout taint={names[1]},old=yes:NoExecute rollout",
        ),
    )[number]
    newest = constraint(topologyKey=HOSTNAME, matchLabelKeys=["controller-revision-hash"])
    spec = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": update}}
    of = workload("DaemonSet", newest, constraint(), namespace=None, labels={"app": NAME}, spec=spec)
    of["spec"]["template"]["spec"] |= {"containers": _containers("600m" if number == 2 else "100m")}
    del of["spec"]["replicas"]
    return Situation(number, tuple(nodes), (), (), of, (), False, tuple(steps.split()))


def storing(number: int) -> Situation:
    """
    One of four whose Pods have volumes of another kind.

    0: disks of nodes, where a drained node and a deleted one leave replicas waiting.  1: volumes that are made in the
    zone of the Pod, as it is placed.  2: a Deployment of which each Pod has an ephemeral volume.  3: volumes that are
    made, of which each node attaches two.
    """
    made = _Made(7000 + number)
    nodes = [made.node(f"storing{number}-{zone}{i}", zone, "8") for i, zone in enumerate("aabbcc")]
    names, named = [one["metadata"]["name"] for one in nodes], f"storing-{number}"
    driver, limit = f"{named}.example.com", 2 if number == 3 else None
    provided = [csi_driver(driver), *(csi_node(name, {driver: limit}) for name in names), storage_class(named, driver)]
    disks = [
        volume(f"{named}-{name}-{i}", name, key=HOSTNAME, of_class=named, size=f"{2 + i}Gi", **HOST_PATH)
        for name in names
        for i in range(2)
    ]
    local = [storage_class(named, "kubernetes.io/no-provisioner"), *disks]
    kind, fields, steps, storage = (
        ("StatefulSet", {"replicas": 4, **PARALLEL}, f"scale=5 drain={names[0]} delete={names[2]} rollout", local),
        ("StatefulSet", {"replicas": 3}, f"scale=6 drain={ZONE}=b scale=2 scale=6", provided),
        ("Deployment", {"replicas": 3}, f"scale=6 drain={names[4]} rollout", local),
        ("StatefulSet", {"replicas": 6, **PARALLEL}, f"cordon={ZONE}=c scale=9 scale=3 scale=8", provided),
    )[number]
    soft = constraint(topologyKey=HOSTNAME, whenUnsatisfiable="ScheduleAnyway")
    spread = [constraint(maxSkew=2), soft] if number != 3 else [soft]
    of = workload(kind, *spread, namespace=None, labels={"app": NAME}, spec=fields)
    of["spec"]["template"]["spec"] |= {"containers": _containers("100m")}
    wanted = claim("data", of_class=named)["spec"]
    if kind == "StatefulSet":
        of["spec"] |= {"serviceName": NAME, "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": wanted}]}
    else:
        ephemeral = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": wanted}}}
        of["spec"]["template"]["spec"]["volumes"] = [ephemeral]
    return Situation(number, tuple(nodes), (), (), of, (), False, tuple(steps.split()), storage=tuple(storage))


def preempting(number: int) -> Situation:
    """
    One of four whose Pods preempt placeholders, which are made again and wait or find room.

    0: one placeholder on each node, for which another Pod has no room.  1: several small ones on each.  2: a drained
    zone, whose Pods go where placeholders are.  3: placeholders of which a budget lets none go, and a lost zone.
    """
    made = _Made(8000 + number)
    nodes = [
        made.node(f"preempting{number}-{zone}{i}", zone, "2") for i, zone in enumerate("abc" if number < 2 else "aabb")
    ]
    size, placeholders = (("1500m", 3), ("400m", 9), ("1500m", 2), ("900m", 4))[number]
    kind, fields, steps = (
        ("Deployment", {"replicas": 0}, "scale=2 scale=3 scale=1 scale=4"),
        ("Deployment", {"replicas": 0}, "scale=3 rollout scale=6"),
        ("StatefulSet", {"replicas": 2, **PARALLEL}, f"drain={ZONE}=a scale=3"),
        ("Deployment", {"replicas": 1}, f"scale=2 lose={ZONE}=a"),
    )[number]
    spread = constraint(maxSkew=2 if number < 2 else 5)
    of = workload(kind, spread, namespace=None, labels={"app": NAME}, spec=fields)
    of["spec"]["template"]["spec"] |= {"containers": _containers("1"), "priorityClassName": HIGH}
    if kind == "StatefulSet":
        of["spec"] |= {"serviceName": NAME}
    low = workload("Deployment", namespace=None, labels={"app": LOW}, spec={"replicas": placeholders})
    low["metadata"]["name"], low["spec"]["selector"] = LOW, {"matchLabels": {"app": LOW}}
    low["spec"]["template"]["spec"] |= {"containers": _containers(size), "priorityClassName": LOW}
    others = [low]
    if number == 3:
        guarded = _budget({"minAvailable": placeholders})
        others.append({**guarded, "spec": {**guarded["spec"], "selector": low["spec"]["selector"]}})
    return Situation(number, tuple(nodes), (), (), of, tuple(others), False, tuple(steps.split()))


def scaled(number: int) -> Situation:
    """A cluster of nodes of one size, in which a Deployment without replicas gets some, under soft constraints."""
    made = _Made(2000 + number)
    nodes = [made.node(one["metadata"]["name"], one["metadata"]["labels"][ZONE], "8") for one in made.nodes()]
    keys = (ZONE, HOSTNAME) if made.often(0.7) else (HOSTNAME,)
    constraints = [constraint(topologyKey=key, whenUnsatisfiable="ScheduleAnyway") for key in keys]
    of = workload("Deployment", *constraints, namespace=None, labels={"app": NAME}, spec={"replicas": 0})
    of["spec"]["template"]["spec"] |= {"containers": _containers("500m")}
    bare = tuple(made.bare(one, i) for i, one in enumerate(nodes) if made.often(0.2))
    return Situation(
        number, tuple(nodes), (), bare, of, (), False, (f"scale={made.random.randint(2, 2 + len(nodes) // 3)}",)
    )


class _Made:
    """What is drawn, one after the other."""

    def __init__(self, number: int):
        self.number, self.random = number, Random(f"{SEED} {number}")
        self.zones = "abcd"[: self.random.choice((2, 3, 3, 3, 4))]

    def often(self, share: float) -> bool:
        return self.random.random() < share

    def nodes(self) -> list[dict]:
        """Of zones of different sizes, in an order that mixes them."""
        alike = self.random.choice(("4", "8")) if self.often(0.5) else ""
        made = [
            self.node(f"s{self.number}-{zone}{number}", zone, alike)
            for zone in self.zones
            for number in range(self.random.randint(1, 12 // len(self.zones)))
        ]
        self.random.shuffle(made)
        return made

    def node(self, name: str, zone: str, cpu: str) -> dict:
        taints = [taint for taint, share in ((INFRA, 0.12), (OLD, 0.1)) if not cpu and self.often(share)]
        have = {"cpu": cpu or self.random.choice(("2", "4", "8")), "memory": "16Gi", "pods": "110"}
        return {
            **{"apiVersion": "v1", "kind": "Node"},
            "metadata": {"name": name, "labels": {HOSTNAME: name, ZONE: zone}},
            "spec": {"taints": taints},
            "status": {"capacity": have, "allocatable": have, "conditions": [{"type": "Ready", "status": "True"}]},
        }

    def bare(self, node: dict, number: int) -> dict:
        """A Pod on a node that takes room there, and sometimes counts."""
        labels = {"app": NAME if self.often(0.15) else "other"}
        spec = {"nodeName": node["metadata"]["name"], "containers": _containers(self.random.choice(("250m", "1")))}
        return pod(name=f"bare-{number}", namespace=None, labels=labels, spec=spec)

    def workload(self) -> dict:
        kind = self.random.choices(("Deployment", "StatefulSet", "ReplicaSet"), (6, 3, 1))[0]
        if self.step() == ROLLED_OUT and kind == "ReplicaSet":
            kind = "Deployment"
        spec = {"replicas": self.random.randint(3, 14)}
        if kind == "Deployment":
            spec |= self.random.choice((STRATEGIES[0], *STRATEGIES))
        if kind == "StatefulSet":
            spec |= {"serviceName": NAME, "podManagementPolicy": self.random.choice(("OrderedReady", "Parallel"))}
        labels = {"app": NAME}
        made = workload(kind, *self.constraints(kind), namespace=None, labels=labels, spec=spec)
        inner = made["spec"]["template"]["spec"]
        inner |= {"containers": _containers(self.random.choice(("100m", "500m", "900m", "1800m")))}
        inner |= {"terminationGracePeriodSeconds": 30}
        if self.often(0.2):
            inner["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
        return made

    def constraints(self, kind: str) -> list[dict]:
        spread = SPREADS[(self.number + self.number // len(KINDS_OF_STEP)) % len(SPREADS)]
        keys = (ZONE, HOSTNAME) if spread == BOTH or self.often(0.3) else (ZONE if self.often(0.8) else HOSTNAME,)
        made = []
        for key in keys:
            hard = spread == HARD or (spread == BOTH and key == keys[0])
            fields = {"topologyKey": key, "maxSkew": self.random.choice((1, 1, 1, 2)), "labelSelector": SELECTOR}
            fields |= {} if hard else {"whenUnsatisfiable": "ScheduleAnyway"}
            if hard and self.often(0.25):
                fields["minDomains"] = self.random.randint(2, len(self.zones) + 1)
            if kind in REVISION and self.often(0.35):
                fields["matchLabelKeys"] = [REVISION[kind]]
            if self.often(0.4):
                fields["nodeTaintsPolicy"] = "Honor"
            made.append(constraint(**fields))
        return made

    def neighbour(self) -> dict:
        """A workload without constraints, which takes room."""
        spec = {"replicas": self.random.randint(2, 6), "selector": OTHERS}
        made = workload("Deployment", name="neighbour", namespace=None, labels=OTHERS["matchLabels"], spec=spec)
        made["spec"]["template"]["spec"] |= {"containers": _containers(self.random.choice(("500m", "1500m")))}
        return made

    def budget(self, of: dict) -> dict:
        """A PodDisruptionBudget of the workload."""
        few = {"maxUnavailable": 1} if self.often(0.5) else {"minAvailable": max(1, of["spec"]["replicas"] - 2)}
        return _budget(few)

    def step(self) -> str:
        """The kind of the first step."""
        return KINDS_OF_STEP[self.number % len(KINDS_OF_STEP)]

    def steps(self, of: dict, nodes: list[dict]) -> tuple[str, ...]:
        """
        One to three, of which none names what an earlier one took away.

        After a cordoned or tainted node, or one more, comes a step that places Pods.
        """
        kinds = [self.step()]
        if kinds[0] in (CORDONED, TAINTED, ADDED):
            kinds.append(self.random.choice((SCALED_UP, ROLLED_OUT)))
        while len(kinds) < 3 and self.often(0.4):
            kinds.append(self.random.choice((SCALED_UP, SCALED_DOWN, ROLLED_OUT, DRAINED, CORDONED)))
        if of["kind"] == "ReplicaSet":
            kinds = [SCALED_UP if kind == ROLLED_OUT else kind for kind in kinds]
        left, replicas, made = list(nodes), of["spec"]["replicas"], []
        for kind in kinds:
            if kind == SCALED_UP or (kind == SCALED_DOWN and replicas == 1):
                replicas += self.random.randint(1, 6)
                made.append(f"scale={replicas}")
            elif kind == SCALED_DOWN:
                replicas -= self.random.randint(1, max(1, replicas * 2 // 3))
                made.append(f"scale={replicas}")
            elif kind == ROLLED_OUT:
                made.append("rollout")
            elif kind == ADDED:
                made.append(f"add={self.random.randint(1, 3)},{ZONE}={self.random.choice((*self.zones, 'e'))}")
            elif left:
                made.append(self.of_nodes(kind, left))
            if kind == LOST and self.often(0.4):
                made.append(made[-1].replace("lose", "delete"))
        return tuple(made)

    def of_nodes(self, kind: str, left: list[dict]) -> str:
        """A step that takes a node, or a zone, out of those that are left."""
        one = self.random.choice(left)
        zone, name = one["metadata"]["labels"][ZONE], one["metadata"]["name"]
        zones = {node["metadata"]["labels"][ZONE] for node in left}
        whole = len(zones) > 1 and (kind == LOST or self.often(0.5))
        left[:] = [node for node in left if (node["metadata"]["labels"][ZONE] != zone if whole else node is not one)]
        target = f"{ZONE}={zone}" if whole else name
        verb = {DRAINED: "drain", CORDONED: "cordon", TAINTED: "taint", DELETED: "delete", LOST: "lose"}[kind]
        effect = (
            f",example.com/leaving=yes:{self.random.choice(('NoSchedule', 'NoExecute'))}" if kind == TAINTED else ""
        )
        return f"{verb}={target}{effect}"


def _budget(spec: Mapping[str, object]) -> dict:
    return {
        **{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": NAME}},
        "spec": {"selector": SELECTOR, **spec},
    }


def _containers(cpu: str) -> list[dict]:
    requests: Mapping[str, str] = {"cpu": cpu, "memory": "64Mi"}
    return [{"name": "c", "image": "i", "resources": {"requests": requests}}]
