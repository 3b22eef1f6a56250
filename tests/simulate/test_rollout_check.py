"""Changes in a template, judged by the rollout that they start."""

from __future__ import annotations

import pytest

from evenkeel.placement.remedies import IN_TEMPLATE, remedies
from evenkeel.placement.subject import attempt, of_pod
from evenkeel.scheduler.framework import find_feasible
from evenkeel.simulate.rollout_check import LEAST_RUNS, simulated_rollouts
from tests.support.build import HOSTNAME, constraint
from tests.support.placing import INFRA, node
from tests.support.simulated import cluster, deployment, nodes, owned, pod, stateful, template, workload
from webhook.kubernetes.fields import texts_at


def simulate(objects, waiting, raw=None):
    """What becomes of each change that would let a Pod in."""
    there = cluster(*objects, waiting)
    cycle = attempt(of_pod(waiting, there.others), there.snapshot, there.features).cycle
    found = remedies(cycle, find_feasible(cycle))
    rollouts = simulated_rollouts(found, cycle, raw if raw is not None else workload(objects), there)
    return {one.change: rollout for one, rollout in zip(found, rollouts, strict=True)}


GIVEN = [  # To each Pod, by kube-apiserver.
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("not-ready", "unreachable")
]


def waiting(owner="ReplicaSet/web-1", **spec):
    spread = {"topologySpreadConstraints": [constraint()], "tolerations": GIVEN, **spec}
    return pod(owner, 9, "", spec=spread)


TAINTED = ("c1", "c")


def situation(make=deployment, **fields):
    """Seven Pods over two zones with five, and a third that is tainted."""
    on = ["a1", "b1", "a2", "b2", "a3"]
    return [*nodes("a=3 b=2"), node(*TAINTED, taints=[INFRA]), *make(replicas=7, on=on, **fields)]


def unordered():
    """The same of a StatefulSet, of whose rollouts counts do not tell the end."""
    return situation(stateful, podManagementPolicy="Parallel")


def test_a_change_that_lets_a_pod_in_may_never_roll_out():
    found = simulate(situation(), waiting())

    honoured = found["nodeTaintsPolicy: Honor on constraint 0"]

    assert (1.0, 0) == (honoured.finishes, honoured.pending.most)
    stuck = found["maxSkew: 3 on constraint 0"]
    assert (0.0, 7, True) == (stuck.finishes, stuck.replicas, stuck.pending.least > 0)
    assert ((0, True), (LEAST_RUNS, True)) == ((honoured.runs, honoured.known), (stuck.runs, stuck.known))
    assert 1.0 == found["add a toleration of dedicated=infra:NoSchedule"].finishes
    assert 1.0 == found["whenUnsatisfiable: ScheduleAnyway on constraint 0"].finishes


def test_what_is_done_in_the_cluster_rolls_nothing_out():
    found = simulate(situation(), waiting())

    assert found["remove the taint dedicated=infra:NoSchedule from c1 (zone c)"] is None


def test_an_ordered_stateful_set_rolls_out_once_the_pod_that_waits_is_deleted():
    """Its controller never replaces a Pod that waits."""
    objects = [*nodes("a=2 b=1"), node(*TAINTED, taints=[INFRA]), *stateful(replicas=3, on=["a1", "b1"])]
    asking = pod("StatefulSet/web", 2, "", spec={"topologySpreadConstraints": [constraint()]})

    found = simulate(objects, asking)["add a toleration of dedicated=infra:NoSchedule"]
    assert (0.0, 1.0, 1) == (found.finishes, found.replaced, found.pending.least)
    parallel = [*objects[:-3], *stateful(replicas=3, on=["a1", "b1"], podManagementPolicy="Parallel")]
    found = simulate(parallel, asking)["add a toleration of dedicated=infra:NoSchedule"]
    assert 1.0 == found.finishes


def test_a_stateful_set_is_rolled_out_as_well():
    found = simulate(unordered(), waiting("StatefulSet/web"))

    assert 1.0 == found["nodeTaintsPolicy: Honor on constraint 0"].finishes


@pytest.mark.parametrize(
    "make",
    [
        lambda: owned("CloneSet", "web", {"replicas": 3, "template": template(constraint())}),
        lambda: owned("ReplicaSet", "web", {"replicas": 3, "template": template(constraint())}),
        lambda: workload(stateful(updateStrategy={"type": "OnDelete"})),
    ],
)
def test_where_no_rollout_can_be_simulated_nothing_is_said(make):
    assert {None} == set(simulate(situation(), waiting(), make()).values())


def test_with_match_label_keys_the_new_pods_count_by_themselves():
    """What the Pod that waits counts is of its own revision, and not of the one that comes."""
    keys = {"matchLabelKeys": ["pod-template-hash"], "topologyKey": HOSTNAME}
    there = deployment(constraint(**keys), replicas=4, on=["a1", "a2"])
    objects = [*nodes("a=2"), node(*TAINTED, taints=[INFRA]), *there]
    raw = waiting(topologySpreadConstraints=[constraint(**keys)])
    found = simulate(objects, raw)

    assert texts_at(raw, "metadata.labels.app") == ["web"]
    assert found["nodeTaintsPolicy: Honor on constraint 0"].finishes == 1.0


@pytest.mark.slow
def test_the_attempts_to_place_a_pod_are_bounded_and_shared_equally():
    """By their number, not by time: two calls say the same."""
    objects, asking = unordered(), waiting("StatefulSet/web")
    there = cluster(*objects, asking)
    cycle = attempt(of_pod(asking, there.others), there.snapshot, there.features).cycle
    changes, raw = remedies(cycle, find_feasible(cycle)), workload(objects)

    def runs(most_placements):
        rollouts = simulated_rollouts(changes, cycle, raw, there, most_placements=most_placements)
        assert rollouts == simulated_rollouts(changes, cycle, raw, there, most_placements=most_placements)
        return [rollout.runs for rollout in rollouts if rollout is not None]

    starting = len(runs(40_000))
    assert [20] * starting == runs(40_000)
    assert [0] * starting == runs(2 * starting)  # Each run places more Pods than two.
    assert [6, 16, 6, 6, 6] == runs(50 * starting)  # A rollout that ends at once places fewer Pods.


def test_pods_of_others_that_wait_count_too():
    """Each Pod that waits is tried again after each Pod that is gone."""

    def runs(*others):
        objects, asking = unordered(), waiting("StatefulSet/web")
        there = cluster(*objects, asking, *others)
        cycle = attempt(of_pod(asking, there.others), there.snapshot, there.features).cycle
        changes = remedies(cycle, find_feasible(cycle))
        rollouts = simulated_rollouts(changes, cycle, workload(objects), there, most_placements=400)
        return {rollout.runs for rollout in rollouts if rollout is not None}

    others = [pod("", 100 + i, "", spec={"nodeSelector": {"no": f"where-{i}"}}) for i in range(30)]
    for other in others:
        del other["metadata"]["ownerReferences"]

    assert ({9, 20}, {0}) == (runs(), runs(*others))


def test_a_term_that_is_preferred_rolls_out_and_selects_by_the_new_revision():
    """One Pod a node by a required term with matchLabelKeys; the third has no node."""
    term = {
        "topologyKey": HOSTNAME,
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": ["pod-template-hash"],
    }
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    spread = constraint(whenUnsatisfiable="ScheduleAnyway")
    made = deployment(spread, replicas=3, on=["a1", "b1"], affinity=apart)
    stored = {**term, "labelSelector": {"matchLabels": {"app": "web", "pod-template-hash": "1"}}}
    wanting = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [stored]}}
    there = [{**one, "spec": {**one["spec"], "affinity": wanting}} for one in made if one["kind"] == "Pod"]
    objects = [*nodes("a=1 b=1"), *(one for one in made if one["kind"] != "Pod"), *there]
    found = simulate(objects, waiting(topologySpreadConstraints=[spread], affinity=wanting), workload(objects))

    assert 1.0 == found[f"make podAntiAffinity per {HOSTNAME} preferred, not required"].finishes


def test_a_change_of_which_half_is_made_in_the_cluster_starts_no_rollout_that_can_be_simulated():
    objects, asking = situation(), waiting()
    there = cluster(*objects, asking)
    cycle = attempt(of_pod(asking, there.others), there.snapshot, there.features).cycle
    one = next(one for one in remedies(cycle, find_feasible(cycle)) if one.where == IN_TEMPLATE)
    both = [one, one._replace(also_now=True)]

    assert [True, False] == [
        rollout is not None for rollout in simulated_rollouts(both, cycle, workload(objects), there)
    ]
