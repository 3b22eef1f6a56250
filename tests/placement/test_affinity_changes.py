"""What would let in a Pod that affinity between Pods or a host port keeps off."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.placement.remedies import IN_TEMPLATE, NOW, remedies
from evenkeel.scheduler.framework import find_feasible
from tests.support.placing import HOSTNAME, ZONE, attempted, node, running


def found(cycle):
    return {(one.where, one.change): set(one.nodes) for one in remedies(cycle, find_feasible(cycle))}


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
SERVING = [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}]}]


def terms(app, key=ZONE, kind="podAntiAffinity"):
    return {kind: {REQUIRED: [{"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}]}}


def having(on, labels=None, name=None, owner=None, namespace="shop", **spec):
    """A Pod on a node; without an owner nothing makes it again."""
    raw = running(on, labels=labels, owner=owner, namespace=namespace)
    metadata = {**raw["metadata"], **({"name": name} if name else {})}
    return {**raw, "metadata": metadata, "spec": {**raw["spec"], **spec}}


def deleting(named, on):
    return (NOW, f"delete {named}, which no controller creates again (on {on})")


def test_a_port_that_is_taken_everywhere():
    pods = [having("a1", name="edge", containers=SERVING), having("b1", owner="DaemonSet/edge", containers=SERVING)]
    cycle = attempted(node("a1"), node("b1"), *pods, containers=SERVING)

    assert {
        deleting("Pod edge", "a1"): {"a1"},
        (NOW, "add a node (such as a1)"): {"a new node"},
        (IN_TEMPLATE, "use host port 81 in place of 80/TCP"): {"a1", "b1"},
    } == found(cycle)


def test_a_port_for_which_room_is_kept_only():
    """No Pod that runs has it: a nominated Pod will."""
    waiting = {**having("", containers=SERVING), "status": {"phase": "Pending", "nominatedNodeName": "a1"}}
    waiting["metadata"] = {**waiting["metadata"], "name": "other"}
    there = having("b1", name="edge", containers=SERVING)
    cycle = attempted(node("a1"), node("b1"), there, waiting, containers=SERVING)

    assert deleting("Pod edge", "b1") in found(cycle)
    assert not any("on a1" in change for _, change in found(cycle))


def test_pods_that_a_controller_makes_again_are_not_deleted():
    """Nor those of another namespace, nor more than four."""
    taken = {"containers": SERVING}
    off = {"affinity": terms("web"), "labels": {"app": "db"}}
    for there in (
        [having("a1", owner="DaemonSet/edge", **taken)],
        [having("a1", namespace="other", **taken)],
        [having("a1", owner="ReplicaSet/db", **off), having("a1", **off)],
        [having("a1", **off) for _ in range(5)],
    ):
        changes = found(attempted(node("a1", "a"), *there, **taken))
        assert not any("delete" in change or "move" in change for _, change in changes)


def test_bare_pods_that_its_own_anti_affinity_selects():
    pods = [having("a1", name="one"), having("a2", name="two"), having("b1", owner="ReplicaSet/web")]
    changes = found(attempted(node("a1", "a"), node("a2", "a"), node("b1", "b"), *pods, affinity=terms("web")))

    assert {"a1", "a2"} == changes[deleting("Pods one and two", "a1 and a2")]


def test_anti_affinity_of_its_own():
    pods = [having("a1", owner="ReplicaSet/web"), having("b1", owner="ReplicaSet/web")]

    assert {
        (NOW, "add a node (such as a1) in a new zone"): {"a new node"},
        (IN_TEMPLATE, f"make podAntiAffinity per {ZONE} preferred, not required"): {"a1", "b1"},
    } == found(attempted(node("a1", "a"), node("b1", "b"), *pods, affinity=terms("web")))


def test_anti_affinity_of_others_in_the_domain_with_the_fewest_of_them():
    off = {"affinity": terms("web")}
    pods = [having(on, {"app": "db"}, name=f"db-{on}", **off) for on in ("a1", "a2", "b1")]
    cycle = attempted(node("a1", "a"), node("a2", "a"), node("b1", "b"), *pods)

    assert {
        deleting("Pod db-b1", "b1"): {"b1"},
        (NOW, "add a node (such as a1) in a new zone"): {"a new node"},
    } == found(cycle)


def test_affinity_that_no_pod_meets():
    assert {(IN_TEMPLATE, f"make podAffinity per {ZONE} preferred, not required"): {"a1"}} == found(
        attempted(node("a1", "a"), affinity=terms("cache", kind="podAffinity"))
    )


def test_of_several_terms_the_one_that_refuses_is_named():
    both = terms("db", HOSTNAME)
    both["podAntiAffinity"][REQUIRED] += terms("web")["podAntiAffinity"][REQUIRED]
    reverse = {"podAntiAffinity": {REQUIRED: both["podAntiAffinity"][REQUIRED][::-1]}}
    for affinity, index in ((both, 1), (reverse, 0)):
        changes = found(attempted(node("a1", "a"), having("a1"), affinity=affinity))

        assert (IN_TEMPLATE, f"make podAntiAffinity (term {index}) per {ZONE} preferred, not required") in changes


@pytest.mark.parametrize(
    ("labels", "metadata", "is_own"),
    [
        ({"app": "web"}, {}, True),
        ({"app": "web", "pod-template-hash": "1"}, {}, True),
        ({"app": "web"}, {"deletionTimestamp": "2026-01-01T00:00:00Z"}, True),
        ({"app": "db"}, {}, False),
    ],
)
def test_terms_are_preferred_of_pods_of_the_template_alone(labels, metadata, is_own):
    """Another workload with the same terms keeps the Pod off still."""
    there = having("a1", labels, owner="ReplicaSet/web", affinity=terms("web"))
    there["metadata"] |= metadata
    cycle = attempted(node("a1", "a"), there, affinity=terms("web"))
    cycle = replace(cycle, pod=replace(cycle.pod, labels={**cycle.pod.labels, "pod-template-hash": "2"}))

    offered = (IN_TEMPLATE, f"make podAntiAffinity per {ZONE} preferred, not required")
    assert is_own == (offered in found(cycle))
