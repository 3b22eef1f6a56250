"""A snapshot without a Pod is that of all other objects."""

from __future__ import annotations

import pytest

from evenkeel.scheduler.snapshot import from_objects, read_object
from evenkeel.scheduler.snapshot_changes import without_pod
from tests.support.build import namespace, service, workload
from tests.support.claims import attachment, capacity, claim, csi_driver, csi_node, storage_class, volume
from tests.support.placing import node, requesting, running
from webhook.kubernetes.features import LATEST

AWAY = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}}
PORTS = [{**requesting()[0], "ports": [{"containerPort": 80, "hostPort": 80}]}]
DISK = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]


def on(node_name, *, labels=None, priority=0, deleted=False, **spec):
    """The Pod `web` on a node."""
    metadata = {"name": "web", "namespace": "shop", "uid": "u", "labels": {"app": "web"} if labels is None else labels}
    metadata |= {"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {}
    spec = {"containers": requesting(), "priority": priority, "nodeName": node_name, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


PODS = {
    "plain": on("n1"),
    "deleted": on("n1", deleted=True),
    "without labels": on("n1", labels={}),
    "of lower priority": on("n1", priority=-5),
    "of higher priority": on("n2", priority=7),
    "with affinity": on("n1", affinity=AWAY),
    "with ports": on("n1", containers=PORTS),
    "with volumes": on("n1", volumes=DISK),
    "deleted, with volumes": on("n1", volumes=DISK, deleted=True),
}
BESIDE = {
    "nothing": [],
    "much": [
        *(node("n1", "a"), node("n2", "b"), running("n1"), running("n2", labels={"app": "api"}), namespace("shop")),
        *(service("a", {"app": "web"}), service("b", {"app": "api"}), workload("ReplicaSet", name="a"), claim("a")),
        *(volume("a"), storage_class("a"), csi_node("n2", 3), csi_driver("a"), capacity("a", "1Gi", "a")),
        attachment("a", "n1", "pv-2"),
    ],
}


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("kind_of_pod", PODS)
def test_a_pod_that_is_taken_away_leaves_the_others(kind_of_pod, beside):
    snapshot = from_objects([*BESIDE[beside], PODS[kind_of_pod]], LATEST)
    pod = read_object(PODS[kind_of_pod], "v1", "Pod", LATEST)
    before = from_objects([*BESIDE[beside], PODS[kind_of_pod]], LATEST)

    assert from_objects(BESIDE[beside], LATEST) == without_pod(snapshot, *pod)
    assert before == snapshot
