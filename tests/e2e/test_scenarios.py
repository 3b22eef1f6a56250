"""The situations of the feature's own documents, on the real scheduler: which nodes fit, and why the others do not."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pytest

from tests.e2e import programs
from tests.e2e.kubelet import create_node
from tests.e2e.placement import node, pods, refusal, settled
from tests.e2e.plane import ControlPlane
from tests.e2e.webhook import containers
from tests.support.build import SELECTOR, pod, workload
from tests.support.scenarios import BY_NODE, ROWS, SPREAD, Row
from tests.support.serving import until

# The key of a taint that each node has. Constraints do not look at it; a Pod that tolerates one tries that node alone.
ONLY = "only"


@pytest.fixture(scope="module")
def plane(tmp_path_factory) -> Iterator[ControlPlane]:
    """A control plane without nodes."""
    with ControlPlane(tmp_path_factory.mktemp("plane")) as running:
        yield running


class Cluster:
    """The nodes and Pods of a row; the scheduler starts when they are there, and so knows them all."""

    def __init__(self, plane: ControlPlane, namespace: str, row: Row):
        self.plane, self.row, self.namespace = plane, row, namespace
        self.path = f"/api/v1/namespaces/{namespace}/pods"
        for name, labels in row.nodes.items():
            create_node(plane.api, name, labels, [{"key": ONLY, "value": name, "effect": "NoSchedule"}])
        for number, at in enumerate(row.pods):
            self.create(f"there-{number}", labels=SELECTOR["matchLabels"], spec={"nodeName": at})
        plane.scheduler.start()

    def create(self, name: str, *constraints: dict, resources: dict | None = None, **fields: object) -> None:
        made = containers(pod(*constraints, name=name, namespace=self.namespace, **fields))
        made["spec"]["containers"][0]["resources"] = resources or {}
        self.plane.api.call("POST", self.path, made)

    def incoming(self, *nodes: str) -> dict:
        """The row's Pod, once it was placed or refused; these nodes let it in, and it stays."""
        tolerations = [{"key": ONLY, "value": name} for name in nodes]
        spec = {**self.row.spec, "tolerations": tolerations}
        self.create("incoming", *self.row.constraints, labels=self.row.labels, spec=spec)
        return settled(self.plane, self.namespace, 1, "incoming")[0]

    def tried(self, *nodes: str) -> dict:
        """The same, but it does not stay."""
        found = self.incoming(*nodes)
        self.plane.api.call("DELETE", f"{self.path}/incoming", {"gracePeriodSeconds": 0})
        return found


@pytest.fixture
def cluster(plane, namespace, request) -> Iterator[Cluster]:
    plane.scheduler.stop()
    yield Cluster(plane, namespace, request.param)
    for path in (f"/api/v1/namespaces/{namespace}/pods", "/api/v1/nodes"):
        plane.api.call("DELETE", path, {"gracePeriodSeconds": 0})


def of_rows(*names: str):
    """A test of these rows of the table, or of all."""
    rows = [row for row in ROWS if not names or row.name in names]
    return pytest.mark.parametrize("cluster", rows, ids=lambda row: row.name, indirect=True)


@of_rows()
def test_the_nodes_that_fit_are_those_of_the_document(cluster):
    nodes, because = cluster.row.nodes, cluster.row.because
    reasons = {name: because.get(name, SPREAD) for name in nodes if name not in cluster.row.fits}

    found = {name: cluster.tried(name) for name in nodes}

    assert {name: "" if name in reasons else name for name in nodes} == {name: node(one) for name, one in found.items()}
    for name, reason in reasons.items():
        said = ", ".join(sorted([f"1 {reason}", *untolerated(set(nodes) - {name})]))
        assert refusal(found[name]).startswith(f"0/{len(nodes)} nodes are available: {said}. "), name


def untolerated(nodes: Collection[str]) -> list[str]:
    """What the scheduler says of nodes with a taint; up to 1.33 it names each taint."""
    if programs.version().minor < 34:
        return [f"1 node(s) had untolerated taint {{{ONLY}: {name}}}" for name in nodes]
    return [f"{len(nodes)} node(s) had untolerated taint(s)"]


@of_rows("5 zone, soft")
def test_zone_b_scores_higher(cluster):
    """Although its nodes are busier."""
    busy = {"requests": {"cpu": "4", "memory": "16Gi"}}
    for at in ("node3", "node4"):
        cluster.create(f"busy-{at}", labels={}, spec={"nodeName": at}, resources=busy)

    assert node(cluster.incoming(*cluster.row.nodes)) in ("node3", "node4")


@of_rows("12 zone against node")
def test_the_schedulers_own_message_names_no_constraint(cluster):
    found = cluster.incoming(*cluster.row.nodes)

    message = f"0/3 nodes are available: 3 {SPREAD}. "
    assert refusal(found).startswith(message)
    until(lambda: events(cluster), "an event")
    assert all(line.startswith(f"FailedScheduling {message}") for line in events(cluster)), events(cluster)


def events(cluster: Cluster) -> list[str]:
    """What kubectl shows of the Pod's events: reason and message."""
    columns = "custom-columns=REASON:.reason,MESSAGE:.message"
    about = ("-n", cluster.namespace, "--field-selector", "involvedObject.name=incoming")
    output = cluster.plane.kubectl("get", "events", *about, "--no-headers", "-o", columns)
    return [" ".join(line.split()) for line in output.stdout.splitlines()]


EMPTY = Row("19 minDomains", (BY_NODE | {"minDomains": 5},), (), {f"node{n}": {} for n in (1, 2, 3)}, ())


@pytest.mark.parametrize("cluster", [EMPTY], ids=lambda row: row.name, indirect=True)
def test_row_19_pods_beyond_the_nodes_wait_for_more(cluster):
    plane, namespace = cluster.plane, cluster.namespace
    spec = {"replicas": 5}
    made = containers(workload("Deployment", *EMPTY.constraints, spec=spec, namespace=namespace))
    made["spec"]["template"]["spec"]["tolerations"] = [{"key": ONLY, "operator": "Exists"}]
    assert 0 == plane.apply(made).code

    found = settled(plane, namespace, 5)
    waiting = [refusal(one) for one in found if not node(one)]
    assert ["node1", "node2", "node3"] == sorted(filter(None, map(node, found)))
    assert [True] * 2 == [one.startswith(f"0/3 nodes are available: 3 {SPREAD}. ") for one in waiting], waiting

    for name in ("node4", "node5"):
        create_node(plane.api, name, {})
    until(lambda: all(map(node, pods(plane, namespace))), "Pods that are all bound")
    assert [f"node{n}" for n in range(1, 6)] == sorted(map(node, pods(plane, namespace)))
