"""What would let a drain end that PodDisruptionBudgets hold."""

from __future__ import annotations

import json
from itertools import product

import pytest

from tests.support.build import ZONE, constraint
from tests.support.placing import node
from tests.support.simulated import budget, deployment, nodes, owned, plan, pod, stateful, template
from webhook.simulation import drain_remedies as module
from webhook.simulation.drain_remedies import MOST_TRIES, drain_remedies
from webhook.simulation.run import run

EVEN = [*nodes("a=2 b=2 c=2"), *deployment(replicas=3, on=["a1", "b1", "c1"])]


def named(name, app="web", **spec):
    """A budget of this name for the Pods of an application."""
    made = budget(selector={"matchLabels": {"app": app}}, **spec)
    return {**made, "metadata": {**made["metadata"], "name": name}}


def pay(replicas=3, on=("a1", "b1", "c1"), kind="Deployment", **spec):
    """Another workload, and its Pods."""
    made = template(**spec)
    made["metadata"] = {"labels": {"app": "pay"}}
    scale = {"replicas": replicas, "template": made, "selector": {"matchLabels": {"app": "pay"}}}
    if kind != "Deployment":
        return [owned(kind, "pay", scale), *(labelled(f"{kind}/pay", i, name) for i, name in enumerate(on))]
    sets = [owned("Deployment", "pay", scale), owned("ReplicaSet", "pay-1", scale, "Deployment/pay")]
    return [*sets, *(labelled("ReplicaSet/pay-1", i, name) for i, name in enumerate(on))]


def labelled(owner, number, on):
    return pod(owner, number, on, labels={"app": "pay"})


def remedies(objects, steps, runs=3, **fields):
    made = plan(objects, steps, **fields)
    return drain_remedies(made, 1, [run(made, 1, i) for i in range(runs)])


def helping(*args, **fields):
    """What helps, in words, with the commands."""
    (found,) = remedies(*args, **fields).values()
    return {remedy.change: [str(command) for command in remedy.commands] for remedy in found}


def changes(*args, **fields):
    return [*helping(*args, **fields)]


def patch(name, field, old, new):
    operations = [
        {"op": op, "path": f"/spec/{field}", "value": value} for op, value in (("test", old), ("replace", new))
    ]
    written = json.dumps(operations, separators=(",", ":"))
    return f"kubectl patch poddisruptionbudget.policy/{name} -n shop --type=json -p '{written}'"


def test_the_workload_is_scaled_up_or_its_budget_asks_for_less():
    assert {
        "scale Deployment shop/web to 4 replicas": ["kubectl scale deployment.apps/web --replicas=4 -n shop"],
        "set minAvailable of PodDisruptionBudget shop/web to 2": [patch("web", "minAvailable", 3, 2)],
    } == helping([*EVEN, budget(minAvailable=3)], "drain=b1")


def test_another_workload_is_scaled_too():
    found = helping([*EVEN, *pay(), named("pay", "pay", minAvailable=3)], "drain=b1")

    assert ["kubectl scale deployment.apps/pay --replicas=4 -n shop"] == found[
        "scale Deployment shop/pay to 4 replicas"
    ]


def test_replicas_are_those_after_the_steps_before():
    assert "scale Deployment shop/web to 6 replicas" in changes([*EVEN, budget(minAvailable=5)], "scale=5 drain=b1")


@pytest.mark.parametrize("least", [1, 2, 4, "0%", "50%", "100%"])
def test_no_workload_is_scaled_to_as_many_replicas_as_it_has_or_fewer(least):
    """With a Pod of a Job, or where no Pods are wanted, a percentage allows nothing, however many are healthy."""
    job = pod("Job/web", 0, "a1", labels={"app": "pay"})
    scaled = set()
    for replicas, on, more in product(range(4), (["b1"], ["b1", "b2"], ["a1", "b1", "c1"]), ([], [job])):
        for labelled_so in ("web", "pay"):
            web = deployment(constraint(whenUnsatisfiable="ScheduleAnyway"), replicas=replicas, on=on)
            objects = [*nodes("a=3 b=3 c=3"), *web, *pay(replicas, on), *more]
            found = remedies([*objects, named("limit", labelled_so, minAvailable=least)], "drain=b1", runs=1)
            words = [part for of in found.values() for one in of for part in one.change.split(" and ")]
            scaled |= {(replicas, int(part.split()[-2])) for part in words if part.startswith("scale")}

    assert bool(scaled) == (least in (1, 2, 4, "50%"))
    assert [] == [(written, then) for written, then in scaled if not written < then <= 2 * written]


def test_a_budget_over_a_pod_of_a_job_is_given_a_number_as_its_limit():
    """With a percentage it does not know how many Pods there should be, and allows nothing."""
    job = pod("Job/once", 0, "a1")

    assert ["set minAvailable of PodDisruptionBudget shop/web to 3"] == changes(
        [*EVEN, job, budget(minAvailable="50%")], "drain=b1"
    )


def test_no_scale_is_tried_where_how_many_pods_are_expected_is_not_known(monkeypatch):
    """No Pod is healthy: then not even the number of replicas would be less."""
    tried = []
    monkeypatch.setattr(module, "run", lambda made, *args: tried.append(made.changes[0]) or run(made, *args))
    objects = [*nodes("a=2 b=2"), *deployment(replicas=2, on=["b1", "b1"]), pod("Job/once", 0, "a1")]
    for one in objects:
        if one["kind"] == "Pod":
            one["status"]["conditions"][0]["status"] = "False"
    remedies([*objects, budget(minAvailable="50%")], "drain=b1", runs=1)
    unknown = [change for change in tried if change.more]
    remedies([*objects[:-1], budget(minAvailable="50%")], "drain=b1", runs=1)

    assert ([], True) == (unknown, any(change.more for change in tried))


def test_a_workload_gets_twice_as_many_replicas_at_most():
    assert ["set minAvailable of PodDisruptionBudget shop/web to 2"] == changes(
        [*EVEN, budget(minAvailable=6)], "drain=b1"
    )


def test_pods_that_do_not_come_back_are_let_go_all_at_once():
    bare = [pod("Node/x", i, "b1", ownerReferences=[]) for i in range(2)]
    objects = [*nodes("a=1 b=1"), *deployment(replicas=0), *bare, budget(minAvailable=2)]

    assert ["set minAvailable of PodDisruptionBudget shop/web to 0"] == changes(objects, "drain=b1")


def test_a_budget_that_wants_all_pods_wants_those_that_another_workload_gets():
    found = changes([*EVEN, *pay(), named("pay", "pay", minAvailable="100%")], "drain=b1")

    assert ["set minAvailable of PodDisruptionBudget shop/pay to 2"] == found


def test_as_many_replicas_more_as_are_missing():
    objects = [*nodes("a=2 b=2 c=1"), *deployment(replicas=4, on=["a1", "a2", "b1", "c1"])]
    objects[-1]["status"]["conditions"][0]["status"] = "False"
    found = changes([*objects, budget(minAvailable=4)], "drain=b1")

    assert "scale Deployment shop/web to 6 replicas" == found[0]
    assert "set minAvailable of PodDisruptionBudget shop/web to 2" == found[-1]


@pytest.mark.parametrize(
    ("spec", "field", "old", "new"),
    [
        ({"maxUnavailable": 0}, "maxUnavailable", 0, 1),
        ({"maxUnavailable": "0%"}, "maxUnavailable", "0%", 1),
        ({"minAvailable": "100%"}, "minAvailable", "100%", 2),
    ],
)
def test_a_budget_that_never_allows_an_eviction_is_given_the_next_limit_that_does(spec, field, old, new):
    """More replicas change nothing: it wants all of them."""
    said = f"set {field} of PodDisruptionBudget shop/web to {new}"

    assert {said: [patch("web", field, old, new)]} == helping([*EVEN, budget(**spec)], "drain=b1")


def test_of_two_budgets_over_a_pod_that_is_deleted_first_without_which_the_drain_ends():
    """minAvailable 3 holds it alone, too: then another change has to come with it."""
    assert {
        "delete PodDisruptionBudget shop/web": ["kubectl delete pdb web -n shop"],
        "scale Deployment shop/web to 4 replicas and delete PodDisruptionBudget shop/old": [
            "kubectl scale deployment.apps/web --replicas=4 -n shop",
            "kubectl delete pdb old -n shop",
        ],
        "delete PodDisruptionBudget shop/old and set minAvailable of PodDisruptionBudget shop/web to 2": [
            "kubectl delete pdb old -n shop",
            patch("web", "minAvailable", 3, 2),
        ],
    } == helping([*EVEN, budget(minAvailable=3), named("old", maxUnavailable=1)], "drain=b1")


def test_of_three_budgets_one_is_left():
    objects = [*EVEN, *(named(name, maxUnavailable=1) for name in "xyz")]

    assert 3 == len(changes(objects, "drain=b1"))
    assert "delete PodDisruptionBudget shop/x and delete PodDisruptionBudget shop/y" in changes(objects, "drain=b1")


def test_what_holds_a_drain_for_several_reasons_is_changed_together():
    objects = [*EVEN, *pay(), budget(minAvailable=3), named("pay", "pay", maxUnavailable=0)]
    scaled = "scale Deployment shop/web to 4 replicas"

    assert f"{scaled} and set maxUnavailable of PodDisruptionBudget shop/pay to 1" == changes(objects, "drain=b1")[0]


def test_a_drain_of_several_nodes_ends_only_if_that_of_each_does():
    """The Pods of each node are kept by another budget, and the drain stops at the first."""
    soft = constraint(whenUnsatisfiable="ScheduleAnyway")
    web = deployment(soft, replicas=3, on=["a1", "b1", "c1"])
    objects = [
        *nodes("a=2 b=2 c=2"),
        *web,
        *pay(on=["a1", "b2", "c1"]),
        budget(minAvailable=3),
        named("pay", "pay", minAvailable=3),
    ]
    (found,) = remedies(objects, f"drain={ZONE}=b").values()

    assert "scale Deployment shop/pay to 4 replicas and scale Deployment shop/web to 4 replicas" in {
        " and ".join(sorted(remedy.change.split(" and "))) for remedy in found
    }


def test_nothing_helps_where_no_node_takes_one_more_pod():
    full = [*nodes("a=1 b=1 c=1", pods="1"), *deployment(replicas=3, on=["a1", "b1", "c1"])]

    assert {0: ()} == remedies([*full, budget(minAvailable=3)], "drain=b1")


def test_pods_that_would_wait_are_no_way_to_end_a_drain():
    """All evicted Pods wait: the budget would have to ask for none."""
    objects = [*nodes("b=2"), node("a1", "a", pods="0"), *deployment(replicas=2, on=["b1", "b2"])]

    assert {0: ()} == remedies([*objects, budget(maxUnavailable=1)], f"drain={ZONE}=b")


def test_a_workload_that_is_scaled_otherwise_is_not_scaled():
    scaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "hpa", "namespace": "shop"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 9},
    }
    limit = "set minAvailable of PodDisruptionBudget shop/{} to 2"

    assert [limit.format("web")] == changes([*EVEN, budget(minAvailable=3), scaler], "drain=b1")
    other = [*EVEN, *pay(kind="StatefulSet"), named("pay", "pay", minAvailable=3)]
    assert [limit.format("pay")] == changes(other, "drain=b1")


def test_a_stateful_set_that_is_simulated_is_scaled():
    objects = [*nodes("a=2 b=2 c=2"), *stateful(replicas=3, on=["a1", "b1", "c1"]), budget(minAvailable=3)]

    assert "scale StatefulSet shop/web to 4 replicas" == changes(objects, "drain=b1")[0]


def test_for_bare_pods_nothing_is_tried_that_nobody_can_do():
    bare = pod("Node/x", 0, "b1", ownerReferences=[])
    made = [*nodes("a=1 b=1"), *deployment(replicas=0), bare]

    assert {} == remedies([*made, budget(maxUnavailable=1)], "drain=b1")
    found = changes([*made, budget(minAvailable=1)], "drain=b1")
    assert ["set minAvailable of PodDisruptionBudget shop/web to 0"] == found


def test_a_name_that_kubernetes_would_refuse_is_in_no_command():
    found = helping([*EVEN, named("$(reboot)", minAvailable=3)], "drain=b1")

    assert [] == found["set minAvailable of PodDisruptionBudget shop/$(reboot) to 2"]


def test_only_the_first_drain_that_is_held_has_remedies():
    objects = [*EVEN, *pay(on=["a1", "a2", "c1"]), named("pay", "pay", minAvailable=3)]
    found = remedies(objects, "scale=4 drain=b1 drain=a1 drain=c1")

    assert [2] == [*found]


def test_the_tries_are_bounded():
    """Each of many budgets wants another change."""
    many = [labelled_as(i) for i in range(40)]
    objects = [*nodes("a=2 b=2"), *deployment(replicas=0), *many]
    budgets = [named(f"b{i}", f"x{i}", minAvailable=1) for i in range(40)]
    made = plan([*objects, *budgets], "drain=b1")
    outcomes = [run(made, 1, 0)]

    assert 40 == len(outcomes[0][1].drained.held)
    assert {0: ()} == drain_remedies(made, 1, outcomes)
    assert MOST_TRIES < 40


def test_the_placements_of_all_tries_are_bounded(monkeypatch):
    """Where they suffice for no try, nothing is said of what was tried."""
    found = []
    for most in range(12):
        monkeypatch.setattr(module, "MOST_REPLAYED", most)
        found.append([len(of) for of in remedies([*EVEN, budget(minAvailable=3)], "drain=b1").values()])

    assert ([], [2]) == (found[0], found[-1])
    assert [[], [1], [2]] == sorted({tuple(of): of for of in found}.values())


def labelled_as(number):
    return pod("Node/x", number, "b1", labels={"app": f"x{number}"}, ownerReferences=[])
