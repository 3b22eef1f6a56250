"""Preemption in a run: who goes, who comes back, and for whom the room is kept."""

from __future__ import annotations

from tests.support.build import priority_class
from tests.support.placing import node
from tests.support.simulated import budget, deployment, maker, owned, pod, simulated, state, template
from webhook.simulation.results import Range

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


def small(name, pods="1", **fields):
    return node(name, "a", pods=pods, **fields)


def only(objects, steps, **fields):
    (result,) = simulated(objects, steps, **fields)
    return result


def test_a_pod_of_lower_priority_makes_way_and_what_made_it_makes_another_that_waits():
    result = only([small("n1"), small("n2"), *web(1, "n1"), *placeholder("n2")], "scale=2")

    assert (Range(0, 0, 0), Range(2, 2, 2), Range(1, 1, 1)) == (result.pending, result.there, result.others)


def test_where_there_is_room_elsewhere_it_finds_that():
    """The Pods of the workload may only run on n1 and n2."""
    chosen = {"nodeSelector": {"disk": "ssd"}}
    nodes = [small(name, labels={"disk": "ssd"}) for name in ("n1", "n2")]
    result = only([*nodes, small("n3"), *web(1, "n1", **chosen), *placeholder("n2")], "scale=2")

    assert (Range(0, 0, 0), Range(0, 0, 0)) == (result.pending, result.others)


def test_one_that_never_preempts_waits():
    never = priority_class("high", 1000) | {"preemptionPolicy": "Never"}
    _, *made = web(1, "n1")
    result = only([small("n1"), small("n2"), never, *made, *placeholder("n2")], "scale=2")

    assert (Range(1, 1, 1), Range(0, 0, 0)) == (result.pending, result.others)


def test_room_is_kept_for_the_pod_that_made_it():
    """Two Pods of the workload, one placeholder: one of them gets its place, the other waits, in every run."""
    result = only([small("n1"), small("n2"), *web(1, "n1"), *placeholder("n2")], "scale=3")

    assert (Range(1, 1, 1), Range(1, 1, 1)) == (result.pending, result.others)


def test_budgets_are_counted_and_violated_where_there_is_no_other_way():
    """Nothing makes the bare Pod again: where it goes, none of another workload waits."""
    guarded = placeholder("n2")
    guarded[1]["metadata"]["labels"] = {"app": "low", "guarded": "yes"}
    bare = placeholder("n3")[1]
    bare["metadata"] = {"name": "bare", "namespace": "shop", "labels": {"app": "bare"}}
    kept = budget(minAvailable=1, selector={"matchLabels": {"guarded": "yes"}})
    objects = [small("n1"), small("n2"), *web(1, "n1"), *guarded, kept]

    assert Range(1, 1, 1) == only(objects, "scale=2").others
    assert Range(0, 0, 0) == only([*objects, small("n3"), bare], "scale=2").others


def test_the_pod_of_a_daemon_set_comes_back_for_its_own_node_only():
    daemon = pod("DaemonSet/agent", 0, "n1", labels={"app": "agent"}, spec={"priority": 0})
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    daemon["spec"]["affinity"] = {"nodeAffinity": required}
    result = only([small("n1"), small("n2", taints=[]), *web(1, "n2"), daemon], "scale=2")

    assert (Range(0, 0, 0), Range(1, 1, 1)) == (result.pending, result.others)


def test_pods_of_a_lost_zone_preempt_others_where_they_go():
    nodes = [node("a1", "a", pods="1"), node("b1", "b", pods="1")]
    result = only([*nodes, *web(1, "a1"), *placeholder("b1")], "lose=topology.kubernetes.io/zone=a")

    assert (Range(0, 0, 0), Range(1, 1, 1), Range(1, 1, 1)) == (result.pending, result.there, result.others)


def test_a_bare_pod_without_labels_is_preempted():
    bare = placeholder("n2")[1]
    bare["metadata"] = {"name": "bare", "namespace": "shop"}

    assert Range(0, 0, 0) == only([small("n1"), small("n2"), *web(1, "n1"), bare], "scale=2").pending


def test_a_placeholder_that_is_placed_in_the_run_is_preempted():
    (owner, waits) = placeholder("")
    waits["spec"].pop("nodeName", None)
    waits["status"] = {"phase": "Pending"}
    _, then = simulated([small("n1"), *web(1, "n1"), owner, waits], "add=1 scale=2")

    assert Range(0, 0, 0) == then.pending


def test_a_daemon_pod_that_is_preempted_goes_with_its_node():
    daemon = pod("DaemonSet/agent", 0, "n1", labels={"app": "agent"}, spec={"priority": 0})
    *_, end = simulated(
        [small("n1"), small("n2"), *web(1, "n2", tolerations=[{"operator": "Exists"}]), daemon],
        "lose=n1 scale=2 delete=n1",
    )

    assert Range(1, 1, 1) == end.pending


def test_for_a_pod_of_no_higher_priority_the_room_is_taken_while_it_is_kept():
    here = state(small("n1"))
    kept, equal, higher = (here.make(maker(priority=priority)) for priority in (10, 10, 11))
    here.nominate(kept, "n1")

    assert [1, 0, 1] == [here.framework_of(one).feasible() for one in (kept, equal, higher)]
    here.nominate(kept, "")
    assert 1 == here.framework_of(equal).feasible()
