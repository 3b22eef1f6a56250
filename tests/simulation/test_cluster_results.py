"""What the runs of a whole cluster come to: the worst first, those that come back whole, and sums."""

from __future__ import annotations

from tests.support.build import ZONE, constraint
from tests.support.simulated import SOFT, application, budget, cluster_plan, deployment, nodes, simulated_cluster
from webhook.simulation.cluster_results import cluster_results
from webhook.simulation.cluster_run import ClusterOutcome, ConstraintSkew, WorkloadOutcome

CLUSTER = [
    *nodes("a=1 b=1 c=1", cpu="1"),
    *application("api", ["a1"] * 4 + ["b1"] * 6),
    *application("single", ["a1"], priority=1),
    *application("log", ["a1"] * 3 + ["c1"] * 6, priority=2),
]
API, LOG = "Deployment shop/api", "Deployment shop/log"


def of_runs(*runs, groups=None):
    """The result of a step that does this to workloads, in runs."""
    outcomes = [(ClusterOutcome(run, None, ()),) for run in runs]
    planned = cluster_plan(CLUSTER, f"lose={ZONE}=a").plan
    (step,) = cluster_results(planned, outcomes, groups or {API: "shop", LOG: "ops"})
    return step


def test_what_loses_all_at_once_is_hurt_though_it_comes_back():
    """Eleven places are left for eight Pods."""
    (step,) = simulated_cluster(CLUSTER, f"lose={ZONE}=a")

    assert [("Deployment shop/single", True)] == [(of.workload, of.loses_all) for of in step.hurt]
    assert ([API, LOG], (7, 7, 7)) == ([of.workload for of in step.whole], step.lost_by_whole)


def test_what_a_drain_moves_one_after_the_other_is_not_lost_at_once():
    objects = [*nodes("a=1 b=1"), *application("pair", ["a1", "a1"]), *application("single", ["a1"])]
    (step,) = simulated_cluster(objects, "drain=a1")

    assert (["Deployment shop/single"], ["Deployment shop/pair"]) == tuple(
        [of.workload for of in some] for some in (step.hurt, step.whole)
    )


def test_pods_that_wait_order_those_of_which_some_come_back():
    some, most = WorkloadOutcome(9, 7, 3, waiting=2), WorkloadOutcome(9, 5, 5, waiting=4)
    none = WorkloadOutcome(9, 8, 1, waiting=1)
    every = {API: "", LOG: "", "Deployment shop/single": ""}

    step = of_runs({API: some, LOG: most, "Deployment shop/single": none}, groups=every)
    assert ["Deployment shop/single", LOG, API] == [of.workload for of in step.hurt]


def test_numbers_are_those_of_all_runs_and_a_run_that_leaves_a_workload_alone_is_one():
    step = of_runs(
        {API: WorkloadOutcome(10, 8, 4, waiting=2, reasons={"full": 2})}, {API: WorkloadOutcome(10, 10, 4)}, {}
    )

    (api,) = step.hurt
    assert ((10, 10, 10), (0, 4, 4), (0, 0, 4)) == (api.pods, api.lost, api.back)
    assert ((0, 0, 2), {"full": (0, 0, 2)}) == (api.more, api.causes)


def test_sums_are_of_each_run_and_not_of_the_ranges():
    """Either of two waits, never both."""
    waits, whole = WorkloadOutcome(3, 2, 1, waiting=1), WorkloadOutcome(3, 3, 1)
    step = of_runs({API: waits, LOG: whole}, {API: whole, LOG: waits})

    assert ((1, 1, 1), (1, 1, 1), (2, 2, 2)) == (step.total.more, step.total.back, step.total.lost)
    assert [("ops", (0, 0, 1)), ("shop", (0, 0, 1))] == [(of.name, of.more) for of in step.sums]


def test_workloads_that_are_not_shown_are_counted_where_they_are_hurt():
    waits = WorkloadOutcome(3, 2, 1, waiting=1)
    step = of_runs({API: waits, LOG: waits, "Deployment shop/single": WorkloadOutcome(2, 2, 1)}, groups={API: ""})

    assert (1, [API]) == (step.elsewhere, [of.workload for of in step.hurt])
    assert (1, 1, 1) == step.total.more


def test_the_skew_comes_with_the_share_of_the_runs_in_which_it_exceeds():
    skews = [(ConstraintSkew(0, ZONE, 1, number),) for number in (1, 3, 3, 2)]
    (api,) = of_runs(*({API: WorkloadOutcome(3, 3, 1, skews=of)} for of in skews)).whole

    assert [(0, ZONE, 1, (1, 3, 3), 0.75)] == list(api.skews)
    assert api.uneven


def test_a_later_step_begins_with_what_the_one_before_has_left():
    """The zone's Pod waits until its nodes are deleted; only then has it lost nothing, and one is back."""
    spread = constraint(labelSelector={"matchLabels": {"app": "web"}})
    objects = [*nodes("a=1 b=1 c=1"), *deployment(spread, on=["a1", "b1", "c1"])]
    lost, deleted = simulated_cluster(objects, f"lose={ZONE}=a delete={ZONE}=a")

    assert [(3, 1, 0, 1)] == [tuple(n.most for n in (of.pods, of.lost, of.back, of.more)) for of in lost.hurt]
    assert [(2, 0, 1, 0)] == [tuple(n.most for n in (of.pods, of.lost, of.back, of.more)) for of in deleted.whole]


def test_a_drain_comes_with_what_holds_it():
    objects = [*nodes("a=1 b=1 c=1"), *deployment(constraint(**SOFT), on=["a1", "b1", "c1"]), budget(minAvailable=3)]
    (step,) = simulated_cluster(objects, "drain=a1")

    assert {("a1", ("shop/web",)): 1.0} == step.held
    assert [{"Pod shop/web-1-0": 1.0}] == [of.pods for of in step.kept.values()]
    assert (1, (0, 0, 0)) == step.drained[1:]


def test_messages_that_differ_in_numbers_of_nodes_alone_are_one_cause():
    def waiting(reasons):
        return {API: WorkloadOutcome(4, 1, 3, waiting=3, reasons=reasons)}

    full, fuller = (f"0/9 nodes are available: {number} Insufficient cpu, 1 node(s) were x." for number in (7, 8))
    tainted = "0/9 nodes are available: 7 Insufficient cpu, 1 node(s) were y1."
    turned = "0/9 nodes are available: 1 node(s) were x, 10 Insufficient cpu."
    runs = [waiting({full: 2, tainted: 1}), waiting({full: 1, fuller: 2}), waiting({fuller: 1, turned: 1})]
    (of,) = of_runs(*runs).hurt

    assert {full: (2, 2, 3), tainted: (0, 0, 1)} == of.causes


def test_what_only_some_runs_do_comes_with_their_share():
    lost, none_back = WorkloadOutcome(4, 4, 4, at_once=True), WorkloadOutcome(4, 2, 2, waiting=2)
    (of,) = of_runs({API: lost}, {API: none_back}, {API: none_back}, {}).hurt

    assert (0.25, 0.75) == (of.loses_all, of.out)
