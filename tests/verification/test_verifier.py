"""A log of a cluster is judged decision by decision, whatever order kube-scheduler has written them in."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from math import inf
from random import Random

import pytest

from tests.support.build import merged, namespace, service, workload
from tests.support.claims import attachment, capacity, claim, csi_driver, csi_node, storage_class, using, volume
from tests.support.logs import EventLog, best, bound, computed, nominated, refused, waiting
from tests.support.placing import HOSTNAME, node, running, spread
from webhook.objects.references import ObjectRef
from webhook.scheduler.features import LATEST, features
from webhook.scheduler.snapshot import from_objects
from webhook.verification import verifier
from webhook.verification.decision import (
    CREATED_BOUND,
    GAVE_UP,
    HAS_GATES,
    NOT_LISTED,
    OTHER_SCHEDULER,
    TAKEN_OVER,
    PodDecision,
)
from webhook.verification.judgement import AGREES, DIFFERS, Judged, judge

NODES = node("n1", "a"), node("n2", "b")
BUSY = running("n1", "4")  # n2 has the better score.
CLUSTER = (namespace(), *NODES, BUSY)
NO_CPU = "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: "
NO_CPU += "2 Preemption is not helpful for scheduling."
LEASE = {
    **{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"},
    **{"metadata": {"name": "kube-scheduler", "namespace": "kube-system"}},
}


def verdicts(judgements):
    return [(judged.decision.key[1], judged.verdict) for judged in judgements]


def held_by(holder):
    return merged(LEASE, {"spec": {"holderIdentity": holder}})


def test_pods_that_are_bound_refused_and_deleted_are_judged_one_after_the_other():
    a, big, c = waiting("a"), waiting("big", "16"), waiting("c")
    log = EventLog(namespace()).put(*NODES, BUSY).put(a, bound(a, "n2")).put(big, refused(big, NO_CPU))
    log.delete(refused(big, NO_CPU)).delete(BUSY).put(running("n2", "4"), c, bound(c, "n1"))

    judgements = [judged for judged in log.judged() if judged.verdict != CREATED_BOUND]

    assert [("a", AGREES, 1, 0.5), ("big", AGREES, 1, None), ("c", AGREES, 1, 0.5)] == [
        (judged.decision.key[1], judged.verdict, judged.states, judged.power) for judged in judgements
    ]


def test_a_wrong_node_is_reported_with_what_would_be_right():
    a, big = waiting("a"), waiting("big", "16")
    log = EventLog(*CLUSTER).put(a, bound(a, "n1")).put(big, refused(big, "0/2 nodes are available: 2 Too old."))

    assert [("a", DIFFERS, "n1 passes, but n2 has a higher score"), ("big", DIFFERS, NO_CPU)] == [
        (judged.decision.key[1], judged.verdict, judged.computed) for judged in log.judged()
    ]


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_the_pods_of_a_replica_set_are_bound_in_another_order_than_they_were_decided_in(order):
    owner = workload("ReplicaSet")
    there = [namespace(), owner, node("n1", "a"), node("n2", "b", cpu="7"), node("n3", "c", cpu="6")]
    pods = [waiting(f"p{number}", "1", owner="ReplicaSet/web") for number in range(4)]
    placed = []
    for pod in pods:
        (name,) = best([*there, *placed], pod)
        placed.append(bound(pod, name))
    log = EventLog(*there).put(*pods).put(*[placed[number] for number in order], placed[3])

    judgements = log.judged()

    assert ["n1", "n2", "n3", "n1"] == [pod["spec"]["nodeName"] for pod in placed]
    assert {(AGREES, 1)} == {(judged.verdict, judged.states) for judged in judgements}


def test_a_pod_of_a_stateful_set_that_is_made_again_is_another_decision():
    db, other = waiting("db-0", "2"), waiting("other")
    log = EventLog(*CLUSTER).put(db, bound(db, "n2")).delete(bound(db, "n2")).put(running("n2", "5"))
    log.put(db).put(other, bound(other, "n2"), bound(db, "n1"))

    # `db-0` came first: when `other` is decided, it is assumed on n1, where it leaves less than there is on n2.
    assert [("db-0", AGREES, 1), ("other", AGREES, 1), ("db-0", AGREES, 1)] == [
        (judged.decision.key[1], judged.verdict, judged.states)
        for judged in log.judged()
        if judged.verdict != CREATED_BOUND
    ]


def test_what_was_decided_up_to_the_version_of_the_lists_is_not_judged_but_followed():
    a, b = waiting("a", "8"), waiting("b")
    log = EventLog(*NODES, a, version=10).put(bound(a, "n2")).put(b, bound(b, "n1"))

    assert [("b", AGREES)] == verdicts(log.judged(version=11))
    assert [("a", AGREES), ("b", AGREES)] == verdicts(log.judged(version=10))


def test_a_pod_that_is_created_on_a_node_is_not_compared():
    daemon = bound(waiting("daemon"), "n1")
    log = EventLog(*CLUSTER).put(daemon, merged(daemon, {"status": {"phase": "Running"}}))

    assert [("daemon", CREATED_BOUND)] == verdicts(log.judged())


@pytest.mark.parametrize("finished_before", [True, False])
def test_a_pod_that_was_on_a_node_is_not_created_again_once_it_has_finished(finished_before):
    job = merged(BUSY, {"status": {"phase": "Succeeded"}})
    log = EventLog(*NODES, job if finished_before else BUSY).put(job, merged(job, {"metadata": {"labels": {}}}))

    assert [] == log.judged()


@pytest.mark.parametrize("was_there", [True, False])
def test_a_pod_with_gates_comes_into_the_queue_when_they_are_removed(was_there):
    blocked = "Scheduling is blocked due to non-empty scheduling gates"
    gated = refused(waiting("gated", "7", schedulingGates=[{"name": "wait"}]), blocked, "SchedulingGated")
    free, other = refused(waiting("gated", "7"), blocked, "SchedulingGated"), waiting("other")
    log = EventLog(*CLUSTER, *[gated] * was_there).put(*[gated] * (not was_there))
    log.put(other, merged(gated, {"metadata": {"labels": {"a": "b"}}}), free)
    log.put(bound(free, "n2"), bound(other, "n2"))

    # `other` came into the queue first: it was decided while n2 was empty.
    assert [*[("gated", HAS_GATES, 0)] * (not was_there), ("gated", AGREES, 1), ("other", AGREES, 1)] == [
        (judged.decision.key[1], judged.verdict, judged.states) for judged in log.judged()
    ]


@pytest.mark.parametrize("was_there", [True, False])
@pytest.mark.parametrize(("old_cpu", "own_cpu", "old_node"), [("7", "500m", "n2"), ("1", "5", "n1")])
def test_a_pod_that_was_tried_comes_back_nobody_knows_when(was_there, old_cpu, own_cpu, old_node):
    """It came first, and was decided last: the order of the log is tried first."""
    old, own = waiting("old", old_cpu), waiting("own", own_cpu)
    full = running("n2", "8")
    first = refused(old, "0/2 nodes are available: ?")
    log = EventLog(*CLUSTER, full, *[first] * was_there)
    if not was_there:
        log.put(old, first)
    log.delete(full).put(own, bound(own, "n2"), bound(first, old_node))

    assert [("own", AGREES, 1), ("old", AGREES, 1)] == [
        (judged.decision.key[1], judged.verdict, judged.states) for judged in log.judged()[-2:]
    ]


def test_of_two_pods_that_come_back_one_is_placed_later_and_the_other_earlier():
    """Without `later` n1 passes, and only with `earlier` on n2 is it the better one."""
    later, earlier, own = (waiting(name, cpu) for name, cpu in (("later", "3"), ("earlier", "7"), ("own", "1")))
    tried = [refused(raw, "0/2 nodes are available: ?") for raw in (later, earlier)]
    log = EventLog(*CLUSTER, *tried, running("n1", "1"))
    log.put(own, bound(tried[0], "n1"), bound(own, "n1"), bound(tried[1], "n2"))

    assert ("own", AGREES) in verdicts(log.judged())


def test_a_refusal_may_need_a_pod_that_is_placed_earlier_where_others_pass_and_one_where_none_does():
    """With `earlier` n2 does not pass, and with `gone` there is a Pod on n1 that would be preempted."""
    earlier, own = refused(waiting("earlier", "7"), "0/2 nodes are available: ?"), waiting("own", "5")
    gone = bound(waiting("gone", "1m", priority=-1), "n1")
    (said,) = computed([*CLUSTER, gone, bound(earlier, "n2")], own).messages
    log = EventLog(*CLUSTER, earlier, gone).put(own).delete(gone).put(refused(own, said), bound(earlier, "n2"))

    assert ("own", AGREES) in verdicts(log.judged())


def test_another_scheduler_takes_room_and_is_not_compared():
    theirs, own = waiting("theirs", "7", schedulerName="volcano"), waiting("own")
    log = EventLog(*CLUSTER).put(theirs, bound(theirs, "n2")).put(own, bound(own, "n1"))

    assert [("theirs", OTHER_SCHEDULER), ("own", AGREES)] == verdicts(log.judged())


def placed(name):
    pod = waiting(name, "10m")
    return pod, bound(pod, "n2")


@pytest.mark.parametrize("vacant", [0.1, 5.0])
def test_what_is_decided_around_a_change_of_the_replica_is_not_compared(vacant):
    log = EventLog(*CLUSTER, held_by("x")).put(*placed("before")).put(*placed("last"), after=2.5)
    log.put(held_by("")).put(held_by("y"), after=vacant)
    log.put(*placed("first")).put(*placed("after"), after=2.5)

    assert [("before", AGREES), ("last", TAKEN_OVER), ("first", TAKEN_OVER), ("after", AGREES)] == verdicts(
        log.judged()
    )


def test_the_same_replica_goes_on():
    log = EventLog(*CLUSTER).put(held_by("x"), held_by("x"), *placed("a"))

    assert [("a", AGREES)] == verdicts(log.judged())


def test_a_decision_of_which_the_computation_fails_differs_and_stops_nothing(monkeypatch):
    def judge_others(window, *how):
        if window.entry.key.name == "a":
            raise KeyError("n1")
        return judge(window, *how)

    monkeypatch.setattr(verifier, "judge", judge_others)
    first, second = EventLog(*CLUSTER).place(waiting("a"), "n2").place(waiting("b"), "n2").judged()

    assert (DIFFERS, "evenkeel itself failed: KeyError: 'n1'. This is a defect of evenkeel: report it") == (
        first.verdict,
        first.computed,
    )
    assert ("b", AGREES) == (second.decision.key[1], second.verdict)


def test_an_object_that_cannot_be_read_stops_nothing():
    broken, a = merged(running("n2"), {"spec": {"priority": "high"}}), waiting("a")
    without_cpu = node("n2", "b", cpu="much")
    for log in (EventLog(*CLUSTER, broken), EventLog(*CLUSTER).put(broken), EventLog(*CLUSTER).put(service("s", 7))):
        verifier = log.put(a, bound(a, "n2")).verifier()

        assert ("a", AGREES) == verdicts(verifier.judged(inf))[-1]
        assert verifier.unreadable == 1
    big = waiting("big", "16")
    for log in (EventLog(*CLUSTER[:2], without_cpu), EventLog(*CLUSTER[:2]).put(without_cpu)):
        verifier = log.put(a, bound(a, "n1")).put(big, refused(big, NO_CPU)).verifier()

        assert [("a", AGREES), ("big", AGREES)] == verdicts(verifier.judged(inf))  # n2 is there, and has no CPU.


def test_events_of_several_kinds_are_in_the_order_of_their_versions():
    a = waiting("a")
    log = EventLog(*CLUSTER[:-1]).put(running("n1", "4"), a, bound(a, "n2"))
    log.put(node("n3", "c", cpu="32"))
    log.events.reverse()
    pods = [event for event in log.events if event.raw["kind"] == "Pod"][::-1]
    log.events = [event for event in log.events if event.raw["kind"] != "Pod"] + pods

    assert ("a", AGREES, 1) == [(j.decision.key[1], j.verdict, j.states) for j in log.judged()][-1]


def test_a_decision_is_judged_when_the_log_is_known_up_to_a_time_and_once():
    a, b = waiting("a", "1"), waiting("b", "1")
    verifier = EventLog(*CLUSTER).put(a, b, bound(a, "n2"), bound(b, "n2")).verifier()

    assert [[], [("a", AGREES)], [("b", AGREES)], []] == [verdicts(verifier.judged(at)) for at in (0.25, 0.35, 1, 9)]


def test_a_decision_for_which_there_is_no_time_is_counted_and_followed():
    a, b = waiting("a", "8"), waiting("b")
    verifier = EventLog(*NODES).put(a, bound(a, "n2"), b, bound(b, "n1")).verifier()
    answers = iter((False, True))

    assert [("b", AGREES)] == verdicts(verifier.judged(inf, lambda: next(answers)))
    assert verifier.skipped == 1


@pytest.mark.parametrize("is_judged", [True, False])
def test_kube_scheduler_looks_at_the_images_of_nodes_also_for_a_decision_for_which_there_is_no_time(is_judged):
    image = {"status": {"images": [{"names": ["app:v1"], "sizeBytes": 900_000_000}]}}
    a, b = waiting("a"), waiting("b", containers=[{"name": "app", "image": "app:v1"}])
    log = EventLog(merged(node("n1"), image), node("n2"), node("n3")).put(a, bound(a, "n3"))
    verifier = log.delete(bound(a, "n3")).put(merged(node("n2"), image)).put(b, bound(b, "n2"), after=3).verifier()
    answers = iter((is_judged, True))
    *_, judged = verifier.judged(inf, lambda: next(answers))

    # It knows of n1 that one node has the image, and of n2 that two have it.
    assert ("b", AGREES, 2 / 3) == (judged.decision.key[1], judged.verdict, judged.power)


STORED = (claim("data", "pv"), volume("pv", of="data"), storage_class(), csi_node("n1", 25), csi_node("n2", 25))


def test_a_pod_whose_volumes_are_prepared_is_judged_once_and_has_its_room_meanwhile():
    stored, other = waiting("stored", "7", **using("data")), waiting("other")
    log = EventLog(*CLUSTER, *STORED).put(stored, nominated(stored, "n2"))
    log.put(merged(nominated(stored, "n2"), {"metadata": {"annotations": {"a": "b"}}}), after=5)
    log.put(other, bound(other, "n1")).put(bound(nominated(stored, "n2"), "n2"))

    assert [("stored", AGREES), ("other", AGREES)] == verdicts(log.judged())


def test_a_pod_whose_volumes_could_not_be_prepared_has_its_room_no_more():
    stored, other = waiting("stored", "7", **using("data")), waiting("other")
    failed = refused(nominated(stored, "n2"), "binding volumes: timed out", "SchedulerError")
    log = EventLog(*CLUSTER, *STORED).put(stored, nominated(stored, "n2"), failed, after=5)
    log.put(other, bound(other, "n2"), after=5)

    assert [("stored", AGREES), ("stored", GAVE_UP), ("other", AGREES)] == verdicts(log.judged())


def test_a_pod_that_is_bound_elsewhere_than_it_was_assumed_is_another_decision():
    stored, taken = waiting("stored", "7", **using("data")), running("n2", "4")
    assumed = nominated(stored, "n2")
    for meanwhile in ([], [stored]):
        log = EventLog(*CLUSTER, *STORED).put(stored, assumed, after=5).delete(BUSY).put(taken, *meanwhile, after=5)
        log.put(bound(meanwhile[-1] if meanwhile else assumed, "n1"), after=5)

        assert [("stored", AGREES), ("stored", AGREES)] == verdicts(
            judged for judged in log.judged() if judged.verdict != CREATED_BOUND
        )


def test_a_pod_that_preempts_others_keeps_its_room():
    low, high, other = bound(waiting("low", "8", priority=-1), "n2"), waiting("high", "7", priority=5), waiting("other")
    message = "0/2 nodes are available: 2 Insufficient cpu. "
    message += "preemption: found a potential placement for pod on node n2, preempting 1 victims"
    waits = nominated(refused(high, message), "n2")
    leaving = merged(low, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
    log = EventLog(*CLUSTER, low).put(high, waits).put(leaving, after=3).delete(leaving)
    log.put(waiting("big", "2"), bound(waiting("big", "2"), "n1")).put(bound(waits, "n2"), other, bound(other, "n1"))

    judgements = log.judged()

    assert [("high", AGREES), ("big", AGREES), ("high", AGREES), ("other", AGREES)] == verdicts(judgements)
    assert [("preemption",), ("nominated Pods",), ("nominated Pods",), ()] == [judged.parts for judged in judgements]
    assert {1} == {judged.states for judged in judgements}


def test_a_node_of_many_that_is_gone_was_perhaps_still_there():
    many, a = [node(f"n{number:03}") for number in range(150)], waiting("a")
    log = EventLog(*many).put(a).delete(many[-1]).put(bound(a, "n149"))

    assert [(AGREES, 2, True)] == [(judged.verdict, judged.states, judged.wins) for judged in log.judged()]


def test_before_1_35_such_a_pod_is_judged_when_it_is_bound():
    stored = waiting("stored", **using("data"))
    log = EventLog(*CLUSTER, *STORED).put(stored, nominated(stored, "n2"), bound(nominated(stored, "n2"), "n2"))

    assert [0.3] == [round(judged.seconds, 1) for judged in log.judged(features(34))]
    assert [0.2] == [round(judged.seconds, 1) for judged in log.judged(features(35))]


def test_what_may_not_be_listed_is_said():
    stored = waiting("stored", **using("data"))
    log = EventLog(*CLUSTER, *[raw for raw in STORED if raw["kind"] != "PersistentVolume"])
    log.put(stored, bound(stored, "n2"))

    assert [DIFFERS] == [judged.verdict for judged in log.judged()]
    assert [NOT_LISTED] == [judged.verdict for judged in log.judged(missing=lambda: ["persistentvolumes"])]


def is_said(judged, objects):
    """Whether the objects lead to what was said of a decision that differs."""
    decided = computed(objects, judged.decision.pod, judged.decision.node)
    passes = judged.decision.node in decided.names(decided.feasible)
    others = ", ".join(decided.names(decided.best)) or "none"
    return judged.computed == (
        f"{judged.decision.node} passes, but {others} has a higher score"
        if passes
        else f"{judged.decision.node} does not pass; evenkeel would take {others}"
    )


def test_the_objects_of_the_first_state_lead_to_what_was_said():
    """The Pod `first` was decided before, and `late` after, though the log has it otherwise."""
    first, own, late = waiting("first", "6"), waiting("own", "2"), waiting("late", "1")
    later = [merged(late, {"metadata": {"labels": {"a": "b"}}}), merged(first, {"metadata": {"labels": {"a": "b"}}})]
    log = EventLog(namespace(), *NODES).put(first, own, late)
    log.put(bound(late, "n1"), bound(later[0], "n1")).put(bound(own, "n2"))
    log.put(later[1], bound(first, "n2"), bound(later[1], "n2")).delete(bound(first, "n2"))
    verifier = log.verifier()
    there = {judged.decision.key[1]: (judged, [*verifier.objects(judged)]) for judged in verifier.judged(inf)}
    judged, objects = there["own"]

    assert {"first": ("n2", None), "own": (None, None), "late": (None, None)} == {
        raw["metadata"]["name"]: (raw["spec"].get("nodeName"), raw["metadata"]["labels"].get("a"))
        for raw in objects
        if raw["kind"] == "Pod"
    }
    assert judged.verdict == DIFFERS
    assert is_said(judged, objects)


def test_the_objects_of_a_state_are_those_of_a_dump():
    log = EventLog(namespace(), *NODES, held_by("control-plane-1"))

    assert {"Namespace", "Node"} == {raw["kind"] for raw in log.verifier().objects(Judged(PodDecision({}, ""), AGREES))}


def test_an_assumed_pod_is_on_its_node_in_the_objects_of_a_state():
    stored, other = waiting("stored", "7", priority=-1, **using("data")), waiting("other")
    log = EventLog(*CLUSTER, *STORED).put(stored, nominated(stored, "n2")).put(other, bound(other, "n2"), after=5)
    verifier = log.verifier()
    judged, objects = [(judged, [*verifier.objects(judged)]) for judged in verifier.judged(inf)][-1]

    assert judged.verdict == DIFFERS
    assert is_said(judged, objects)


@pytest.mark.parametrize(("chosen", "verdict"), [("n1", DIFFERS), ("n3", AGREES)])
def test_how_many_nodes_have_an_image_is_known_as_of_the_last_look_at_a_node(chosen, verdict):
    """n3 comes with the image: there kube-scheduler counts both nodes, and for n1 only that one, as it did before."""
    image = {"status": {"images": [{"names": ["web:1"], "sizeBytes": 900 << 20}]}}
    large, pod = waiting("large", cpu="9"), waiting("web-1", containers=[{"name": "c", "image": "web:1"}])
    log = EventLog(namespace(), merged(node("n1"), image), node("n2")).put(large, refused(large, NO_CPU))
    log.put(merged(node("n3"), image)).put(pod, after=3).put(bound(pod, chosen))

    assert [("large", AGREES), ("web-1", verdict)] == verdicts(log.judged())


def test_a_node_that_is_made_again_comes_last_in_the_order():
    old, new = (merged(node("n1", "a"), {"metadata": {"creationTimestamp": f"2026-01-0{day}"}}) for day in (1, 9))
    middle = merged(node("n2", "a"), {"metadata": {"creationTimestamp": "2026-01-05"}})
    other = merged(new, {"metadata": {"name": "n3"}})
    log = EventLog(old, middle).delete(old).put(new, other, merged(new, {"metadata": {"labels": {"a": "b"}}}))
    verifier = log.verifier()
    ordered = []
    for until in (0.05, 0.15, inf):
        assert [] == [*verifier.judged(until)]
        ordered.append(sorted(verifier._created, key=verifier._created.get))

    assert [["n1", "n2"], ["n2"], ["n2", "n1", "n3"]] == ordered


def budget(name, allowed):
    return {
        **{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"},
        **{"metadata": {"name": name, "namespace": "shop"}},
        **{"spec": {"selector": {}}, "status": {"disruptionsAllowed": allowed}},
    }


def device_class(name, resource):
    return {
        **{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name}},
        "spec": {"extendedResourceName": f"{name}.example.com/{resource}"},
    }


AWAY = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}}
VARIETY = ({}, {"affinity": AWAY}, {"priority": -3}, using("a"), {"priority": "high"})


def drawn_pod(random, name):
    raw = waiting(name, labels=random.choice(({}, {"app": "web"})), **random.choice(VARIETY))
    on = random.choice(("n-a", "n-b"))
    become = random.choice((lambda raw, _: raw, bound, bound, nominated))
    return merged(become(raw, on), {"status": {"phase": random.choice(("Pending", "Running", "Succeeded"))}})


DRAWN = (
    *[drawn_pod] * 8,
    lambda random, name: node(f"n-{name}", random.choice("ab"), cpu=random.choice("48")),
    lambda random, name: namespace(name, team=random.choice("xy")),
    lambda random, name: service(name, random.choice(({"app": "web"}, {"app": "x", "b": "c"}, {}))),
    lambda random, name: workload("ReplicaSet", name=name, uid=random.choice("xy")),
    lambda random, name: budget(name, random.choice((0, 1))),
    lambda random, name: device_class(name, random.choice("xy")),
    lambda random, name: claim(name, random.choice(("", "pv"))),
    lambda random, name: volume(name, random.choice("ab")),
    lambda random, name: storage_class(name, default=random.choice((True, False))),
    lambda random, name: csi_node(f"n-{name}", random.choice((1, 2))),
    lambda random, name: csi_driver(name, storageCapacity=random.choice((True, False))),
    lambda random, name: capacity(name, "1Gi", random.choice("ab")),
    lambda random, name: attachment(name, random.choice(("n-a", "n-b")), f"pv-{name}"),
)


def draw(random):
    return random.choice(DRAWN)(random, random.choice("abcd"))


def without_order(there):
    """A snapshot in which Services and budgets have no order."""
    services = {
        name: sorted(str(each) for placed in index.values() for _, each in placed)
        for name, index in there.services.items()
    }
    return replace(there, services=services, budgets=sorted(map(str, there.budgets)), image_numbers=None)


def readable(raw):
    return raw["kind"] != "Pod" or raw["spec"].get("priority") != "high"


@pytest.mark.parametrize("seed", range(30))
def test_after_any_log_the_cluster_is_what_its_objects_are(seed):
    random = Random(seed)
    log = EventLog(
        *{ObjectRef.of(raw).key: raw for raw in (draw(random) for _ in range(random.randrange(20)))}.values()
    )
    for _ in range(120):
        raw = draw(random)
        if ObjectRef.of(raw).key in log.objects and random.random() < 0.4:
            log.delete(raw, after=random.random())
        else:
            log.put(raw, after=random.random())
    verifier = log.verifier()
    assert [*verifier.judged(inf)]
    objects = [*verifier.objects(Judged(PodDecision({}, ""), AGREES))]

    assert log.objects.keys() == {ObjectRef.of(raw).key for raw in objects}
    assert all(log.objects[ObjectRef.of(raw).key] in (raw, {**raw, "spec": without_node(raw)}) for raw in objects)
    wanted = from_objects(filter(readable, objects), LATEST)
    assert without_order(wanted) == without_order(verifier._snapshot)
    assert wanted.usage == verifier._usage.by_node


def without_node(raw):
    return {name: value for name, value in raw.get("spec", {}).items() if name != "nodeName"}


class RandomScheduler:
    """
    A kube-scheduler that takes Pods in the order of its queue, and writes what it has decided some events later.

    All `pause` seconds there is a new Pod.  With `mistaken`, it once chooses a node that passes and is not the best:
    `mistake` is the name of the Pod.
    """

    def __init__(self, seed, *, pause=0.1, mistaken=False):
        self.random, self.pause, self.mistake, self._mistaken = Random(seed), pause, "", mistaken
        names = self.random.sample(["n1", "n2", "n3", "n4", "n5"], 4)
        nodes = [node(name, self.random.choice("abc"), cpu=str(self.random.randint(3, 9))) for name in names]
        self.log = EventLog(namespace(), *nodes, workload("ReplicaSet"), service())
        self.queue, self.unwritten = [], []
        for number in range(40):
            self._create(number)
            for _ in range(self.random.choice((0, 0, 1, 2, 4))):
                self._decide()
            while len(self.unwritten) > self.random.randrange(5):
                self._write()
            if self.random.random() < 0.2:
                self._delete()
        while self.queue or self.unwritten:
            self._decide()
            self._write()

    def _create(self, number):
        constraints = self.random.choice(([], [], [spread()], [spread(HOSTNAME, whenUnsatisfiable="ScheduleAnyway")]))
        spec = {"topologySpreadConstraints": constraints, "preemptionPolicy": "Never"}
        cpu, priority = f"{self.random.randint(2, 19)}00m", self.random.choice((0,) if self._mistaken else (0, 0, 0, 5))
        raw = waiting(f"p{number}", cpu, owner="ReplicaSet/web", priority=priority, **spec)
        self.log.put(raw, after=self.pause)
        self.queue.append((-priority, number, raw))

    def _decide(self):
        if not self.queue:
            return
        self.queue.sort(key=lambda placed: placed[:2])
        raw = self.queue.pop(0)[2]
        assumed = {ObjectRef.of(other).key: other for other in self.unwritten}
        there = [*{**self.log.objects, **assumed}.values()]
        choices = best(there, raw)
        if choices and self._mistaken and len(self.log.events) > 40 and not self.mistake:
            decided = computed(there, raw, "?")
            wrong = [*decided.names(decided.feasible & ~decided.best)]
            choices, self.mistake = wrong or choices, raw["metadata"]["name"] if wrong else ""
        if choices:
            self.unwritten.append(bound(raw, self.random.choice(choices)))
        else:
            self.unwritten.append(refused(raw, self.random.choice(computed(there, raw).messages)))

    def _write(self):
        if self.unwritten:
            self.log.put(self.unwritten.pop(self.random.randrange(len(self.unwritten))), after=0.05)

    def _delete(self):
        there = [raw for raw in self.log.objects.values() if raw["kind"] == "Pod" and raw["spec"].get("nodeName")]
        if there:
            self.log.delete(self.random.choice(there))


@pytest.mark.parametrize("seed", range(12))
def test_whatever_a_scheduler_decides_and_in_whatever_order_it_writes_it_agrees(seed):
    judgements = RandomScheduler(seed).log.judged()

    assert {AGREES} == {judged.verdict for judged in judgements}
    assert len(judgements) == 40


def test_what_is_used_of_nodes_is_looked_at_anew_after_many_changes(monkeypatch):
    scheduler = RandomScheduler(1)
    judgements = scheduler.log.judged()
    monkeypatch.setattr("webhook.verification.verifier.MOST_USAGE_CHANGES", 3)

    assert judgements == scheduler.log.judged()


def test_most_mistakes_of_a_scheduler_are_caught():
    """The others would have been right, had the scheduler not seen the last events yet."""
    verdict = []
    for seed in range(20):
        scheduler = RandomScheduler(seed, pause=0.5, mistaken=True)
        judgements = dict(verdicts(scheduler.log.judged()))
        verdict += [judgements[scheduler.mistake]] if scheduler.mistake else []

    assert verdict.count(DIFFERS) > 0.8 * len(verdict) > 15
    assert {AGREES, DIFFERS} == set(verdict)
