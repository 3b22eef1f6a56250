"""Steps for each domain in turn, and what they come to together."""

from __future__ import annotations

import pytest

from tests.support.build import HOSTNAME, ZONE
from tests.support.simulated import application, cluster, cluster_plan, nodes
from webhook.scheduler.fit import Lack
from webhook.simulation.cluster_run import ClusterOutcome, WorkloadOutcome
from webhook.simulation.each_domain import domain_result, steps_of_each, worst_first
from webhook.simulation.step import StepError, parse_step

ZONES = nodes("a=1 b=2")
OBJECTS = [*ZONES, *application("api", ["a1", "a1", "b1", "b2"]), *application("db", ["a1"])]
API, DB = "Deployment shop/api", "Deployment shop/db"


def in_turn(*texts, objects=ZONES):
    steps = steps_of_each([parse_step(text) for text in texts], cluster(*objects).snapshot.nodes)
    return {domain: [step.text for step in taken] for domain, taken in steps.items()}


def result(*runs, keep="50%", shown=(API, DB), domain="a"):
    """What the runs of two steps come to; each is what they do to workloads."""
    plan = cluster_plan(OBJECTS, f"lose={ZONE}=a delete={ZONE}=a").plan
    outcomes = [[ClusterOutcome(workloads, None, ()) for workloads in of_run] for of_run in runs]
    return domain_result(domain, plan, outcomes, shown, keep)


def test_steps_are_taken_for_each_domain():
    assert {
        "a": [f"lose={ZONE}=a", "cordon=b2", f"delete={ZONE}=a"],
        "b": [f"lose={ZONE}=b", "cordon=b2", f"delete={ZONE}=b"],
    } == in_turn(f"lose={ZONE}=*", "cordon=b2", f"delete={ZONE}=*")
    taint = in_turn(f"taint={ZONE}=*,old=yes:NoExecute")
    assert [[f"taint={ZONE}=a,old=yes:NoExecute"], [f"taint={ZONE}=b,old=yes:NoExecute"]] == list(taint.values())


def test_steps_that_are_of_no_domain_in_turn_are_taken_as_they_are():
    assert {"": [f"lose={ZONE}=a"]} == in_turn(f"lose={ZONE}=a")


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([f"lose={ZONE}=*", f"delete={HOSTNAME}=*"], "wanted one key; give the other a value"),
        (["lose=pool=*"], f"no node has the label pool; the labels are {HOSTNAME}, {ZONE}"),
    ],
)
def test_what_cannot_be_taken_in_turn(texts, said):
    with pytest.raises(StepError, match=said):
        in_turn(*texts)


def test_numbers_are_of_all_steps_and_of_the_end():
    """Two are lost in the first step, and one in the second; one of two that wait finds room."""
    lost = {API: WorkloadOutcome(4, 2, 2, waiting=2), DB: WorkloadOutcome(1, 1, 1, at_once=True)}
    deleted = {API: WorkloadOutcome(2, 2, 1, waiting=1, missing=1)}
    of = result((lost, deleted))

    assert ((4, 4, 4), (1, 1, 1), (1, 1, 1)) == (of.lost, of.more, of.missing)
    assert (2, 2, 2) == of.out  # The API loses two, and none comes back.
    assert (0, 4, 4) == result((lost, deleted), ({}, {}), (lost, deleted)).lost


def test_what_a_workload_keeps_is_what_no_step_moves_at_the_worst_time():
    """Of four one is kept after the first step, three after the second."""
    of = result(({API: WorkloadOutcome(4, 4, 3)}, {API: WorkloadOutcome(4, 4, 1)}), ({}, {}))
    assert [(API, 4, (1, 1, 4))] == list(of.not_kept)

    assert () == result(({API: WorkloadOutcome(4, 4, 2)}, {}), keep="50%").not_kept
    assert [API] == [of.workload for of in result(({API: WorkloadOutcome(4, 4, 2)}, {}), keep="51%").not_kept]
    assert [API] == [of.workload for of in result(({API: WorkloadOutcome(4, 4, 2)}, {}), keep=3).not_kept]
    assert () == result(({API: WorkloadOutcome(4, 4, 2)}, {}), keep=3, shown=[DB]).not_kept


def test_a_workload_that_loses_nothing_keeps_what_it_has():
    assert () == result(({API: WorkloadOutcome(4, 2, waiting=1)}, {}), keep=9).not_kept


def test_workloads_of_which_the_smallest_share_is_kept_come_first():
    of = result(({API: WorkloadOutcome(4, 4, 3), DB: WorkloadOutcome(1, 1, 1)}, {}))

    assert [(DB, (0, 0, 0)), (API, (1, 1, 1))] == [(loss.workload, loss.kept) for loss in of.not_kept]


def test_what_is_lacking_is_the_most_of_any_run():
    def waiting(**room):
        return {API: WorkloadOutcome(4, 2, 2, waiting=2, room=room)}

    of = result(({}, waiting(pods=2, cpu=500)), ({}, waiting(pods=1, cpu=700, memory=64, gpu=1)))

    assert Lack(2, 700, 64, 0, (("gpu", 1),)) == of.room


def test_the_domain_after_which_the_most_wait_comes_first():
    waits, out = {API: WorkloadOutcome(4, 2, 2, waiting=2)}, {DB: WorkloadOutcome(1, 1, 1, at_once=True)}
    each = [result(({}, end), domain=domain) for domain, end in (("c", {}), ("b", {}), ("a", out), ("d", waits))]

    assert ["d", "a", "b", "c"] == [of.domain for of in worst_first(each)]
