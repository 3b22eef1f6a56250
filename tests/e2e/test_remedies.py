"""What `evenkeel explain` says would let a Pod in does: it is done to the cluster, or the Pod, and that is bound."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import NamedTuple

import pytest

from evenkeel.placement.kubectl_commands import commands
from evenkeel.placement.remedies import NEW_NODE as NEW_NODE
from evenkeel.placement.remedies import remedies as remedies_of
from evenkeel.scheduler.framework import find_feasible
from tests.e2e.api import MERGE
from tests.e2e.futures import HOST_PATH
from tests.e2e.kubelet import CAPACITY, create_node
from tests.e2e.placement import node, pods, settled
from tests.e2e.plane import ControlPlane
from tests.e2e.stored import NO_PROVISIONER, create_all, listed, remove_all
from tests.e2e.webhook import containers
from tests.support import placing
from tests.support.build import HOSTNAME, ZONE, constraint, pod, workload
from tests.support.claims import claim, storage_class, using, volume
from tests.support.commands import script
from tests.support.serving import until
from webhook.kubernetes.names import SELECTED_NODE

INFRA = {"key": "dedicated", "value": "infra", "effect": "NoSchedule"}
NOT_B = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": ZONE, "operator": "NotIn", "values": ["b"]}]}]
    }
}
WAITING, NEW = "waiting", "new"


class Situation(NamedTuple):
    """Nodes by name, each with its zone, if any; the Pods that run, by their nodes; and the Pod that waits."""

    zones: Mapping[str, str]
    running: tuple[str, ...]
    constraints: tuple[Mapping[str, object], ...] = (constraint(),)
    tainted: str = ""
    taint: Mapping[str, str] = INFRA
    cordoned: str = ""
    cpu: str = "0"  # that each Pod requests
    allocatable: str = "16"  # of cpu, of each node
    spec: Mapping[str, object] = {}


ABC = {"a1": "a", "b1": "b", "c1": "c"}
TAINTED = Situation(ABC, ("a1", "a1", "b1", "b1"), tainted="c1")
GOING = TAINTED._replace(taint={"key": "ToBeDeletedByClusterAutoscaler", "value": "1", "effect": "NoSchedule"})
CONTROL_PLANE = TAINTED._replace(taint={"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"})
CORDONED = Situation(ABC, ("a1", "b1"), cordoned="c1")
FEW = Situation({"a1": "a", "other1": ""}, ("a1",), (constraint(minDomains=2),))
FULL = Situation({"a1": "a"}, ("a1",), (), cpu="600m", allocatable="1")
LEFT_OUT = Situation(
    {"a1": "a", "b1": "b"},
    ("a1",),
    (constraint(nodeAffinityPolicy="Ignore"),),
    spec={"affinity": {"nodeAffinity": NOT_B}},
)
TOO_LARGE = Situation({"a1": "a"}, (), (), cordoned="a1", cpu="1200m", allocatable="1")


@pytest.fixture(scope="module")
def plane(tmp_path_factory) -> Iterator[ControlPlane]:
    """A control plane without nodes."""
    with ControlPlane(tmp_path_factory.mktemp("plane")) as running:
        yield running


class Cluster:
    """The nodes and Pods of a situation, with the Pod that waits."""

    def __init__(self, plane: ControlPlane, namespace: str, situation: Situation):
        self.plane, self.namespace, self.situation = plane, namespace, situation
        for name, zone in situation.zones.items():
            self.add_node(name, zone, [situation.taint] if name == situation.tainted else [])
        if situation.cordoned:
            self.kubectl("cordon", situation.cordoned)
        for number, at in enumerate(situation.running):
            self.create(f"running-{number}", spec={"nodeName": at})
        self.waiting = self.create(WAITING, *situation.constraints, spec=situation.spec)
        (found,) = settled(plane, namespace, 1, WAITING)
        assert "" == node(found)

    def add_node(self, name: str, zone: str, taints=()) -> None:
        labels = {ZONE: zone} if zone else {}
        create_node(self.plane.api, name, labels, taints, CAPACITY | {"cpu": self.situation.allocatable})

    def create(self, name: str, *constraints: Mapping, **fields: object) -> dict:
        made = containers(pod(*constraints, name=name, namespace=self.namespace, **fields))
        made["spec"]["containers"][0]["resources"] = {"requests": {"cpu": self.situation.cpu}}
        return self.post(made)

    def post(self, made: dict) -> dict:
        self.plane.api.call("POST", f"/api/v1/namespaces/{self.namespace}/pods", made)
        return made

    def delete(self, name: str) -> None:
        self.plane.api.call("DELETE", f"/api/v1/namespaces/{self.namespace}/pods/{name}", {"gracePeriodSeconds": 0})

    def kubectl(self, *arguments: str) -> None:
        output = self.plane.kubectl(*arguments)
        assert 0 == output.code, output

    def remedies(self) -> dict[str, dict]:
        """What explain prints, by the words of each change."""
        words = ("explain", f"pod/{WAITING}", "-n", self.namespace, "--kubeconfig", self.plane.kubeconfig, "-o", "json")
        return {one["change"]: one for one in json.loads(script(*words).stdout)["remedies"]}

    def running(self, at: str = "", zone: str = "") -> list[str]:
        """The Pods on a node or in a zone, those of the fullest node first."""
        there = {one["metadata"]["name"]: node(one) for one in pods(self.plane, self.namespace) if node(one)}
        chosen = [name for name, on in there.items() if on == at or (zone and self.situation.zones[on] == zone)]
        return sorted(chosen, key=lambda name: -[*there.values()].count(there[name]))

    def do(self, change: str) -> None:
        """What a person would do about the cluster."""
        change = re.sub(r" \(zone \w+\)$", "", change)
        if found := re.fullmatch(r"uncordon (\w+)", change):
            self.kubectl("uncordon", found[1])
        elif found := re.fullmatch(r"remove the taint (\S+) from (\w+)", change):
            self.kubectl("taint", "node", found[2], f"{found[1]}-")
        elif found := re.fullmatch(r"label (\w+) with its zone \((\S+)\), only if its zone is a new zone", change):
            self.kubectl("label", "node", found[1], f"{found[2]}={NEW}")
        elif found := re.fullmatch(r"add a node \(such as \w+\) (?:to zone (\w+)|in a new zone)", change):
            self.add_node(NEW, found[1] or NEW)
        elif found := re.fullmatch(r"delete Pods (\S+) and (\S+), which no controller creates again", change):
            self.delete(found[1])
            self.delete(found[2])
        elif found := re.fullmatch(r"free \S+ of cpu on (\w+)", change):
            self.delete(self.running(at=found[1])[0])
        else:
            raise AssertionError(change)

    def change(self, made: dict, change: str) -> dict:
        """The Pod that waits as it would be made from a template that was changed so."""
        made = deepcopy(made)
        spec = made["spec"]
        if found := re.fullmatch(r"(\w+): (\w+) on constraint (\d+)", change):
            name, value, index = found.groups()
            spec["topologySpreadConstraints"][int(index)][name] = int(value) if value.isdigit() else value
            if value == "ScheduleAnyway":
                spec["topologySpreadConstraints"][int(index)].pop("minDomains", None)
        elif found := re.fullmatch(r"remove constraint (\d+)", change):
            del spec["topologySpreadConstraints"][int(found[1])]
        elif found := re.fullmatch(r"add a toleration of (\w+)=(\w+):(\w+)", change):
            spec["tolerations"] = [{"key": found[1], "value": found[2], "effect": found[3]}]
        elif found := re.fullmatch(r"lower the requests: cpu from \w+ to (\w+)", change):
            requests = spec["containers"][0]["resources"]["requests"]
            requests["cpu"] = found[1]
        elif change == "remove the nodeSelector and the required node affinity":
            del spec["affinity"]
        else:
            raise AssertionError(change)
        return made


@pytest.fixture
def cluster(plane, namespace, request) -> Iterator[Cluster]:
    yield Cluster(plane, namespace, request.param)
    for path in (f"/api/v1/namespaces/{namespace}/pods", "/api/v1/nodes"):
        plane.api.call("DELETE", path, {"gracePeriodSeconds": 0})


def remedies(*cases: tuple[Situation, str]):
    """A test of each of these changes, in its situation."""
    return pytest.mark.parametrize(("cluster", "change"), cases, ids=[one[1] for one in cases], indirect=["cluster"])


def bound(cluster: Cluster) -> str:
    """The node of the Pod that waited, or of its successor, once it has one; one that was added as remedies name it."""
    path, found = f"/api/v1/namespaces/{cluster.namespace}/pods/{WAITING}", []

    def is_bound() -> bool:
        found[:] = [node(cluster.plane.api.call("GET", path))]
        return found != [""]

    until(is_bound, "a Pod that is bound")
    return NEW_NODE if found == [NEW] else found[0]


@remedies(
    (CORDONED, "uncordon c1 (zone c)"),
    (TAINTED, "remove the taint dedicated=infra:NoSchedule from c1 (zone c)"),
    (TAINTED, "delete Pods running-0 and running-1, which no controller creates again (zone a)"),
    (TAINTED, "add a node (such as a1) to zone c"),
    (GOING, "add a node (such as a1) to zone c"),
    (CONTROL_PLANE, "add a node (such as a1) to zone c"),
    (FEW, f"label other1 with its zone ({ZONE}), only if its zone is a new zone"),
    (FEW, "add a node (such as a1) in a new zone"),
    (FULL, "free 200m of cpu on a1"),
)
def test_what_is_done_to_the_cluster_lets_the_pod_in(cluster, change):
    remedy = cluster.remedies()[change]
    cluster.do(change)

    assert "now" == remedy["where"]
    assert bound(cluster) in remedy["nodes"]


@remedies(
    (TAINTED, "nodeTaintsPolicy: Honor on constraint 0"),
    (GOING, "nodeTaintsPolicy: Honor on constraint 0"),
    (TAINTED, "maxSkew: 3 on constraint 0"),
    (TAINTED, "add a toleration of dedicated=infra:NoSchedule"),
    (TAINTED, "whenUnsatisfiable: ScheduleAnyway on constraint 0"),
    (FEW, "minDomains: 1 on constraint 0"),
    (FEW, "remove constraint 0"),
    (FULL, "lower the requests: cpu from 600m to 400m"),
    (LEFT_OUT, "nodeAffinityPolicy: Honor on constraint 0"),
    (LEFT_OUT, "remove the nodeSelector and the required node affinity"),
)
def test_what_is_changed_in_the_template_lets_the_next_pod_in(cluster, change):
    remedy = cluster.remedies()[change]
    cluster.delete(WAITING)
    cluster.post(cluster.change(cluster.waiting, change))

    assert "template" == remedy["where"]
    assert bound(cluster) in remedy["nodes"]


@remedies((TOO_LARGE, "uncordon a1, and lower the requests: cpu from 1200m to 1"))
def test_where_no_change_alone_helps_two_do(cluster, change):
    remedies = cluster.remedies()
    assert change in remedies
    assert all(", and " in one for one in remedies)

    in_cluster, in_template = change.split(", and ")
    cluster.do(in_cluster)
    cluster.delete(WAITING)
    cluster.post(cluster.change(cluster.waiting, in_template))
    assert bound(cluster) in remedies[change]["nodes"]


@remedies((TAINTED, "maxSkew: 3 on constraint 0"))
def test_a_smaller_max_skew_than_that_which_is_named_does_not_help(cluster, change):
    cluster.delete(WAITING)
    cluster.post(cluster.change(cluster.waiting, change.replace("3", "2")))

    (found,) = settled(cluster.plane, cluster.namespace, 1, WAITING)
    assert "" == node(found)


@remedies(
    (CORDONED, "uncordon c1 (zone c)"),
    (TAINTED, "remove the taint dedicated=infra:NoSchedule from c1 (zone c)"),
    (TAINTED, "delete Pods running-0 and running-1, which no controller creates again (zone a)"),
)
def test_a_command_does_to_the_cluster_what_was_said(cluster, change):
    remedy = cluster.remedies()[change]
    for command in remedy["commands"]:
        paste(cluster, command["shell"])

    assert bound(cluster) in remedy["nodes"]


def paste(cluster: Cluster, shell: str) -> None:
    """Run a command as a shell would."""
    program, *arguments = shlex.split(shell)
    assert "kubectl" == program
    cluster.kubectl(*arguments)


def of_deployment(cluster: Cluster) -> dict[str, dict]:
    """Make the Pod that waits that of a Deployment, and return what explain prints of its next Pod."""
    cluster.delete(WAITING)
    template = {"metadata": {"labels": {"app": "web"}}, "spec": cluster.waiting["spec"]}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    metadata = {"name": "web", "namespace": cluster.namespace}
    made = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
    cluster.plane.api.call("POST", f"/apis/apps/v1/namespaces/{cluster.namespace}/deployments", made)
    words = (
        "explain",
        "deployment/web",
        "-n",
        cluster.namespace,
        "--kubeconfig",
        cluster.plane.kubeconfig,
        "-o",
        "json",
    )
    return {one["change"]: one for one in json.loads(script(*words).stdout)["remedies"]}


@remedies(
    (TAINTED, "nodeTaintsPolicy: Honor on constraint 0"),
    (TAINTED, "add a toleration of dedicated=infra:NoSchedule"),
    (TAINTED, "whenUnsatisfiable: ScheduleAnyway on constraint 0"),
    (FEW, "minDomains: 1 on constraint 0"),
    (FEW, "remove constraint 0"),
    (FULL, "lower the requests: cpu from 600m to 400m"),
    (LEFT_OUT, "remove the nodeSelector and the required node affinity"),
)
def test_a_command_changes_the_template_as_was_said(cluster, change):
    remedy = of_deployment(cluster)[change]
    (command,) = remedy["commands"]
    paste(cluster, command["shell"])

    def runs() -> bool:
        there = pods(cluster.plane, cluster.namespace)
        return any(node(one) for one in there if one["metadata"]["name"].startswith("web-"))

    until(runs, "a Pod of the Deployment that is bound")
    again = cluster.plane.kubectl(*shlex.split(command["shell"])[1:])
    assert 0 != again.code and "The request is invalid" in again.stderr  # What is tested is no longer there.


UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}


def unnamed(name: str) -> dict:
    """A node without the label of its own name."""
    made = placing.node(name, "a")
    del made["metadata"]["labels"][HOSTNAME]
    return made


def command_for(change: str, *objects: Mapping, **fields: object) -> str:
    """The command of the one change that is called so."""
    cycle = placing.attempted(*objects, **fields)
    (found,) = (one for one in remedies_of(cycle, find_feasible(cycle)) if one.change.startswith(change))
    (command,) = commands(found.edits, None)
    return str(command)


def test_commands_for_nodes_that_are_lost_or_unlabelled_and_for_a_claim(plane, namespace):
    nodes = [placing.node("a1", "a"), placing.running("a1"), placing.node("lost", "c", taints=[UNREACHABLE])]
    delete = command_for("delete node lost", *nodes, constraints=[placing.spread()])
    label = command_for("label unnamed", unnamed("unnamed"), constraints=[placing.spread(HOSTNAME)])
    gone = claim("data", annotations={SELECTED_NODE: "gone"})
    annotate = command_for("remove the annotation", placing.node("a1", "a"), storage_class(), gone, **using("data"))
    for name in ("lost", "unnamed"):
        create_node(plane.api, name, {})
    assert 0 == plane.kubectl("label", "node", "unnamed", f"{HOSTNAME}-").code
    made = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "annotations": {SELECTED_NODE: "gone"}},
    }
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "fast"}
    claims = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"
    plane.api.call("POST", claims, {**made, "spec": spec})

    for command in (delete, label, annotate.replace("-n shop", f"-n {namespace}")):
        output = plane.kubectl(*shlex.split(command)[1:])
        assert 0 == output.code, output
    (left,) = plane.api.call("GET", "/api/v1/nodes")["items"]
    assert ("unnamed", "unnamed") == (left["metadata"]["name"], left["metadata"]["labels"][HOSTNAME])
    assert SELECTED_NODE not in plane.api.call("GET", f"{claims}/data")["metadata"].get("annotations", {})
    plane.api.call("DELETE", "/api/v1/nodes", {"gracePeriodSeconds": 0})


@pytest.fixture
def stateful(plane, namespace) -> Iterator[str]:
    """The path of a StatefulSet that makes its Pods in their order; its second one has no node without a taint."""
    create_node(plane.api, "a1", {ZONE: "a"})
    create_node(plane.api, "b1", {ZONE: "b"}, [INFRA])
    made = containers(workload("StatefulSet", constraint(), namespace=namespace, spec={"replicas": 2}))
    path = f"/apis/apps/v1/namespaces/{namespace}/statefulsets"
    plane.api.call("POST", path, made)
    settled(plane, namespace, 1, "web-1")
    yield f"{path}/web"
    plane.api.call("DELETE", path, {"propagationPolicy": "Background"})
    until(lambda: not pods(plane, namespace), "no Pods")
    plane.api.call("DELETE", "/api/v1/nodes", {"gracePeriodSeconds": 0})


@pytest.mark.parametrize(
    ("mended", "change"),
    [
        (False, "nodeTaintsPolicy: Honor on constraint 0"),
        (True, "delete Pod web-1: its controller creates it again from the new template"),
    ],
)
def test_a_pod_that_its_stateful_set_does_not_replace_is_deleted(plane, namespace, stateful, mended, change):
    if mended:
        spread = [constraint(nodeTaintsPolicy="Honor")]
        spec = {"template": {"spec": {"topologySpreadConstraints": spread}}}
        plane.api.call("PATCH", stateful, {"spec": spec}, MERGE)
        until(lambda: updated(plane, stateful), "the revision of the new template")
    words = ("explain", "pod/web-1", "-n", namespace, "--kubeconfig", plane.kubeconfig, "-o", "json")
    remedies = {one["change"]: one for one in json.loads(script(*words).stdout)["remedies"]}
    for command in remedies[change]["commands"]:
        assert 0 == plane.kubectl(*shlex.split(command["shell"])[1:]).code

    until(lambda: [one for one in pods(plane, namespace) if node(one)][1:], "both Pods on a node")


@pytest.fixture
def crowded(plane, namespace) -> Iterator[str]:
    """The Pod of a StatefulSet that waits: two of its three claims are in zone b.  In zone c a volume is free."""
    for name, zone in ABC.items():
        create_node(plane.api, name, {ZONE: zone})
    names = [f"{namespace}-{zone}{i}" for i, zone in enumerate("abbc")]
    volumes = [volume(name, name[-2], of_class=namespace, **HOST_PATH) for name in names]
    claims = [claim(f"data-web-{i}", names[i], of_class=namespace, bound=False) for i in range(3)]
    for made in claims:
        made["metadata"]["namespace"] = namespace
    create_all(plane.api, [storage_class(namespace, NO_PROVISIONER), *volumes, *claims], namespace)
    kind = "PersistentVolumeClaim"
    until(lambda: all(made["status"]["phase"] == "Bound" for made in listed(plane.api, kind, namespace)), "volumes")
    template = {"metadata": {"name": "data"}, "spec": claim("data", of_class=namespace)["spec"]}
    spec = {"replicas": 3, "podManagementPolicy": "Parallel", "volumeClaimTemplates": [template]}
    path = f"/apis/apps/v1/namespaces/{namespace}/statefulsets"
    plane.api.call("POST", path, containers(workload("StatefulSet", constraint(), namespace=namespace, spec=spec)))
    (waiting,) = [one for one in settled(plane, namespace, 3) if not node(one)]
    yield waiting["metadata"]["name"]
    plane.api.call("DELETE", path, {"propagationPolicy": "Background"})
    until(lambda: not pods(plane, namespace), "no Pods")
    remove_all(plane.api, [namespace])
    plane.api.call("DELETE", "/api/v1/nodes", {"gracePeriodSeconds": 0})


def test_a_claim_that_is_deleted_with_its_pod_is_made_anew_where_the_pod_fits(plane, namespace, crowded):
    words = ("explain", f"pod/{crowded}", "-n", namespace, "--kubeconfig", plane.kubeconfig, "-o", "json")
    *others, last = json.loads(script(*words).stdout)["remedies"]
    assert ([False] * len(others), True) == ([one["losesData"] for one in others], last["losesData"])
    for command in last["commands"]:
        assert 0 == plane.kubectl(*shlex.split(command["shell"])[1:]).code

    def bound_to() -> str:
        return next((node(one) for one in pods(plane, namespace) if one["metadata"]["name"] == crowded), "")

    until(lambda: bound_to() != "", "the new Pod on a node")
    assert [bound_to()] == last["nodes"] == ["c1"]


def updated(plane: ControlPlane, path: str) -> bool:
    """Whether a StatefulSet has a revision that not all of its Pods have."""
    status = plane.api.call("GET", path)["status"]
    return status["updateRevision"] != status["currentRevision"]
