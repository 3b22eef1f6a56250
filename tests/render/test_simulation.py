"""A simulation as text and JSON."""

from __future__ import annotations

import json

import pytest

from tests.support.build import HOSTNAME, ZONE, constraint
from tests.support.placing import node
from tests.support.simulated import budget, deployment, nodes, owned, plan, pod, stateful, template
from webhook.objects.references import ObjectRef
from webhook.placement.commands import ClusterEdit
from webhook.render.simulation import Simulated, as_json, ending_lines, said_share, text, total_line
from webhook.simulation.disruption import MORE_THAN_ONE
from webhook.simulation.remedies import Cure
from webhook.simulation.results import KeptPods, OfDrain, Range, StuckRollout, UncountedPods, WaitingPods, results
from webhook.simulation.run import run

REF = ObjectRef("apps/v1", "Deployment", "shop", "web")
EVEN = [*nodes("a=1 b=1 c=1"), *deployment(replicas=3, on=["a1", "b1", "c1"])]


def shown(objects, steps, runs=20, not_judged=(), notes=(), **fields):
    made = plan(objects, steps, **fields)
    found = results(made, [run(made, 1, i) for i in range(runs)])
    ref = REF._replace(kind=made.named[0].name.partition(" ")[0])
    return Simulated(ref, made, 1, runs, found, not_judged, notes)


def lines(*args, **fields):
    return [line for line in text(shown(*args, **fields)).splitlines() if line]


def test_a_bar_for_each_domain_before_and_after():
    assert [
        "Deployment shop/web, 20 runs with seed 1, Kubernetes 1.33.",
        "  Among equally good nodes, one is chosen at random. Pods are ready as soon as they have a node.",
        "  Pods in each domain: # in every run, + most likely, . at most. Totals list the fullest domain first.",
        "  now",
        "    constraint 0   topology.kubernetes.io/zone   maxSkew 1   DoNotSchedule   app=web",
        "      a   1   #",
        "      b   1   #",
        "      c   1   #",
        "      total 3",
        "  scale=4",
        "    constraint 0   topology.kubernetes.io/zone   maxSkew 1   DoNotSchedule   app=web",
        "      a   1 to 2   #.",
        "      b   1 to 2   #.",
        "      c   1 to 2   #.",
        "      total 4: 2+1+1 in every run",
    ] == lines(EVEN, "scale=4")


@pytest.mark.parametrize(
    ("together", "total", "said"),
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
            "total 1 (1 to 4): 1+0+0 in 40 %, 2+0+0 in 30 %, 3+0+0 in 20 %, 2 others in 10 % of the runs",
        ),
        ({((2, 5), (1, 35)): 1.0}, Range(45, 45, 45), "total 45: 5 domains with 2 and 35 with 1 in every run"),
    ],
)
def test_outcomes_are_those_of_all_domains_together(together, total, said):
    """The ranges of single domains do not add up: 2, 2 and 2 are most likely for 5 Pods in 3 zones."""
    of = shown(EVEN, "scale=4", 1).results[-1].constraints[0]
    domains = {"a": Range(0, 1, 3)}

    assert said == total_line(of._replace(domains=domains, total=total, together=together))
    assert "total 3" == total_line(of._replace(domains={"a": Range(3, 3, 3)}, total=Range(3, 3, 3)))


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ("drain=b1 drain=b1", "The drain does nothing: b1 is cordoned already, and has no Pod to evict."),
        ("drain=b2", "The drain evicts no Pod, and cordons b2."),
        (f"drain=b2 drain={ZONE}=b", "The drain evicts no Pod, and cordons 1 of 2 nodes."),
        (f"cordon={ZONE}=b drain={ZONE}=b", "The drain does nothing: all 2 nodes are cordoned already, and have no"),
    ],
)
def test_a_drain_that_evicts_nothing_says_what_it_did(steps, said):
    """Pods of DaemonSets stay."""
    daemon = pod("DaemonSet/log", 0, "b1", labels={"app": "log"})
    found = lines([*nodes("a=1 b=2"), *deployment(replicas=1, on=["a1"]), daemon], steps)

    assert found[-1].strip().startswith(said)


def test_a_drain_is_counted():
    made = shown(EVEN, "drain=a1 rollout")
    drained, rolled_out = json.loads(as_json(made))["steps"]

    assert {"nodes": ["a1"], "cordoned": 1, "evicted": {"least": 1, "mostLikely": 1, "most": 1}} == drained["drained"]
    assert "drained" not in rolled_out
    assert "    1 Pod is evicted, and a1 is cordoned." in text(made).splitlines()


@pytest.mark.parametrize(
    ("drained", "said"),
    [
        (OfDrain(("a1",), 1, Range(2, 2, 2)), "2 Pods are evicted, and a1 is cordoned."),
        (OfDrain(("a1",), 0, Range(1, 1, 1)), "1 Pod is evicted."),
        (OfDrain(("a1", "b1"), 2, Range(1, 2, 3)), "2 (1 to 3) Pods are evicted, and all 2 nodes are cordoned."),
        (OfDrain(("a1", "b1"), 1, Range(0, 0, 1)), "0 (0 to 1) Pods are evicted, and 1 of 2 nodes is cordoned."),
    ],
)
def test_a_drain_that_ends_says_what_it_did(drained, said):
    result = shown(EVEN, "drain=a1", 1).results[-1]

    assert said == next(ending_lines(result._replace(drained=drained)))


def test_a_drain_that_a_budget_holds_says_that_alone():
    found = lines([*EVEN, budget(minAvailable=3)], "drain=a1")

    assert [
        "    The drain never finishes: PodDisruptionBudget shop/web keeps Pod shop/web-1-0 on a1.",
        "      shop/web: minAvailable 3, and 3 of 3 Pods are healthy: it allows no eviction",
        "      kubectl tries again every 5 seconds, without end.",
    ] == found[-3:]


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
    assert f"      shop/web: {said}" in lines([*EVEN, budget(**spec)], "drain=a1")


def test_a_budget_that_does_not_know_how_many_pods_there_should_be_says_so():
    bare = [pod("Node/x", number, "a1", ownerReferences=[]) for number in range(2)]
    made = [*nodes("a=1 b=1"), *deployment(replicas=0), *bare, budget(maxUnavailable=1)]
    found = lines(made, "drain=a1")

    assert "PodDisruptionBudget shop/web keeps Pod shop/x-0, Pod shop/x-1 on a1." in found[-3]
    unknown = "shop/web: maxUnavailable 1, and the number of Pods that it expects is not known: it allows no eviction"
    assert f"      {unknown}" == found[-2]


def test_a_budget_whose_workloads_want_no_pods_says_so():
    """That is known, and so is no number of Pods that it would want."""
    idle = owned("ReplicaSet", "api", {"replicas": 0, "template": template()})
    api = pod("ReplicaSet/api", 0, "a1", labels={"app": "api"})
    found = lines([*EVEN, idle, api, named_budget("api", "api", minAvailable="50%")], "drain=a1")

    assert "      shop/api: minAvailable 50%, but its workloads have 0 replicas: it allows no eviction" in found


def test_what_differs_between_runs_is_said_of_each():
    """A Pod that a run has made has no name."""
    result = shown([*EVEN, budget(minAvailable=3)], "drain=a1", 1).results[-1]
    ((eviction, (_, (numbers,))),) = result.kept.items()
    pods = {"Pod shop/x": 0.5, "a Pod of Deployment shop/web": 0.25}
    kept = KeptPods(pods, (numbers._replace(healthy=Range(2, 3, 3)),))
    found = list(ending_lines(result._replace(held={eviction: 0.5}, kept={eviction: kept})))

    which = "Pod shop/x, a Pod of Deployment shop/web in 25 % of the runs"
    assert [
        f"The drain never finishes in 50 % of the runs: PodDisruptionBudget shop/web keeps {which} on a1.",
        "  shop/web: minAvailable 3, and 3 (2 to 3) of 3 Pods are healthy: it allows no eviction",
    ] == found[:2]


def named_budget(name, app="web", **spec):
    made = budget(**{"minAvailable": 1, "selector": {"matchLabels": {"app": app}}, **spec})
    return {**made, "metadata": {**made["metadata"], "name": name}}


def test_two_budgets_that_hold_a_drain_are_both_named_in_every_run():
    api = pod("ReplicaSet/api-1", 0, "a1", labels={"app": "api"})
    found = lines([*EVEN, api, budget(minAvailable=3), named_budget("api", "api")], "drain=a1")

    assert [
        "The drain never finishes: PodDisruptionBudget shop/api keeps Pod shop/api-1-0 on a1.",
        "The drain never finishes: PodDisruptionBudget shop/web keeps Pod shop/web-1-0 on a1.",
    ] == [line.strip() for line in found if "The drain" in line]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("more",), "shop/more and shop/web both"),
        (("more", "new"), "shop/more, shop/new and shop/web all"),
    ],
)
def test_several_budgets_over_one_pod_are_told_from_one_that_allows_nothing(names, said):
    """The API server answers with 500, whatever they allow, and kubectl drain ends with that."""
    over = [budget(minAvailable=0), *map(named_budget, names)]
    found = lines([*EVEN, *over], "drain=a1")

    assert f"    The drain fails: PodDisruptionBudgets {said} select Pod shop/web-1-0 on a1." in found
    assert "      shop/web: minAvailable 0, and 3 of 3 Pods are healthy: it allows 3 evictions" in found
    rule = f'kube-apiserver answers "{MORE_THAN_ONE}" (500), even if each budget allows an eviction'
    assert f"      {rule}: kubectl skips the Pod, continues, and fails in the end." in found


def test_of_many_nodes_that_a_drain_fails_on_the_first_are_named():
    """It goes on with the next node."""
    objects = [*nodes("a=5"), *deployment(constraint(topologyKey=HOSTNAME), on=[f"a{i}" for i in range(1, 6)])]
    over = [budget(minAvailable=0), named_budget("more")]
    found = [line.strip() for line in lines([*objects, *over], f"drain={ZONE}=a")]

    assert 3 == sum("The drain fails" in line for line in found)
    assert "and the same on 2 more nodes" in found


def test_min_ready_seconds_are_named():
    said = lines([*nodes("a=1"), *deployment(replicas=1, on=["a1"], min_ready=30)], "rollout")[1]

    assert said.endswith("Pods are ready as soon as they have a node, and available after 30 minReadySeconds.")


def test_pods_that_a_stateful_set_does_not_make_are_missed():
    """One is being deleted with its zone for ever; one that waits keeps the two after it from being made."""
    objects = [*nodes("a=1 b=1 c=1"), *stateful(replicas=3, on=["a1", "b1", "c1"])]
    why = "the Pod that it replaces stays Terminating, on an unreachable node"
    lost = lines(objects, "lose=c1")

    assert f"    1 Pod is missing: {why}." in lost
    assert not [line for line in lost[: lost.index("  lose=c1")] if "missing:" in line]
    full = [*nodes("a=1 b=1"), node("c1", "c", pods="0"), *stateful(replicas=2, on=["a1", "b1"])]
    assert [
        line for line in lines(full, "scale=6") if "each is created only after the Pods before it are ready" in line
    ]
    assert not [line for line in lines(EVEN, "lose=a1") if "missing:" in line]
    found = json.loads(as_json(shown(objects, "lose=c1")))
    assert {"least": 1, "mostLikely": 1, "most": 1} == found["steps"][0]["missing"]


@pytest.mark.parametrize(
    ("uncounted", "said"),
    [
        (
            UncountedPods(Range(6, 6, 6), Range(6, 6, 6), Range(0, 0, 0)),
            "6 Pods run, none is counted: the selector matches none",
        ),
        (
            UncountedPods(Range(1, 1, 1), Range(1, 1, 1), Range(0, 0, 0)),
            "1 Pod runs, none is counted: the selector matches none",
        ),
        (
            UncountedPods(Range(6, 6, 6), Range(1, 2, 2), Range(0, 0, 0)),
            "2 (1 to 2) of 6 running Pods are not counted: the selector does not match",
        ),
        (
            UncountedPods(Range(6, 6, 6), Range(0, 0, 0), Range(1, 1, 1)),
            "1 of 6 running Pods is not counted: on nodes that lack a topologyKey, or that nodeAffinityPolicy or"
            " nodeTaintsPolicy excludes",
        ),
        (
            UncountedPods(Range(6, 6, 6), Range(0, 0, 0), Range(6, 6, 6)),
            "6 Pods run, none is counted: on nodes that lack a topologyKey, or",
        ),
    ],
)
def test_pods_that_no_domain_counts_are_told(uncounted, said):
    one = shown(EVEN, "scale=4", 1)
    of = one.results[-1].constraints[0]._replace(uncounted=uncounted)
    made = one._replace(results=[one.results[0], one.results[-1]._replace(constraints=(of,))])

    assert [line for line in text(made).splitlines() if line.startswith(f"      {said}")]
    found = json.loads(as_json(made))["steps"][0]["constraints"][0]
    assert uncounted.unselected.most == found["uncounted"]["unselected"]["most"]
    assert "not counted" not in text(one)


def test_an_empty_selector_counts_none():
    found = lines([*nodes("a=1"), *deployment(constraint(labelSelector={}), replicas=2, on=["a1", "a1"])], "scale=3")

    assert "      2 Pods run, none is counted: an empty selector counts no Pod" in found


def test_too_few_domains_for_min_domains_are_told_as_explain_does():
    found = lines([*nodes("a=1 b=1"), *deployment(constraint(minDomains=3), replicas=2, on=["a1", "b1"])], "scale=4")

    assert 2 == found.count("      2 eligible domains, fewer than minDomains 3: the minimum is 0")


def test_pods_of_other_workloads_that_wait_are_counted():
    (result,) = shown(EVEN, "scale=4", 1).results[1:]
    said = [
        line
        for others in ((1, 1, 1), (1, 1, 2), (0, 0, 0))
        for line in text(
            shown(EVEN, "scale=4", 1)._replace(
                results=[result, result._replace(others=Range(*others), waiting_others={"Job a/b": Range(*others)})]
            )
        ).splitlines()
        if "other workloads" in line
    ]

    assert [
        "    1 more Pod of other workloads waits than before: 1 of Job a/b.",
        "    1 to 2 more Pods of other workloads wait than before: 1 to 2 of Job a/b.",
    ] == said


def test_workloads_whose_pods_wait_or_are_preempted_are_named():
    one = shown(EVEN, "scale=4", 1)
    of = {f"Deployment pay/a{i}": Range(0, 3 - i // 2, 3) for i in range(5)}
    result = one.results[-1]._replace(others=Range(7, 9, 9), waiting_others=of, preempted={"Pod pay/x": Range(1, 1, 1)})
    made = one._replace(results=[one.results[0], result])
    several = "0 to 3 of Deployment pay/a0, 0 to 3 of Deployment pay/a1, 0 to 3 of Deployment pay/a2"

    assert [
        f"    7 to 9 more Pods of other workloads wait than before: {several} and 2 more.",
        "    kube-scheduler preempts Pod pay/x.",
    ] == text(made).splitlines()[-2:]
    step = json.loads(as_json(made))["steps"][0]
    assert [{"workload": "Pod pay/x", "least": 1, "mostLikely": 1, "most": 1}] == step["preempted"]
    assert ([*of], 9) == ([other["workload"] for other in step["others"]["workloads"]], step["others"]["most"])


def test_the_way_of_breaking_ties_what_is_not_simulated_and_notes_are_said():
    found = lines(EVEN, "scale=4", minor=37, not_judged=["volumes"], notes=["A note."])

    assert "  Among equally good nodes, kube-scheduler mostly takes the first that it looks at." in found[1]
    assert ["  A note.", "  Not simulated: volumes. They may refuse more nodes, or prefer other nodes."] == found[2:4]


def test_budgets_that_are_not_known_refuse_evictions_and_no_nodes():
    about_budgets = (
        "  Not simulated: PodDisruptionBudgets. They may block a drain, or change which Pods preemption evicts."
    )

    assert about_budgets == lines(EVEN, "scale=4", not_judged=["PodDisruptionBudgets"])[2]
    both = lines(EVEN, "scale=4", not_judged=["volumes", "PodDisruptionBudgets"])[2:4]
    assert ["  Not simulated: volumes. They may refuse more nodes, or prefer other nodes.", about_budgets] == both


def test_a_budget_that_preemption_violates_is_named():
    result = shown(EVEN, "scale=4", 1).results[1]._replace(violated={"shop/low": 0.5})
    made = shown(EVEN, "scale=4", 1)._replace(results=[result, result])
    said = (
        "    Preemption violates PodDisruptionBudget shop/low in 50 % of the runs: more Pods are evicted than "
        "it allows."
    )

    assert said == text(made).splitlines()[-1]
    assert {"shop/low": 0.5} == json.loads(as_json(made))["steps"][0]["violated"]


def test_what_waits_and_why_and_the_constraint_that_holds_it():
    found = lines([*nodes("a=1 b=1"), node("c1", "c", pods="1"), *deployment(replicas=3)], "scale=9")

    assert [
        "    4 Pods wait:",
        "      in every run: 0/3 nodes are available: 1 Too many pods, 2 node(s) didn't match pod topology spread"
        " constraints.",
        "    If only constraint 0 were removed, a waiting Pod would find a node.",
    ] == found[-3:]


def test_a_rollout_that_never_finishes():
    tainted = [node("c1", "c", taints=[{"key": "x", "value": "", "effect": "NoSchedule"}])]
    found = lines([*nodes("a=1 b=1"), *tainted, *deployment(replicas=2, on=["a1", "b1"])], "rollout")

    assert "    The rollout never finishes: 1 of 3 Pods are updated; see above why Pods wait." in found


@pytest.mark.parametrize(
    ("stuck", "said"),
    [
        (StuckRollout(0.15, Range(1, 1, 1), Range(4, 4, 4)), "in 15 % of the runs: 1 of 4 Pods are updated; see above"),
        (
            StuckRollout(0.15, Range(3, 3, 3), Range(3, 3, 3)),
            "in 15 % of the runs: not all updated Pods are available; see above",
        ),
    ],
)
def test_what_never_finishes_is_told_of_those_runs(stuck, said):
    one = shown(EVEN, "rollout", 1)
    result = one.results[-1]._replace(stuck=stuck, pending=Range(0, 0, 1), waiting=WaitingPods(0.15, Range(1, 1, 1)))
    made = one._replace(results=[one.results[0], result])

    assert f"    The rollout never finishes {said}" in text(made)
    assert "    1 Pod waits in 15 % of the runs:" in text(made)
    found = json.loads(as_json(made))["steps"][0]
    assert {"share": 0.15, "updated": stuck.updated.most, "pods": stuck.pods.most} == {
        name: value if name == "share" else value["most"] for name, value in found["stuckRollout"].items()
    }
    assert 0.15 == found["pending"]["share"]
    assert "stuckRollout" not in json.loads(as_json(one))["steps"][0]
    assert 0 == json.loads(as_json(one))["steps"][0]["pending"]["share"]


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ({"Pod shop/x": 1.0}, "1 Pod is deleted, and no controller replaces it: shop/x."),
        (
            {f"Pod shop/x{i}": 1.0 if i else 0.5 for i in range(6)},
            "6 Pods are deleted, and no controller replaces them: shop/x0 in 50 % of the runs, shop/x1, shop/x2 "
            "and 3 more.",
        ),
    ],
)
def test_pods_that_are_lost_are_named(lost, said):
    one = shown(EVEN, "drain=a1", 1)
    made = one._replace(results=[one.results[0], one.results[-1]._replace(lost=lost)])

    assert f"    {said}" in text(made).splitlines()
    assert lost == json.loads(as_json(made))["steps"][0]["lost"]


def test_a_skew_that_is_larger_than_allowed():
    assert "      skew larger than maxSkew 1 in every run" == lines(EVEN, f"scale=6 add=1,{ZONE}=d")[-1]


def test_many_domains_are_summed_up():
    found = lines([*nodes("a=40"), *deployment(constraint(topologyKey=HOSTNAME), replicas=0)], "scale=45")

    assert [
        "      a1, a10 and 35 more   1 to 2   #.",
        "      a15, a17 and 1 more        1   #",
        "      total 45: 5 domains with 2 and 35 with 1 in every run",
    ] == found[-3:]


def test_long_bars_are_cut():
    found = lines([*nodes("a=1", pods="500"), *deployment(replicas=1, on=["a1"])], "scale=80")

    assert f"      a   80   {'#' * 40}" == found[-2]


FOR_EVER = [{"key": "node.kubernetes.io/unreachable", "operator": "Exists"}]
LOST = [*nodes("a=2 b=1 c=1"), *deployment(replicas=4, on=["a1", "a2", "b1", "c1"])]
for staying in LOST[-4:]:
    staying["spec"]["tolerations"] = FOR_EVER


def test_pods_on_nodes_that_nobody_reaches_are_drawn_apart():
    """A constraint counts them as it does others."""
    made = shown(LOST, "lose=a1")
    *_, a, b, c, total = [line for line in text(made).splitlines() if line]
    lost = json.loads(as_json(made))["steps"][0]["constraints"][0]["domains"]

    assert ("      a   2   x#   1 on unreachable nodes", "      b   1   #", "      c   1   #") == (a, b, c)
    assert "      total 4" == total
    once = {"least": 1, "mostLikely": 1, "most": 1}
    assert [once, None, None] == [domain.get("unreachable") for domain in lost]
    assert "nobody reaches" not in text(shown(LOST, "scale=5"))


def test_of_many_domains_only_those_alike_in_what_is_unreachable_are_summed_up():
    pods = deployment(constraint(topologyKey=HOSTNAME), replicas=14, on=[f"a{i}" for i in range(1, 15)])
    for one in pods[2:]:
        one["spec"]["tolerations"] = FOR_EVER
    found = lines([*nodes("a=15"), *pods], f"cordon=a15 lose={HOSTNAME}=a3")

    assert "      a1, a10 and 11 more   1   #" in found
    assert "      a3                    1   x   1 on unreachable nodes" in found


def test_what_lets_a_rollout_finish_stands_at_the_end():
    restart = ClusterEdit(("rollout", "undo", "deployment.apps/web"), ("web",))
    one = shown(EVEN, "scale=4", 1)._replace(cures=[Cure("roll back", (restart,)), Cure("wait", ())])
    one = one._replace(explain="evenkeel explain pod/web-2")

    assert [
        "  Changes with which the rollout finishes (each was simulated):",
        "    roll back",
        "      kubectl rollout undo deployment.apps/web",
        "    wait",
        "",
        "  For changes with which the first waiting Pod gets a node: evenkeel explain pod/web-2",
    ] == text(one).splitlines()[-6:]
    assert [
        "  Changes with which the rollouts finish (each was simulated for all of them together):",
        "    roll back: Deployment shop/web, Deployment shop/web",
        "    wait: Deployment shop/web, Deployment shop/web",
    ] == text(one, one).splitlines()[-5:-2]
    printed = json.loads(as_json(one))
    assert ("evenkeel explain pod/web-2", "roll back") == (printed["explain"], printed["remedies"][0]["change"])
    assert ["kubectl rollout undo deployment.apps/web"] == [of["shell"] for of in printed["remedies"][0]["commands"]]


def test_the_json_is_the_form_of_a_simulation():
    found = json.loads(as_json(shown(EVEN, "scale=4", notes=["A note."])))

    assert {
        "apiVersion": "evenkeel.dev/v1alpha1",
        "kind": "Simulation",
        "namespace": "shop",
        "apiGroup": "apps",
        "workload": "Deployment/web",
        "kubernetesVersion": "1.33",
        "seed": 1,
        "runs": 20,
        "early": False,
        "remedies": [],
        "explain": "",
        "notJudged": [],
        "notes": ["A note."],
    } == {name: value for name, value in found.items() if name not in ("now", "steps")}
    (step,) = found["steps"]
    assert {
        "index": 0,
        "topologyKey": ZONE,
        "maxSkew": 1,
        "hard": True,
        "selector": "app=web",
        "source": "pod",
        "domains": [{"value": zone, "least": 1, "mostLikely": 1, "most": 2} for zone in "abc"],
        "total": {"least": 4, "mostLikely": 4, "most": 4},
        "outcomes": [{"domains": [{"pods": 2, "number": 1}, {"pods": 1, "number": 2}], "share": 1.0}],
        "exceedsMaxSkew": 0.0,
        "minDomains": 1,
        "eligibleDomains": 3,
        "uncounted": {
            "running": {"least": 4, "mostLikely": 4, "most": 4},
            "unselected": {"least": 0, "mostLikely": 0, "most": 0},
            "outside": {"least": 0, "mostLikely": 0, "most": 0},
        },
    } == step["constraints"][0]
    assert {"least": 0, "mostLikely": 0, "most": 0, "share": 0.0, "reasons": {}} == step["pending"]
    assert (0.0, [], {}) == (step["unfinished"], step["holding"], step["held"])
    assert {"constraints", "pending", "others", "updated", "pods"} <= found["now"].keys()


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (1.0, "in every run"),
        (0.5, "in 50 % of the runs"),
        (0.004, "in 0.4 %"),
        (0.0001, "0.1 %"),
        (0.9999, "in 99.9 %"),
    ],
)
def test_a_share_is_never_told_as_0_nor_as_all(share, said):
    assert said in said_share(share)
