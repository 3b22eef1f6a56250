"""A run: what becomes of usage, counts and waiting Pods when Pods are made, bound and deleted."""

from __future__ import annotations

from evenkeel.placement.subject import expected_claim
from evenkeel.scheduler.host_ports import HostPort
from evenkeel.scheduler.pod_affinity import PodAffinity, PodTerm
from evenkeel.scheduler.pod_counts import Requests, label_set
from evenkeel.scheduler.volumes import Mounts, PodVolume
from evenkeel.simulate.bound_claims import VolumeTemplates
from evenkeel.simulate.node_changes import after
from evenkeel.simulate.pod import InitialPod, Maker
from evenkeel.simulate.step import parse_step
from tests.support.build import HOSTNAME, ZONE, constraint
from tests.support.claims import EBS, claim, csi_node, storage_class, volume
from tests.support.placing import node, running
from tests.support.simulated import NOW, SOFT, maker, nodes, nowhere, pod_class, state
from webhook.spread.affinity import RequiredNodeAffinity
from webhook.spread.selectors import EVERYTHING, NOTHING, selecting
from webhook.spread.taints import TOLERATION_EXISTS, Toleration

WEB = (("app", "web"),)
TENTH = Requests(100, 64 << 20, non_zero_milli_cpu=100, non_zero_memory=64 << 20)


def placed(run, of=None):
    pod = run.make(of or maker(requests=TENTH))
    assert run.schedule_next()
    return pod


def test_a_pod_that_is_bound_is_ready_counts_and_takes_room():
    run = state(*nodes("a=1"))
    pod = placed(run)

    assert ("a1", True, NOW) == (pod.node, pod.ready, pod.ready_at)
    assert {WEB: {"a1": 1}} == run.groups("shop")
    assert (1, 100) == (run.usage["a1"].pods, run.usage["a1"].milli_cpu)
    assert [] == [*run.waiting]
    assert [pod] == run.on("a1")


def test_a_pod_that_terminates_takes_room_and_does_not_count():
    run = state(*nodes("a=1"))
    pod = placed(run)
    run.delete(pod)

    assert {WEB: {}} == run.groups("shop")
    assert 1 == run.usage["a1"].pods
    assert [pod] == run.finish()
    assert (0, []) == (run.usage["a1"].pods, run.on("a1"))


def test_a_pod_without_a_node_is_gone_at_once():
    run = state(*nodes("a=1"))
    pod = run.make(maker())
    run.nominate(pod, "a1")
    run.delete(pod)

    assert ([], [], ()) == ([*run.waiting], [*run.terminating], run.nominated)


def test_a_pod_without_a_grace_period_is_gone_as_it_is_deleted():
    run = state(*nodes("a=1 b=1"))
    pod = placed(run)
    pod.gone_at_once = True
    run.move_to(after(run.ground, parse_step(f"lose={pod.node}")))
    run.delete(pod)

    assert (0, [], [pod]) == (run.usage[pod.node].pods, [*run.terminating], run.finish())


def test_on_a_lost_node_nothing_ends():
    run = state(*nodes("a=1 b=1"))
    pod = placed(run)
    run.move_to(after(run.ground, parse_step(f"lose={pod.node}")))
    run.delete(pod)

    assert [] == run.finish()
    assert [pod] == [*run.terminating]
    run.remove(pod)
    assert [] == [*run.terminating]


def test_what_terminates_on_a_node_that_is_then_lost_does_not_end():
    run = state(*nodes("a=1 b=1"))
    pod = placed(run)
    run.delete(pod)
    run.move_to(after(run.ground, parse_step(f"lose={pod.node}")))

    assert ([], [pod]) == (run.finish(), [*run.terminating])


def test_what_is_left_on_a_deleted_node_is_forgotten():
    run = state(*nodes("a=1"), running("a1"))
    placed(run)
    run.move_to(after(run.ground, parse_step("delete=a1")))
    run.forget("a1")

    assert ({WEB: {}}, {}) == (run.groups("shop"), run.usage)


def test_pods_wait_by_priority_and_then_by_time():
    run = state(node("a1", "a", pods="1"))
    first, second, third = (run.make(maker(priority=priority)) for priority in (0, 5, 5))

    assert run.schedule_next()
    assert ["", "a1", ""] == [first.node, second.node, third.node]
    assert [third, first] == [*run.waiting]
    assert not run.schedule_next()


def test_a_class_that_has_failed_is_tried_again_once_there_is_room():
    run = state(node("a1", "a", pods="1"))
    blocked = placed(run)
    pod = run.make(maker())
    assert not run.schedule_next()
    run.delete(blocked)
    assert not run.schedule_next()
    run.finish()

    assert run.schedule_next()
    assert pod.node == "a1"


def test_a_pod_is_tried_again_once_room_is_kept_on_another_node():
    run = state(*nodes("a=1 b=1", pods="1"), running("b1"))
    kept = run.make(nowhere())
    run.nominate(kept, "a1")
    pod = run.make(maker())
    assert not run.schedule_next()
    run.nominate(kept, "b1")

    assert run.schedule_next()
    assert "a1" == pod.node


def test_a_pod_is_tried_again_once_its_claim_is_made():
    run = state(*nodes("a=1"), storage_class())
    template = VolumeTemplates("shop", volumes=(PodVolume("data-db-0"),))
    pod = run.make(maker(mounts=Mounts("shop", template.volumes))._replace(volumes=template))
    assert not run.schedule_next()
    data = expected_claim(run.storage, claim("data"))
    run.make(
        nowhere()._replace(volumes=VolumeTemplates("shop", claims=(("data", data),), stateful_set="db")), ordinal=0
    )

    assert run.schedule_next()
    assert "a1" == pod.node


def test_a_pod_is_tried_again_once_the_node_is_full_at_which_its_attempt_was_given_up():
    """The claim of an ephemeral volume of a Pod on a1 is not that Pod's own."""
    wrong = running("a1")
    wrong["spec"]["volumes"] = [{"name": "d", "ephemeral": {"volumeClaimTemplate": {}}}]
    foreign = claim(f"{wrong['metadata']['name']}-d")
    there = claim("data", "pv-1"), volume("pv-1", of="data", csi={"driver": EBS, "volumeHandle": "h"}), storage_class()
    run = state(node("a1", pods="2"), node("b1"), csi_node("a1", 5), csi_node("b1", 5), wrong, foreign, *there)
    template = VolumeTemplates("shop", volumes=(PodVolume("data"),))
    pod = run.make(maker(mounts=Mounts("shop", template.volumes))._replace(volumes=template))
    assert not run.schedule_next()
    placed(run, maker(affinity=RequiredNodeAffinity(selecting({HOSTNAME: "a1"}))))

    assert run.schedule_next()
    assert "b1" == pod.node


def test_what_kube_scheduler_does_not_look_at_waits():
    run = state(*nodes("a=1"))
    of = maker()
    run.make(of._replace(of_class=type(of.of_class)(of.of_class.pod, (), waits="it has scheduling gates")))

    assert not run.schedule_next()


def test_since_1_35_a_bound_pod_has_the_zone_of_its_node():
    assert {WEB: {"a1": 1}} == _groups(34)
    assert {label_set({"app": "web", ZONE: "a"}): {"a1": 1}} == _groups(37)


def _groups(minor):
    run = state(*nodes("a=1"), minor=minor)
    placed(run)
    return run.groups("shop")


def test_runs_share_nothing():
    first = state(*nodes("a=1"), running("a1"))
    second = type(first)(first.begun, first.random)
    placed(first)

    assert (2, 1) == (first.usage["a1"].pods, second.usage["a1"].pods)
    assert {"a1": 2} == first.groups("shop")[WEB]
    assert {"a1": 1} == second.groups("shop")[WEB]
    assert 1 == second.snapshot().pods["shop"][WEB].nodes["a1"]


def test_the_snapshot_has_what_the_run_has_come_to():
    run = state(*nodes("a=1"))
    placed(run)
    snapshot = run.snapshot()

    assert {"a1": 1} == snapshot.pods["shop"][WEB].nodes
    assert 1 == snapshot.usage["a1"].pods


def test_pods_of_the_cluster_are_there_but_for_those_fixed_to_their_node():
    found = {"a1": (InitialPod("shop", WEB, "a1"), InitialPod("shop", WEB, "a1", home="a1"))}
    run = state(*nodes("a=1 b=1"), found=found)

    assert 1 == len(run.on("a1"))
    assert run.on("a1") is run.on("a1")
    assert 1 == len(list(run.pods_of(["a1", "b1"])))


def test_a_pod_may_be_started_with_its_node():
    run = state(*nodes("a=1"))
    run.start(InitialPod("shop", WEB, "a1", TENTH))

    assert (1, {"a1": 1}) == (run.usage["a1"].pods, run.groups("shop")[WEB])


def test_in_a_large_cluster_the_search_goes_on_where_it_ended():
    run = state(*nodes("a=200 b=200 c=200"))
    placed(run, maker(constraint(maxSkew=9)))

    assert 276 == run._search_from


def test_a_pod_of_the_workload_is_available_once_it_has_been_ready_for_long_enough():
    run = state(*nodes("a=1"))
    own, other = (run.make(maker(min_ready_seconds=30), revision=revision) for revision in (0, -1))
    assert run.schedule_next() and run.schedule_next()

    assert [own] == [*run.fresh]
    assert (True, False, True) == (own.ready, own.available, other.available)


def test_a_pod_that_was_ready_long_before_is_available():
    run = state(*nodes("a=1"))
    of = maker(min_ready_seconds=30)
    young, old, unknown = (
        run.pod(InitialPod("shop", WEB, "a1", ready_at=since, maker=of), 0) for since in (NOW - 29, NOW - 30, None)
    )

    assert (False, True, True) == (young.available, old.available, unknown.available)


def test_pods_that_are_not_ready_are_counted_from_the_start_on():
    run = state(*nodes("a=1"))
    first, second = placed(run), placed(run)
    sick = run.pod(InitialPod("shop", WEB, "a1", ready=False))
    for pod in (first, first, second):
        run.fail(pod)
    counted = [run.unready["shop", WEB]]
    for pod in (first, sick):
        run.delete(pod)
        counted.append(run.unready["shop", WEB])

    assert [2, 1, 0] == counted
    assert (False, False) == (second.ready, second.available)


def test_on_a_lost_node_nothing_is_started():
    run = state(*nodes("a=1"))
    run.move_to(after(run.ground, parse_step("lose=a1")))
    pod = placed(run, maker(tolerations=(Toleration("", TOLERATION_EXISTS, "", ""),)))

    assert ("a1", False, 1, True) == (pod.node, pod.ready, run.unready["shop", WEB], pod.pending)


def test_a_pod_placed_before_its_constraint_was_counted_counts_once_after_nodes_have_changed():
    """Nothing scores a single candidate, so the soft constraint is counted only when a Pod has been placed."""
    of_class = pod_class(constraint(topologyKey=HOSTNAME, **SOFT))
    run = state(*nodes("a=1"), node("b1", "b", unschedulable=True))
    placed(run)
    run.move_to(after(run.ground, parse_step("delete=b1")))
    for number in (2, 3):
        placed(run, Maker(of_class))
        assert {"a1": number} == run.framework(of_class).spread.soft.counts[0].counts


def test_a_snapshot_does_not_change_with_the_run():
    run = state(*nodes("a=1"))
    run.make(maker())
    run.schedule_next()
    before = run.snapshot()
    counted, usage = {labels: dict(group.nodes) for labels, group in before.pods["shop"].items()}, dict(before.usage)
    run.make(maker())
    run.schedule_next()

    assert (counted, usage) == ({labels: group.nodes for labels, group in before.pods["shop"].items()}, before.usage)


def test_a_snapshot_has_what_the_pods_of_a_run_demand():
    """A Pod that terminates keeps others off until it is gone."""
    port, term = HostPort("0.0.0.0", "TCP", 80), PodTerm("zone", EVERYTHING, frozenset({"pay"}), NOTHING)
    run, apart = state(*nodes("a=1")), PodAffinity(anti_affinity=(term,))
    pod = placed(run, maker(requests=TENTH, pod_affinity=apart, ports=(port,)))
    there = run.snapshot()
    run.delete(pod)
    leaving = run.snapshot()
    run.finish()
    gone = run.snapshot()

    assert ({"a1": 1}, {port: 1}, {}) == (there.affine[apart], there.ports["a1"], there.terminating)
    assert ({"a1": 1}, {port: 1}) == (leaving.affine[apart], leaving.ports["a1"])
    assert {"a1": 1} == leaving.terminating["shop"][WEB].nodes
    assert ({}, {}, {}) == (gone.affine[apart], gone.ports["a1"], gone.terminating["shop"][WEB].nodes)


def test_two_pods_that_keep_each_other_off_do_not_share_a_node_and_the_second_waits_until_the_first_is_gone():
    apart = PodAffinity(anti_affinity=(PodTerm(HOSTNAME, EVERYTHING, frozenset({"shop"}), NOTHING),))
    alone = maker(requests=TENTH, pod_affinity=apart)
    run = state(*nodes("a=1"))
    first = placed(run, alone)
    run.make(alone)
    assert not run.schedule_next()
    run.delete(first)
    assert not run.schedule_next()
    run.finish()

    assert run.schedule_next()


def test_a_pod_that_waits_and_is_deleted_holds_back_no_other():
    run = state(*nodes("a=1"))
    pod = run.make(nowhere()._replace(ordered=True))
    assert [pod] == [*run.unready_in_order[pod.source]]
    run.delete(pod)

    assert ([], [pod.source]) == ([*run.unready_in_order[pod.source]], [*run.readier])
