"""The built-in defaults where nodes lack a topology key: Pods are never spread worse than without evenkeel."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.e2e.api import MERGE
from tests.e2e.placement import node, settled
from tests.e2e.webhook import containers, installed
from tests.e2e.words import deployment, selecting
from tests.support.build import HOSTNAME, ZONE, pod
from tests.support.serving import until

NODES = tuple(f"{zone}{number}" for zone in "abc" for number in (1, 2, 3))
SKIP = {"evenkeel.dev/skip": "true"}
# The zones whose nodes carry the label, and the topology keys of the defaults that a Pod then gets.
CLUSTERS = {"abc": [ZONE, HOSTNAME], "": [HOSTNAME], "ab": [], "c": []}


@pytest.fixture(scope="module", autouse=True)
def running(plane, tmp_path_factory):
    """All nodes but the last are busy, so that Pods that nothing spreads go to that one."""
    requests = {"cpu": "4", "memory": "16Gi"}
    for name in NODES[:-1]:
        container = {"name": "x", "image": "x", "resources": {"requests": requests}}
        made = pod(spec={"nodeName": name, "containers": [container]}, name=f"busy-{name}", namespace="default")
        plane.api.call("POST", "/api/v1/namespaces/default/pods", made)
    with installed(plane, tmp_path_factory.mktemp("webhook")):
        yield


def label(plane, zones):
    """Label the nodes of these zones, and take the label off all others."""
    for name in NODES:
        labels = {ZONE: name[0] if name[0] in zones else None}
        plane.api.call("PATCH", f"/api/v1/nodes/{name}", {"metadata": {"labels": labels}}, MERGE)


def keys_given(plane, namespace):
    """The topology keys of the constraints that a new Pod gets."""
    made = containers(pod(name="canary", namespace=namespace))
    stored = plane.api.call("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", made)
    return topology_keys(stored)


def topology_keys(made):
    return [one["topologyKey"] for one in made["spec"].get("topologySpreadConstraints", ())]


def placed(plane, namespace, replicas, **labels):
    """The nodes that take the Pods of a new Deployment, in a namespace with these labels."""
    if labels:
        namespace = f"{namespace}-skipped"
        plane.create_namespace(namespace, **labels)
    assert 0 == plane.apply(deployment(namespace, spec={"replicas": replicas})).code
    return Counter(node(one) for one in settled(plane, namespace, replicas))


@pytest.mark.parametrize("zones", CLUSTERS, ids=lambda zones: f"zones {zones}" if zones else "no zones")
def test_pods_are_spread_as_well_as_without_evenkeel(plane, namespace, zones):
    label(plane, zones)
    plane.apply(selecting(namespace))
    until(lambda: keys_given(plane, namespace) == CLUSTERS[zones], "what the nodes' labels ask for")

    ours, theirs = placed(plane, namespace, len(NODES)), placed(plane, namespace, len(NODES), **SKIP)

    assert sorted(ours.values()) == sorted(theirs.values()), (ours, theirs)
    assert {name for name in NODES if name[0] not in zones} <= ours.keys(), "nodes without a zone are used"


def test_pods_are_spread_while_labels_come(plane, namespace):
    """Each Pod gets the defaults of its moment; with them, none lands beside another while a node is free."""
    label(plane, "")
    plane.apply(selecting(namespace))
    assert 0 == plane.apply(deployment(namespace, spec={"replicas": 0})).code
    before: dict[str, str] = {}
    for replicas, zones in ((3, ""), (4, "a"), (5, "ab"), (7, "abc")):
        wanted = CLUSTERS.get(zones, [])
        label(plane, zones)
        until(lambda wanted=wanted: keys_given(plane, namespace) == wanted, "the labels are known")
        plane.kubectl("scale", "deployment/web", f"--replicas={replicas}", "-n", namespace)
        there = settled(plane, namespace, replicas)
        new = [one for one in there if one["metadata"]["uid"] not in before]
        assert [wanted] * len(new) == [topology_keys(one) for one in new]
        if wanted:
            assert len({*before.values(), *map(node, new)}) == len({*before.values()}) + len(new), (zones, before)
        before = {one["metadata"]["uid"]: node(one) for one in there}
