"""A snapshot after a change of one object is that of all objects as they are then."""

from __future__ import annotations

import pytest

from tests.support.build import namespace, service, workload
from tests.support.claims import attachment, capacity, claim, csi_driver, csi_node, storage_class, volume
from tests.support.placing import node, requesting, running
from webhook.scheduler.features import LATEST
from webhook.scheduler.snapshot import SnapshotError, from_objects, read_object
from webhook.scheduler.snapshot_changes import ObjectChange, changed, read_kept, without_pod

AWAY = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}}
PORTS = [{**requesting()[0], "ports": [{"containerPort": 80, "hostPort": 80}]}]
DISK = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]


def on(node_name, *, nominated=False, labels=None, priority=0, deleted=False, phase="Running", **spec):
    """The Pod `web` on a node, or with a node that is nominated for it."""
    metadata = {"name": "web", "namespace": "shop", "uid": "u", "labels": {"app": "web"} if labels is None else labels}
    metadata |= {"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {}
    spec = {"containers": requesting(), "priority": priority, **spec} | ({} if nominated else {"nodeName": node_name})
    status = {"phase": phase} | ({"nominatedNodeName": node_name} if nominated else {})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def budget(allowed):
    return {
        **{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b", "namespace": "shop"}},
        **{"spec": {"selector": {}}, "status": {"disruptionsAllowed": allowed}},
    }


def device_class(resource):
    return {
        **{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}},
        "spec": {"extendedResourceName": resource},
    }


def cases():
    yield "node", node("n3", "a"), node("n3", "b", cpu="4")
    yield "Pod", on("n1"), on("n1", deleted=True)
    yield "other labels", on("n1"), on("n1", labels={"app": "api"})
    yield "priority", on("n1", priority=-5), on("n2", priority=7)
    yield "affinity", on("n1", affinity=AWAY), on("n1")
    yield "ports", on("n1", containers=PORTS), on("n2", containers=PORTS)
    yield "volumes", on("n1", volumes=DISK), on("n1", volumes=DISK, deleted=True)
    yield "nominated", on("n1", nominated=True), on("n1")
    yield "another nomination", on("n1", nominated=True), on("n2", nominated=True)
    yield "finished", on("n1"), on("n1", phase="Succeeded")
    yield "namespace", namespace("bank"), namespace("bank", team="a")
    yield "service", service("z", {"app": "web"}), service("z", {"app": "api"})
    yield "headless", service("z", {"app": "web"}), service("z", {})
    yield "ReplicaSet", workload("ReplicaSet", name="z"), workload("ReplicaSet", name="z", labels={"app": "api"})
    yield "budget", budget(1), budget(0)
    yield "devices", device_class("example.com/gpu"), device_class("example.com/card")
    yield "claim", claim("z"), claim("z", "pv-1")
    yield "volume", volume("z", "a"), volume("z", "b", of="z")
    yield "class", storage_class("z"), storage_class("z", default=True)
    yield "CSINode", csi_node("n1", 3), csi_node("n1", 4)
    yield "driver", csi_driver("z"), csi_driver("z", storageCapacity=True)
    yield "capacity", capacity("z", "1Gi", "a"), capacity("z", "2Gi", "a")
    yield "attachment", attachment("z", "n1", "pv-1"), attachment("z", "n2", "pv-1")


BESIDE = {
    "nothing": [],
    "much": [
        *(node("n1", "a"), node("n2", "b"), running("n1"), running("n2", labels={"app": "api"}), namespace("shop")),
        *(service("a", {"app": "web"}), service("b", {"app": "api"}), workload("ReplicaSet", name="a"), claim("a")),
        *(volume("a"), storage_class("a"), csi_node("n2", 3), csi_driver("a"), capacity("a", "1Gi", "a")),
        *(attachment("a", "n1", "pv-2"), {**budget(2), "metadata": {"name": "a", "namespace": "shop"}}),
    ],
}


def kept(raw):
    return read_kept(raw, LATEST)[2] if raw else None


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("what", [what for what, _, _ in cases()])
def test_a_change_of_any_object_is_that_of_the_whole(what, beside):
    pair = next((before, after) for name, before, after in cases() if name == what)
    seen = 0
    for before, after in ((None, pair[0]), pair, (pair[1], None), pair[::-1], (pair[0], None)):
        there = [from_objects([*BESIDE[beside], *([raw] if raw else [])], LATEST) for raw in (before, after)]
        metadata = (after or before)["metadata"]
        change = ObjectChange(metadata.get("namespace", ""), metadata["name"], kept(before), kept(after))
        seen += there[0] != there[1]

        assert (there[1], there[0]) == (changed(there[0], change), changed(there[1], change.undone))
    assert seen >= 3


def test_what_was_known_of_labels_is_kept_where_only_taints_change():
    there = from_objects([node("n1", "a")], LATEST)
    domains = there.nodes.domains("topology.kubernetes.io/zone")
    after = changed(there, ObjectChange("", "n1", kept(node("n1", "a")), kept(node("n1", "a", unschedulable=True))))

    assert domains is after.nodes.domains("topology.kubernetes.io/zone")


@pytest.mark.parametrize("raw", [claim("z", selector=7), on("n1", priority="high")])
def test_an_object_of_another_form_is_an_error_that_names_the_field(raw):
    with pytest.raises(SnapshotError, match=r"spec\.(selector|priority): found"):
        read_kept(raw, LATEST)


@pytest.mark.parametrize("raw", [workload("Frob"), {"kind": 7, "apiVersion": {}}, {}])
def test_of_other_objects_nothing_is_kept(raw):
    assert kept(raw) is None


def test_a_pod_that_is_taken_away_leaves_the_others():
    first, second = running("n1"), running("n1", "1")
    snapshot = from_objects([node("n1"), first, second], LATEST)
    namespace, name, pod = read_object(second, "v1", "Pod", LATEST, whole=True)

    assert from_objects([node("n1"), first], LATEST) == without_pod(snapshot, namespace, name, pod)
    assert [2] == [group.nodes["n1"] for group in snapshot.pods["shop"].values()]  # as it was
