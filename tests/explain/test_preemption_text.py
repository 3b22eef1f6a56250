"""Preemption in words: on which node, whom, and what is not known of that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.explain.preemption_text import as_json, in_words, nomination
from evenkeel.placement.explanation import explain
from tests.support.build import pod
from tests.support.placing import attempted, node, running

EARLY = "2026-01-01T00:00:00Z"


def low(name, on, priority=-10, cpu="1", **metadata):
    raw = running(on, cpu=cpu, **metadata)
    status = {"phase": "Running", "startTime": EARLY}
    named = {**raw["metadata"], "name": name, "uid": name}
    return {**raw, "metadata": named, "spec": {**raw["spec"], "priority": priority}, "status": status}


def told(preemption, **options):
    return in_words(preemption, "shop", **options)


def explained(*objects, cpu="1", **spec):
    return explain(attempted(*objects, cpu=cpu, **spec))


FULL = node("n1", cpu="2")


@pytest.mark.parametrize(
    ("objects", "words"),
    [
        ([FULL, low("a", "n1", cpu="2")], "kube-scheduler will preempt a on n1"),
        ([FULL, low("a", "n1", -1), low("b", "n1")], "kube-scheduler will preempt b on n1"),
        ([FULL, low("a", "n1"), low("b", "n1")], "kube-scheduler will preempt b on n1"),
        (
            [FULL, low("a", "n1", cpu="2"), node("n2", cpu="1"), low("b", "n2", cpu="1")],
            "kube-scheduler will preempt Pods on one of n1 (a), n2 (b)",
        ),
        (
            [FULL, low("a", "n1", cpu="100m"), running("n1", cpu="1500m")],
            "preempting Pods of lower priority does not help",
        ),
        ([FULL, running("n1", cpu="2")], ""),
        ([node("n1")], ""),
    ],
)
def test_what_comes_of_it(objects, words):
    assert words == told(explained(*objects).preemption)


def test_several_victims_and_a_pod_that_is_not_there_yet():
    objects = [FULL, low("a", "n1", -1), low("b", "n1", -2)]

    assert "kube-scheduler would preempt a and b on n1" == told(explained(*objects, cpu="2").preemption, certain=False)
    each = explained(FULL, low("a", "n1", cpu="2"), node("n2", cpu="1"), low("b", "n2", cpu="1")).preemption
    assert "kube-scheduler will preempt Pods on each of n1 (a), n2 (b)" == told(each, each=True)


def test_a_victim_of_another_namespace_and_one_that_is_ending():
    objects = [low("a", "n1", namespace="op"), low("b", "n1", deletionTimestamp=EARLY)]

    assert "kube-scheduler will preempt b (ending already) and op/a on n1" == told(
        explained(FULL, *objects, cpu="2").preemption
    )


def test_no_node_is_named_where_that_depends_on_the_start_of_the_search():
    some = explained(FULL, low("a", "n1", cpu="2")).preemption._replace(nodes=())

    assert "kube-scheduler will preempt Pods on one of at least 1 nodes" == told(some)
    assert {"preemption": {"helps": True, "nodes": []}} == as_json(some)


def test_a_budget_that_is_violated_is_said():
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": 0},
    }

    violating = explained(FULL, low("a", "n1", cpu="2"), budget).preemption
    assert "kube-scheduler will preempt a on n1, in violation of a PodDisruptionBudget" == told(violating)
    assert told(violating._replace(budgets_unknown=True)).endswith("perhaps in violation of a PodDisruptionBudget")


def test_a_pod_that_preempts_none_is_not_told_that_it_does_not_help():
    assert "" == told(explained(FULL, low("a", "n1", cpu="2"), preemptionPolicy="Never").preemption)


def waiting(*objects, volumes=(), on="n1"):
    raw = pod(name="waits", spec={"volumes": list(volumes)})
    there = {**raw, "status": {"phase": "Pending", "nominatedNodeName": on}}
    cycle = attempted(FULL, *objects, there)
    return explain(replace(cycle, pod=replace(cycle.pod, name="waits", nominated_node=on)))


def test_what_is_known_of_a_nominated_node():
    ending = low("gone", "n1", cpu="2", deletionTimestamp=EARLY)
    preempted = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    ending["status"]["conditions"] = [preempted]
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}

    assert ["Node n1 is nominated for this Pod: kube-scheduler has preempted gone there."] == list(
        nomination(waiting(ending))
    )
    served = waiting(ending, running("n1")).preemption
    assert "kube-scheduler has preempted gone to make room, and waits until it ends" == told(served)
    assert ["shop/gone"] == as_json(served)["preemption"]["waitsFor"]
    assert ["Node n1 is nominated for this Pod: kube-scheduler tries this node first."] == list(nomination(waiting()))
    chosen = "may already have chosen the node, and may be binding the Pod's volumes"
    assert chosen in next(nomination(waiting(volumes=[claim])))
    assert [
        "Node gone is nominated for this Pod, but the cluster does not have it: kube-scheduler tries all others."
    ] == list(nomination(waiting(on="gone")))
    assert [] == list(nomination(explained(FULL)))


def test_json():
    made = as_json(explained(FULL, low("a", "n1"), low("b", "n1")).preemption)

    assert {
        "preemption": {"helps": True, "nodes": [{"node": "n1", "victims": ["shop/b"], "violations": 0}]},
    } == made
    assert {} == as_json(explained(node("n1")).preemption)
