"""The situations of the feature's own documents, on the real scheduler: which nodes fit, and why the others do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import pytest

from evenkeel.placement.subject import next_replica
from tests.e2e import programs
from tests.e2e.api import MERGE, STRATEGIC
from tests.e2e.kubelet import CAPACITY, create_node
from tests.e2e.placement import node, pods, refusal, settled
from tests.e2e.plane import ControlPlane
from tests.e2e.webhook import containers
from tests.support.build import pod
from tests.support.scenarios import AFFINITY, CLUSTER, ROWS, SPREAD, TAINTED, Row, incoming, objects
from tests.support.serving import until

# What each node has one of. A Pod that requests it tries that node alone; constraints do not look at it.
ONLY = "example.com/only-"
NAMESPACE = "shop"  # of the examples


@pytest.fixture(scope="module")
def plane(tmp_path_factory) -> Iterator[ControlPlane]:
    """A control plane without nodes."""
    with ControlPlane(tmp_path_factory.mktemp("plane")) as running:
        yield running


class Cluster:
    """The nodes and Pods of a row; the scheduler starts when they are there, and so knows them all."""

    def __init__(self, plane: ControlPlane, namespace: str, row: Row, *, empty: bool = False):
        self.plane, self.row, self.namespace, self.nodes = plane, row, namespace, {}
        for one in objects(row.example, CLUSTER):
            name = one["metadata"]["name"]
            if one["kind"] == "Node":
                taints = one.get("spec", {}).get("taints", ())
                self.nodes[name] = {f"{taint['key']}: {taint['value']}" for taint in taints}
                create_node(plane.api, name, one["metadata"]["labels"], taints, CAPACITY | {f"{ONLY}{name}": "1"})
            elif one["kind"] == "Pod" and not empty:
                self.add(one)
        plane.scheduler.start()

    def add(self, given: Mapping) -> None:
        """A Pod of the example, with the phase that it has there; being deleted, if it is there."""
        metadata, spec = given["metadata"], given["spec"]
        namespace = self.namespace
        if metadata["namespace"] != NAMESPACE:
            namespace = f"{namespace}-{metadata['namespace']}"
            self.plane.create_namespace(namespace)
        deleted = metadata.get("deletionTimestamp") is not None
        kept = {"finalizers": [FINALIZER]} if deleted else {}
        self.create(metadata["name"], namespace=namespace, labels=metadata["labels"], spec=spec, **kept)
        path = f"/api/v1/namespaces/{namespace}/pods/{metadata['name']}"
        if deleted:
            self.plane.api.call("DELETE", path, {"gracePeriodSeconds": 0})
        if phase := given.get("status", {}).get("phase"):
            self.plane.api.call("PATCH", f"{path}/status", {"status": {"phase": phase}}, STRATEGIC)

    def create(self, name: str, *, resources: Mapping | None = None, namespace: str = "", **fields: object) -> None:
        namespace = namespace or self.namespace
        made = containers(pod(name=name, namespace=namespace, **fields))
        made["spec"]["containers"][0]["resources"] = resources or {}
        self.plane.api.call("POST", f"/api/v1/namespaces/{namespace}/pods", made)

    def incoming(self, only: str = "") -> dict:
        """The row's Pod, once it was placed or refused; it tries one node alone, if one is given."""
        given = incoming(self.row.example, self.row.incoming)
        raw = given if given["kind"] == "Pod" else next_replica(given, {})[0].raw
        spec = {name: value for name, value in raw["spec"].items() if name != "containers"}
        resources = {"requests": (one := {f"{ONLY}{only}": "1"}), "limits": one} if only else None
        self.create("incoming", labels=raw["metadata"].get("labels", {}), spec=spec, resources=resources)
        return settled(self.plane, self.namespace, 1, "incoming")[0]

    def tried(self, only: str) -> dict:
        """The same, but it does not stay."""
        found = self.incoming(only)
        self.plane.api.call("DELETE", f"/api/v1/namespaces/{self.namespace}/pods/incoming", {"gracePeriodSeconds": 0})
        return found

    def refused(self, name: str) -> str:
        """What the scheduler is to say where this node alone is tried: that, and what the others lack."""
        row, reasons = self.row, Counter()
        for other, taints in self.nodes.items():
            because = row.because.get(other, SPREAD)
            if other != name and because not in (AFFINITY, TAINTED):
                because = f"Insufficient {ONLY}{name}"
            if because == TAINTED and programs.version().minor < 34:  # It names each taint.
                (taint,) = taints
                because = f"node(s) had untolerated taint {{{taint}}}"
            reasons[because] += 1
        return ", ".join(sorted(f"{number} {reason}" for reason, number in reasons.items()))


FINALIZER = "example.com/keep"


def cleared(plane: ControlPlane, *namespaces: str) -> None:
    """Without the Pods of these namespaces, and without nodes."""
    for namespace in namespaces:
        for one in pods(plane, namespace):
            path = f"/api/v1/namespaces/{namespace}/pods/{one['metadata']['name']}"
            if one["metadata"].get("finalizers"):
                plane.api.call("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)
        plane.api.call("DELETE", f"/api/v1/namespaces/{namespace}/pods", {"gracePeriodSeconds": 0})
    plane.api.call("DELETE", "/api/v1/nodes", {"gracePeriodSeconds": 0})


@pytest.fixture
def cluster(plane, namespace, request) -> Iterator[Cluster]:
    plane.scheduler.stop()
    yield Cluster(plane, namespace, request.param)
    cleared(plane, namespace, f"{namespace}-other")


def of_rows(rows):
    """A test of these rows."""
    return pytest.mark.parametrize("cluster", list(rows), ids=str, indirect=True)


@of_rows(ROWS)
def test_the_nodes_that_fit_are_those_of_the_document(cluster):
    found = {name: cluster.tried(name) for name in cluster.nodes}

    assert sorted(cluster.row.fits) == sorted(name for name, one in found.items() if node(one))
    for name in cluster.nodes.keys() - {*cluster.row.fits}:
        said = f"0/{len(cluster.nodes)} nodes are available: {cluster.refused(name)}. "
        assert (refusal(found[name]) + " ").startswith(said), refusal(found[name])


@of_rows(row for row in ROWS if row.best)
def test_the_nodes_that_score_highest_are_preferred(cluster):
    """Although they are busier."""
    busy = {"requests": {"cpu": "4", "memory": "16Gi"}}
    for at in cluster.row.best:
        cluster.create(f"busy-{at}", labels={}, spec={"nodeName": at}, resources=busy)

    assert node(cluster.incoming()) in cluster.row.best


@of_rows(row for row in ROWS if str(row) == "12-zone-against-node both-hard")
def test_the_schedulers_own_message_names_no_constraint(cluster):
    found = cluster.incoming()

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


def test_row_19_pods_beyond_the_nodes_wait_for_more(plane, namespace):
    (row,) = (row for row in ROWS if row.example == "19-min-domains")
    plane.scheduler.stop()
    cluster = Cluster(plane, namespace, row, empty=True)
    given = incoming(row.example, row.incoming)
    made = {**given, "metadata": {**given["metadata"], "namespace": namespace}}
    assert 0 == plane.apply(made).code

    found = settled(plane, namespace, 5)
    waiting = [refusal(one) for one in found if not node(one)]
    assert sorted(cluster.nodes) == sorted(filter(None, map(node, found)))
    assert [True] * 2 == [one.startswith(f"0/3 nodes are available: 3 {SPREAD}. ") for one in waiting], waiting

    for name in ("node4", "node5"):
        create_node(plane.api, name, {})
    until(lambda: all(map(node, pods(plane, namespace))), "Pods that are all bound")
    assert [f"node{n}" for n in range(1, 6)] == sorted(map(node, pods(plane, namespace)))


def test_row_20_the_api_server_rejects_what_is_invalid(plane, namespace):
    for given in objects("20-invalid", "incoming.yaml"):
        output = plane.apply({**given, "metadata": {**given["metadata"], "namespace": namespace}})

        assert (1, True) == (output.code, "topologySpreadConstraints[0]" in output.stderr), output
