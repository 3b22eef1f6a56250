"""A simulation as text and JSON."""

from __future__ import annotations

import json

import pytest

from tests.support.build import HOSTNAME, ZONE, constraint
from tests.support.placing import node
from tests.support.simulated import budget, deployment, nodes, plan, pod, stateful
from webhook.objects.references import ObjectRef
from webhook.render.simulation import Simulated, as_json, said_share, text
from webhook.simulation.disruption import MORE_THAN_ONE
from webhook.simulation.remedies import helping
from webhook.simulation.results import Range, results
from webhook.simulation.run import run

REF = ObjectRef("apps/v1", "Deployment", "shop", "web")
EVEN = [*nodes("a=1 b=1 c=1"), *deployment(replicas=3, on=["a1", "b1", "c1"])]


def shown(objects, steps, runs=20, not_judged=(), notes=(), **fields):
    made = plan(objects, steps, **fields)
    found = results(made, [run(made, 1, i) for i in range(runs)])
    return Simulated(REF, made, 1, runs, found, not_judged, notes)


def lines(*args, **fields):
    return [line for line in text(shown(*args, **fields)).splitlines() if line]


def test_a_bar_for_each_domain_before_and_after():
    assert [
        "Deployment shop/web, 20 runs with seed 1, Kubernetes 1.33.",
        "  Of several best nodes any is taken, each as likely. A Pod that is bound is ready at once.",
        "  Pods of a domain: # in every run, + most likely, . at most.",
        "  now",
        "    constraint 0   topology.kubernetes.io/zone   maxSkew 1   DoNotSchedule   app=web",
        "      a   1   #",
        "      b   1   #",
        "      c   1   #",
        "  scale=4",
        "    constraint 0   topology.kubernetes.io/zone   maxSkew 1   DoNotSchedule   app=web",
        "      a   1 (1 to 2)   #.",
        "      b   1 (1 to 2)   #.",
        "      c   1 (1 to 2)   #.",
    ] == lines(EVEN, "scale=4")


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ("drain=b1 drain=b1", "The drain does nothing: b1 is cordoned already, and has no Pod that it evicts."),
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
    assert "The drain" not in text(made)


def test_a_drain_that_a_budget_holds_says_that_alone():
    found = lines([*EVEN, budget(minAvailable=3)], "drain=a1")

    assert ["The drain never finishes in every run: PodDisruptionBudget shop/web, which keeps a Pod on a1."] == [
        line.strip() for line in found if "The drain" in line
    ]


def named_budget(name, app="web", **spec):
    made = budget(**{"minAvailable": 1, "selector": {"matchLabels": {"app": app}}, **spec})
    return {**made, "metadata": {**made["metadata"], "name": name}}


def test_two_budgets_that_hold_a_drain_are_both_named_in_every_run():
    api = pod("ReplicaSet/api-1", 0, "a1", labels={"app": "api"})
    found = lines([*EVEN, api, budget(minAvailable=3), named_budget("api", "api")], "drain=a1")

    assert [
        "The drain never finishes in every run: PodDisruptionBudget shop/api, which keeps a Pod on a1.",
        "The drain never finishes in every run: PodDisruptionBudget shop/web, which keeps a Pod on a1.",
    ] == [line.strip() for line in found if "The drain" in line]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("more",), "shop/more and shop/web both select a Pod on a1: {}; narrow or delete one of them."),
        (("more", "new"), "shop/more, shop/new and shop/web all select a Pod on a1: {}; narrow or delete all but one"),
    ],
)
def test_several_budgets_over_one_pod_are_told_from_one_that_allows_nothing(names, said):
    """The API server answers with 500, whatever they allow, and kubectl drain ends with that."""
    over = [budget(minAvailable=0), *map(named_budget, names)]
    (held,) = [line.strip() for line in lines([*EVEN, *over], "drain=a1") if "The drain" in line]
    rule = f'kube-apiserver says "{MORE_THAN_ONE}"'

    assert held.startswith(f"The drain fails in every run: PodDisruptionBudgets {said.format(rule)}")


def test_of_many_nodes_that_a_drain_fails_on_the_first_are_named():
    """It goes on with the next node."""
    objects = [*nodes("a=5"), *deployment(constraint(topologyKey=HOSTNAME), on=[f"a{i}" for i in range(1, 6)])]
    over = [budget(minAvailable=0), named_budget("more")]
    found = [line.strip() for line in lines([*objects, *over], f"drain={ZONE}=a")]

    assert 3 == sum("The drain fails" in line for line in found)
    assert "and likewise on 2 more nodes" in found


def test_min_ready_seconds_are_named():
    said = lines([*nodes("a=1"), *deployment(replicas=1, on=["a1"], min_ready=30)], "rollout")[1]

    assert said.endswith("A Pod that is bound is ready at once, and available after minReadySeconds: 30.")


def test_pods_that_a_stateful_set_does_not_make_are_missed():
    """One is being deleted with its zone for ever; one that waits keeps the two after it from being made."""
    objects = [*nodes("a=1 b=1 c=1"), *stateful(replicas=3, on=["a1", "b1", "c1"])]
    why = "what they are to replace is being deleted on nodes that nobody reaches, and is never gone"
    lost = lines(objects, "lose=c1")

    assert f"    1 Pod is not there: {why}." in lost
    assert not [line for line in lost[: lost.index("  lose=c1")] if "not there" in line]
    full = [*nodes("a=1 b=1"), node("c1", "c", pods="0"), *stateful(replicas=2, on=["a1", "b1"])]
    assert [line for line in lines(full, "scale=6") if "each is made only once those before it are ready" in line]
    assert not [line for line in lines(EVEN, "lose=a1") if "not there" in line]
    found = json.loads(as_json(shown(objects, "lose=c1")))
    assert {"least": 1, "mostLikely": 1, "most": 1} == found["steps"][0]["missing"]


def test_pods_of_other_workloads_that_wait_are_counted():
    (result,) = shown(EVEN, "scale=4", 1).results[1:]
    said = [
        line
        for others in ((1, 1, 1), (1, 1, 2), (0, 0, 0))
        for line in text(
            shown(EVEN, "scale=4", 1)._replace(results=[result, result._replace(others=Range(*others))])
        ).splitlines()
        if "other workloads" in line
    ]

    assert [
        "    1 more Pod of other workloads waits than before.",
        "    1 (1 to 2) more Pods of other workloads wait than before.",
    ] == said


def test_the_way_of_breaking_ties_what_is_not_simulated_and_notes_are_said():
    found = lines(EVEN, "scale=4", minor=37, not_judged=["volumes"], notes=["A note."])

    assert "  Of several best nodes the first in kube-scheduler's heap is taken, but for a race." in found[1]
    assert ["  A note.", "  Not simulated: volumes. They may refuse further nodes, or prefer others."] == found[2:4]


def test_budgets_that_are_not_known_refuse_evictions_and_no_nodes():
    about_budgets = (
        "  Not simulated: PodDisruptionBudgets. They may hold a drain, and have preemption choose other Pods."
    )

    assert about_budgets == lines(EVEN, "scale=4", not_judged=["PodDisruptionBudgets"])[2]
    both = lines(EVEN, "scale=4", not_judged=["volumes", "PodDisruptionBudgets"])[2:4]
    assert ["  Not simulated: volumes. They may refuse further nodes, or prefer others.", about_budgets] == both


def test_a_budget_that_preemption_violates_is_named():
    result = shown(EVEN, "scale=4", 1).results[1]._replace(violated={"shop/low": 0.5})
    made = shown(EVEN, "scale=4", 1)._replace(results=[result, result])
    said = "    Preemption violates PodDisruptionBudget shop/low in 50 % of the runs: more Pods go than it allows."

    assert said == text(made).splitlines()[-1]
    assert {"shop/low": 0.5} == json.loads(as_json(made))["steps"][0]["violated"]


def test_what_waits_and_why_and_the_constraint_that_holds_it():
    found = lines([*nodes("a=1 b=1"), node("c1", "c", pods="1"), *deployment(replicas=3)], "scale=9")

    assert [
        "    4 Pods wait:",
        "      in every run: 0/3 nodes are available: 1 Too many pods, 2 node(s) didn't match pod topology spread"
        " constraints.",
        "    Without constraint 0 a Pod that waits would find a node.",
    ] == found[-3:]


def test_a_rollout_that_never_finishes():
    tainted = [node("c1", "c", taints=[{"key": "x", "value": "", "effect": "NoSchedule"}])]
    found = lines([*nodes("a=1 b=1"), *tainted, *deployment(replicas=2, on=["a1", "b1"])], "rollout")

    assert "    The rollout never finishes in every run: 1 of 3 Pods are new." in found


def test_a_drain_that_never_finishes():
    found = lines([*EVEN, budget(minAvailable=3)], "drain=a1")

    assert (
        "    The drain never finishes in every run: PodDisruptionBudget shop/web, which keeps a Pod on a1." == found[-1]
    )


def test_a_skew_that_is_larger_than_allowed():
    assert "      skew larger than 1: in every run" == lines(EVEN, f"scale=6 add=1,{ZONE}=d")[-1]


def test_many_domains_are_summed_up():
    found = lines([*nodes("a=40"), *deployment(constraint(topologyKey=HOSTNAME), replicas=0)], "scale=45")

    assert ["      a1, a10 and 35 more   1 (1 to 2)   #.", "      a15, a17 and 1 more            1   #"] == found[-2:]


def test_long_bars_are_cut():
    found = lines([*nodes("a=1", pods="500"), *deployment(replicas=1, on=["a1"])], "scale=80")

    assert f"      a   80   {'#' * 40}" == found[-1]


FOR_EVER = [{"key": "node.kubernetes.io/unreachable", "operator": "Exists"}]
LOST = [*nodes("a=2 b=1 c=1"), *deployment(replicas=4, on=["a1", "a2", "b1", "c1"])]


def test_pods_on_nodes_that_nobody_reaches_are_drawn_apart():
    """A constraint counts them as it does others."""
    for one in LOST[-4:]:
        one["spec"]["tolerations"] = FOR_EVER
    made = shown(LOST, "lose=a1")
    *_, a, b, c = [line for line in text(made).splitlines() if line]
    lost = json.loads(as_json(made))["steps"][0]["constraints"][0]["domains"]

    assert ("      a   2   x#   1 on nodes that nobody reaches", "      b   1   #", "      c   1   #") == (a, b, c)
    once = {"least": 1, "mostLikely": 1, "most": 1}
    assert [once, None, None] == [domain.get("unreachable") for domain in lost]
    assert "nobody reaches" not in text(shown(LOST, "scale=5"))


def test_of_many_domains_only_those_alike_in_what_is_unreachable_are_summed_up():
    pods = deployment(constraint(topologyKey=HOSTNAME), replicas=14, on=[f"a{i}" for i in range(1, 15)])
    for one in pods[2:]:
        one["spec"]["tolerations"] = FOR_EVER
    found = lines([*nodes("a=15"), *pods], f"cordon=a15 lose={HOSTNAME}=a3")

    assert "      a1, a10 and 11 more   1   #" in found
    assert "      a3                    1   x   1 on nodes that nobody reaches" in found


def test_what_would_help_stands_at_the_end():
    objects = [*nodes("a=1 b=1"), node("c1", "c", pods="1"), *deployment(replicas=3)]
    one = shown(objects, "scale=9")
    helps = helping(one.plan, 1, [run(one.plan, 1, 0)])
    found = text(one._replace(remedies=helps)).splitlines()

    assert "  What would let one of those in that wait in the end (each was tried, on one run):" in found
    assert "    now: add a node (such as c1) to zone c" in found
    assert "    in the template: maxSkew: 2 on constraint 0" in found
    changed = json.loads(as_json(one._replace(remedies=helps)))["remedies"]
    assert {"change": "add a node (such as c1) to zone c", "where": "now"} in changed


def test_the_json_is_the_form_of_a_simulation():
    found = json.loads(as_json(shown(EVEN, "scale=4", notes=["A note."])))

    assert {
        "apiVersion": "evenkeel.dev/v1alpha1",
        "kind": "Simulation",
        "namespace": "shop",
        "apiGroup": "apps",
        "workload": "Deployment/web",
        "kubernetesVersion": "1.33",
        "ties": "uniform",
        "seed": 1,
        "runs": 20,
        "remedies": [],
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
        "domains": [{"value": zone, "least": 1, "mostLikely": 1, "most": 2} for zone in "abc"],
        "exceedsMaxSkew": 0.0,
    } == step["constraints"][0]
    assert {"least": 0, "mostLikely": 0, "most": 0, "reasons": {}} == step["pending"]
    assert (0.0, [], {}) == (step["unfinished"], step["holding"], step["held"])
    assert {"constraints", "pending", "others", "updated", "pods"} <= found["now"].keys()


@pytest.mark.parametrize(("share", "said"), [(1.0, "in every run"), (0.5, "in 50 % of the runs"), (0.004, "in 0.4 %")])
def test_a_share_is_never_told_as_0(share, said):
    assert said in said_share(share)
