"""A decision agrees with a state that kube-scheduler may have seen, or with none; and what an agreement is worth."""

from __future__ import annotations

import pytest

from tests.support.build import merged, namespace, service, workload
from tests.support.claims import claim, csi_node, storage_class, using, volume
from tests.support.logs import EventLog, bound, computed, nominated, refused, waiting
from tests.support.placing import HOSTNAME, node, running, spread
from webhook.objects.references import ObjectKey, ObjectRef
from webhook.scheduler.features import LATEST
from webhook.scheduler.snapshot import Namespace
from webhook.scheduler.snapshot_changes import ObjectChange, read_kept
from webhook.verification.computation import ComputedDecision
from webhook.verification.decision import (
    DEVICES_OR_GROUPS,
    MANY_CANDIDATES,
    NOT_LISTED,
    TOO_MANY_ORDERS,
    PodDecision,
)
from webhook.verification.judgement import (
    AGREES,
    DIFFERS,
    Judged,
    TouchedNodes,
    heeded_nodes,
    in_words,
    judge,
    obstacles,
)
from webhook.verification.states import ALL_NODES, MOST_STATES, LogEntry, Obstacles, Window

NODES = node("n1", "a"), node("n2", "b"), node("n3", "c")
BUSY = running("n1", "4"), running("n3", "2")  # n2 has the best score, and n1 the worst.
CLUSTER = (namespace(), *NODES, *BUSY)
PACKED = (*CLUSTER, running("n2", "1"))
NO_CPU = "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: "
NO_CPU += "3 Preemption is not helpful for scheduling."
# On n3 there is no place for a Pod more, and on no node enough CPU for a large one.
LAST_FULL = [*CLUSTER[:3], node("n3", "c", pods="1"), *[running(name, "4") for name in ("n1", "n2", "n3")]]
NAMES = [f"n{number:03}" for number in range(150)]


def not_seen(number):
    """So many events that may not be seen yet, each of which leads to another state."""
    keys = [ObjectKey("", "Namespace", "", f"ns-{place}") for place in range(number)]
    return [LogEntry(1.0, place, key, Namespace(key.name, {}), b"") for place, key in enumerate(keys)]


def judged(objects, decision, *states, behind=()):
    """The judgement, if these objects are the first state, and `states` the others, the last as often as need be."""
    left = iter(states)
    last = objects

    def compute_in(overlay):
        nonlocal last
        last = next(left, last) if overlay else objects
        return last if isinstance(last, ComputedDecision) else computed(last, decision.pod, decision.node)

    entry = LogEntry(9.0, 900, ObjectKey("", "Pod", "shop", "web-1"), None, b"", decision)
    there = {other.key: other.kept for other in behind}
    return judge(Window(entry, behind, (), there), compute_in, lambda nodes: sorted(node.name for node in nodes))


def to(name, **spec):
    return PodDecision(waiting(**spec), name)


def none(message, **spec):
    return PodDecision(waiting(**spec), "", "Unschedulable", message)


def said(pods, cpu):
    """A message with so many nodes that have no place for a Pod more, and too little CPU."""
    return f"0/3 nodes are available: {pods} Too many pods, {cpu} Insufficient cpu. preemption: ?"


def test_a_node_agrees_in_the_first_state():
    told = judged(CLUSTER, to("n2"))

    assert (AGREES, 9.0, 1, "") == (told.verdict, told.seconds, told.states, told.computed)
    assert told.is_compared


@pytest.mark.parametrize("decision", [to("n1"), none("0/3 nodes are available: 3 Too old.", cpu="16")])
def test_what_is_computed_in_no_state_differs(decision):
    told = judged(CLUSTER, decision, CLUSTER, behind=not_seen(2))

    assert (DIFFERS, 3, None) == (told.verdict, told.states, told.power)
    assert told.is_compared


def test_a_node_agrees_in_another_state():
    states = CLUSTER, [*CLUSTER, running("n2", "6"), running("n3", "3")]

    assert (AGREES, 3) == judged(CLUSTER, to("n1"), *states, behind=not_seen(5))[1:4:2]


def test_a_message_agrees_in_another_state():
    message = NO_CPU.replace(
        "3 Preemption is not helpful for scheduling", "3 No preemption victims found for incoming pod"
    )
    full = [*CLUSTER, *[running(name, "4") for name in ("n1", "n2", "n3")]]

    assert (AGREES, 2) == judged(CLUSTER, none(message, cpu="5"), full, behind=not_seen(1))[1:4:2]


@pytest.mark.parametrize(("number", "verdict"), [(MOST_STATES - 1, DIFFERS), (MOST_STATES, TOO_MANY_ORDERS)])
def test_there_may_be_too_many_states(number, verdict):
    told = judged(CLUSTER, to("n1"), CLUSTER, behind=not_seen(number))

    assert (verdict, MOST_STATES) == (told.verdict, told.states)
    assert told.is_compared == (verdict == DIFFERS)


@pytest.mark.parametrize(
    ("objects", "power"),
    [
        pytest.param(CLUSTER, 2 / 3, id="one of three is the best"),
        pytest.param([*NODES, running("n1", "4")], 1 / 3, id="two of three are the best"),
        pytest.param(NODES, 0, id="all are"),
        pytest.param([NODES[1]], 0, id="one passes"),
        pytest.param([*NODES[:2], running("n1", "8")], 0, id="one of two passes"),
    ],
)
def test_the_power_is_the_share_of_the_nodes_that_pass_and_would_be_wrong(objects, power):
    assert power == judged(objects, to("n2")).power


def test_a_node_that_is_right_in_a_state_that_was_tried_does_not_add_to_the_power():
    """It was n1, which is right in the last state only: n2 was right in the first, and n3 in the second."""
    second, last = [*CLUSTER, running("n2", "3")], [*CLUSTER, running("n2", "6"), running("n3", "3")]

    assert (3, 0) == judged(CLUSTER, to("n1"), second, last, behind=not_seen(2))[3:5]


def test_where_no_node_was_chosen_there_is_no_power():
    told = judged(CLUSTER, none(NO_CPU, cpu="16"))

    assert (AGREES, None, None) == (told.verdict, told.power, told.wins)


def test_a_message_that_is_not_the_same_differs():
    assert AGREES == judged(CLUSTER, none(NO_CPU, cpu="16")).verdict
    assert DIFFERS == judged(CLUSTER, none(NO_CPU.replace("cpu", "memory"), cpu="16")).verdict
    assert DIFFERS == judged(CLUSTER, none("", cpu="1")).verdict  # Some nodes pass.


def test_among_many_nodes_any_that_passes_agrees_and_it_is_told_whether_it_wins():
    many = [node(name) for name in NAMES]
    free = judged([*many, *[running(name, "4") for name in NAMES[1:]]], to(NAMES[0]))

    assert (AGREES, 1, None, True) == (free.verdict, free.states, free.power, free.wins)
    assert (None, False) == judged([*many, running(NAMES[0], "4")], to(NAMES[0]))[4:6]
    assert DIFFERS == judged([*many, running(NAMES[0], "8")], to(NAMES[0])).verdict


def test_where_one_more_node_passes_the_better_ones_may_not_be_looked_at():
    full = running(NAMES[100], "8")
    before = [*map(node, NAMES[:101]), running(NAMES[0], "4"), running(NAMES[1], "4")]
    comes = [LogEntry(1.0, 1, ObjectKey("", "Pod", "shop", "full"), kept(full), b"")]

    assert (AGREES, 2) == judged([*before, full], to(NAMES[0]), before, behind=comes)[1:4:2]
    assert (DIFFERS, 1) == judged([*before[1:], full], to(NAMES[1]), before[1:], behind=comes)[1:4:2]


def test_what_takes_part_is_told_of_the_first_state():
    told = judged(
        [*CLUSTER, service()], to("n1"), [*CLUSTER, running("n2", "6"), running("n3", "3")], behind=not_seen(1)
    )

    assert ("default constraints",) == told.parts


def test_budgets_that_may_not_be_listed_decide_where_preemption_helps():
    big, huge = waiting("big", "8", priority=5), waiting("huge", "16", priority=5)
    log = EventLog(*PACKED).put(big, refused(big, "0/3 nodes are available: ?")).put(huge, refused(huge, NO_CPU))

    assert [NOT_LISTED, AGREES] == [told.verdict for told in log.judged(missing=lambda: ["poddisruptionbudgets"])]
    assert [DIFFERS, AGREES] == [told.verdict for told in log.judged()]


def test_labels_of_namespaces_that_may_not_be_listed_are_not_guessed():
    term = {"topologyKey": HOSTNAME, "labelSelector": {}, "namespaceSelector": {"matchLabels": {"team": "x"}}}
    away = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}

    assert NOT_LISTED == judged(CLUSTER[1:], to("n2", affinity=away)).verdict
    assert AGREES == judged(CLUSTER, to("n2", affinity=away)).verdict


@pytest.mark.parametrize("chosen", ["n1", ""])
def test_devices_are_not_compared(chosen):
    containers = [{"name": "c", "resources": {"requests": {"example.com/gpu": "1"}}}]
    gpu = waiting("gpu", containers=containers)
    said = merged(gpu, {}) if chosen else refused(gpu, "0/3 nodes are available: 3 Insufficient example.com/gpu.")
    device_class = {
        **{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}},
        "spec": {"extendedResourceName": "example.com/gpu"},
    }
    after = bound(gpu, chosen) if chosen else said

    def verdict(*objects, **options):
        return EventLog(*CLUSTER, *objects).put(gpu, after).judged(**options)[0].verdict

    assert DEVICES_OR_GROUPS == verdict(device_class)
    assert NOT_LISTED == verdict(missing=lambda: ["deviceclasses"])
    assert DIFFERS == verdict()


def test_preemption_among_too_many_candidates_is_not_compared():
    decided = computed(PACKED, waiting(cpu="8", priority=5))
    inexact = decided._replace(preemption=decided.preemption._replace(exact=False))

    assert MANY_CANDIDATES == judged(inexact, none("?", cpu="8", priority=5)).verdict
    assert AGREES == judged(decided, none(decided.messages[0], cpu="8", priority=5)).verdict


def test_what_is_not_compared_in_a_state_that_is_tried_does_not_differ():
    full = computed([*CLUSTER, running("n2", "2")], waiting(cpu="7", priority=5))
    inexact = full._replace(preemption=full.preemption._replace(exact=False))
    decision = none("?", cpu="7", priority=5)

    assert MANY_CANDIDATES == judged(CLUSTER, decision, inexact, full, behind=not_seen(2)).verdict
    assert DIFFERS == judged(CLUSTER, decision, full, behind=not_seen(2)).verdict
    assert AGREES == judged(CLUSTER, none(full.messages[0], cpu="7", priority=5), inexact, behind=not_seen(2)).verdict


def test_a_state_in_which_kube_scheduler_would_give_up_is_no_end():
    """The class does not say when its volumes are bound."""
    broken = [*CLUSTER, claim("data"), storage_class(mode="")]
    for decision in (to("n2", **using("data")), none("0/3 nodes are available: ?", **using("data"))):
        assert AGREES == judged([*CLUSTER, *STORED], to("n2", **using("data"))).verdict
        assert DIFFERS == judged(broken, decision).verdict


def kept(raw):
    return read_kept(raw, LATEST)[2]


OWN = waiting(owner="ReplicaSet/web")
PLAIN = {"labels": {"app": "other"}}
BUDGET = {
    **{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b", "namespace": "shop"}},
    **{"spec": {"selector": {}}, "status": {"disruptionsAllowed": 1}},
}
HOST_PORT = {"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]}
LOWER = bound(
    waiting(
        "low",
        "1",
        priority=-1,
    ),
    "n2",
)
STORED = claim("data", "pv"), volume("pv", of="data"), storage_class(), *[csi_node(f"n{n}") for n in (1, 2, 3)]
STORED_IN_B = claim("data", "pv"), volume("pv", of="data", zone="b"), storage_class()
IN_B = {"nodeSelector": {"topology.kubernetes.io/zone": "b"}}
HARD = {"topologySpreadConstraints": [spread()]}
SOFT = {"topologySpreadConstraints": [spread(HOSTNAME, whenUnsatisfiable="ScheduleAnyway")]}
SPREAD = *NODES, running("n1"), running("n1"), running("n2")


@pytest.mark.parametrize(
    ("raw", "chosen", "change", "relevant"),
    [
        pytest.param(OWN, "n3", running("n3", **PLAIN), True, id="Pod on the node"),
        pytest.param(OWN, "n3", running("n2", **PLAIN), True, id="Pod on a better node"),
        pytest.param(OWN, "n3", running("n1", **PLAIN), True, id="Pod on a worse node"),
        pytest.param(waiting(cpu="5"), "n1", running("n1", **PLAIN), True, id="Pod on a node that does not pass"),
        pytest.param(waiting(cpu="7"), "n1", running("n2", **PLAIN), True, id="Pod on one that passes instead"),
        pytest.param(waiting(cpu="7"), "n1", running("n3", **PLAIN), False, id="Pod on another that does not pass"),
        pytest.param(waiting(**HARD), "n3", running("n9"), True, id="Pod that a constraint counts"),
        pytest.param(waiting(**HARD), "n3", running("n9", **PLAIN), False, id="Pod that none counts"),
        pytest.param(OWN, "n3", nominated(waiting("x"), "n3"), True, id="Pod nominated on the node"),
        pytest.param(OWN, "n3", nominated(waiting("x", labels={}), "n1"), True, id="Pod nominated on a worse node"),
        pytest.param(waiting(cpu="16", **IN_B), "", running("n1", **PLAIN), False, id="Pod on a node of another zone"),
        pytest.param(waiting(cpu="16", **IN_B), "", running("n2", **PLAIN), True, id="Pod on a node that is too small"),
        pytest.param(waiting(cpu="5"), "", running("n1", **PLAIN), True, id="Pod where others pass"),
        pytest.param(waiting(cpu="5"), "", running("n2", **PLAIN), True, id="Pod on a node that passes"),
        pytest.param(OWN, "n3", service(), True, id="Service"),
        pytest.param(OWN, "n3", service(selector={"app": "x"}), False, id="Service of others"),
        pytest.param(OWN, "n3", service(namespace="bank"), False, id="Service of another namespace"),
        pytest.param(waiting(**HARD), "n3", service(), False, id="Service, but with constraints"),
        pytest.param(OWN, "n3", workload("ReplicaSet"), True, id="owner"),
        pytest.param(OWN, "n3", workload("ReplicaSet", name="x"), False, id="another ReplicaSet"),
        pytest.param(OWN, "n3", workload("StatefulSet"), False, id="StatefulSet of that name"),
        pytest.param(OWN, "n3", workload("ReplicaSet", namespace="bank"), False, id="owner in another namespace"),
        pytest.param(waiting(), "n3", workload("ReplicaSet"), False, id="without an owner"),
        pytest.param(OWN, "n3", BUDGET, False, id="budget"),
        pytest.param(waiting(cpu="8", priority=9), "", BUDGET, True, id="budget where preemption is tried"),
        pytest.param(waiting(cpu="16"), "", BUDGET, False, id="budget where it is not"),
        pytest.param(OWN, "n3", node("n9"), True, id="node"),
        pytest.param(OWN, "n3", namespace("x"), True, id="namespace"),
        pytest.param(OWN, "n3", claim("data"), False, id="claim"),
        pytest.param(waiting(**using("data")), "n3", claim("x"), True, id="claim where it has volumes"),
        pytest.param(waiting(**using("data")), "n3", csi_node("n1", 3), True, id="CSINode where it has volumes"),
    ],
)
def test_what_may_turn_the_verdict_touches_nodes_that_are_heeded(raw, chosen, change, relevant):
    there = computed([*CLUSTER, LOWER, *STORED], raw, chosen)
    heeded, reach = heeded_nodes(PodDecision(raw, chosen), there), TouchedNodes(there)
    ref = ObjectRef.of(change)

    assert [relevant, relevant] == [
        bool(reach(ObjectChange(ref.namespace, ref.name, *pair)) & heeded)
        for pair in ((None, kept(change)), (kept(change), None))
    ]


def test_a_pod_that_plugins_look_at_from_elsewhere_touches_every_node():
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "web"}}}
    away = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    there = computed(CLUSTER, waiting(), "n3")
    reach, nodes = TouchedNodes(there), there.cycle.snapshot.nodes
    near, far = (
        merged(bound(waiting("x", affinity=away), "n1"), {"metadata": {"namespace": name}}) for name in ("shop", "bank")
    )

    assert ALL_NODES == reach(ObjectChange("shop", "x", None, kept(near)))
    assert nodes.named(["n1"]) == reach(ObjectChange("bank", "x", None, kept(far)))


@pytest.mark.parametrize(
    ("objects", "decision", "any_of", "all_of"),
    [
        pytest.param(CLUSTER, to("n3"), ["n3"], ["n2"], id="a better node"),
        pytest.param(CLUSTER, to("n1"), ["n1"], ["n2", "n3"], id="two better nodes"),
        pytest.param(SPREAD, to("n2", **SOFT), ["n1", "n2", "n3"], ["n3"], id="two nodes set the scale of spreading"),
        pytest.param(CLUSTER, to("n1", cpu="7"), ["n1"], ["n2"], id="it does not pass"),
        pytest.param(CLUSTER, to("n9"), [], ["n1", "n2", "n3"], id="it is not there"),
        pytest.param(CLUSTER, PodDecision(nominated(waiting(), "n1"), "n3"), ["n3"], ["n1"], id="another is nominated"),
        pytest.param(CLUSTER, none("?", cpu="5"), [], ["n2", "n3"], id="nodes pass"),
        pytest.param(CLUSTER, none("?", cpu="16"), ["n1", "n2", "n3"], [], id="none passes"),
        pytest.param(CLUSTER, none("?", cpu="16", **IN_B), ["n2"], [], id="none passes, and one is looked at"),
        pytest.param(CLUSTER, none(NO_CPU, cpu="16"), ["n1", "n2", "n3"], [], id="only preemption differs"),
        pytest.param(CLUSTER, none(NO_CPU.replace("0/3", "0/4"), cpu="16"), [], [], id="there are more nodes"),
        pytest.param(LAST_FULL, none(said(0, 3), cpu="5"), ["n3"], [], id="one refuses for fewer reasons"),
        pytest.param(LAST_FULL, none(said(3, 3), cpu="5"), ["n1", "n2"], [], id="two refuse for more reasons"),
        pytest.param(
            [*CLUSTER, *STORED_IN_B],
            none("?", cpu="16", **using("data")),
            ["n1", "n2", "n3"],
            [],
            id="the volume is elsewhere, and another filter comes first",
        ),
    ],
)
def test_what_is_in_the_way_of_a_decision(objects, decision, any_of, all_of):
    there = computed(objects, decision.pod, decision.node)
    named = there.cycle.snapshot.nodes.named

    assert Obstacles(named(any_of), named(all_of)) == obstacles(decision, there, there)


def test_what_is_in_the_way_is_told_by_the_nodes_of_the_first_state():
    first, another = (
        computed(CLUSTER, waiting(), "n1"),
        computed([node("n0", "a"), *CLUSTER[:3], BUSY[0]], waiting(), "n1"),
    )

    assert Obstacles(0b001, 0b010) == obstacles(to("n1"), another, first)


def test_states_in_which_the_better_nodes_stay_better_are_not_tried():
    """So many Pods come to n3 before the decision, and one to n2."""
    pods = [*[running("n3", "1m")] * MOST_STATES, running("n2", "1m")]
    entries = [
        LogEntry(1.0, place, ObjectKey("", "Pod", "shop", f"p{place}"), kept(raw), b"")
        for place, raw in enumerate(pods)
    ]

    assert (DIFFERS, 2) == judged(CLUSTER, to("n1"), CLUSTER, behind=entries)[1:4:2]


@pytest.mark.parametrize(
    ("objects", "decision", "words"),
    [
        (CLUSTER, to("n1"), "n1 passes, but n2 has a higher score"),
        (CLUSTER, to("n1", cpu="7"), "n1 does not pass; evenkeel would take n2"),
        (CLUSTER, to("n1", cpu="16"), "n1 does not pass; evenkeel would take none"),
        (CLUSTER, to("n9"), "n9 does not pass; evenkeel would take n2"),
        (CLUSTER, none("?"), "n1, n2, n3 pass"),
        (CLUSTER, none("?", **IN_B), "n2 passes"),
        ([*CLUSTER, node("n4"), node("n5")], none("?"), "n1, n2, n3 and 2 more pass"),
        (CLUSTER, none("?", cpu="16"), NO_CPU),
    ],
)
def test_what_is_computed_instead_is_said_in_words(objects, decision, words):
    assert words == in_words(decision, computed(objects, decision.pod, decision.node))


def test_several_messages_are_all_said():
    decided = computed(CLUSTER, waiting(cpu="16"))._replace(messages=("a", "b"))

    assert "a or: b" == in_words(none("?", cpu="16"), decided)


def test_only_what_agrees_or_differs_is_compared():
    assert [True, True, False] == [
        Judged(to("n1"), verdict).is_compared for verdict in (AGREES, DIFFERS, TOO_MANY_ORDERS)
    ]
