"""What runs come to: steps one after the other, in clusters as people have them."""

from __future__ import annotations

import pytest

from evenkeel.scheduler.configured_profiles import read_profiles
from evenkeel.simulate.outcomes import Uncounted, run
from evenkeel.simulate.planning import planned_workloads
from evenkeel.simulate.results import Range
from tests.support.build import HOSTNAME, ZONE, constraint
from tests.support.claims import capacity, claim, csi_driver, csi_node, storage_class, using, volume
from tests.support.placing import node, requesting, running
from tests.support.simulated import (
    HOUR_AGO,
    SOFT,
    application,
    budget,
    cluster,
    deployment,
    ends,
    held,
    likely,
    nodes,
    owned,
    plan,
    pod,
    run_one,
    simulated,
    simulated_steps,
    stateful,
    template,
    updating,
)
from webhook.kubernetes.references import ObjectRef

NINE = [f"{zone}{i}" for i in (1, 2, 3) for zone in "abc"]
HONOR = {"nodeTaintsPolicy": "Honor"}


def even(*constraints, replicas=9, text="a=3 b=3 c=3", **fields):
    names = NINE[:replicas] if replicas <= len(NINE) else NINE
    return [*nodes(text), *deployment(*constraints, replicas=replicas, on=names, **fields)]


def test_a_scale_up_fills_zones_evenly():
    (result,) = simulated(even(), "scale=12")

    assert {"a": (4, 4), "b": (4, 4), "c": (4, 4)} == ends(result)
    assert (0, 0.0, 0.0) == (result.waiting.most, result.unfinished, result.constraints[0].exceeds_max_skew)


def test_a_scale_down_may_leave_any_skew_of_equally_good_pods():
    """Scenario 23: nothing moves running Pods."""
    (result,) = simulated(even(replicas=6), "scale=3", runs=300)

    assert {"a": (0, 2), "b": (0, 2), "c": (0, 2)} == ends(result)
    assert 0.5 < result.constraints[0].exceeds_max_skew < 0.7  # 1 - 8 / 20


@pytest.mark.parametrize(("owner", "crowded"), [(None, (0, 2)), ("Rollout/web", (0, 0))])
def test_a_replica_set_looks_at_crowded_nodes_only_where_something_controls_it(owner, crowded):
    """Pods of one node go first among those of the sets of the same controller, of which there is none."""
    made = owned("ReplicaSet", "web", {"replicas": 4, "template": template(constraint())}, owner)
    pods = [pod("ReplicaSet/web", i, on) for i, on in enumerate(("a1", "a1", "b1", "c1"))]
    (result,) = simulated([*nodes(), made, *pods], "scale=2", runs=100, raw=made)

    assert crowded == ends(result)["a"]


@pytest.mark.parametrize("step", [f"cordon={ZONE}=c", f"taint={ZONE}=c,old=yes:NoSchedule"])
def test_a_pod_that_waits_may_find_a_node_while_others_are_cordoned(step):
    """One node comes after the other: with the first the zone's Pods no longer count, and the last is still open."""
    waits = pod("ReplicaSet/web-1", 9, "")
    objects = [
        node("a1", "a", pods="1"),
        *nodes("c=2"),
        *deployment(constraint(**HONOR), replicas=4, on=["a1", "c1", "c1"]),
    ]
    (result,) = simulated([*objects, waits], step)

    assert (0, 1) == (result.waiting.least, result.waiting.most)


def test_old_pods_may_all_be_there_until_the_new_ones_are_placed():
    """Or end at once: how fast they do is the same in all of a run.  Those that are there take room."""
    wide = constraint(topologyKey=HOSTNAME, maxSkew=99)
    made = deployment(wide, replicas=8, on=["a1"] * 8)
    other = running("b1", "900m", labels={"app": "other"})
    (result,) = simulated([*nodes("a=1 b=1"), *made, other], "rollout", runs=200)

    assert {"a1": (4, 8), "b1": (0, 4)} == ends(result)


def test_a_zone_that_is_lost_bars_the_others_until_its_nodes_are_deleted():
    """Scenario 15, fact 25."""
    lost, deleted = simulated(even(), f"lose={ZONE}=a delete={ZONE}=a")

    assert ({"b": 3, "c": 3}, 3) == (likely(lost), lost.waiting.least)
    assert {0: 1.0} == lost.holding
    assert [
        "0/9 nodes are available: 3 node(s) had untolerated taint {node.kubernetes.io/unreachable: },"
        " 6 node(s) didn't match pod topology spread constraints."
    ] == list(lost.reasons)
    assert {"b": (4, 5), "c": (4, 5)} == ends(deleted)
    assert 0 == deleted.waiting.most


def test_with_taints_honoured_a_lost_zone_bars_nothing():
    (lost,) = simulated(even(constraint(**HONOR)), f"lose={ZONE}=a")

    assert {"a": (0, 0), "b": (4, 5), "c": (4, 5)} == ends(lost)


def test_a_rollout_may_end_skewed():
    """Scenario 22: old and new Pods are counted together."""
    (result,) = simulated(even(replicas=6), "rollout", runs=500)

    assert {(0, 3), (1, 3)} >= set(ends(result).values())
    assert result.constraints[0].exceeds_max_skew > 0.1
    assert (0.0, 6) == (result.unfinished, result.rollout.updated.least)


def test_match_label_keys_spread_each_revision_by_itself():
    (result,) = simulated(even(constraint(matchLabelKeys=["pod-template-hash"]), replicas=6), "rollout")

    assert {"a": (2, 2), "b": (2, 2), "c": (2, 2)} == ends(result)


def test_a_rollout_whose_pods_wait_never_finishes_and_names_the_constraint():
    """A zone that is tainted holds it, since it counts as empty."""
    tainted = [node(f"c{i}", "c", taints=[{"key": "x", "value": "", "effect": "NoSchedule"}]) for i in (1, 2)]
    objects = [*nodes("a=2 b=2"), *tainted, *deployment(replicas=4, on=["a1", "b1", "a2", "b2"])]
    (result,) = simulated(objects, "rollout")

    assert (1.0, {0: 1.0}) == (result.unfinished, result.holding)
    assert result.rollout.updated.most < 4
    assert result.waiting.least > 0


def test_nine_replicas_with_one_place_in_a_zone():
    """kubernetes#116978: a zone without room bars the others; 4 of 9 wait, not the 2 that find no place."""
    objects = [*nodes("a=1 b=1"), node("c1", "c", pods="1")]
    (result,) = simulated(objects, "", applied=True, raw=deployment(replicas=9)[0])

    assert ({"a": 2, "b": 2, "c": 1}, 4, 4) == (likely(result), result.waiting.least, result.waiting.most)
    assert {0: 1.0} == result.holding


@pytest.mark.parametrize("field", [{"schedulingGates": [{"name": "example.com/wait"}]}, {"schedulerName": "volcano"}])
def test_no_constraint_holds_a_pod_that_kube_scheduler_does_not_look_at(field):
    (result,) = simulated([*nodes(), *deployment(replicas=0, **field)], "scale=3", runs=1)

    assert (Range(3, 3, 3), {}) == (result.waiting, result.holding)


def test_a_deployment_that_is_paused_is_scaled_and_not_rolled_out():
    """Its template has changed since its ReplicaSet was made."""
    objects = even(replicas=3)
    held = next(one for one in objects if one["kind"] == "Deployment")
    held["spec"] |= {"paused": True, "template": template(constraint(), schedulerName="volcano")}
    (result,) = simulated(objects, "scale=6", runs=3)

    assert {"a": (2, 2), "b": (2, 2), "c": (2, 2)} == ends(result)
    assert (None, Range(6, 6, 6)) == (result.rollout, result.after)


def test_a_pod_that_waits_asks_for_what_it_has_itself():
    """Its StatefulSet asks for less by now, and does not replace it."""
    made, first = stateful(replicas=2, on=["a1"])
    waiting = pod("StatefulSet/web", 1, "", spec={"containers": requesting("999")})
    (result,) = simulated([*nodes("a=1 b=1"), made, first, waiting], "cordon=a1", runs=3)

    assert (1, 1) == (result.waiting.least, result.waiting.most)
    assert "Insufficient cpu" in next(iter(result.reasons))


def test_pods_of_the_same_second_are_tried_in_any_order():
    """One of two workloads has the last place: whose name comes first does not decide it."""
    objects = [*nodes("a=1", pods="1"), *deployment(replicas=2, on=["a1", ""])]
    other = pod("ReplicaSet/also-1", 0, "", labels={"app": "also"})
    (result,) = simulated([*objects, other], f"add=1,{ZONE}=a", runs=40)

    assert (0, 1) == (result.waiting.least, result.waiting.most)


def test_a_paused_deployment_from_a_file_has_the_replicas_of_the_file():
    objects = even(replicas=3)
    applied = deployment(replicas=6)[0]
    applied["spec"]["paused"] = True
    (result,) = simulated(objects, "", runs=1, raw=applied, applied=True)

    assert Range(6, 6, 6) == result.after


def test_too_few_domains_for_min_domains():
    """Scenario 19: three are bound, two wait, until nodes join."""
    raw = deployment(constraint(topologyKey=HOSTNAME, minDomains=5), replicas=5)
    waits, joined = simulated([*nodes("a=3"), *raw], "add=1 add=1")

    assert (2, {"a1": 1, "a2": 1, "a3": 1, "new-1": 1}) == (waits.waiting.least + 1, likely(waits))
    assert (0, 5) == (joined.waiting.most, len(likely(joined)))


def test_a_pod_of_another_namespace_that_terminates_or_has_finished_does_not_count():
    """Scenario 26."""
    beside = [
        running("a1", namespace="other"),
        running("a1", deletionTimestamp="2026-01-01T00:00:00Z"),
        running("a1") | {"status": {"phase": "Succeeded"}},
    ]
    (result,) = simulated([*nodes("a=1 b=1"), *beside, *deployment(replicas=1)], "scale=2")

    assert {"a": (1, 1), "b": (1, 1)} == ends(result)


@pytest.mark.parametrize(
    ("text", "on", "wanted"),
    [
        ("a=1 b=1 c=1", ["a1", "b1"], {"a": (1, 1), "b": (1, 1), "c": (1, 1)}),
        ("a=3 b=3 c=1", ["a1", "a2", "a2", "b1", "b1", "c1"], {"a": (3, 3), "b": (2, 2), "c": (2, 2)}),
        ("a=1 b=1 c=1", ["a1"] * 5 + ["b1"] * 3 + ["c1"] * 2, {"a": (5, 5), "b": (3, 3), "c": (3, 3)}),
    ],
)
def test_one_pod_more_goes_where_the_skew_allows(text, on, wanted):
    """Scenarios 13, 14 and 18."""
    objects = [*nodes(text), *deployment(replicas=len(on), on=on)]
    (result,) = simulated(objects, f"scale={len(on) + 1}")

    assert wanted == ends(result)


def test_with_a_larger_skew_a_fuller_zone_may_be_taken():
    """Scenario 13: c is the emptier, and not wanted."""
    unwanted = node("c1", "c", taints=[{"key": "old", "value": "", "effect": "PreferNoSchedule"}])
    objects = [*nodes("a=1 b=1"), unwanted, *deployment(constraint(maxSkew=2), replicas=2, on=["a1", "b1"])]
    (result,) = simulated(objects, "scale=3")

    assert {"a": (1, 2), "b": (1, 2), "c": (0, 0)} == ends(result)


def test_one_pod_more_by_node():
    """Scenario 14: an empty node of any zone."""
    on = ["a1", "a2", "a2", "b1", "b1", "c1"]
    by_node = constraint(topologyKey=HOSTNAME)
    (result,) = simulated([*nodes("a=3 b=3 c=1"), *deployment(by_node, replicas=6, on=on)], "scale=7")

    assert {"a3", "b2", "b3"} == {name for name, (least, most) in ends(result).items() if least < most}


def test_soft_zones_without_room_are_passed_over():
    """Scenarios 16 and 17."""
    tainted = node("c1", "c", taints=[{"key": "x", "value": "", "effect": "NoSchedule"}])
    (result,) = simulated([*nodes("a=1 b=1"), tainted, *deployment(constraint(**SOFT), replicas=2)], "scale=6")

    assert {"a": (3, 3), "b": (3, 3), "c": (0, 0)} == ends(result)


def test_a_drain_moves_pods_and_leaves_those_of_daemon_sets():
    daemon = pod("DaemonSet/log", 0, "a1", labels={"app": "log"})
    drained, deleted = simulated_steps([*even(), daemon], "drain=a1 delete=a1")

    assert {"a": (3, 3), "b": (3, 3), "c": (3, 3)} == ends(drained.workloads[0]) == ends(deleted.workloads[0])
    assert ((), ()) == (drained.held, drained.elsewhere)


def test_a_budget_that_allows_nothing_holds_a_drain():
    (result,) = simulated_steps([*even(), budget(minAvailable=9)], "drain=a1")

    assert [("a1", ("shop/web",), 1.0)] == held(result)
    assert {"a": (3, 3), "b": (3, 3), "c": (3, 3)} == ends(result.workloads[0])


def test_a_budget_lets_a_drain_go_on_as_pods_come_back():
    (result,) = simulated_steps([*even(constraint(**SOFT)), budget(maxUnavailable=1)], f"drain={ZONE}=a")

    assert ((), 0) == (result.held, result.workloads[0].waiting.most)
    assert (0, 0) == ends(result.workloads[0])["a"]


def test_pods_of_other_workloads_move_and_may_wait():
    other = owned(
        "ReplicaSet", "api", {"replicas": 1, "template": template(nodeSelector={"kubernetes.io/hostname": "a1"})}
    )
    (result,) = simulated_steps([*even(), other, pod("ReplicaSet/api", 0, "a1")], "drain=a1")

    assert [("ReplicaSet/api", Range(1, 1, 1))] == [(of.workload, of.more) for of in result.elsewhere]


def test_a_workload_of_which_one_no_longer_waits_does_not_hide_another():
    """The drain gives one of `api` no place, and `add` lets in one of `db`, which waited."""
    api, db = (
        owned("ReplicaSet", name, {"replicas": 1, "template": template(nodeSelector={"pool": name})})
        for name in ("api", "db")
    )
    there = [*even(), node("x1", "a", labels={"pool": "api"})]
    (drained, added) = simulated_steps(
        [*there, api, db, pod("ReplicaSet/api", 0, "x1"), pod("ReplicaSet/db", 0, None)], "drain=x1 add=1,pool=db"
    )

    for step in (drained, added):
        assert [("ReplicaSet/api", 1, 0)] == [(of.workload, of.more.least, of.preempted.most) for of in step.elsewhere]


def test_a_pod_that_nothing_makes_is_gone():
    (result,) = simulated_steps([*even(), running("a1", labels={"app": "bare"})], "drain=a1")

    assert [(0, 1)] == [(of.more.most, of.gone.least) for of in result.elsewhere]


def test_no_execute_evicts_what_does_not_tolerate_it():
    (result,) = simulated(even(constraint(**SOFT)), f"taint={ZONE}=a,going:NoExecute")

    assert {"a": (0, 0), "b": (4, 5), "c": (4, 5)} == ends(result)


def test_no_schedule_leaves_what_is_there():
    (result,) = simulated(even(), f"taint={ZONE}=a,going:NoSchedule")

    assert {"a": (3, 3), "b": (3, 3), "c": (3, 3)} == ends(result)


def test_new_nodes_have_the_pods_of_daemon_sets():
    log = pod("DaemonSet/log", 0, "a1", labels={"app": "log"})
    made = plan([*nodes("a=1", pods="2"), log, *deployment(replicas=1, on=["a1"])], f"add=1,{ZONE}=b scale=3")
    _, _, scaled = run_one(made, 1, 0)

    assert ({"a": 1, "b": 1}, 1) == (dict(scaled.constraints[0].domains), scaled.waiting)


def test_a_stateful_set_waits_for_a_lost_pod_until_its_node_is_deleted():
    objects = [*nodes("a=1 b=1 c=1"), *stateful(replicas=3, on=["a1", "b1", "c1"])]
    lost, deleted = simulated(objects, "lose=a1 delete=a1")

    assert ({"b": (1, 1), "c": (1, 1)}, 0) == ({k: v for k, v in ends(lost).items() if k != "a"}, lost.waiting.most)
    assert (1.0, {"b": (1, 2), "c": (1, 2)}) == (lost.unfinished, ends(deleted))


@pytest.mark.parametrize(("seconds", "unfinished"), [(0, 0.0), (30, 1.0), (None, 1.0)])
def test_a_pod_without_a_grace_period_is_gone_at_once_and_made_again(seconds, unfinished):
    objects = [*nodes("a=1 b=1"), *stateful(constraint(maxSkew=2), replicas=2, on=["a1", "b1"])]
    for of in objects[3:]:
        of["spec"]["terminationGracePeriodSeconds"] = seconds
    (lost,) = simulated(objects, "lose=a1")

    assert (unfinished, 0 if seconds == 0 else 1) == (lost.unfinished, lost.missing.most)


def test_pods_that_are_made_are_gone_at_once_if_their_template_says_so():
    made, *_ = stateful(constraint(maxSkew=2), replicas=0)
    made["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 0
    _, lost = simulated([*nodes("a=1 b=1"), made], "scale=2 lose=a1")

    assert (0.0, 2) == (lost.unfinished, ends(lost)["b"][1])


def test_ordered_one_that_waits_keeps_the_rest_from_existing():
    objects = [*nodes("a=1 b=1"), node("c1", "c", pods="0"), *stateful(replicas=2, on=["a1", "b1"])]
    (ordered,) = simulated(objects, "scale=6")
    (parallel,) = simulated(
        [*objects[:-3], *stateful(replicas=2, on=["a1", "b1"], podManagementPolicy="Parallel")], "scale=6"
    )

    assert (1, 4) == (ordered.waiting.least, parallel.waiting.least)


def test_a_workload_from_a_file_is_applied_first():
    objects = nodes("a=1 b=1")
    raw = deployment(replicas=4)[0]
    applied, scaled = simulated(objects, "scale=2", applied=True, raw=raw)

    assert ({"a": (2, 2), "b": (2, 2)}, 2) == (ends(applied), scaled.after.most)


def test_a_changed_workload_from_a_file_rolls_out():
    old = deployment(replicas=6, on=NINE[:6])
    raw = deployment(constraint(matchLabelKeys=["pod-template-hash"]), replicas=6)[0]
    objects = [*nodes(), raw, *old[1:]]
    (applied,) = simulated(objects, "", applied=True, raw=raw)

    assert {"a": (2, 2), "b": (2, 2), "c": (2, 2)} == ends(applied)
    assert (6, 0.0) == (applied.rollout.updated.least, applied.unfinished)


def test_the_same_seed_comes_to_the_same_and_another_does_not():
    made = plan(even(replicas=6), "rollout scale=4")

    assert [run(made, 1, i) for i in range(5)] == [run(made, 1, i) for i in range(5)]
    assert [run(made, 1, i) for i in range(9)] != [run(made, 2, i) for i in range(9)]


@pytest.mark.parametrize("minor", [34, 35])
def test_either_way_of_breaking_ties_keeps_a_hard_constraint(minor):
    (result,) = simulated(even(), "scale=15", minor=minor)

    assert {"a": (5, 5), "b": (5, 5), "c": (5, 5)} == ends(result)


@pytest.mark.parametrize(("min_ready", "skewed"), [(0, True), (9, True), (10, False), (600, False)])
def test_pods_that_are_not_yet_available_keep_the_old_ones_until_all_new_ones_are_placed(min_ready, skewed):
    """Unless minReadySeconds are so few that kube-scheduler perhaps takes longer to try a Pod again."""
    doubled = {"rollingUpdate": {"maxSurge": "100%", "maxUnavailable": 0}}
    (result,) = simulated(even(strategy=doubled, min_ready=min_ready), "rollout", runs=100)

    assert skewed == (result.constraints[0].exceeds_max_skew > 0)
    assert (0, 0.0) == (result.waiting.most, result.unfinished)


BY_REVISION = {"matchLabelKeys": ["controller-revision-hash"]}


def test_what_a_partition_keeps_old_is_made_anew_as_it_was():
    """It does not count among the new Pods."""
    on = [("a1", "old"), ("b1", "old"), ("c1", "new")]
    held = {"updateStrategy": {"rollingUpdate": {"partition": 2}}}
    (result,) = simulated([*nodes("a=2 b=1 c=1"), *updating(constraint(**BY_REVISION), on=on, **held)], "drain=a1")

    assert {"a": (0, 0), "b": (0, 0), "c": (1, 1)} == ends(result)
    assert (3, 0.0) == (result.after.least, result.unfinished)


def test_a_rollout_that_waits_goes_on():
    """A zone is closed, and so the third new Pod has no node."""
    on = [("b1", "old"), ("", "new"), ("c1", "new"), ("b1", "new")]
    there = [*nodes("b=1 c=1"), node("a1", "a", unschedulable=True)]
    objects = [*there, *updating(constraint(**BY_REVISION), on=on)]
    before, after = simulated(objects, f"cordon=b1 add=1,{ZONE}=a")

    assert (1, Range(3, 3, 3)) == (before.waiting.least, before.rollout.updated)
    assert (0, Range(4, 4, 4), 0.0) == (after.waiting.most, after.rollout.updated, after.unfinished)
    assert {"a": (1, 2), "b": (1, 1), "c": (1, 2)} == ends(after)


@pytest.mark.parametrize("applied", [False, True])
@pytest.mark.parametrize(("zones", "said"), [("c=1", "1 of 3 nodes passes"), ("c=2", "2 of 4 nodes pass")])
def test_a_pod_that_waits_though_nodes_pass_waits_for_its_next_try(applied, zones, said):
    """It has not been tried since: also one of a Deployment in a file that the cluster has as well."""
    waiting = pod("ReplicaSet/web-1", 2, None, spec={"topologySpreadConstraints": [constraint()]})
    objects = [*nodes(f"a=1 b=1 {zones}"), *deployment(replicas=3, on=["a1", "b1"]), waiting]
    made = plan(objects, "" if applied else "scale=4", applied=applied)
    now, after = run_one(made, 1, 0)

    assert [f"{said} at the next attempt"] == list(now.reasons)
    assert (1, 0) == (now.waiting, after.waiting)


@pytest.mark.parametrize("step", ["drain=a1", "delete=a1", "lose=a1 delete=a1", "taint=a1,x=y:NoExecute"])
def test_what_no_controller_replaces_is_lost(step):
    """Each once; a Pod of a DaemonSet, and one of a workload, is not."""
    there = [pod("Node/x", i, "a1", ownerReferences=[]) for i in range(2)]
    objects = [*nodes(), *deployment(on=["a1"]), *there, pod("DaemonSet/log", 0, "a1"), pod("Job/one", 0, "a1")]
    steps = simulated_steps(objects, f"cordon=b1 {step}", runs=5)

    assert [] == [of.workload for of in steps[0].elsewhere]
    gone = {of.workload: (of.gone.least, of.gone.most) for of in steps[-1].elsewhere if of.gone.most}
    assert {"Pod/x-0": (1, 1), "Pod/x-1": (1, 1)} == gone


@pytest.mark.parametrize(
    ("fields", "minor", "uncounted"),
    [
        ({}, 33, Uncounted(3, 0, 1)),
        ({"labelSelector": {"matchLabels": {"app": "other"}}}, 33, Uncounted(3, 3, 0)),
        ({"labelSelector": {"matchLabels": {"pod-template-hash": "1"}}}, 33, Uncounted(3, 0, 1)),
        ({"labelSelector": {}}, 33, Uncounted(3, 3, 0)),
        ({"labelSelector": {}}, 26, Uncounted(3, 0, 1)),
    ],
)
def test_pods_that_run_and_that_a_constraint_does_not_count(fields, minor, uncounted):
    """One runs on a node without the key; of those that wait, and those that are being deleted, nothing is said."""
    leaving = pod("ReplicaSet/web-1", 9, "a1", deletionTimestamp=HOUR_AGO)
    there = [*nodes("a=1 b=1"), node("x1"), *deployment(constraint(**fields), on=["a1", "b1", "x1", None]), leaving]
    made = plan(there, "cordon=b1", minor=minor)

    (counted,) = run_one(made, 1, 0)[0].constraints
    assert (uncounted, 2) == (counted.uncounted, counted.eligible)


@pytest.mark.parametrize(("replicas", "then"), [(12, 6), (1, 3), (5, 5), (0, 0)])
def test_an_autoscaler_brings_a_workload_within_its_bounds(replicas, then):
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    bounds = {"minReplicas": 3, "maxReplicas": 6, "scaleTargetRef": target}
    hpa = {**owned("HorizontalPodAutoscaler", "hpa", bounds), "apiVersion": "autoscaling/v2"}
    made = plan([*even(replicas=6), hpa], f"scale={replicas}")

    assert [(then, True)] * 9 == [(end.running, end.complete) for i in range(9) for end in run_one(made, 1, i)[1:]]


def test_a_scale_to_the_number_that_there_is_shows_what_happens_now():
    """One that waits is tried, and one that is missing is made."""
    objects = [*nodes("a=2 b=2"), *deployment(replicas=4, on=["a1", "b1", None])]
    (result,) = simulated(objects, "scale=4")

    assert {"a": (2, 2), "b": (2, 2)} == ends(result)
    assert (0, 0.0) == (result.waiting.most, result.unfinished)


def test_a_drain_ends_where_pods_tolerate_all_and_come_back():
    objects = [*nodes("a=1"), *deployment(on=["a1"] * 3, tolerations=[{"operator": "Exists"}])]
    (result,) = simulated_steps(objects, "drain=a1", runs=20)

    assert ({"a": (3, 3)}, Range(3, 3, 3)) == (ends(result.workloads[0]), result.drained.evicted)


@pytest.mark.parametrize(("policy", "holds"), [(None, True), ("IfHealthyBudget", True), ("AlwaysAllow", False)])
def test_a_budget_may_always_let_pods_go_that_are_not_ready(policy, holds):
    made, other, *pods = deployment(replicas=3, on=["a1", "b1", "c1"])
    for one in pods[:2]:
        one["status"]["conditions"][0]["status"] = "False"
    objects = [*nodes(), made, other, *pods, budget(minAvailable=3, unhealthyPodEvictionPolicy=policy)]
    (result,) = simulated_steps(objects, "drain=a1")

    assert holds == ("a1" in [node for node, _, _ in held(result)])


FOR_EVER = [{"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}]


def test_pods_that_stay_on_a_lost_node_are_not_ready():
    """They go first, and a budget misses them."""
    made, other, *pods = even(constraint(**SOFT), replicas=6, tolerations=FOR_EVER)[9:]
    for one in pods:
        one["spec"]["tolerations"] = FOR_EVER
    objects = [*nodes(), made, other, *pods, budget(maxUnavailable=2)]
    scaled, drained = (simulated_steps(objects, f"lose={ZONE}=a {step}")[1] for step in ("scale=4", "drain=b1"))

    assert {"a": (0, 0), "b": (2, 2), "c": (2, 2)} == ends(scaled.workloads[0])
    for step, number in ((scaled, 0), (drained, 2)):
        domains = step.workloads[0].constraints[0].domains
        assert [("a", number), ("b", 0), ("c", 0)] == [(domain.value, domain.unreachable.most) for domain in domains]
    assert [("b1", ("shop/web",), 1.0)] == held(drained)


def test_an_applied_stateful_set_is_rolled_out_down_to_its_partition():
    on = [("a1", "old"), ("b1", "old"), ("c1", "old")]
    objects = [*nodes(), *updating(on=on, current="old", updated="old")]
    made = next(one for one in objects if one["kind"] == "StatefulSet")
    held = {**made, "spec": {**made["spec"], "replicas": 4, "updateStrategy": {"rollingUpdate": {"partition": 1}}}}
    applied, deleted = simulated(objects, "delete=a1", raw=held, applied=True)

    assert (Range(3, 3, 3), 4, 0.0) == (applied.rollout.updated, applied.after.least, applied.unfinished)
    assert (4, 0.0) == (deleted.after.least, deleted.unfinished)


def waits(steps, *objects, **fields):
    """How many Pods of a StatefulSet with a claim for each wait after each step, on nodes that attach two volumes."""
    made = stateful(HOST_SOFT, replicas=0, volumeClaimTemplates=[OF_CLAIM], podManagementPolicy="Parallel", **fields)
    there = [*nodes("a=1"), csi_node("a1", 2), storage_class(), *objects]
    return [outcome.waiting for outcome in run_one(plan([*there, *made], steps, minor=37), 1, 0)[1:]]


HOST_SOFT = constraint(topologyKey=HOSTNAME, whenUnsatisfiable="ScheduleAnyway")
OF_CLAIM = {"metadata": {"name": "data"}, "spec": claim("data")["spec"]}
DELETE = {"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"}}


def test_a_node_attaches_no_more_volumes_than_it_takes():
    assert [0, 2] == waits("scale=2 scale=4")


@pytest.mark.parametrize("fields", [{}, DELETE], ids=["kept", "deleted"])
def test_volumes_of_pods_that_have_gone_take_no_place(fields):
    """Also where their claims are deleted, before or after kube-scheduler hears of the Pods."""
    assert [0, 0, 0] == waits("scale=2 scale=0 scale=2", **fields)


def test_a_claim_that_all_pods_share_is_not_deleted_with_one():
    shared = claim("shared", "pv-s"), volume("pv-s", of="shared")
    spec = {"template": template(HOST_SOFT, **using("shared"))}

    assert [0, 0, 0] == waits("scale=2 scale=1 scale=2", *shared, **DELETE, **spec)


def test_volumes_of_a_cloud_take_the_places_of_its_driver():
    of_cloud = {"metadata": {"name": "data"}, "spec": claim("data", of_class="gp2")["spec"]}
    made = stateful(HOST_SOFT, replicas=0, volumeClaimTemplates=[of_cloud], podManagementPolicy="Parallel")
    there = [*nodes("a=1"), csi_node("a1", 2), storage_class("gp2", "kubernetes.io/aws-ebs")]

    assert [2] == [outcome.waiting for outcome in run_one(plan([*there, *made], "scale=4", minor=37), 1, 0)[1:]]


def test_new_volumes_take_free_storage():
    tracked = csi_driver(storageCapacity=True), capacity("c", "1Gi", "a")

    assert [1] == waits("scale=2", *tracked)


def test_where_volume_binding_does_not_run_claims_stay_as_they_are():
    off = {"multiPoint": {"disabled": [{"name": name} for name in ("VolumeBinding", "VolumeZone")]}}
    raw = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    profiles, _ = read_profiles({**raw, "profiles": [{"plugins": off}]})
    no_class = {"metadata": {"name": "data"}, "spec": claim("data", of_class=None)["spec"]}
    made = stateful(HOST_SOFT, replicas=0, volumeClaimTemplates=[no_class])

    assert [0] == [
        outcome.waiting for outcome in run_one(plan([*nodes("a=1"), *made], "scale=1", profiles=profiles), 1, 0)[1:]
    ]


def test_the_pods_of_another_kind_with_claims_keep_those_that_they_have():
    clones = {
        **{
            "apiVersion": "apps.kruise.io/v1alpha1",
            "kind": "CloneSet",
            "metadata": {"name": "clone", "namespace": "shop"},
        },
        "spec": {"replicas": 2, "template": template(HOST_SOFT), "volumeClaimTemplates": [OF_CLAIM]},
    }
    owner = {
        **clones["metadata"],
        "apiVersion": clones["apiVersion"],
        "kind": "CloneSet",
        "uid": "c1",
        "controller": True,
    }
    there = [*nodes("a=2"), csi_node("a1", 5), csi_node("a2", 5), storage_class()]
    for i in range(2):
        one = pod("CloneSet/clone", i, "a1", spec=using(f"data-{i}"), ownerReferences=[owner])
        there += [one, claim(f"data-{i}", f"pv-{i}"), volume(f"pv-{i}", "a1", key=HOSTNAME, of=f"data-{i}")]
    drained = run(plan([*there, clones, *deployment(replicas=0)], "drain=a1", minor=37), 1, 0)[-1]

    assert 2 == drained.workloads["CloneSet shop/clone"].more


@pytest.mark.parametrize("step", [f"lose={ZONE}=a", f"delete={ZONE}=a"])
def test_pods_of_a_node_go_in_any_order(step):
    """Two of other workloads are deleted at the same time, and there is one place: either may get it."""
    web = deployment(constraint(**SOFT), replicas=9, on=["b1"] * 9)
    others = [*application("api", ["a1"]), *application("db", ["a1"])]
    (result,) = simulated_steps([*nodes("a=1 b=1", cpu="1"), *web, *others], step)

    assert {"Deployment/api": (0, 1), "Deployment/db": (0, 1)} == {
        of.workload: (of.more.least, of.more.most) for of in result.elsewhere
    }


def test_pods_of_several_workloads_end_one_by_one_and_the_first_room_is_for_whoever_may_have_it():
    old, *pods = application("old", ["a1", "b1"], kind="ReplicaSet")
    new, *_ = application("new", [], waiting=1, kind="ReplicaSet")
    objects = [*nodes("a=1 b=2", pods="1"), *application("web", ["b2"], constraint(), waiting=2), *pods]
    raws = [{**old, "spec": {**old["spec"], "replicas": 0}}, new]
    keys = [ObjectRef.of(raw).key for raw in raws]
    made = planned_workloads(raws, cluster(*objects, *raws), [], applied={*keys}, stored={keys[0]: old}).plan
    name = str(ObjectRef.of(new))
    waiting = {run(made, 1, i)[-1].workloads[name].waiting for i in range(30)}

    assert {0, 1} == waiting


PREFERS_A = {
    "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 100, "preference": {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}}
        ]
    }
}


def waiting_once_others_end(first, second):
    """
    How many Pods of each workload may wait once two nodes are given up, which have room for one Pod each.

    The Pod of the first has come first.
    """
    old, *there = application("old", ["a1", "b1"], kind="ReplicaSet")
    named = []
    for i, spec in enumerate((first, second)):
        raw, waiting = application(f"web-{i}", [], waiting=1, kind="ReplicaSet", **spec)
        there.append({**waiting, "metadata": {**waiting["metadata"], "creationTimestamp": f"2026-01-31T09:00:0{i}Z"}})
        named.append(raw)
    raws = [{**old, "spec": {**old["spec"], "replicas": 0}}, *named]
    keys = [ObjectRef.of(raw).key for raw in raws]
    objects = cluster(*nodes("a=1 b=1", pods="1"), *there, *raws)
    made = planned_workloads(raws, objects, [], applied={*keys}, stored={keys[0]: old}).plan
    return [{run(made, 1, i)[-1].workloads[str(ObjectRef.of(raw))].waiting for i in range(60)} for raw in named]


def test_a_pod_takes_the_room_that_is_there_before_all_have_ended():
    """Together they would leave each its node."""
    assert {0, 1} == waiting_once_others_end({"affinity": PREFERS_A}, {"nodeSelector": {ZONE: "b"}})[1]


def test_pods_end_between_two_tries():
    """The first is refused in zone b; the second then finds the room in zone a, too."""
    assert {0, 1} == waiting_once_others_end({"nodeSelector": {ZONE: "a"}}, {"affinity": PREFERS_A})[0]
