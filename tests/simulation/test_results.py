"""Many outcomes as ranges and shares."""

from __future__ import annotations

import pytest

from tests.support.build import ZONE
from tests.support.simulated import deployment, nodes, plan
from webhook.simulation.disruption import BlockedEviction, BudgetStatus, Drained, KeptPod
from webhook.simulation.results import BudgetNumbers, OfDrain, Range, StuckRollout, WaitingPods, ranged, results
from webhook.simulation.run import StepOutcome, Uncounted


@pytest.mark.parametrize(
    ("numbers", "found"),
    [([3], (3, 3, 3)), ([1, 2, 2, 5], (1, 2, 5)), ([4, 4, 1, 1, 7], (1, 1, 7)), ([0, 0], (0, 0, 0))],
)
def test_a_range_is_the_least_the_most_likely_and_the_most(numbers, found):
    assert Range(*found) == ranged(numbers)


def outcome(domains, pending=0, exceeds=False, reasons=(), holding=(), complete=True, drained=None, new=2, old=0):
    running = new + old - pending
    return StepOutcome(
        (domains,),
        (exceeds,),
        pending,
        reasons,
        {},
        complete,
        holding,
        new,
        new + old,
        drained,
        old=old,
        eligible=(2,),
        uncounted=(Uncounted(running, old, pending),),
    )


def kept(*held):
    return tuple(KeptPod(eviction, "shop/x", "Deployment shop/web", ()) for eviction in held)


def test_what_never_finishes_has_the_numbers_of_those_runs_alone():
    """Most runs finish with 3 new Pods; to say that the others end with 3 of 3 would be no reason."""
    made = plan([*nodes("a=1 b=1"), *deployment(replicas=3)], "rollout scale=4")
    begun, done = outcome({}, new=3), outcome({}, new=3)
    stuck = outcome({}, 1, new=1, old=3, complete=False)
    waiting = outcome({}, 2, new=4, complete=False)  # It has finished, and two Pods wait for another cause.
    runs = [(begun, stuck, stuck), *[(begun, done, waiting)] * 3]
    _, rolled_out, scaled = results(made, runs)

    assert StuckRollout(0.25, Range(1, 1, 1), Range(4, 4, 4)) == rolled_out.stuck == scaled.stuck
    assert WaitingPods(0.25, Range(1, 1, 1)) == rolled_out.waiting
    assert WaitingPods(1.0, Range(1, 2, 2)) == scaled.waiting
    assert (0.25, 1.0) == (rolled_out.unfinished, scaled.unfinished)
    new = outcome({}, 1, new=3, complete=False)
    assert StuckRollout(0.5, Range(3, 3, 3), Range(3, 3, 3)) == results(made, [(begun, new, new), runs[1]])[1].stuck
    assert (None, None) == (results(made, [runs[1]])[1].stuck, results(made, [runs[1]])[1].waiting)


def test_each_step_has_the_ranges_of_all_runs_and_the_shares_of_what_is_said():
    made = plan([*nodes("a=1 b=1"), *deployment(replicas=2)], "scale=3")
    begun = outcome({})
    held = (BlockedEviction("a1", ("web",)), BlockedEviction("b1", ("web", "other")))
    runs = [
        (begun, outcome({"a": 2}, 1, True, ("full",), (0,), False, Drained(0, kept(*held)))),
        (begun, outcome({"a": 1, "b": 2})),
        (begun, outcome({"a": 2, "gone": 1}, 1, False, ("full",))),
        (begun, outcome({"a": 2, "b": 1}, 2, False, ("uneven", "full"))),
    ]
    now, scaled = results(made, runs)

    assert ("", "scale=3") == (now.step, scaled.step)
    assert {"a": (1, 2, 2), "b": (0, 0, 2), "gone": (0, 0, 1)} == scaled.constraints[0].domains
    assert (2, 3, 3) == scaled.constraints[0].total
    uncounted = ((0, 1, 2), (0, 0, 0), (0, 1, 2))
    assert (2, uncounted) == (scaled.constraints[0].eligible, scaled.constraints[0].uncounted)
    assert {
        ((2, 1), (1, 1), (0, 1)): 0.75,  # a and b, b and a, or a and another zone
        ((2, 1), (0, 2)): 0.25,
    } == scaled.constraints[0].together
    assert (0.25, (0, 1, 2), 0.25) == (scaled.constraints[0].exceeds, scaled.pending, scaled.unfinished)
    assert [("full", 0.75), ("uneven", 0.25)] == list(scaled.reasons.items())
    assert ({0: 0.25}, dict.fromkeys(held, 0.25)) == (scaled.holding, scaled.held)
    assert {"a": (0, 0, 0), "b": (0, 0, 0)} == now.constraints[0].domains


def test_the_pods_that_a_drain_leaves_and_the_numbers_of_their_budgets_are_those_of_all_runs():
    made = plan([*nodes("a=1 b=1"), *deployment(replicas=1, on=["b1"])], "drain=a1")
    held, workload = BlockedEviction("a1", ("shop/web",)), "Deployment shop/web"
    numbers = [BudgetStatus("shop/web", "minAvailable", 3, healthy, 3, 4, 0) for healthy in (2, 3, 3)]
    runs = [
        (KeptPod(held, "shop/x", workload, (numbers[0],)), KeptPod(held, "shop/y", workload, (numbers[0],))),
        (KeptPod(held, "shop/x", workload, (numbers[1],)),),
        (KeptPod(held, "", workload, (numbers[2],)),),
        (),
    ]
    *_, found = results(made, [(outcome({}), outcome({}, drained=Drained(0, of_run))) for of_run in runs])
    pods, (of_budget,) = found.kept[held]

    assert {held: 0.75} == found.held
    assert {"Pod shop/x": 0.5, "Pod shop/y": 0.25, "a Pod of Deployment shop/web": 0.25} == pods
    ranges = (Range(2, 3, 3), Range(3, 3, 3), Range(4, 4, 4), Range(0, 0, 0))
    assert BudgetNumbers("shop/web", "minAvailable", 3, *ranges) == of_budget


def test_pods_on_nodes_that_nobody_reaches_are_told_apart():
    made = plan([*nodes("a=1 b=1"), *deployment(replicas=2)], "lose=a1")
    runs = [(outcome({}), outcome({"a": 2, "b": 1})._replace(unreachable=(found,))) for found in ({"a": 2}, {"a": 1})]
    now, lost = results(made, runs)

    assert ({}, {"a": (1, 1, 2)}) == (now.constraints[0].unreachable, lost.constraints[0].unreachable)


def test_a_drain_has_its_nodes_and_what_it_did():
    made = plan([*nodes("a=2 b=1"), *deployment(replicas=1, on=["b1"])], f"cordon=a1 drain={ZONE}=a")
    begun, cordoned = outcome({}), outcome({})
    *_, found = results(made, [(begun, cordoned, outcome({}, drained=Drained(number))) for number in (0, 2, 2)])
    before = results(made, [(begun, cordoned, outcome({}, drained=Drained(0)))])

    assert OfDrain(("a1", "a2"), 1, Range(0, 2, 2)) == found.drained
    assert [None, None] == [one.drained for one in before[:2]]
