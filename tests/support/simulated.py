"""Small clusters with a workload and its Pods, and simulations in them."""

from __future__ import annotations

from math import inf
from random import Random

from msgspec.structs import astuple

from evenkeel.scheduler.incoming import IncomingPod
from evenkeel.scheduler.snapshot import from_objects
from evenkeel.simulate.controllers import SimulatedCluster
from evenkeel.simulate.node_changes import first_ground
from evenkeel.simulate.outcomes import run
from evenkeel.simulate.planning import planned, planned_workloads
from evenkeel.simulate.pod import Maker, PodClass
from evenkeel.simulate.results import results
from evenkeel.simulate.state import Start, State
from evenkeel.simulate.step import parse_step
from tests.support.build import constraint, owned_by
from tests.support.placing import node, requesting
from webhook.kubernetes.features import features
from webhook.kubernetes.fields import Raw
from webhook.kubernetes.kinds import KINDS
from webhook.kubernetes.references import ObjectRef
from webhook.spread.affinity import RequiredNodeAffinity
from webhook.spread.constraint import parse_constraints
from webhook.spread.selectors import selecting

SOFT = {"whenUnsatisfiable": "ScheduleAnyway"}
HOUR_AGO, NOW = "2026-01-01T00:00:00Z", 1_767_229_200.0


def nodes(text="a=3 b=3 c=3", **fields):
    """Nodes by zone: `a=2` are a1 and a2 in zone a."""
    found = [part.partition("=") for part in text.split()]
    return [node(f"{zone}{i}", zone, **fields) for zone, _, number in found for i in range(1, int(number) + 1)]


def pod(owner, number, on, *, labels=None, ready=HOUR_AGO, spec=None, **metadata):
    """A Pod of a ReplicaSet or StatefulSet, `Kind/name`, that is ready on a node."""
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": ready}
    kind, _, name = owner.partition("/")
    hashed = {"pod-template-hash": name.rpartition("-")[2]} if kind == "ReplicaSet" else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{name}-{number}",
            "namespace": "shop",
            "labels": {"app": "web", **hashed, **(labels or {})},
            "creationTimestamp": ready,
            **owned_by(owner),
            **metadata,
        },
        "spec": {"containers": requesting(), **({"nodeName": on} if on else {}), **(spec or {})},
        "status": {"phase": "Running" if on else "Pending", "conditions": [condition] if on else []},
    }


def template(*constraints, **spec):
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": requesting(), "topologySpreadConstraints": list(constraints), **spec},
    }


def _spread(constraints):
    return {"topologySpreadConstraints": list(constraints)}


def owned(kind, name, spec, owner=None):
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "shop", **(owned_by(owner) if owner else {})},
        "spec": spec,
    }


def deployment(*constraints, replicas=3, on=(), strategy=None, min_ready=0, **spec):
    """The Deployment web, its ReplicaSet web-1, and a Pod on each of these nodes."""
    those = constraints or (constraint(),)
    made = template(*those, **spec)
    selector = {"matchLabels": {"app": "web"}}
    hashed = {"matchLabels": {"app": "web", "pod-template-hash": "1"}}
    labelled, scale = {**made, "metadata": {"labels": hashed["matchLabels"]}}, {"replicas": replicas}
    return [
        owned(
            "Deployment",
            "web",
            {
                **scale,
                "selector": selector,
                "template": made,
                "strategy": strategy or {},
                "minReadySeconds": min_ready,
            },
        ),
        owned("ReplicaSet", "web-1", {**scale, "selector": hashed, "template": labelled}, "Deployment/web"),
        *(pod("ReplicaSet/web-1", i, one, spec=_spread(those)) for i, one in enumerate(on)),
    ]


def stateful(*constraints, replicas=3, on=(), **fields):
    """The StatefulSet web, and its Pods from ordinal 0 on."""
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}}
    those = constraints or (constraint(),)
    return [
        owned("StatefulSet", "web", {**spec, "template": template(*those), **fields}),
        *(pod("StatefulSet/web", i, one, spec=_spread(those)) for i, one in enumerate(on)),
    ]


def updating(*constraints, on, current="old", updated="new", **fields):
    """The StatefulSet web amid a rollout: `on` is a node and the revision for each of its Pods."""
    made, *_ = stateful(*constraints, replicas=len(on), **fields)
    pods = [
        pod(
            "StatefulSet/web",
            i,
            name,
            labels={"controller-revision-hash": revision},
            spec=_spread(constraints or (constraint(),)),
        )
        for i, (name, revision) in enumerate(on)
    ]
    return [{**made, "status": {"currentRevision": current, "updateRevision": updated}}, *pods]


def budget(**spec):
    """A PodDisruptionBudget for the Pods of the workload web."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec},
    }


def cluster(*objects, minor=33, time=NOW):
    known = features(minor)
    pods = [one for one in objects if one["kind"] == "Pod"]
    others = {ObjectRef.of(one).key: one for one in objects if one["kind"] not in ("Pod", "Node", "Namespace")}
    return SimulatedCluster(from_objects(objects, known), known, pods, others, time)


def workload(objects) -> Raw:
    return next(one for one in objects if one["kind"] in ("Deployment", "StatefulSet"))


def plan(objects, steps, *, raw=None, minor=33, **fields):
    """The plan to take these steps, as on the command line, with the first workload."""
    taken = [parse_step(one) for one in steps.split()]
    return planned(raw or workload(objects), cluster(*objects, minor=minor), taken, KINDS, **fields).plan


def run_one(made, seed, number, most_placements=inf):
    """The outcomes of the one workload that is named, before all steps and after each."""
    return [step.workloads[made.named[0].name] for step in run(made, seed, number, most_placements)]


def simulated_steps(objects, steps, *, runs=60, **fields):
    """What each step comes to."""
    made = plan(objects, steps, **fields)
    return results(made, [run(made, 1, i) for i in range(runs)], {made.named[0].name})[1:]


def simulated(objects, steps, **fields):
    """What each step does to the workload."""
    return [step.workloads[0] for step in simulated_steps(objects, steps, **fields)]


def held(result):
    """What holds a drain: node, budgets, and the share of the runs."""
    return [(eviction.node, eviction.names, eviction.share) for eviction in result.held]


def cluster_plan(objects, steps, *, minor=33):
    """The plan to take these steps, of all workloads."""
    return planned_workloads([], cluster(*objects, minor=minor), [parse_step(one) for one in steps.split()], KINDS)


def simulated_cluster(objects, steps, *, runs=20, shown=None, **fields):
    """What each step does to all workloads, or to those that are shown, with sums by namespace."""
    made = cluster_plan(objects, steps, **fields).plan
    return results(made, [run(made, 1, i) for i in range(runs)], shown or set(made.workloads))[1:]


def numbers(*ranges):
    """Ranges as tuples."""
    return tuple(astuple(one) for one in ranges)


def application(name, on, *constraints, kind="Deployment", cpu="100m", owner="", waiting=0, labels=None, **spec):
    """A workload, its ReplicaSet if it is a Deployment, and a Pod on each of these nodes, and Pods that wait."""
    labels = {"app": name, **(labels or {})}
    of_pod = {"containers": requesting(cpu), "topologySpreadConstraints": list(constraints), **spec}
    made = {"metadata": {"labels": labels}, "spec": of_pod}
    of_spec = {"selector": {"matchLabels": labels}, "template": made}
    if kind not in ("Job", "DaemonSet"):
        of_spec["replicas"] = len(on) + waiting
    group = {"Job": "batch/v1"}.get(kind, "apps/v1")
    workloads = [{**owned(kind, name, of_spec, owner), "apiVersion": group}]
    workloads[0]["metadata"]["labels"] = labels
    if kind == "Deployment":
        workloads.append(owned("ReplicaSet", f"{name}-1", of_spec, f"Deployment/{name}"))
    by = f"ReplicaSet/{name}-1" if kind == "Deployment" else f"{kind}/{name}"
    places = [*on, *[""] * waiting]
    return [*workloads, *(pod(by, i, place, labels=labels, spec=of_pod) for i, place in enumerate(places))]


def likely(result, index=0):
    """The most likely number of Pods in each domain that has any."""
    return {one.value: one.pods.most_likely for one in result.constraints[index].domains if one.pods.most}


def ends(result, index=0):
    """The least and the most Pods in each domain."""
    return {one.value: (one.pods.least, one.pods.most) for one in result.constraints[index].domains}


def pod_class(*constraints, priority=0, minor=33, **fields):
    """Pods of the application web."""
    incoming = IncomingPod("shop", {"app": "web"}, priority=priority, **fields)
    return PodClass(incoming, parse_constraints(list(constraints), {"app": "web"}, features(minor)))


def state(*objects, found=None, waiting=(), minor=33, seed=1):
    """A run in a cluster of these objects."""
    known = features(minor)
    snapshot = from_objects(objects, known)
    start = Start(snapshot, first_ground(snapshot.nodes), found or {}, waiting, known, NOW)
    return State(start, Random(seed))


def maker(*constraints, stateful=False, min_ready_seconds=0, **fields):
    return Maker(pod_class(*constraints, **fields), stateful, min_ready_seconds)


def nowhere():
    """What makes Pods that no node takes."""
    return maker(affinity=RequiredNodeAffinity(selecting({"no": "node"})))
