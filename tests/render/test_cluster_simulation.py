"""A simulation of a whole cluster, as a person and a program read it."""

from __future__ import annotations

import json

from tests.support.build import ZONE, constraint
from tests.support.simulated import SOFT, application, budget, cluster_plan, deployment, nodes, pod, stateful
from webhook.render.cluster_simulation import MOST_WHOLE, ClusterSimulated, as_json, text
from webhook.simulation.cluster_results import cluster_results
from webhook.simulation.cluster_run import run_cluster

ZONES = nodes("a=1 b=1 c=1", cpu="1")
SPREAD = constraint(labelSelector={"matchLabels": {"app": "api"}})
MESSAGE = "0/3 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }"


def simulated(objects, steps, *, runs=5, shown=None, namespace=""):
    made = cluster_plan(objects, steps)
    workloads = {name: of for name, of in made.plan.workloads.items() if shown is None or name in shown}
    groups = {name: of.ref.namespace for name, of in workloads.items()}
    outcomes = [run_cluster(made.plan, 1, i) for i in range(runs)]
    results = cluster_results(made.plan, outcomes, groups)
    return ClusterSimulated(made.plan, 1, runs, results, made.not_judged, made.notes, namespace, "", len(workloads))


def lines(*args, **fields):
    return text(simulated(*args, **fields)).splitlines()


def test_the_workloads_that_are_hurt_with_each_cause_in_a_line():
    objects = [*ZONES, *application("api", ["a1", "b1", "c1"], SPREAD), *application("db", ["a1"])]

    assert [
        "The whole cluster, 2 workloads, 5 runs with seed 1, Kubernetes 1.33.",
        "  Among equally good nodes, one is chosen at random. Pods are ready as soon as they have a node.",
        "",
        f"  lose={ZONE}=a",
        "    2 Pods are lost: 1 finds room, 1 more waits than before.",
        "",
        "    workload              Pods   lost   back   wait   missing",
        "    Deployment shop/api      3      1      0      1         0",
        f"      1 waits: {MESSAGE}, 2 node(s) didn't match pod topology spread constraints.",
        "    Deployment shop/db       1      1      1      0         0",
        "      loses all its Pods at once",
    ] == lines(objects, f"lose={ZONE}=a")


def test_few_workloads_that_come_back_whole_have_a_row_and_many_a_line():
    few = [*ZONES, *(raw for i in range(MOST_WHOLE) for raw in application(f"w{i}", ["a1", "b1"], cpu="1m"))]
    more = application(
        "more", ["a1", "b1"], constraint(**SOFT, labelSelector={"matchLabels": {"app": "more"}}), cpu="1m"
    )

    assert MOST_WHOLE == sum("   2      1      1      0" in line for line in lines(few, f"lose={ZONE}=a"))
    many = lines([*few, *more], f"lose={ZONE}=a")
    assert many[-1] == f"    {MOST_WHOLE + 1} workloads lose {MOST_WHOLE + 1} Pods and get all of them back."


def test_what_is_missing_and_why_and_the_skew():
    objects = [*ZONES, *stateful(constraint(**SOFT), on=["a1", "b1", "c1"]), pod("Node/x", 0, "a1", ownerReferences=[])]
    printed = lines(objects, f"lose={ZONE}=a", runs=2)

    assert "    2 Pods are lost: 2 are missing." in printed
    assert "      1 is missing until the Pod that it replaces is gone from unreachable nodes" in printed
    assert "      1 is missing: no controller replaces it" in printed


def test_what_is_made_only_after_what_waits():
    full = [*nodes("a=1 b=1", cpu="1"), *application("api", ["b1"] * 10)]
    printed = lines([*full, *stateful(constraint(**SOFT), on=["a1", "a1"])], f"delete={ZONE}=a", runs=2)

    assert "      1 waits: 0/1 nodes are available: 1 Insufficient cpu." in printed
    assert "      1 is missing: each is created only after the Pods before it are ready" in printed


def test_what_stays_on_nodes_that_nobody_reaches():
    printed = lines([*nodes("a=1 b=1", labels={"all": "yes"}), *application("api", ["a1", "b1"])], "lose=all=yes")

    assert "    2 Pods are lost: 2 are missing." in printed
    assert "      2 stay on unreachable nodes, and are not replaced" in printed


def test_sums_by_namespace_where_there_are_several():
    api = application("api", ["a1", "b1"], labels={"team": "pay"})
    other = pod("Node/x", 0, "a1", ownerReferences=[], namespace="bank")
    objects = [*ZONES, *api, other]

    printed = lines(objects, f"delete={ZONE}=a")
    assert [
        "    namespace   lost   back   wait   missing   incomplete workloads",
        "    bank           1      0      0         1                      1",
        "    shop           1      1      0         0                      0",
    ] == printed[-3:]
    assert not any("namespace" in line for line in lines([*ZONES, *api], f"delete={ZONE}=a"))


def test_a_step_that_hurts_nobody_says_so():
    assert ["  cordon=a1", "    No Pod is lost."] == lines([*ZONES, *application("api", ["a1"])], "cordon=a1")[-2:]


def test_a_budget_holds_a_drain_as_in_the_simulation_of_one_workload():
    objects = [*ZONES, *deployment(constraint(**SOFT), on=["a1", "b1", "c1"]), budget(minAvailable=3)]
    printed = lines(objects, "drain=a1")

    assert (
        "    No Pod is evicted, and a1 is cordoned." in printed
        or "    The drain evicts no Pod, and cordons a1." in printed
    )
    assert "    The drain never finishes: PodDisruptionBudget shop/web keeps Pod shop/web-1-0 on a1." in printed
    assert "      shop/web: minAvailable 3, and 3 of 3 Pods are healthy: it allows no eviction" in printed


def test_only_some_workloads_are_shown_and_others_that_are_hurt_are_counted():
    objects = [*ZONES, *application("api", ["a1", "b1", "c1"], SPREAD), *application("db", ["a1"])]
    printed = lines(objects, f"lose={ZONE}=a", shown={"Deployment shop/db"}, namespace="shop")

    assert "  Shown: 1 workload of namespace shop." in printed
    assert "    1 Pod is lost: 1 finds room." in printed
    assert "    1 workload that is not shown is affected, too." == printed[-1]


def test_a_range_where_runs_differ():
    """Of two Pods of one priority one finds the last place."""
    full = [*application("web", ["b1"] * 10 + ["c1"] * 9), *application("db", ["a1"]), *application("api", ["a1"])]
    printed = lines([*ZONES, *full], f"delete={ZONE}=a", runs=20)

    assert "    2 Pods are lost: 1 finds room, 1 more waits than before." in printed
    assert "    Deployment shop/api      1      1   0 to 1   0 to 1         0" in printed
    assert "      0 to 1 wait: 0/2 nodes are available: 2 Insufficient cpu." in printed


def test_as_json():
    objects = [*ZONES, *application("api", ["a1", "b1", "c1"], SPREAD)]
    printed = json.loads(as_json(simulated(objects, f"lose={ZONE}=a", namespace="shop")))

    head = ("apiVersion", "kind", "namespace", "seed", "runs", "kubernetesVersion")
    assert ["evenkeel.dev/v1alpha1", "ClusterSimulation", "shop", 1, 5, "1.33"] == [printed[name] for name in head]
    (step,) = printed["steps"]
    (api,) = step["workloads"]
    single = {"least": 1, "mostLikely": 1, "most": 1}
    assert ("apps", "Deployment/api", "shop", True, False) == tuple(
        api[name] for name in ("apiGroup", "workload", "namespace", "hurt", "losesAll")
    )
    assert [single, single] == [api["lost"], api["more"]]
    assert [{"index": 0, "topologyKey": ZONE, "maxSkew": 1, "skew": single, "exceedsMaxSkew": 0.0}] == api["skews"]
    assert (single, ["shop"]) == (step["total"]["more"], [of["name"] for of in step["sums"]])
