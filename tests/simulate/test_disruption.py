"""PodDisruptionBudgets, and what a drain does with them."""

from __future__ import annotations

import pytest

from evenkeel.objects.disruption_budget import DisruptionBudget
from evenkeel.simulate.disruption import (
    BlockedEviction,
    Budget,
    BudgetStatus,
    Drained,
    KeptPod,
    drain,
    refusing,
)
from evenkeel.simulate.pod import InitialPod
from tests.support.placing import running
from tests.support.simulated import maker, nodes, state
from webhook.spread.selectors import EQUALS, Requirement, Selector, selecting

WEB = (("app", "web"),)


def budget(least=None, most=None, namespace="shop", name="web", always_allow=False, **fields):
    written = DisruptionBudget(namespace, name, {}, least, most, always_allow)
    return Budget(written, Selector((Requirement("app", EQUALS, ("web",)),)), **fields)


def over(name, app, least=1):
    return Budget(DisruptionBudget("shop", name, {}, least, None, always_allow=False), selecting({"app": app}))


@pytest.mark.parametrize(
    ("fields", "replicas", "desired"),
    [
        ({"least": 2}, 4, 2),
        ({"least": "50%", "workloads": ("web",)}, 5, 3),
        ({"most": 1, "workloads": ("web",)}, 5, 4),
        ({"most": "30%", "workloads": ("web",)}, 5, 3),
        ({"most": 9, "workloads": ("web",)}, 5, 0),
        ({"most": 1, "expected": 3}, 5, 2),
        ({}, 5, 0),
        ({"most": 1, "workloads": ("web",), "untold": True}, 5, 0),
        ({"least": 2, "workloads": ("web",), "untold": True}, 5, 2),
    ],
)
def test_how_many_pods_must_stay_healthy(fields, replicas, desired):
    assert desired == budget(**fields).desired({"web": replicas})


def begun(**fields):
    found = {name: (InitialPod("shop", WEB, name, **fields),) for name in ("a1", "b1")}
    return state(*nodes("a=1 b=1"), running("a1"), running("b1"), found=found)


def drained(run, budgets, makes):
    """The nodes of the Pods that a drain of both evicts, and what holds it; `makes`: another Pod comes at once."""
    evicted = []

    def evict(pod):
        evicted.append(pod.node)
        run.delete(pod)

    def settle(whole):
        if makes:
            for pod in run.finish():
                run.start(InitialPod("shop", WEB, "b1" if pod.node == "a1" else "a1"))

    found = drain(["a1", "b1"], budgets, {"web": 2}, run, evict, settle)
    assert len(evicted) == found.evicted
    return evicted, found.held


def test_a_budget_refuses_an_eviction_that_it_cannot_afford():
    run = begun()
    (pod,) = run.on("a1")

    assert () == refusing(pod, [budget(1)], {"web": 2}, run)
    assert (budget(2),) == refusing(pod, [budget(2)], {"web": 2}, run)
    assert () == refusing(pod, [budget(2, namespace="other")], {"web": 2}, run)
    assert refusing(pod, [budget(1, unready=1)], {"web": 2}, run)
    run.unready["other", WEB] += 1
    assert () == refusing(pod, [budget(1)], {"web": 2}, run)


@pytest.mark.parametrize(
    ("fields", "allowed"),
    [
        ({"least": 1}, 1),
        ({"least": 5}, 0),
        ({"most": 1, "workloads": ("web",)}, 1),
        ({"least": "50%", "expected": 2}, 1),
        ({"most": 1}, 0),  # Nothing says how many there should be: no workload has its Pods.
        ({"least": "50%"}, 0),
        ({}, 0),
        ({"expected": 2}, 0),
        ({"most": 1, "expected": 2, "untold": True}, 0),
        ({"least": 1, "untold": True}, 1),
    ],
)
def test_how_many_may_be_disrupted(fields, allowed):
    assert allowed == budget(**fields).allowed({"web": 2}, begun())


def test_several_budgets_never_let_a_pod_go():
    """The API server cannot evict it."""
    run = begun()
    (pod,) = run.on("a1")
    both = (budget(0), budget(0, name="other"))

    assert both == refusing(pod, both, {"web": 2}, run)


def test_no_budget_is_asked_for_a_pod_that_is_pending():
    """The kubelet has not started it; the API server lets it go, whatever selects it."""
    run = begun(pending=True)
    (pod,) = run.on("a1")

    assert () == refusing(pod, [budget(2)], {"web": 2}, run)
    assert () == refusing(pod, (budget(0), budget(0, name="other")), {"web": 2}, run)


@pytest.mark.parametrize(
    ("least", "always", "goes"),
    [(1, False, True), (2, False, False), (2, True, True), (0, False, True), (1, True, True)],
)
def test_a_pod_that_is_not_ready_may_go_where_all_others_are(least, always, goes):
    run = begun(ready=False)
    (pod,) = run.on("a1")

    assert goes == (not refusing(pod, [budget(least, unready=1, always_allow=always)], {"web": 2}, run))


def test_without_any_that_must_be_healthy_one_that_is_not_ready_stays_if_none_is():
    run = begun(ready=False)
    (pod,) = run.on("a1")

    assert refusing(pod, [budget(0, unready=2)], {"web": 2}, run)


def test_a_pod_that_was_not_ready_is_missed_once_it_is_gone_no_more_than_before():
    run = begun(ready=False)
    of = budget(1, unready=2)
    healthy = [of.healthy(run)]
    run.delete(run.on("a1")[0])
    healthy.append(of.healthy(run))
    run.remove(run.on("b1")[0])

    assert [0, 0, 0] == [*healthy, of.healthy(run)]


def test_without_a_budget_every_pod_goes():
    assert (["a1", "b1"], ()) == drained(begun(), [], makes=False)


def test_a_drain_goes_on_when_other_pods_are_healthy():
    assert (["a1", "b1"], ()) == drained(begun(), [budget(1)], makes=True)


def test_a_drain_stops_at_the_node_whose_pod_a_budget_keeps():
    assert (["a1"], (BlockedEviction("b1", ("shop/web",)),)) == drained(begun(), [budget(1)], makes=False)
    assert ([], (BlockedEviction("a1", ("shop/web",)),)) == drained(begun(), [budget(2)], makes=True)


def test_all_budgets_hold_a_drain_that_keep_a_pod_of_its_node():
    """kubectl asks for all Pods of a node at once, and goes on asking for each."""
    found = {"a1": tuple(InitialPod("shop", (("app", app),), "a1") for app in ("web", "api", "both"))}
    there = [running("a1", labels={"app": app}) for app in ("web", "api", "both")]
    asked = [budget(2), over("api", "api"), over("first", "both"), over("second", "both")]
    run = state(*nodes("a=1"), *there, found=found)
    found = drain(["a1"], asked, 1, run, run.delete, lambda whole: None)

    assert {("shop/web",), ("shop/api",), ("shop/first", "shop/second")} == {one.budgets for one in found.held}


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"least": 2}, ("minAvailable", 2, 2, 2, 3, 0)),  # All that it selects, whatever their workloads want.
        ({"least": "90%", "expected": 3}, ("minAvailable", "90%", 2, 3, 3, 0)),
        ({"most": 0, "workloads": ("web",)}, ("maxUnavailable", 0, 2, 2, 2, 0)),
        ({"most": 1, "expected": 2}, ("maxUnavailable", 1, 2, 1, 2, 1)),
        ({}, ("", None, 2, 0, 0, 0)),
    ],
)
def test_a_budget_has_its_numbers_when_it_is_asked(fields, status):
    """One Pod waits."""
    run = begun()
    run.make(maker())

    assert BudgetStatus("shop/web", *status) == budget(**fields).status({"web": 2}, run)


@pytest.mark.parametrize(("fields", "untold"), [({"most": 1}, True), ({"least": "50%"}, True), ({"least": 1}, False)])
def test_how_many_pods_are_expected_is_told_from_none(fields, untold):
    found = [budget(**fields, untold=of).status({"web": 2}, begun()).untold for of in (True, False)]

    assert [untold, False] == found


def test_a_pod_that_is_kept_has_its_name_or_else_its_workload():
    numbers = BudgetStatus("shop/web", "minAvailable", 2, 2, 2, 2, 0)
    eviction, source = BlockedEviction("a1", ("shop/web",)), "Deployment shop/web"
    for name, said in (("web-1", "shop/web-1"), ("", "")):
        run = begun(name=name, source=source)
        found = drain(["a1", "b1"], [budget(2)], {"web": 2}, run, run.delete, lambda whole: None)

        assert (KeptPod(eviction, said, source, (numbers,)),) == found.kept


def test_a_drain_leaves_what_several_budgets_keep_and_goes_on():
    both = [budget(0), budget(0, name="other")]
    held = tuple(BlockedEviction(node, ("shop/web", "shop/other")) for node in ("a1", "b1"))

    assert ([], held) == drained(begun(), both, makes=False)


def test_the_numbers_of_budgets_are_counted_anew_only_once_a_pod_is_evicted(monkeypatch):
    asked, status = [], Budget.status
    monkeypatch.setattr(Budget, "status", lambda of, *args: asked.append(str(of)) or status(of, *args))
    apps = {"a1": ["web"] * 3, "b1": ["web"] * 3, "c1": ["web", "web", "other"]}
    found = {name: tuple(InitialPod("shop", (("app", app),), name) for app in of) for name, of in apps.items()}
    there = [running(name, labels={"app": app}) for name, of in apps.items() for app in of]
    run = state(*nodes("a=1 b=1 c=1"), *there, found=found)
    both = [budget(0), budget(0, name="other")]
    drained = drain(apps, both, {"web": 2}, run, run.delete, lambda whole: None)

    assert (1, 8) == (drained.evicted, len(drained.kept))
    assert ["shop/web", "shop/other"] * 2 == asked


def test_a_drain_evicts_once_what_comes_back_to_its_node():
    run = begun()

    def evict(pod):
        run.delete(pod)
        run.on(pod.node).append(run.pod(InitialPod("shop", WEB, pod.node)))

    found = drain(["a1"], [], {"web": 2}, run, evict, lambda whole: None)

    assert Drained(1) == found
