"""Preemption in a run: who goes, who comes back, and for whom the room is kept."""

from __future__ import annotations

import pytest

from evenkeel.simulate.pod import InitialPod
from evenkeel.simulate.results import Range
from tests.support.build import priority_class
from tests.support.placing import node
from tests.support.simulated import (
    budget,
    deployment,
    maker,
    numbers,
    owned,
    plan,
    pod,
    run_one,
    simulated,
    simulated_steps,
    state,
    template,
)

HIGH = priority_class("high", 1000)


def web(replicas, *on, **spec):
    made = deployment(replicas=replicas, on=on, priorityClassName="high", topologySpreadConstraints=[], **spec)
    for one in made:
        if one["kind"] == "Pod":
            one["spec"]["priority"] = 1000
    return [HIGH, *made]


def placeholder(*on, replicas=None):
    """A Deployment of priority -10 with a Pod on each of these nodes."""
    made = template(labels={"app": "low"}, topologySpreadConstraints=[])
    made["metadata"] = {"labels": {"app": "low", "pod-template-hash": "1"}}
    spec = {"replicas": replicas or len(on), "selector": {"matchLabels": {"app": "low"}}, "template": made}
    pods = [
        pod("ReplicaSet/low-1", i, name, labels={"app": "low"}, spec={"priority": -10}) for i, name in enumerate(on)
    ]
    return [owned("ReplicaSet", "low-1", spec), *pods]


def agent(on, **metadata):
    """A Pod of priority 0 that a DaemonSet keeps on a node."""
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [on]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    spec = {"priority": 0, "affinity": {"nodeAffinity": required}}
    made = pod("DaemonSet/agent", 0, on, labels={"app": "agent"}, spec=spec)
    return {**made, "metadata": {**made["metadata"], **metadata}}


def small(name, pods="1", **fields):
    return node(name, "a", pods=pods, **fields)


def only(objects, steps, **fields):
    (result,) = simulated_steps(objects, steps, **fields)
    return result


def waiting(step):
    """The Pods of the workload that wait, and how many more of others do."""
    others = [of.more for of in step.elsewhere]
    return step.workloads[0].waiting, Range(*map(sum, zip((0, 0, 0), *numbers(*others), strict=True)))


def test_a_pod_of_lower_priority_makes_way_and_what_made_it_makes_another_that_waits():
    result = only([small("n1"), small("n2"), *web(1, "n1"), *placeholder("n2")], "scale=2")

    assert ((Range(0, 0, 0), Range(1, 1, 1)), 2) == (waiting(result), result.workloads[0].after.least)
    assert [("ReplicaSet/low-1", 1, 1)] == [(of.workload, of.more.least, of.preempted.least) for of in result.elsewhere]


def test_old_pods_of_the_workload_make_way_for_new_ones_of_higher_priority():
    old = deployment(replicas=1, on=["n1"], priority=-10)
    old[2]["spec"]["priority"] = -10
    new, *_ = deployment(replicas=1, priority=0)
    result = only([small("n1"), *old], "", raw=new, applied=True)

    assert (1, ()) == (result.workloads[0].preempted.least, result.elsewhere)


def test_where_there_is_room_elsewhere_it_finds_that():
    """The Pods of the workload may only run on n1 and n2."""
    chosen = {"nodeSelector": {"disk": "ssd"}}
    nodes = [small(name, labels={"disk": "ssd"}) for name in ("n1", "n2")]
    result = only([*nodes, small("n3"), *web(1, "n1", **chosen), *placeholder("n2")], "scale=2")

    assert (Range(0, 0, 0), Range(0, 0, 0)) == waiting(result)


def test_one_that_never_preempts_waits():
    never = priority_class("high", 1000) | {"preemptionPolicy": "Never"}
    _, *made = web(1, "n1")
    result = only([small("n1"), small("n2"), never, *made, *placeholder("n2")], "scale=2")

    assert (Range(1, 1, 1), Range(0, 0, 0)) == waiting(result)


def test_room_is_kept_for_the_pod_that_made_it():
    """Two Pods of the workload, one placeholder: one of them gets its place, the other waits, in every run."""
    result = only([small("n1"), small("n2"), *web(1, "n1"), *placeholder("n2")], "scale=3")

    assert (Range(1, 1, 1), Range(1, 1, 1)) == waiting(result)


@pytest.mark.parametrize(("least", "violated"), [(2, {"shop/web": 1.0}), (1, {})])
def test_a_budget_is_violated_where_more_pods_go_than_it_allows(least, violated):
    low = budget(minAvailable=least, selector={"matchLabels": {"app": "low"}})
    objects = [small("n1"), small("n2"), small("n3"), *web(1, "n1"), *placeholder("n2", "n3")[1:], low]

    assert violated == only(objects, "scale=2").violated


def test_a_budget_is_violated_by_the_step_whose_pods_preempt():
    low = budget(minAvailable=1, selector={"matchLabels": {"app": "low"}})
    objects = [small("n1"), small("n2"), small("n3"), *web(1, "n1"), *placeholder("n2", "n3")[1:], low]
    found = [result.violated for result in simulated_steps(objects, "scale=2 scale=3 cordon=n1")]

    assert [{}, {"shop/web": 1.0}, {}] == found


def test_budgets_are_counted_and_violated_where_there_is_no_other_way():
    """Nothing makes the bare Pod again: where it goes, none of another workload waits."""
    guarded = placeholder("n2")
    guarded[1]["metadata"]["labels"] = {"app": "low", "guarded": "yes"}
    bare = placeholder("n3")[1]
    bare["metadata"] = {"name": "bare", "namespace": "shop", "labels": {"app": "bare"}}
    kept = budget(minAvailable=1, selector={"matchLabels": {"guarded": "yes"}})
    objects = [small("n1"), small("n2"), *web(1, "n1"), *guarded, kept]

    assert Range(1, 1, 1) == waiting(only(objects, "scale=2"))[1]
    (lost,) = only([*objects, small("n3"), bare], "scale=2").elsewhere
    assert ("Pod/bare", 0, 1, 1) == (lost.workload, lost.more.most, lost.preempted.least, lost.gone.least)


def test_the_pod_of_a_daemon_set_comes_back_for_its_own_node_only():
    daemon = agent("n1")
    result = only([small("n1"), small("n2", taints=[]), *web(1, "n2"), daemon], "scale=2")

    assert (Range(0, 0, 0), Range(1, 1, 1)) == waiting(result)


def test_pods_of_a_lost_zone_preempt_others_where_they_go():
    nodes = [node("a1", "a", pods="1"), node("b1", "b", pods="1")]
    result = only([*nodes, *web(1, "a1"), *placeholder("b1")], "lose=topology.kubernetes.io/zone=a")

    assert ((Range(0, 0, 0), Range(1, 1, 1)), 1) == (waiting(result), result.workloads[0].after.least)


def test_a_bare_pod_without_labels_is_preempted():
    bare = placeholder("n2")[1]
    bare["metadata"] = {"name": "bare", "namespace": "shop"}

    assert Range(0, 0, 0) == only([small("n1"), small("n2"), *web(1, "n1"), bare], "scale=2").workloads[0].waiting


def test_a_placeholder_that_is_placed_in_the_run_is_preempted():
    (owner, waits) = placeholder("")
    waits["spec"].pop("nodeName", None)
    waits["status"] = {"phase": "Pending"}
    _, then = simulated([small("n1"), *web(1, "n1"), owner, waits], "add=1 scale=2")

    assert Range(0, 0, 0) == then.waiting


def test_a_daemon_pod_that_is_preempted_goes_with_its_node():
    daemon = agent("n1")
    *_, end = simulated(
        [small("n1"), small("n2"), *web(1, "n2", tolerations=[{"operator": "Exists"}]), daemon],
        "lose=n1 scale=2 delete=n1",
    )

    assert Range(1, 1, 1) == end.waiting


def test_the_pods_of_daemon_sets_on_added_nodes_are_preempted():
    """Each node has room for two Pods: four of the workload fit where the two of the DaemonSet go, which then wait."""
    *_, result = simulated_steps([small("n1", pods="2"), *web(1, "n1"), agent("n1")], "add=1 scale=4")

    assert (Range(0, 0, 0), Range(2, 2, 2)) == waiting(result)


def test_a_node_like_one_that_was_added_has_the_pods_of_daemon_sets_too():
    nodes = [small("n1", pods="2", labels={"disk": "ssd"}), small("n2", pods="2")]
    objects = [*nodes, *web(1, "n1", nodeSelector={"disk": "ssd"}), agent("n1")]
    *_, result = simulated_steps(objects, "add=1,disk=ssd delete=n1 add=1,disk=ssd scale=5")

    assert (Range(1, 1, 1), Range(2, 2, 2)) == waiting(result)


def test_a_pod_that_a_daemon_set_makes_again_is_kept_on_its_node():
    here = state(small("n1"))
    made = here.make(maker(), like=here.pod(InitialPod("shop", (), "n1", home="n1")))
    assert here.schedule_next()

    assert ([], [made]) == (here.on("n1"), here.kept_on("n1"))
    here.delete(made)
    assert ([made], []) == (here.finish(), here.kept_on("n1"))


def test_a_daemon_set_makes_a_pod_again_once_the_old_one_is_gone():
    """On a node that nobody reaches no Pod ends: what its DaemonSet makes does not wait there."""
    tolerating = web(1, "n2", tolerations=[{"operator": "Exists"}])
    *_, scaled = simulated_steps([small("n1"), small("n2"), *tolerating, agent("n1")], "lose=n1 scale=2")

    assert (Range(1, 1, 1), Range(0, 0, 0)) == waiting(scaled)


@pytest.mark.parametrize("minor", [34, 35])
def test_a_pod_that_waits_for_pods_that_never_end_goes_on_waiting(minor):
    """All nodes but one are tied, and nobody reaches them; since 1.35 the Pods on them are not marked as preempted."""
    names = [f"n{number}" for number in range(20)]
    tolerating = web(1, "n20", tolerations=[{"operator": "Exists"}])
    ending = placeholder(*names)
    for one in ending[1:]:
        one["metadata"]["deletionTimestamp"] = "2026-10-01T00:00:00Z"
    taints = [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]
    nodes = [*(small(name, taints=taints) for name in names), small("n20")]
    three_times = 3 * (1 + len(names))  # In each attempt preemption is tried on all of these nodes.
    _, scaled = run_one(plan([*nodes, *tolerating, *ending], "scale=2", minor=minor), 1, 0, most_placements=three_times)

    assert 1 == scaled.waiting


def test_no_pod_waits_for_a_node_that_is_deleted():
    """The Pod of the DaemonSet is preempted on n1, comes back and waits for it, and goes with it."""
    steps = simulated_steps([small("n1"), small("n2"), *web(1, "n2"), agent("n1")], "scale=2 delete=n1")

    assert [Range(1, 1, 1), Range(0, 0, 0)] == [waiting(step)[1] for step in steps]


def test_for_a_pod_of_no_higher_priority_the_room_is_taken_while_it_is_kept():
    here = state(small("n1"))
    kept, equal, higher = (here.make(maker(priority=priority)) for priority in (10, 10, 11))
    here.nominate(kept, "n1")

    assert [1, 0, 1] == [here.framework_of(one).feasible() for one in (kept, equal, higher)]
    here.nominate(kept, "")
    assert 1 == here.framework_of(equal).feasible()
