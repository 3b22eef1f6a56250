"""What would let in a Pod that affinity between Pods or a host port keeps off."""

from __future__ import annotations

from tests.support.placing import HOSTNAME, ZONE, attempted, node, running
from webhook.placement.remedies import IN_TEMPLATE, NOW, remedies
from webhook.scheduler.framework import find_feasible


def found(cycle):
    return {(one.where, one.change): set(one.nodes) for one in remedies(cycle, find_feasible(cycle))}


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
SERVING = [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}]}]


def terms(app, key=ZONE, kind="podAntiAffinity"):
    return {kind: {REQUIRED: [{"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}]}}


def having(on, labels=None, **spec):
    raw = running(on, labels=labels)
    return {**raw, "spec": {**raw["spec"], **spec}}


def test_a_port_that_is_taken_everywhere():
    pods = [having(on, containers=SERVING) for on in ("a1", "b1")]
    cycle = attempted(node("a1"), node("b1"), *pods, containers=SERVING)

    assert {
        (NOW, "move the Pod with host port 80/TCP off a1"): {"a1"},
        (NOW, "add a node (such as a1)"): {"a new node"},
        (IN_TEMPLATE, "use host port 81 in place of 80/TCP"): {"a1", "b1"},
    } == found(cycle)


def test_a_port_for_which_room_is_kept_only():
    """No Pod that runs has it: a nominated Pod will."""
    waiting = {**having("", containers=SERVING), "status": {"phase": "Pending", "nominatedNodeName": "a1"}}
    waiting["metadata"] = {**waiting["metadata"], "name": "other"}
    cycle = attempted(node("a1"), node("b1"), having("b1", containers=SERVING), waiting, containers=SERVING)

    assert (NOW, "move the Pod with host port 80/TCP off b1") in found(cycle)
    assert not any("off a1" in change for _, change in found(cycle))


def test_anti_affinity_of_its_own():
    pods = [having("a1"), having("b1")]

    assert {
        (NOW, "add a node (such as a1) in a new zone"): {"a new node"},
        (IN_TEMPLATE, f"make podAntiAffinity per {ZONE} preferred, not required"): {"a1", "b1"},
    } == found(attempted(node("a1", "a"), node("b1", "b"), *pods, affinity=terms("web")))


def test_anti_affinity_of_others_in_the_domain_with_the_fewest_of_them():
    off = {"affinity": terms("web")}
    pods = [having(on, {"app": "db"}, **off) for on in ("a1", "a2", "b1")]
    cycle = attempted(node("a1", "a"), node("a2", "a"), node("b1", "b"), *pods)

    assert {
        (NOW, "move the Pods whose anti-affinity selects it away from zone b"): {"b1"},
        (NOW, "add a node (such as a1) in a new zone"): {"a new node"},
    } == found(cycle)


def test_affinity_that_no_pod_meets():
    assert {(IN_TEMPLATE, f"make podAffinity per {ZONE} preferred, not required"): {"a1"}} == found(
        attempted(node("a1", "a"), affinity=terms("cache", kind="podAffinity"))
    )


def test_of_several_terms_the_one_that_refuses_is_named():
    both = terms("db", HOSTNAME)
    both["podAntiAffinity"][REQUIRED] += terms("web")["podAntiAffinity"][REQUIRED]

    changes = found(attempted(node("a1", "a"), having("a1"), affinity=both))

    assert (IN_TEMPLATE, f"make podAntiAffinity (term 1) per {ZONE} preferred, not required") in changes
