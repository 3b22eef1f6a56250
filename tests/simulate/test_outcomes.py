"""What a step does to each workload of a cluster, in clusters in which that can be told by hand."""

from __future__ import annotations

import pytest

from evenkeel.simulate.outcomes import run
from tests.support.build import ZONE, constraint
from tests.support.placing import node
from tests.support.simulated import (
    SOFT,
    application,
    budget,
    cluster_plan,
    deployment,
    nodes,
    plan,
    pod,
    stateful,
)

ZONES = [*nodes("a=1 b=1 c=1", cpu="1")]
SPREAD = constraint(labelSelector={"matchLabels": {"app": "api"}})
UNREACHABLE = "node(s) had untolerated taint {node.kubernetes.io/unreachable: }"


def outcome(objects, steps, name, at=-1, **fields):
    """What the step at this place does to a workload."""
    return run(cluster_plan(objects, steps, **fields).plan, 1, 0)[1:][at].workloads.get(name)


def numbers(of):
    return (of.ran, of.lost, of.back, of.waiting, of.missing)


def test_pods_of_a_lost_zone_find_room_in_the_others():
    """Each zone has room for ten."""
    of = outcome([*ZONES, *application("api", ["a1", "a1", "b1"])], f"lose={ZONE}=a", "Deployment shop/api")

    assert ((3, 2, 2, 0, 0), True) == (numbers(of), of.whole)


def test_what_has_no_room_waits_for_it():
    """Of the four that are lost two fit: one beside eight others on b, and one on c."""
    full = [*ZONES, *application("api", ["a1"] * 4), *application("web", ["b1"] * 9 + ["c1"] * 9)]
    of = outcome(full, f"lose={ZONE}=a", "Deployment shop/api")

    assert (4, 4, 2, 2, 0) == numbers(of)
    assert {f"0/3 nodes are available: 1 {UNREACHABLE}, 2 Insufficient cpu.": 2} == of.reasons


def test_a_hard_constraint_keeps_pods_waiting():
    """The lost zone counts as an empty one."""
    of = outcome([*ZONES, *application("api", ["a1", "b1", "c1"], SPREAD)], f"lose={ZONE}=a", "Deployment shop/api")

    assert (3, 1, 0, 1, 0) == numbers(of)
    assert [(0, 1)] == [(counted.constraint.index, counted.skew) for counted in of.constraints]


def test_the_pods_of_a_higher_priority_come_first():
    """One place is left for two."""
    high = application("high", ["a1"], priority=10)
    low = application("low", ["a1"], priority=0)
    full = [*ZONES, *application("web", ["b1"] * 10 + ["c1"] * 9, priority=10), *low, *high]
    for number in range(5):
        (end,) = run(cluster_plan(full, f"delete={ZONE}=a").plan, 1, number)[1:]
        assert (1, 1, 1, 0, 0) == numbers(end.workloads["Deployment shop/high"])
        assert (1, 1, 0, 1, 0) == numbers(end.workloads["Deployment shop/low"])


def test_pods_that_make_way_for_others_are_lost_too():
    high, low = application("high", ["a1"], priority=10), application("low", ["b1"] * 10, priority=0)
    _, end = run(cluster_plan([*nodes("a=1 b=1", cpu="1"), *low, *high], f"delete={ZONE}=a").plan, 1, 0)

    assert (1, 1, 1, 0, 0) == numbers(end.workloads["Deployment shop/high"])
    of = end.workloads["Deployment shop/low"]
    assert ((10, 1, 0, 1, 0), 1) == (numbers(of), of.preempted)


def test_a_bare_pod_is_not_made_anew():
    bare = pod("Node/x", 0, "a1", ownerReferences=[], name="bare")
    of = outcome([*ZONES, bare], "drain=a1", "Pod shop/bare")

    assert ((1, 1, 0, 0, 1), 1) == (numbers(of), of.gone)


def test_pods_of_a_kind_whose_controller_is_not_simulated_are_not_made_anew():
    planned = cluster_plan([*ZONES, *(pod("Ring/cache", i, on) for i, on in enumerate(("a1", "a1", "b1")))], "drain=a1")
    (end,) = run(planned.plan, 1, 0)[1:]

    assert (3, 2, 0, 0, 2) == numbers(end.workloads["Ring shop/cache"])
    assert ("The controllers of some kinds are not simulated, so their lost Pods are not replaced: Ring (2).",) == (
        planned.notes
    )


def test_pods_of_a_stateful_set_are_missing_until_their_node_is_deleted():
    """They are never gone from a node that nobody reaches."""
    steps = f"lose={ZONE}=a delete={ZONE}=a"
    objects = [*ZONES, *stateful(constraint(**SOFT), on=["a1", "b1", "c1"])]

    lost = outcome(objects, steps, "StatefulSet shop/web", 0)
    assert ((3, 1, 0, 0, 1), 1, 0) == (numbers(lost), lost.leaving, lost.gone)
    assert (2, 0, 1, 0, 0) == numbers(outcome(objects, steps, "StatefulSet shop/web"))


@pytest.mark.parametrize(("policy", "waiting", "queued"), [("OrderedReady", 1, 1), ("Parallel", 2, 0)])
def test_the_pods_of_a_stateful_set_are_made_one_after_the_other(policy, waiting, queued):
    """There is no room for the first, and so the controller does not make the second; with a new node both run."""
    db = stateful(constraint(**SOFT), on=["a1", "b1", "a1"], podManagementPolicy=policy)
    objects = [*nodes("a=1 b=1", cpu="1"), *db, *application("api", ["b1"] * 9)]
    deleted, added = (
        step.workloads["StatefulSet shop/web"]
        for step in run(cluster_plan(objects, f"delete={ZONE}=a add=1").plan, 1, 0)[1:]
    )

    assert ((3, 2, 0, waiting, queued), queued, 0) == (numbers(deleted), deleted.queued, deleted.gone)
    assert (1, 0, 2, 0, 0) == numbers(added)


def test_a_pod_of_a_stateful_set_waits_for_one_before_it_that_is_never_gone():
    objects = [*nodes("a=1 b=2"), *stateful(constraint(**SOFT), on=["a1", "b1", "b2"])]
    _, drained = run(cluster_plan(objects, f"lose={ZONE}=a drain=b1").plan, 1, 0)[1:]

    of = drained.workloads["StatefulSet shop/web"]
    assert ((2, 1, 0, 0, 2), 1, 1) == (numbers(of), of.leaving, of.queued)


@pytest.mark.parametrize(("ready", "back", "queued"), [("False", 0, 1), ("True", 1, 0)])
def test_a_pod_of_a_stateful_set_waits_for_one_that_is_not_ready_on_a_node_lost_before(ready, back, queued):
    """Though that one is not deleted, since it tolerates the taint for ever."""
    made, first, second = stateful(constraint(**SOFT), replicas=2, on=["a1", "b1"])
    first["status"]["conditions"][0]["status"] = ready
    lost = node("a1", "a", taints=[{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}])
    of = outcome([lost, *nodes("b=2"), made, first, second], "cordon=a1 drain=b1", "StatefulSet shop/web")

    assert (1, back, queued) == (of.lost, of.back, of.queued)


def test_pods_that_are_not_evicted_from_nodes_that_nobody_reaches_are_lost():
    """With the third of five nodes the zone is lost in large part: evictions end there until the nodes are deleted."""
    objects = [*nodes("a=5 b=1"), *application("api", ["a1", "a2", "a3", "a4", "b1"])]
    steps = "lose=a1 lose=a2 lose=a3 delete=a1 delete=a2 delete=a3"
    each = [step.workloads.get("Deployment shop/api") for step in run(cluster_plan(objects, steps).plan, 1, 0)[1:]]

    assert [(1, 1, 0), (1, 1, 0), (1, 0, 1)] == [(of.lost, of.back, of.stranded) for of in each[:3]]
    assert ((5, 1, 0, 0, 1), 0) == (numbers(each[2]), each[2].gone)
    assert (4, 0, 1, 0, 0) == numbers(each[-1])


def test_of_a_cluster_that_is_lost_as_a_whole_nothing_is_evicted_and_all_is_out():
    everywhere = nodes("a=1 b=1 c=1", labels={"all": "yes"})
    of = outcome([*everywhere, *application("api", ["a1", "b1", "c1"])], "lose=all=yes", "Deployment shop/api")

    assert ((3, 3, 0, 0, 3), 3, True) == (numbers(of), of.stranded, of.out)


DAEMONS = application("agent", ["a1", "b1", "c1"], kind="DaemonSet")


@pytest.mark.parametrize("step", ["drain=a1", "lose=a1", "cordon=a1", "delete=a1", "add=2"])
def test_a_daemon_set_has_its_pods_where_its_nodes_are(step):
    """It is not hurt where a node goes, and does not gain where one comes."""
    assert outcome([*ZONES, *DAEMONS], step, "DaemonSet shop/agent") is None


def test_the_pods_of_a_daemon_set_that_do_not_tolerate_a_taint_are_evicted_for_good():
    """The DaemonSet wants none there any more, so none is missing."""
    assert outcome([*ZONES, *DAEMONS], "taint=a1,old=yes:NoExecute", "DaemonSet shop/agent") is None

    tolerant = application("agent", ["a1", "b1"], kind="DaemonSet", tolerations=[{"operator": "Exists"}])
    assert outcome([*ZONES, *tolerant], "taint=a1,old=yes:NoExecute", "DaemonSet shop/agent") is None


def job(on, status=None, **spec):
    made, *pods = application("batch", on, kind="Job")
    return [{**made, "spec": {**made["spec"], **spec}, "status": status or {}}, *pods]


@pytest.mark.parametrize(
    ("spec", "failed", "moved", "back"),
    [
        ({}, 0, 2, 2),
        ({"backoffLimit": 0}, 0, 2, 0),
        ({"backoffLimit": 3}, 2, 2, 1),
    ],
)
def test_a_job_makes_pods_anew_until_it_has_failed_too_often(spec, failed, moved, back):
    of = outcome([*ZONES, *job(["a1", "a1", "b1"], {"failed": failed}, **spec)], "drain=a1", "Job shop/batch")

    assert (3, moved, back, 0, moved - back) == numbers(of)


def test_a_job_that_replaces_failed_pods_only_waits_for_a_node_that_nobody_reaches():
    objects = [*ZONES, *job(["a1", "b1"], podReplacementPolicy="Failed")]

    lost = outcome(objects, f"lose={ZONE}=a delete={ZONE}=a", "Job shop/batch", 0)
    assert ((2, 1, 0, 0, 1), 1) == (numbers(lost), lost.leaving)
    assert (1, 0, 1, 0, 0) == numbers(outcome(objects, f"lose={ZONE}=a delete={ZONE}=a", "Job shop/batch"))
    assert (2, 1, 1, 0, 0) == numbers(outcome([*ZONES, *job(["a1", "b1"])], f"lose={ZONE}=a", "Job shop/batch"))


@pytest.mark.parametrize(
    ("policy", "at_once", "back"),
    [("Failed", 0, 0), ("TerminatingOrFailed", 0, 1), ("Failed", 30, 0), ("TerminatingOrFailed", 30, 1)],
)
def test_a_finalizer_keeps_pods_of_a_job_that_replaces_failed_pods_only(policy, at_once, back):
    objects = job(["a1", "b1"], podReplacementPolicy=policy)
    for of in objects[1:]:
        of["spec"]["terminationGracePeriodSeconds"] = at_once

    assert back == outcome([*ZONES, *objects], f"lose={ZONE}=a", "Job shop/batch").back


def test_pods_that_waited_before_are_no_harm_of_the_step_and_one_that_finds_room_is_back():
    """Two wait since the zones are full; a node with room for ten lets them in."""
    waiting = [*ZONES, *application("api", ["a1"] * 10 + ["b1"] * 10 + ["c1"] * 10, waiting=2)]
    assert outcome(waiting, "cordon=a1", "Deployment shop/api") is None
    assert (30, 0, 2, 0, 0) == numbers(outcome(waiting, "add=1", "Deployment shop/api"))

    of = outcome(waiting, "delete=c1", "Deployment shop/api")
    assert ((30, 10, 0, 12, 0), 2, 10) == (numbers(of), of.waited, of.more)


def test_a_drain_moves_pods_and_is_held_by_a_budget():
    objects = [*ZONES, *deployment(constraint(**SOFT), replicas=3, on=["a1", "b1", "c1"]), budget(minAvailable=3)]
    (end,) = run(cluster_plan(objects, "drain=a1").plan, 1, 0)[1:]

    assert {} == end.workloads
    assert [("a1", ("shop/web",))] == [tuple(held) for held in end.drained.held]


def test_a_pod_that_is_moved_twice_in_a_step_is_lost_once():
    """Drained from a1 it may go to a2, which is drained next."""
    objects = [*nodes("a=2 b=1"), *application("api", ["a1", "a1", "a1"])]
    for number in range(8):
        (end,) = run(cluster_plan(objects, f"drain={ZONE}=a").plan, 1, number)[1:]
        assert (3, 3, 3, 0, 0) == numbers(end.workloads["Deployment shop/api"])


def test_it_agrees_with_what_the_simulation_of_one_workload_says_of_the_others():
    """The workload that is simulated there has no Pod: all of the rest is the same, draw by draw."""
    rest = [*nodes("a=2 b=2 c=1", cpu="1"), *application("api", ["a1"] * 9 + ["b1"] * 8, SPREAD)]
    rest += [*application("db", ["a2"] * 7 + ["b2"] * 9, priority=5), *application("log", ["c1"] * 9)]
    rest += stateful(constraint(**SOFT), on=["a1", "b2"])
    none = application("none", [])
    single = plan([*rest, *none], f"lose={ZONE}=a delete={ZONE}=a", raw=none[0])
    whole = cluster_plan([*rest, *none], f"lose={ZONE}=a delete={ZONE}=a").plan
    seen = set()
    for number in range(10):
        for of_one, of_all in zip(run(single, 1, number)[1:], run(whole, 1, number)[1:], strict=True):
            others = {name: of.more for name, of in of_all.workloads.items() if of.more}
            named = {name: of.more for name, of in of_one.workloads.items() if of.more}
            assert named == others
            seen.add(tuple(sorted(others.items())))
    assert len(seen) > 1


def test_a_label_of_a_pod_stands_for_that_of_a_workload_that_is_not_known():
    api, _, *pods = application("api", ["a1"], labels={"team": "pay"})
    plain = cluster_plan([*ZONES, api, *pods], "cordon=a1").plan.workloads
    assert ("ReplicaSet shop/api-1", "pay") == next((name, of.labels["team"]) for name, of in plain.items())


@pytest.mark.parametrize("field", [{"schedulingGates": [{"name": "queue"}]}, {"schedulerName": "volcano"}])
def test_a_pod_that_waits_asks_for_what_it_has_itself_also_where_no_workload_is_named(field):
    objects = [*ZONES, *application("api", ["a1"], waiting=1)]
    objects[-1]["spec"] = {**objects[-1]["spec"], **field}
    found = outcome(objects, "add=1 drain=b1", "Deployment shop/api", 0)

    assert found is None or (1, 1, 0) == (found.ran, found.running, found.back)
