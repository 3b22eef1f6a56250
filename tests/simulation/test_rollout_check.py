"""Changes in a template, judged by the rollout that they start."""

from __future__ import annotations

import pytest

from tests.support.build import HOSTNAME, constraint
from tests.support.placing import INFRA, node
from tests.support.simulated import cluster, deployment, nodes, owned, pod, stateful, template, workload
from webhook.objects.fields import texts_at
from webhook.placement.remedies import remedies
from webhook.placement.subject import attempt, of_pod
from webhook.scheduler.framework import find_feasible
from webhook.simulation import rollout_check
from webhook.simulation.rollout_check import simulated_rollouts


def simulate(objects, waiting, raw=None):
    """What becomes of each change that would let a Pod in."""
    there = cluster(*objects, waiting)
    cycle = attempt(of_pod(waiting, there.others), there.snapshot, there.features).cycle
    found = remedies(cycle, find_feasible(cycle))
    rollouts = simulated_rollouts(found, cycle, raw if raw is not None else workload(objects), there)
    return {one.change: rollout for one, rollout in zip(found, rollouts.of_remedies, strict=True)}


def waiting(owner="ReplicaSet/web-1", **spec):
    spread = {"topologySpreadConstraints": [constraint()], **spec}
    return pod(owner, 9, "", spec=spread)


TAINTED = ("c1", "c")


def situation(make=deployment, **fields):
    """Seven Pods over two zones with five, and a third that is tainted."""
    on = ["a1", "b1", "a2", "b2", "a3"]
    return [*nodes("a=3 b=2"), node(*TAINTED, taints=[INFRA]), *make(replicas=7, on=on, **fields)]


def test_a_change_that_lets_a_pod_in_may_never_roll_out():
    found = simulate(situation(), waiting())

    honoured = found["nodeTaintsPolicy: Honor on constraint 0"]

    assert (1.0, 0) == (honoured.finishes, honoured.pending.most)
    stuck = found["maxSkew: 3 on constraint 0"]
    assert (0.0, 7, True) == (stuck.finishes, stuck.replicas, stuck.pending.least > 0)
    assert 1.0 == found["a toleration of dedicated=infra:NoSchedule"].finishes
    assert 1.0 == found["whenUnsatisfiable: ScheduleAnyway on constraint 0"].finishes


def test_what_is_done_in_the_cluster_rolls_nothing_out():
    found = simulate(situation(), waiting())

    assert found["take the taint dedicated=infra:NoSchedule off c1 (zone c)"] is None


def test_a_stateful_set_is_rolled_out_as_well():
    found = simulate(situation(stateful, podManagementPolicy="Parallel"), waiting("StatefulSet/web"))

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


def test_the_number_of_placements_is_bounded_and_what_is_left_out_is_counted(monkeypatch):
    """By the placements, not by time: two calls leave out the same."""
    there = cluster(*situation(), waiting())
    cycle = attempt(of_pod(waiting(), there.others), there.snapshot, there.features).cycle
    changes, raw = remedies(cycle, find_feasible(cycle)), workload(situation())
    whole = simulated_rollouts(changes, cycle, raw, there)
    monkeypatch.setattr(rollout_check, "MOST_PLACEMENTS", 7 * (20 + 5))
    bounded = simulated_rollouts(changes, cycle, raw, there)

    assert (0, 2 + bounded.left_out) == (whole.left_out, sum(one is not None for one in whole.of_remedies))
    assert [20, 5] == [rollout.runs for rollout in bounded.of_remedies if rollout is not None]
    assert bounded == simulated_rollouts(changes, cycle, raw, there)
