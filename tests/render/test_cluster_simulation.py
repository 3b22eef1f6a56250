"""A simulation of a whole cluster, as a person and a program read it."""

from __future__ import annotations

import json

from tests.support.build import ZONE, constraint
from tests.support.simulated import SOFT, application, budget, cluster, cluster_plan, deployment, nodes, pod, stateful
from webhook.render.cluster_simulation import (
    MOST_IN_FULL,
    MOST_WHOLE,
    USUAL_KEEP,
    ClusterSimulated,
    as_json,
    joined,
    text,
)
from webhook.simulation.cluster_results import cluster_results
from webhook.simulation.cluster_run import run_cluster
from webhook.simulation.each_domain import domain_result, steps_of_each
from webhook.simulation.step import parse_step

ZONES = nodes("a=1 b=1 c=1", cpu="1")
SPREAD = constraint(labelSelector={"matchLabels": {"app": "api"}})
MESSAGE = "0/3 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }"


def simulated(objects, steps, *, runs=5, by="", shown=None, namespace="", keep=None):
    each = []
    nodes_there = cluster(*objects).snapshot.nodes
    for domain, taken in steps_of_each([parse_step(word) for word in steps.split()], nodes_there).items():
        made = cluster_plan(objects, " ".join(step.text for step in taken))
        workloads = {name: of for name, of in made.plan.workloads.items() if shown is None or name in shown}
        groups = {name: of.labels.get(by, "") if by else of.ref.namespace for name, of in workloads.items()}
        outcomes = [run_cluster(made.plan, 1, i) for i in range(runs)]
        each.append(
            ClusterSimulated(
                made.plan,
                1,
                cluster_results(made.plan, outcomes, groups),
                [domain_result(domain, made.plan, outcomes, groups, keep or USUAL_KEEP)],
                made.not_judged,
                made.notes,
                namespace,
                "",
                by,
                len(workloads),
                keep,
            )
        )
    return joined(each)


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


def test_sums_by_namespace_where_there_are_several_and_by_a_label_where_that_is_asked_for():
    api = application("api", ["a1", "b1"], labels={"team": "pay"})
    other = pod("Node/x", 0, "a1", ownerReferences=[], namespace="bank")
    objects = [*ZONES, *api, other]

    printed = lines(objects, f"delete={ZONE}=a")
    assert [
        "    namespace   lost   back   wait   missing   incomplete workloads",
        "    bank           1      0      0         1                      1",
        "    shop           1      1      0         0                      0",
    ] == printed[-3:]
    assert [
        "    team   lost   back   wait   missing   incomplete workloads",
        "    -         1      0      0         1                      1",
        "    pay       1      1      0         0                      0",
    ] == lines(objects, f"delete={ZONE}=a", by="team")[-3:]
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


def test_a_domain_whose_drain_is_held_is_the_worst():
    objects = [
        *ZONES,
        *deployment(constraint(**SOFT), on=["b1"]),
        budget(minAvailable=1),
        *application("db", ["a1"] * 3),
    ]
    printed = lines(objects, f"drain={ZONE}=*")
    table = printed[printed.index("  each domain in turn, the worst first") + 2 :]

    assert ["b", "a", "a", "c"] == [line.split()[0] for line in table[:4]]
    assert "      a drain does not finish: the numbers count only the Pods that it can move" == table[1]
    assert [1.0, 0.0, 0.0] == [
        of["held"] for of in json.loads(as_json(simulated(objects, f"drain={ZONE}=*")))["domains"]
    ]


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

    head = ("apiVersion", "kind", "namespace", "by", "seed", "runs", "kubernetesVersion")
    assert ["evenkeel.dev/v1alpha1", "ClusterSimulation", "shop", "", 1, 5, "1.33"] == [printed[name] for name in head]
    (step,) = printed["steps"]
    (api,) = step["workloads"]
    single = {"least": 1, "mostLikely": 1, "most": 1}
    assert ("apps", "Deployment/api", "shop", True, False) == tuple(
        api[name] for name in ("apiGroup", "workload", "namespace", "hurt", "losesAll")
    )
    assert [single, single] == [api["lost"], api["more"]]
    assert [{"index": 0, "topologyKey": ZONE, "maxSkew": 1, "skew": single, "exceedsMaxSkew": 0.0}] == api["skews"]
    assert (single, ["shop"]) == (step["total"]["more"], [of["name"] for of in step["sums"]])


FULL = [*ZONES, *application("api", ["a1"] * 4 + ["b1"]), *application("web", ["b1"] * 8 + ["c1"] * 9)]


def test_each_domain_in_turn_the_worst_first_and_what_it_lacks():
    """Each of b and c has nine Pods, and there are seven places without it: of a six, and one of the other."""
    printed = lines(FULL, f"lose={ZONE}=*", runs=2)
    assert ["  lose=topology.kubernetes.io/zone=a", "  lose=topology.kubernetes.io/zone=b"] == [
        line for line in printed if line.startswith("  lose=")
    ][:2]

    assert [
        "The whole cluster, 2 workloads, 2 runs of each domain with seed 1, Kubernetes 1.33.",
        "  each domain in turn, the worst first",
        "    domain   lost   wait   missing   out   keep < 50 %",
    ] == [printed[0], *printed[printed.index("  each domain in turn, the worst first") :][:2]]
    assert [
        "    b           9      2         0     0             0",
        "      lacks room for 2 Pods and 200m of cpu and 128Mi of memory",
        "    c           9      2         0     0             1",
        "      lacks room for 2 Pods and 200m of cpu and 128Mi of memory",
        "    a           4      2         0     0             1",
        "      lacks room for 2 Pods and 200m of cpu and 128Mi of memory",
        "    out: workloads that lose all their Pods at once, or get none of the lost Pods back",
        "    lacks: the room that is missing for the waiting Pods; each amount is the most of any run",
    ] == printed[printed.index("  each domain in turn, the worst first") + 2 :][:8]
    assert printed[-4:] == [
        "  2 workloads do not keep 50 % of their Pods on their nodes:",
        "    workload              Pods   keeps   domain",
        "    Deployment shop/api      5       1        a",
        "    Deployment shop/web     17       8        c",
    ]


def test_many_domains_have_only_the_last_table():
    printed = lines(
        [*nodes("a=7"), *application("api", [f"a{i}" for i in range(1, 8)])], "lose=kubernetes.io/hostname=*", runs=1
    )

    assert 7 == MOST_IN_FULL + 1
    assert not any(line.startswith("  lose=") for line in printed)
    assert 7 == sum(line.startswith("    a") and "   1      0         0     0" in line for line in printed)
    assert "  Every workload keeps at least 50 % of its Pods on their nodes." == printed[-1]


def test_a_number_of_pods_is_kept_or_not():
    assert "  Every workload keeps at least 1 Pod on their nodes." == lines(FULL, f"lose={ZONE}=a", keep=1)[-1]
    assert "  1 workload does not keep 2 Pods on their nodes:" in lines(FULL, f"lose={ZONE}=a", keep=2)
    assert not any("keep" in line for line in lines(FULL, f"lose={ZONE}=a"))


def test_each_domain_as_json():
    printed = json.loads(as_json(simulated(FULL, f"delete={ZONE}=*", runs=2)))

    assert [f"delete={ZONE}={zone}" for zone in "abc"] == [step["step"] for step in printed["steps"]]
    (first, *_) = printed["domains"]
    assert ("50%", 2) == (printed["keep"], first["runs"])
    assert {"pods", "milliCpu", "memory", "ephemeralStorage", "others"} == first["lacks"].keys()
    (loss,) = next(of["notKept"] for of in printed["domains"] if of["domain"] == "a")
    assert ("Deployment/api", 5, 1) == (loss["workload"], loss["pods"], loss["kept"]["least"])
