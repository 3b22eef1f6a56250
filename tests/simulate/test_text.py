"""A simulation as text and JSON, of one workload that is named, of several, and of all."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from evenkeel.simulate.disruption import MORE_THAN_ONE
from evenkeel.simulate.outcomes import run
from evenkeel.simulate.results import (
    AlikeDomains,
    BudgetNumbers,
    CureResult,
    DomainResult,
    DrainResult,
    HeldEviction,
    Layout,
    Range,
    Simulation,
    UncountedPods,
    results,
)
from evenkeel.simulate.text import (
    MOST_HURT,
    MOST_WHOLE,
    as_json,
    but_in_all,
    counting_lines,
    drain_line,
    held_lines,
    layouts_line,
    text,
)
from tests.support.build import HOSTNAME, ZONE, constraint
from tests.support.placing import node
from tests.support.simulated import (
    SOFT,
    application,
    budget,
    cluster_plan,
    deployment,
    nodes,
    owned,
    plan,
    pod,
    stateful,
    template,
)

EVEN = [*nodes("a=1 b=1 c=1"), *deployment(replicas=3, on=["a1", "b1", "c1"])]
ZONES = nodes("a=1 b=1 c=1", cpu="1")
SPREAD = constraint(labelSelector={"matchLabels": {"app": "api"}})
MESSAGE = "0/3 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }"
TITLE = "constraint 0   topology.kubernetes.io/zone   maxSkew 1   DoNotSchedule   app=web"
NONE = Range(0, 0, 0)


def simulated(made, *, runs=10, shown=None, **fields):
    named = {of.name for of in made.named} or {*made.workloads}
    now, *steps = results(made, [run(made, 1, i) for i in range(runs)], shown or named)
    minor = f"1.{made.start.features.minor}"
    return Simulation(kubernetes_version=minor, seed=1, runs=runs, now=now, steps=tuple(steps), **fields), made


def one(objects, steps, *, minor=33, raw=None, runs=10, **fields):
    """The simulation of a workload, and its plan."""
    return simulated(plan(objects, steps, minor=minor, raw=raw), runs=runs, **fields)


def every(objects, steps, **fields):
    """The simulation of all workloads, and its plan."""
    return simulated(cluster_plan(objects, steps).plan, **fields)


def lines(*made):
    return [line for line in text(*made).splitlines() if line]


def constraint_result(**fields):
    simulation, _ = one(EVEN, "scale=4", runs=1)
    return replace(simulation.steps[0].workloads[0].constraints[0], **fields)


def test_a_workload_with_a_bar_for_each_domain_before_and_after():
    assert [
        "Deployment shop/web: now",
        f"  {TITLE}",
        "    a   1   #",
        "    b   1   #",
        "    c   1   #",
        "scale=4",
        "  workload              now   new   then",
        "  Deployment shop/web     3     1      4",
        f"  {TITLE}",
        "    a   1–2   #.",
        "    b   1–2   #.",
        "    c   1–2   #.",
        "    total 4: 2+1+1 in every run",
        "10 runs with seed 1, Kubernetes 1.33.",
        "Pods are ready as soon as they have a node. Among equally good nodes, one is chosen at random.",
        "Bars: # in every run, . at most.",
    ] == lines(*one(EVEN, "scale=4"))


def test_all_workloads_that_are_hurt_with_each_reason_in_a_line():
    objects = [*ZONES, *application("api", ["a1", "b1", "c1"], SPREAD), *application("db", ["a1"])]

    assert [
        f"lose={ZONE}=a",
        "  2 Pods are lost: 1 finds room, 1 more waits than before all steps.",
        "  workload              now   lost   back   then   waiting",
        "  Deployment shop/api     3      1      0      2         1",
        f"    1 Pod waits: {MESSAGE}, 2 node(s) didn't match pod topology spread constraints.",
        "  Deployment shop/db      1      1      1      1         0",
        LOSES_ONE,
        "10 runs with seed 1, Kubernetes 1.33.",
    ] == lines(*every(objects, f"lose={ZONE}=a"))[:-1]


def test_what_waits_what_holds_it_and_the_skew_stand_below_the_workload():
    lost = lines(*one(EVEN, f"lose={ZONE}=a"))

    at = lost.index("  Deployment shop/web     3      1      2         1")
    assert [
        f"    1 Pod waits: {MESSAGE}, 2 node(s) didn't match pod topology spread constraints.",
        "    If only constraint 0 were removed, a waiting Pod would find a node.",
    ] == lost[at + 1 : at + 3]


def test_of_those_that_wait_the_new_ones_are_told():
    waiting = [*ZONES, *application("api", ["a1"] * 10 + ["b1"] * 10 + ["c1"] * 10, waiting=2)]

    assert "  Deployment shop/api    30     10     20   12 (10 new)" in lines(*every(waiting, "delete=c1"))


@pytest.mark.parametrize(("soft", "said"), [(False, ", more than maxSkew 1"), (True, "; maxSkew 1 is preferred, not")])
def test_a_skew_that_is_larger_than_max_skew_is_told_and_of_a_soft_constraint_no_fault(soft, said):
    of_soft = deployment(constraint(**(SOFT if soft else {})), replicas=2, on=["a1", "a1"])

    assert [line for line in lines(*one([*nodes("a=1 b=1"), *of_soft], "scale=2")) if f"skew 2 by {ZONE}{said}" in line]


NO_ROOM = [*nodes("a=1 b=1 c=1", pods="1"), *EVEN[3:]]


def test_how_far_a_rollout_gets_is_told_as_kubectl_does():
    assert "  Successfully rolled out." in lines(*one(EVEN, "rollout"))
    stuck = lines(*one(NO_ROOM, "rollout"))
    assert "    the rollout does not finish on the nodes that are there: 0 out of 3 new replicas have been updated" in [
        line.replace("1 out of", "0 out of") for line in stuck
    ]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"updated": Range(1, 1, 2)}, "1 (1–2) out of 3 new replicas have been updated"),
        ({"old": Range(1, 1, 1)}, "1 old replicas are pending termination"),
        ({"available": Range(2, 2, 2)}, "2 of 3 updated replicas are available"),
        ({"available": Range(2, 2, 2), "stuck": 0.25}, "2 of 3 updated replicas are available"),
    ],
)
def test_what_keeps_a_rollout_from_its_end(fields, said):
    simulation, made = one(NO_ROOM, "rollout", runs=1)
    (step,) = simulation.steps
    (workload,) = step.workloads
    three = {
        "stuck": 1.0,
        "updated": Range(3, 3, 3),
        "available": Range(3, 3, 3),
        "old": NONE,
        "wanted": Range(3, 3, 3),
    }
    workload = replace(workload, rollout=replace(workload.rollout, **{**three, **fields}))
    often = " in 25 % of the runs" if "stuck" in fields else " on the nodes that are there"

    printed = lines(replace(simulation, steps=(replace(step, workloads=(workload,)),)), made)
    assert f"    the rollout does not finish{often}: {said}" in printed
    no_pod_waits = replace(workload, waiting=NONE, rollout=replace(workload.rollout, stuck=1.0))
    printed = lines(replace(simulation, steps=(replace(step, workloads=(no_pod_waits,)),)), made)
    assert f"    the rollout does not finish: {said}" in printed


def test_pods_that_are_not_ready_are_told_where_they_are_all_that_is_wrong():
    made, other, *pods = deployment(replicas=2, on=["a1", "b1"])
    pods[0]["status"]["conditions"][0]["status"] = "False"
    printed = lines(*one([*nodes("a=1 b=1"), made, other, *pods], "scale=2"))

    assert "    1 Pod is not ready, and the simulation does not change that" in printed


@pytest.mark.parametrize(
    ("outcomes", "total", "said"),
    [
        ({((2, 2), (1, 1)): 1.0}, Range(5, 5, 5), "total 5: 2+2+1 in every run"),
        (
            {((2, 2), (1, 1)): 0.65, ((3, 1), (2, 1), (0, 1)): 0.35},
            Range(5, 5, 5),
            "total 5: 2+2+1 in 65 %, 3+2+0 in 35 % of the runs",
        ),
        (
            {((1, 1), (0, 2)): 0.4, ((2, 1), (0, 2)): 0.3, ((3, 1), (0, 2)): 0.2, ((4, 1), (0, 2)): 0.05, (): 0.05},
            Range(1, 1, 4),
            "total 1 (1–4): 1+0+0 in 40 %, 2+0+0 in 30 %, 3+0+0 in 20 %, 2 others in 10 % of the runs",
        ),
        ({((2, 5), (1, 35)): 1.0}, Range(45, 45, 45), "total 45: 5 domains with 2 and 35 with 1 in every run"),
    ],
)
def test_outcomes_are_those_of_all_domains_together(outcomes, total, said):
    """The ranges of single domains do not add up: 2, 2 and 2 are most likely for 5 Pods in 3 zones."""
    of_runs = tuple(
        Layout(tuple(AlikeDomains(*alike) for alike in domains), share) for domains, share in outcomes.items()
    )
    varied = constraint_result(domains=(DomainResult("a", Range(0, 1, 3), NONE),), total=total, outcomes=of_runs)

    assert said == layouts_line(varied) == next(counting_lines(varied))
    assert [] == [*counting_lines(constraint_result(domains=(DomainResult("a", Range(3, 3, 3), NONE),)))]


@pytest.mark.parametrize(
    ("running", "unselected", "outside", "said"),
    [
        ((6, 6, 6), (6, 6, 6), (0, 0, 0), "6 Pods run, and constraint 0 counts none: its selector matches none"),
        ((1, 1, 1), (1, 1, 1), (0, 0, 0), "1 Pod runs, and constraint 0 counts none: its selector matches none"),
        ((6, 6, 6), (1, 2, 2), (0, 0, 0), "constraint 0 does not count 2 (1–2) of 6 running Pods: its selector "),
        ((6, 6, 6), (0, 0, 0), (1, 1, 1), "constraint 0 does not count 1 of 6 running Pods: on nodes that lack a"),
        ((6, 6, 6), (0, 0, 0), (6, 6, 6), "6 Pods run, and constraint 0 counts none: on nodes that lack a"),
    ],
)
def test_pods_that_no_domain_counts_are_told(running, unselected, outside, said):
    uncounted = UncountedPods(Range(*running), Range(*unselected), Range(*outside))
    (found,) = (line for line in counting_lines(constraint_result(uncounted=uncounted)) if "total" not in line)

    assert found.startswith(said)


def test_an_empty_selector_counts_none():
    objects = [*nodes("a=1"), *deployment(constraint(labelSelector={}), replicas=2, on=["a1", "a1"])]

    assert "    2 Pods run, and constraint 0 counts none: its selector is empty" in lines(*one(objects, "scale=3"))


def test_too_few_domains_for_min_domains_are_told_as_explain_does():
    objects = [*nodes("a=1 b=1"), *deployment(constraint(minDomains=3), replicas=2, on=["a1", "b1"])]

    few = "    2 eligible domains, fewer than minDomains 3: the minimum is 0"
    assert 2 == lines(*one(objects, "scale=4")).count(few)


def test_one_domain_is_told_as_explain_does_and_what_to_do_about_it_once():
    found = lines(*one([*nodes("a=2"), *deployment(replicas=2, on=["a1", "a2"])], "scale=4"))

    assert 2 == found.count("    this constraint spreads nothing: all nodes that count are in zone a")
    (advice, *_) = advices = [line for line in found if line.startswith("Constraint 0: ")]
    assert "set minDomains: 3" in advice
    assert 3 == len(advices)


def test_many_domains_are_summed_up():
    objects = [*nodes("a=40"), *deployment(constraint(topologyKey=HOSTNAME), replicas=0)]

    assert [
        "    a1, a10 and 35 more   1–2   #.",
        "    a15, a17 and 1 more     1   #",
        "    total 45: 5 domains with 2 and 35 with 1 in every run",
    ] == lines(*one(objects, "scale=45", runs=20))[-6:-3]


def test_long_bars_are_cut():
    objects = [*nodes("a=1", pods="500"), *deployment(replicas=1, on=["a1"])]

    assert f"    a   80   {'#' * 40}" in lines(*one(objects, "scale=80"))


FOR_EVER = [{"key": "node.kubernetes.io/unreachable", "operator": "Exists"}]


def test_pods_on_nodes_that_nobody_reaches_are_drawn_apart():
    """A constraint counts them as it does others."""
    objects = [*nodes("a=2 b=1 c=1"), *deployment(replicas=4, on=["a1", "a2", "b1", "c1"])]
    for staying in objects[-4:]:
        staying["spec"]["tolerations"] = FOR_EVER
    printed = lines(*one(objects, "lose=a1"))

    at = printed.index("    a   2   x#   1 on unreachable nodes")
    assert ["    b   1   #", "    c   1   #"] == printed[at + 1 : at + 3]
    assert "    1 stays on an unreachable node, and is not replaced" in printed
    assert "Bars: # in every run, x on unreachable nodes." == printed[-1]
    assert "unreachable" not in text(*one(objects, "scale=5"))


def test_of_many_domains_only_those_alike_in_what_is_unreachable_are_summed_up():
    pods = deployment(constraint(topologyKey=HOSTNAME), replicas=14, on=[f"a{i}" for i in range(1, 15)])
    for raw in pods[2:]:
        raw["spec"]["tolerations"] = FOR_EVER
    found = lines(*one([*nodes("a=15"), *pods], f"cordon=a15 lose={HOSTNAME}=a3"))

    assert "    a1, a10 and 11 more   1   #" in found
    assert "    a3                    1   x   1 on unreachable nodes" in found


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ("drain=b1 drain=b1", "The drain does nothing: b1 is cordoned already, and has no Pod to evict."),
        ("drain=b2", "The drain evicts no Pod, and cordons b2."),
        (f"drain=b2 drain={ZONE}=b", "The drain evicts no Pod, and cordons 1 of 2 nodes."),
        (
            f"cordon={ZONE}=b drain={ZONE}=b",
            "The drain does nothing: all 2 nodes are cordoned already, and have no Pod to evict.",
        ),
    ],
)
def test_a_drain_that_evicts_nothing_says_what_it_did(steps, said):
    """Pods of DaemonSets stay."""
    daemon = pod("DaemonSet/log", 0, "b1", labels={"app": "log"})

    assert f"  {said}" in lines(*one([*nodes("a=1 b=2"), *deployment(replicas=1, on=["a1"]), daemon], steps))


@pytest.mark.parametrize(
    ("drained", "said"),
    [
        (DrainResult(("a1",), 1, Range(2, 2, 2)), "2 Pods are evicted, and a1 is cordoned."),
        (DrainResult(("a1",), 0, Range(1, 1, 1)), "1 Pod is evicted."),
        (DrainResult(("a1", "b1"), 2, Range(1, 2, 3)), "1–3 Pods are evicted, and all 2 nodes are cordoned."),
        (DrainResult(("a1", "b1"), 1, Range(0, 0, 1)), "0–1 Pods are evicted, and 1 of 2 nodes is cordoned."),
    ],
)
def test_a_drain_that_ends_says_what_it_did(drained, said):
    assert said == drain_line(drained)


def test_what_a_drain_evicts_is_not_lost():
    assert "  workload              now   evicted   back   then" in lines(*one(EVEN, "drain=a1", runs=2)) or (
        "  workload              now   evicted   then   waiting" in lines(*one(EVEN, "drain=a1", runs=2))
    )


def test_a_drain_that_a_budget_holds_names_it():
    found = lines(*one([*EVEN, budget(minAvailable=3)], "drain=a1"))

    at = found.index("  The drain never finishes: PodDisruptionBudget shop/web keeps Pod shop/web-1-0 on a1.")
    assert [
        "    shop/web: minAvailable 3, and 3 of 3 Pods are healthy: it allows no eviction",
        "    kubectl tries again every 5 seconds, without end.",
    ] == found[at + 1 : at + 3]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"minAvailable": "90%"}, "minAvailable 90% (3 of 3), and 3 of 3 Pods are healthy: it allows no eviction"),
        ({"maxUnavailable": "0%"}, "maxUnavailable 0% (0 of 3), and 3 of 3 Pods are healthy: it allows no eviction"),
        ({"maxUnavailable": 0}, "maxUnavailable 0, and 3 of 3 Pods are healthy: it allows no eviction"),
        ({}, "has neither minAvailable nor maxUnavailable: it allows no eviction"),
    ],
)
def test_a_budget_that_holds_a_drain_has_its_own_numbers(spec, said):
    assert f"    shop/web: {said}" in lines(*one([*EVEN, budget(**spec)], "drain=a1", runs=2))


def test_a_budget_that_does_not_know_how_many_pods_there_should_be_says_so():
    bare = [pod("Node/x", number, "a1", ownerReferences=[]) for number in range(2)]
    made = [*nodes("a=1 b=1"), *deployment(replicas=0), *bare, budget(maxUnavailable=1)]
    found = "\n".join(lines(*one(made, "drain=a1", runs=2)))

    assert "PodDisruptionBudget shop/web keeps Pod shop/x-0, Pod shop/x-1 on a1." in found
    assert "shop/web: maxUnavailable 1, and the number of Pods that it expects is not known: it allows no" in found


def test_a_budget_whose_workloads_want_no_pods_says_so():
    """That is known, and so is no number of Pods that it would want."""
    idle = owned("ReplicaSet", "api", {"replicas": 0, "template": template()})
    api = pod("ReplicaSet/api", 0, "a1", labels={"app": "api"})
    found = lines(*one([*EVEN, idle, api, named_budget("api", "api", minAvailable="50%")], "drain=a1", runs=2))

    assert "    shop/api: minAvailable 50%, but its workloads have 0 replicas: it allows no eviction" in found


def test_what_differs_between_runs_is_said_of_each():
    """A Pod that a run has made has no name."""
    pods = {"Pod shop/x": 0.5, "a Pod of Deployment shop/web": 0.25}
    numbers = BudgetNumbers("shop/web", "minAvailable", 3, Range(2, 3, 3), Range(3, 3, 3), Range(3, 3, 3), NONE)
    found = list(held_lines([HeldEviction("a1", 0.5, ("shop/web",), pods, (numbers,))]))

    which = "Pod shop/x, a Pod of Deployment shop/web in 25 % of the runs"
    assert [
        f"The drain does not finish in 50 % of the runs: PodDisruptionBudget shop/web keeps {which} on a1.",
        "  shop/web: minAvailable 3, and 3 (2–3) of 3 Pods are healthy: it allows no eviction",
    ] == found[:2]


def named_budget(name, app="web", **spec):
    made = budget(**{"minAvailable": 1, "selector": {"matchLabels": {"app": app}}, **spec})
    return {**made, "metadata": {**made["metadata"], "name": name}}


@pytest.mark.parametrize(
    ("names", "said"),
    [(("more",), "shop/more and shop/web both"), (("more", "new"), "shop/more, shop/new and shop/web all")],
)
def test_several_budgets_over_one_pod_are_told_from_one_that_allows_nothing(names, said):
    """The API server answers with 500, whatever they allow, and kubectl drain ends with that."""
    over = [budget(minAvailable=0), *map(named_budget, names)]
    found = lines(*one([*EVEN, *over], "drain=a1", runs=2))

    assert f"  The drain leaves Pods behind: PodDisruptionBudgets {said} select Pod shop/web-1-0 on a1." in found
    assert "    shop/web: minAvailable 0, and 3 of 3 Pods are healthy: it allows 3 evictions" in found
    rule = f'kube-apiserver answers "{MORE_THAN_ONE}" (500), even if each budget allows an eviction'
    assert f"    {rule}: kubectl skips the Pod, and fails once it is done with the others." in found


def test_of_many_nodes_that_a_drain_fails_on_the_first_are_named():
    """It goes on with the next node."""
    objects = [*nodes("a=5"), *deployment(constraint(topologyKey=HOSTNAME), on=[f"a{i}" for i in range(1, 6)])]
    over = [budget(minAvailable=0), named_budget("more")]
    found = [line.strip() for line in lines(*one([*objects, *over], f"drain={ZONE}=a", runs=20))]

    assert 3 == sum("The drain leaves Pods behind" in line for line in found)
    assert "and the same on 2 more nodes" in found


def test_a_budget_that_preemption_violates_is_named():
    small = [node("n1", "a", pods="1"), node("n2", "a", pods="1")]
    low = pod("ReplicaSet/low-1", 0, "n2", labels={"app": "low"}, spec={"priority": -10})
    objects = [*small, *deployment(replicas=1, on=["n1"]), low, named_budget("low", "low")]
    printed = lines(*one(objects, "scale=2", runs=2))

    violates = "Preemption violates PodDisruptionBudget shop/low: more Pods are evicted than it allows."
    assert f"  {violates}" in printed
    assert "  1 more workload is affected: ReplicaSet shop/low-1 (1 waiting, 1 preempted)." in printed


def test_pods_that_a_stateful_set_does_not_make_are_missing():
    """One is being deleted with its zone for ever; one that waits keeps the two after it from being made."""
    objects = [*nodes("a=1 b=1 c=1"), *stateful(replicas=3, on=["a1", "b1", "c1"])]
    why = "    1 is missing until the Pod that it replaces is gone from unreachable nodes"

    assert why in lines(*one(objects, "lose=c1"))
    full = [*nodes("a=1 b=1"), node("c1", "c", pods="0"), *stateful(replicas=2, on=["a1", "b1"])]
    queued = "are missing: each is created only after the Pods before it are ready"
    assert [line for line in lines(*one(full, "scale=6")) if queued in line]
    assert not [line for line in lines(*one(EVEN, "lose=a1")) if "missing" in line]


def test_what_no_controller_replaces_and_what_stays_on_nodes_that_nobody_reaches_is_missing():
    bare = [*ZONES, pod("Node/x", 0, "a1", ownerReferences=[])]

    assert "    1 is missing: no controller replaces it" in lines(*every(bare, f"lose={ZONE}=a", runs=2))
    zone = [*nodes("a=1 b=1", labels={"all": "yes"}), *application("api", ["a1", "b1"])]
    printed = lines(*every(zone, "lose=all=yes"))
    assert "    2 stay on unreachable nodes, and are not replaced" in printed


def test_few_workloads_that_are_whole_have_a_row_and_many_a_line():
    few = [*ZONES, *(raw for i in range(MOST_WHOLE) for raw in application(f"w{i}", ["a1", "b1"], cpu="1m"))]
    more = application(
        "more", ["a1", "b1"], constraint(**SOFT, labelSelector={"matchLabels": {"app": "more"}}), cpu="1m"
    )

    step = f"lose={ZONE}=a"
    assert MOST_WHOLE == sum("     2      1      1      2" in line for line in lines(*every(few, step, runs=2)))
    many = lines(*every([*few, *more], step, runs=2))
    assert f"  {MOST_WHOLE + 1} workloads get back all Pods that are lost." in many


LOSES_ONE = "    loses its only Pod: none runs until another is ready"


def test_what_loses_all_its_pods_at_once_is_told():
    """The numbers of a row are those of the end, where a new Pod runs."""
    pair, single = application("pair", ["a1", "a1"]), application("single", ["a1"])
    found = lines(*every([*ZONES, *pair, *single], f"delete={ZONE}=a"))

    assert ["  Deployment shop/single     1      1      1      1", LOSES_ONE] == found[-4:-2]
    assert "    loses all its Pods at once" in found
    assert LOSES_ONE in lines(*every([*ZONES, *single], "drain=a1"))


def test_an_only_pod_that_does_not_come_back_is_seen_in_the_row():
    bare = pod("Node/x", 0, "a1", ownerReferences=[])

    assert "only Pod" not in text(*every([*ZONES, bare], f"delete={ZONE}=a"))


def test_of_many_workloads_that_are_hurt_one_screen_is_shown():
    hurt = [*ZONES, *(raw for i in range(MOST_HURT + 2) for raw in application(f"w{i}", ["a1"], cpu="1m"))]

    assert "  2 more workloads are hurt; to see all: -o json" in lines(*every(hurt, f"delete={ZONE}=a", runs=2))


def test_sums_by_namespace_where_there_are_several():
    api = application("api", ["a1", "b1"], labels={"team": "pay"})
    other = pod("Node/x", 0, "a1", ownerReferences=[], namespace="bank")

    printed = lines(*every([*ZONES, *api, other], f"delete={ZONE}=a"))
    at = printed.index("  namespace   lost   back   waiting (new)   missing   incomplete workloads")
    assert [
        "  bank           1      0               0         1                      1",
        "  shop           1      1               0         0                      0",
    ] == printed[at + 1 : at + 3]
    assert "namespace" not in text(*every([*ZONES, *api], f"delete={ZONE}=a"))


def test_a_step_that_hurts_nobody_says_so():
    assert ["cordon=a1", "  No Pod is lost."] == lines(*every([*ZONES, *application("api", ["a1"])], "cordon=a1"))[:2]


def test_so_does_one_that_adds_nodes_for_which_no_pod_waits():
    api = application("api", ["a1"])
    assert ["add=1", "  Nothing changes for any Pod."] == lines(*every([*ZONES, *api], "add=1"))[:2]


def test_of_workloads_that_are_not_shown_those_that_are_hurt_are_named():
    objects = [*ZONES, *application("api", ["a1", "b1", "c1"], SPREAD), *application("db", ["a1"])]
    printed = lines(*every(objects, f"lose={ZONE}=a", shown={"Deployment shop/db"}))

    assert "  Deployment shop/db     1      1      1      1" in printed
    assert "  1 more workload is affected: Deployment shop/api (1 waiting)." in printed


def test_a_range_where_runs_differ():
    """Of two Pods of one priority one finds the last place."""
    full = [*application("web", ["b1"] * 10 + ["c1"] * 9), *application("db", ["a1"]), *application("api", ["a1"])]
    printed = lines(*every([*ZONES, *full], f"delete={ZONE}=a", runs=20))

    assert "  2 Pods are lost: 1 finds room, 1 more waits than before all steps." in printed
    assert "  Deployment shop/api     1      1    0–1    0–1       0–1" in printed
    assert [line for line in printed if line.startswith("    0–1 Pods wait in ") and "2 Insufficient cpu." in line]


def test_ties_what_is_not_simulated_and_notes_are_said_below():
    found = lines(
        *one(
            EVEN,
            "scale=4",
            minor=37,
            not_judged=("volumes", "PodDisruptionBudgets", "Deployment shop/kue (why)", "Rollout shop/api"),
            notes=("A note.",),
        )
    )

    assert [
        "A note.",
        "Not simulated: Deployment shop/kue (why), Rollout shop/api. Where their Pods would be is not known.",
        "Not simulated: volumes. They may refuse more nodes, or prefer other nodes.",
        "Not simulated: PodDisruptionBudgets. They may block a drain, or change which Pods preemption evicts.",
    ] == found[-7:-3]
    assert found[-2].endswith("kube-scheduler mostly takes the first that it looks at.")


def test_min_ready_seconds_and_that_runs_ended_early_are_told():
    objects = [*nodes("a=1"), *deployment(replicas=1, on=["a1"], min_ready=30)]
    found = lines(*one(objects, "rollout", early=True))

    assert "10 runs with seed 1 (more would change no number), Kubernetes 1.33." == found[-3]
    assert found[-2].startswith("Pods are ready as soon as they have a node, and available after 30 minReadySeconds.")


PATCH = {"shell": "kubectl patch x"}
CURES = (CureResult("Deployment/web", "apps", "shop", "type: Recreate", (PATCH,)),)


def test_what_lets_a_rollout_finish_stands_after_the_steps():
    printed = lines(*one(NO_ROOM, "rollout", cures=CURES, explain="evenkeel explain deployment.apps/web"))

    at = printed.index("Changes with which a rollout finishes (each was simulated)")
    assert [
        "  type: Recreate",
        "    kubectl patch x",
        "For changes with which the first waiting Pod gets a node: evenkeel explain deployment.apps/web",
    ] == printed[at + 1 : at + 4]


def test_of_several_workloads_those_are_named_whose_rollouts_a_change_lets_finish():
    api = replace(CURES[0], workload="Deployment/api")
    printed = lines(*every(EVEN, "cordon=a1", cures=(*CURES, api)))

    assert "  type: Recreate: Deployment shop/web, Deployment shop/api" in printed
    assert "kubectl" not in "".join(printed)


def test_the_json_is_the_form_of_a_simulation():
    simulation, _ = one([*EVEN, budget(minAvailable=3)], "drain=a1", runs=2, cures=CURES)
    written = json.loads(as_json(simulation))
    (step,) = written["steps"]

    assert ["apiVersion", "kind", "kubernetesVersion", "seed", "runs", "early", "now", "steps"] == [*written][:8]
    assert {"nodes": ["a1"], "cordoned": 1, "evicted": {"least": 0, "mostLikely": 0, "most": 0}} == step["drained"]
    assert [("a1", 1.0, ["shop/web"])] == [
        tuple(held[name] for name in ("node", "share", "names")) for held in step["held"]
    ]
    (constrained,) = step["workloads"][0]["constraints"]
    assert ("app=web", True, 3) == (constrained["selector"], constrained["hard"], constrained["eligibleDomains"])
    assert [{"shell": "kubectl patch x"}] == written["cures"][0]["commands"]


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (1.0, ""),
        (0.345, " in 34.5 % of the runs"),
        (0.5, " in 50 % of the runs"),
        (0.0001, " in 0.1 % of the runs"),
        (0.9999, " in 99.9 % of the runs"),
    ],
)
def test_a_share_is_never_told_as_0_nor_as_all(share, said):
    assert said == but_in_all(share)
