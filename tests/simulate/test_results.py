"""Many outcomes as ranges and shares: of what is named or hurt, the worst first, and sums."""

from __future__ import annotations

import json

import msgspec
import pytest
from msgspec.structs import astuple

from evenkeel.simulate.disruption import BlockedEviction, BudgetStatus, Drained, KeptPod
from evenkeel.simulate.outcomes import ConstraintOutcome, StepOutcome, Uncounted, WorkloadOutcome
from evenkeel.simulate.results import BudgetNumbers, DrainResult, Range, Simulation, ranged, results
from tests.support.build import ZONE, constraint
from tests.support.simulated import (
    SOFT,
    application,
    budget,
    cluster_plan,
    deployment,
    held,
    nodes,
    numbers,
    plan,
    simulated_cluster,
)
from webhook.kubernetes.features import features
from webhook.spread.constraint import parse_constraints

CLUSTER = [
    *nodes("a=1 b=1 c=1", cpu="1"),
    *application("api", ["a1"] * 4 + ["b1"] * 6),
    *application("single", ["a1"], priority=1),
    *application("log", ["a1"] * 3 + ["c1"] * 6, priority=2),
]
WEB, API, LOG, SINGLE = (f"Deployment shop/{name}" for name in ("web", "api", "log", "single"))
(BY_ZONE,) = parse_constraints([constraint()], {"app": "web"}, features(33))


@pytest.mark.parametrize(
    ("of_runs", "found"),
    [([3], (3, 3, 3)), ([1, 2, 2, 5], (1, 2, 5)), ([4, 4, 1, 1, 7], (1, 1, 7)), ([0, 0], (0, 0, 0))],
)
def test_a_range_is_the_least_the_most_likely_and_the_most(of_runs, found):
    assert Range(*found) == ranged(of_runs)


def of_runs(*runs, shown=(API, LOG)):
    """The result of a step that does this to workloads, in runs."""
    planned = cluster_plan(CLUSTER, f"lose={ZONE}=a").plan
    return results(planned, [(StepOutcome({}), StepOutcome(run)) for run in runs], set(shown))[1]


def names(workloads):
    return [str(workload) for workload in workloads]


def named_results(made, *runs):
    """The results of the one workload that is named, of which each run has an outcome before all steps and after."""
    outcomes = [
        [of if isinstance(of, StepOutcome) else StepOutcome({made.named[0].name: of}) for of in run] for run in runs
    ]
    return results(made, outcomes, {made.named[0].name})


def ended(complete=True, waiting=0, updated=2, old=0, domains=(), skew=0, **fields):
    """What becomes of a workload that rolls out."""
    running = updated + old - waiting
    counted = ConstraintOutcome(BY_ZONE, skew, dict(domains), 2, Uncounted(running, old, waiting))
    return WorkloadOutcome(
        2,
        running,
        waiting=waiting,
        complete=complete,
        updated=updated,
        available=updated - waiting,
        old=old,
        wanted=3,
        **{"rolling": True, "constraints": (counted,), **fields},
    )


def test_what_never_finishes_has_the_numbers_of_those_runs_alone():
    """Most runs finish with 3 new Pods; to say that the others end with 3 of 3 would be no reason."""
    made = plan([*nodes("a=1 b=1"), *deployment(replicas=3)], "rollout scale=4")
    begun, done = ended(rolling=False), ended(updated=3)
    stuck = ended(False, 1, updated=1, old=3, reasons={"full": 1})
    waiting = ended(False, 2, updated=4, rolling=False)  # It has finished, and two Pods wait for another cause.
    _, rolled_out, scaled = (
        step.workloads[0] for step in named_results(made, (begun, stuck, stuck), *[(begun, done, waiting)] * 3)
    )

    for workload in (rolled_out, scaled):
        assert 0.25 == workload.rollout.stuck
        assert ((1, 1, 1), (3, 3, 3)) == numbers(workload.rollout.updated, workload.rollout.old)
    assert (0.25, 1.0) == (rolled_out.waits, scaled.waits)
    assert ((0, 0, 1), (1, 2, 2)) == numbers(rolled_out.waiting, scaled.waiting)
    assert (0.25, 1.0) == (rolled_out.unfinished, scaled.unfinished)
    (_, finished, _) = named_results(made, (begun, done, done))
    assert (0.0, (3, 3, 3)) == (finished.workloads[0].rollout.stuck, *numbers(finished.workloads[0].rollout.updated))


def test_each_step_has_the_ranges_of_all_runs_and_the_shares_of_what_is_said():
    made = plan([*nodes("a=1 b=1"), *deployment(replicas=2)], "scale=3")
    begun = ended()
    runs = [
        ended(False, 1, domains={"a": 2}, skew=2, reasons={"full": 1}, holding=(0,)),
        ended(domains={"a": 1, "b": 2}),
        ended(waiting=1, domains={"a": 2, "gone": 1}, reasons={"full": 1}),
        ended(waiting=2, domains={"a": 2, "b": 1}, reasons={"uneven": 1, "full": 1}),
    ]
    now, scaled = named_results(made, *((begun, end) for end in runs))
    (workload,) = scaled.workloads
    (counted,) = workload.constraints

    assert ("", "scale=3") == (now.step, scaled.step)
    domains = {domain.value: numbers(domain.pods)[0] for domain in counted.domains}
    assert {"a": (1, 2, 2), "b": (0, 0, 2), "gone": (0, 0, 1)} == domains
    uncounted = counted.uncounted
    assert ((2, 3, 3), (0, 1, 2), (0, 0, 0), (0, 1, 2)) == numbers(
        counted.total, uncounted.running, uncounted.unselected, uncounted.outside
    )
    assert {
        ((2, 1), (1, 1), (0, 1)): 0.75,  # a and b, b and a, or a and another zone
        ((2, 1), (0, 2)): 0.25,
    } == {tuple(astuple(alike) for alike in layout.domains): layout.share for layout in counted.outcomes}
    assert (None, ()) == (counted.spreads_nothing, counted.advice)
    assert (2, 0.25, 0.25) == (counted.eligible_domains, counted.exceeds_max_skew, workload.unfinished)
    assert [("full", (0, 1, 1)), ("uneven", (0, 0, 1))] == [
        (reason, *numbers(pods)) for reason, pods in workload.reasons.items()
    ]
    assert ({0: 0.25}, (0, 1, 2)) == (workload.holding, *numbers(workload.waiting))
    assert [("a", 0), ("b", 0)] == [
        (domain.value, domain.pods.most) for domain in now.workloads[0].constraints[0].domains
    ]


def test_the_pods_that_a_drain_leaves_and_the_numbers_of_their_budgets_are_those_of_all_runs():
    made = plan([*nodes("a=1 b=1"), *deployment(replicas=1, on=["b1"])], "drain=a1")
    blocked = BlockedEviction("a1", ("shop/web",))
    asked = [BudgetStatus("shop/web", "minAvailable", 3, healthy, 3, 4, 0) for healthy in (2, 3, 3)]
    runs = [
        (KeptPod(blocked, "shop/x", WEB, (asked[0],)), KeptPod(blocked, "shop/y", WEB, (asked[0],))),
        (KeptPod(blocked, "shop/x", WEB, (asked[1],)),),
        (KeptPod(blocked, "", WEB, (asked[2],)),),
        (),
    ]
    *_, found = named_results(made, *((ended(), StepOutcome({WEB: ended()}, Drained(0, kept))) for kept in runs))
    (eviction,) = found.held

    assert [("a1", ("shop/web",), 0.75)] == held(found)
    assert {"Pod shop/x": 0.5, "Pod shop/y": 0.25, "a Pod of Deployment shop/web": 0.25} == eviction.pods
    ranges = (Range(2, 3, 3), Range(3, 3, 3), Range(4, 4, 4), Range(0, 0, 0))
    assert (BudgetNumbers("shop/web", "minAvailable", 3, *ranges),) == eviction.budgets


def test_a_drain_has_its_nodes_and_what_it_did():
    made = plan([*nodes("a=2 b=1"), *deployment(replicas=1, on=["b1"])], f"cordon=a1 drain={ZONE}=a")
    drains = [StepOutcome({WEB: ended()}, Drained(number)) for number in (0, 2, 2)]
    *before, found = named_results(made, *((ended(), ended(), drained) for drained in drains))

    assert DrainResult(("a1", "a2"), 1, Range(0, 2, 2)) == found.drained
    assert [None, None] == [step.drained for step in before]


def test_what_loses_all_at_once_is_hurt_though_it_comes_back():
    """Eleven places are left for eight Pods."""
    (step,) = simulated_cluster(CLUSTER, f"lose={ZONE}=a")

    assert [(SINGLE, 1.0)] == [(str(of), of.loses_all) for of in step.hurt]
    assert [(API, 4), (LOG, 3)] == [(str(of), of.lost.most) for of in step.workloads if not of.hurt]


def test_what_a_drain_moves_one_after_the_other_is_not_lost_at_once():
    objects = [*nodes("a=1 b=1"), *application("pair", ["a1", "a1"]), *application("single", ["a1"])]
    (step,) = simulated_cluster(objects, "drain=a1")

    assert [(SINGLE, True), ("Deployment shop/pair", False)] == [(str(of), of.hurt) for of in step.workloads]


def test_pods_that_wait_order_those_of_which_some_come_back():
    some, most = WorkloadOutcome(9, 7, 3, waiting=2), WorkloadOutcome(9, 5, 5, waiting=4)
    none = WorkloadOutcome(9, 8, 1, waiting=1)
    step = of_runs({API: some, LOG: most, SINGLE: none}, shown=(API, LOG, SINGLE))

    assert [SINGLE, LOG, API] == names(step.hurt)


def test_numbers_are_those_of_all_runs_and_a_run_that_leaves_a_workload_alone_is_one():
    step = of_runs(
        {API: WorkloadOutcome(10, 8, 4, waiting=2, reasons={"full": 2})}, {API: WorkloadOutcome(10, 10, 4)}, {}
    )

    (api,) = step.hurt
    assert ((10, 10, 10), (0, 4, 4), (0, 0, 4)) == numbers(api.pods, api.lost, api.back)
    assert ((8, 10, 10), (0, 0, 2), (0, 0, 2)) == numbers(api.after, api.more, api.reasons["full"])


def test_sums_are_of_each_run_and_not_of_the_ranges():
    """Either of two waits, never both."""
    waits, whole = WorkloadOutcome(3, 2, 1, waiting=1), WorkloadOutcome(3, 3, 1)
    step = of_runs({API: waits, LOG: whole}, {API: whole, LOG: waits})

    total = step.total
    assert ((1, 1, 1), (1, 1, 1), (2, 2, 2)) == numbers(total.more, total.back, total.lost)
    assert [("shop", (1, 1, 1))] == [(one.name, *numbers(one.broken)) for one in step.sums]


def test_workloads_that_are_not_shown_are_named_where_they_are_hurt():
    waits = WorkloadOutcome(3, 2, 1, waiting=1)
    step = of_runs({API: waits, LOG: waits, SINGLE: WorkloadOutcome(2, 2, 1)}, shown=[API])

    assert ([LOG], [API]) == (names(step.elsewhere), names(step.hurt))
    assert 1 == step.total.more.most


def test_the_skew_comes_with_the_share_of_the_runs_in_which_it_exceeds():
    skews = [(ConstraintOutcome(BY_ZONE, number),) for number in (1, 3, 3, 2)]
    (api,) = of_runs(*({API: WorkloadOutcome(3, 3, 1, constraints=of_run)} for of_run in skews)).workloads

    (counted,) = api.constraints
    assert (0, ZONE, 1, True, 0.75, (1, 3, 3)) == (
        *(counted.index, counted.topology_key, counted.max_skew, counted.hard, counted.exceeds_max_skew),
        *numbers(counted.skew),
    )
    assert () == counted.domains


def test_a_later_step_begins_with_what_the_one_before_has_left():
    """The zone's Pod waits until its nodes are deleted; only then has it lost nothing, and one is back."""
    spread = constraint(labelSelector={"matchLabels": {"app": "web"}})
    objects = [*nodes("a=1 b=1 c=1"), *deployment(spread, on=["a1", "b1", "c1"])]
    steps = simulated_cluster(objects, f"lose={ZONE}=a delete={ZONE}=a")

    assert [(True, 3, 1, 0, 1), (False, 2, 0, 1, 0)] == [
        (of.hurt, of.pods.most, of.lost.most, of.back.most, of.more.most) for step in steps for of in step.workloads
    ]


def test_a_drain_of_all_workloads_comes_with_what_holds_it():
    objects = [*nodes("a=1 b=1 c=1"), *deployment(constraint(**SOFT), on=["a1", "b1", "c1"]), budget(minAvailable=3)]
    (step,) = simulated_cluster(objects, "drain=a1")

    assert [("a1", ("shop/web",), 1.0)] == held(step)
    assert [{"Pod shop/web-1-0": 1.0}] == [eviction.pods for eviction in step.held]
    assert (1, Range(0, 0, 0)) == (step.drained.cordoned, step.drained.evicted)


def test_messages_that_differ_in_numbers_of_nodes_alone_are_one_reason():
    def waiting(reasons):
        return {API: WorkloadOutcome(4, 1, 3, waiting=3, reasons=reasons)}

    full, fuller = (f"0/9 nodes are available: {number} Insufficient cpu, 1 node(s) were x." for number in (7, 8))
    tainted = "0/9 nodes are available: 7 Insufficient cpu, 1 node(s) were y1."
    turned = "0/9 nodes are available: 1 node(s) were x, 10 Insufficient cpu."
    runs = [waiting({full: 2, tainted: 1}), waiting({full: 1, fuller: 2}), waiting({fuller: 1, turned: 1})]
    (api,) = of_runs(*runs).hurt

    assert {full: Range(2, 2, 3), tainted: Range(0, 0, 1)} == api.reasons


def test_what_only_some_runs_do_comes_with_their_share():
    lost, none_back = WorkloadOutcome(4, 4, 4, at_once=True), WorkloadOutcome(4, 2, 2, waiting=2)
    (api,) = of_runs({API: lost}, {API: none_back}, {API: none_back}, {}).hurt

    assert (0.25, 0.75) == (api.loses_all, api.out)


def test_programs_get_the_names_of_the_fields_in_camel_case():
    step = of_runs({API: WorkloadOutcome(3, 2, 1, waiting=1)})
    written = json.loads(msgspec.json.encode(Simulation(kubernetes_version="1.34", seed=1, steps=(step,))))

    assert ("evenkeel.dev/v1alpha1", "Simulation", "1.34") == tuple(
        written[name] for name in ("apiVersion", "kind", "kubernetesVersion")
    )
    (api,) = written["steps"][0]["workloads"]
    assert {"least": 1, "mostLikely": 1, "most": 1} == api["waiting"]
    assert ("Deployment/api", "apps", "shop", 0) == tuple(
        api[name] for name in ("workload", "apiGroup", "namespace", "waitedBefore")
    )
