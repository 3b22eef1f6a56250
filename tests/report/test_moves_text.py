"""The commands of the way back to even, and why there are no more, in words."""

from __future__ import annotations

import pytest

from evenkeel.report import moves_text
from evenkeel.report.inventory import LiveWorkload
from evenkeel.simulate import moves
from evenkeel.simulate.moves import Hindrance, Move, WayBack
from tests.support.build import HOSTNAME, ZONE
from webhook.kubernetes.references import ObjectRef

FIRST = Move("web-0", "a1", ZONE, "a", ("b", "c"), 3, 2, 6)
SECOND = Move("web-1", "a2", ZONE, "a", ("c",), 2, 1, 6)
ROOM = Hindrance(moves.ROOM, "web-0", ZONE, ("b", "c"), "b1 lacks 500m of cpu")


def live(kind="Deployment", **spec):
    ref = ObjectRef("apps/v1", kind, "shop", "web")
    raw = {"apiVersion": ref.api_version, "kind": kind, "metadata": {"namespace": "shop", "name": "web"}, "spec": spec}
    return LiveWorkload(ref, raw)


def test_before_and_after_each_deletion_the_pods_are_available():
    """Also before the first, as some may not be ready, and after the last, as a budget may be of several workloads."""
    available = "kubectl wait deployment.apps/web '--for=jsonpath={.status.availableReplicas}=6' -n shop --timeout=600s"
    assert [
        available,
        "kubectl delete pod web-0 -n shop  # zone a to b or c, skew 3 to 2",
        available,
        "kubectl delete pod web-1 -n shop  # zone a to c, skew 2 to 1",
        available,
    ] == list(moves_text.lines(live(), WayBack((FIRST, SECOND), available=6)))


def test_a_pod_of_a_stateful_set_is_known_by_its_name_and_must_be_ready_for_as_long_as_is_wanted():
    wait = [
        "kubectl wait pod/web-0 --for=create -n shop --timeout=600s",
        "kubectl wait pod/web-0 --for=condition=Ready -n shop --timeout=600s",
    ]
    assert wait == moves_text.wait_commands(live("StatefulSet"), FIRST)
    *created_and_ready, available = moves_text.wait_commands(live("StatefulSet", minReadySeconds=5), FIRST)
    assert [command.replace("600s", "605s") for command in wait] == created_and_ready
    assert "{.status.availableReplicas}=6" in available


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Hindrance(moves.UNDER_WAY), "a rollout is not finished; report again once it is"),
        (
            Hindrance(moves.FORCED, key=HOSTNAME, detail=ZONE),
            f"the hard constraint on {ZONE} allows no smaller skew of {HOSTNAME} for so many Pods",
        ),
        (
            Hindrance(moves.TOO_FEW_DOMAINS, key=ZONE),
            f"{ZONE} has fewer domains than minDomains, so their fewest Pods are 0",
        ),
        (Hindrance(moves.OTHER_PODS, key=ZONE), f"the fullest domains of {ZONE} have no Pods of its own"),
        (
            Hindrance(moves.BUDGET, "web-0", ZONE, detail="shop/web: 3 healthy, 3 required"),
            "PodDisruptionBudgets allow no eviction of web-0 (shop/web: 3 healthy, 3 required)",
        ),
        (ROOM, "zone b or c has too little room for web-0: b1 lacks 500m of cpu"),
        (
            Hindrance(moves.CLAIM, "web-0", ZONE, ("c",), "data-web-0"),
            "no node in zone c reaches what web-0 claims: data-web-0",
        ),
        (
            Hindrance(moves.CONSTRAINT, "web-0", ZONE, ("c",), HOSTNAME),
            f"the constraint on {HOSTNAME} keeps web-0 out of zone c",
        ),
        (
            Hindrance(moves.CONSTRAINT, "web-0", ZONE, (), HOSTNAME),
            f"without web-0 where it is, the skew of {HOSTNAME} would grow",
        ),
        (
            Hindrance(moves.CLOSED, "web-0", HOSTNAME, ("n1",), "cordoned"),
            "no node in node n1 takes web-0: cordoned",
        ),
        (
            Hindrance(moves.PUT_BACK, "web-0", ZONE, ("c",)),
            "kube-scheduler may put web-0 back: it does not prefer the nodes in zone c",
        ),
        (
            Hindrance(moves.NEIGHBOUR, "web-0", ZONE, (), "Deployment shop/db"),
            "Deployment shop/db also counts web-0, and would be less even",
        ),
        (Hindrance(moves.WAITS, "web-0", ZONE), "the Pod that is made for web-0 may wait"),
        (Hindrance(moves.NOT_SIMULATED), "the controller that makes its Pods is not simulated"),
        (Hindrance(moves.NOT_SIMULATED, detail="it is gated"), "it is gated"),
    ],
)
def test_why_there_are_no_more_moves(found, words):
    assert words == moves_text.hindrance_words(live(), found)
    assert f"no deletion helps: {words}" == moves_text.title(live(), WayBack((), found))
    assert f"1 deletion, then none helps: {words}" == moves_text.title(live(), WayBack((SECOND,), found))


def test_what_nothing_makes_again():
    none = Hindrance(moves.NOT_SIMULATED)
    words = {kind: moves_text.hindrance_words(live(kind), none) for kind in ("DaemonSet", "Job", "Pod")}
    assert {
        "DaemonSet": "the Pods of a DaemonSet are tied to their nodes",
        "Job": "a Job counts a deleted Pod as failed",
        "Pod": "nothing makes the Pod again",
    } == words


def test_json():
    found = moves_text.as_json(live(), WayBack((FIRST,), ROOM))

    assert (False, moves.ROOM) == (found["even"], found["reason"])
    (step,) = found["steps"]
    assert ("web-0", "a1", ZONE, "a", ["b", "c"]) == (
        *(step["pod"], step["node"], step["topologyKey"], step["from"], step["to"]),
    )
    assert (3, 2, "kubectl delete pod web-0 -n shop", 1) == (
        *(step["skewBefore"], step["skewAfter"], step["delete"], len(step["wait"])),
    )
    assert moves_text.as_json(live(), None) is None
