"""The nodes for one class of Pods; tests/properties/test_simulation.py holds them against the whole arithmetic."""

from __future__ import annotations

from tests.support.build import HOSTNAME, constraint
from tests.support.placing import INFRA, node, running
from tests.support.simulated import SOFT, maker, nodes, pod_class, state
from webhook.simulation.view import logarithm


def names(run, chosen):
    return sorted(run.ground.nodes.names(chosen))


def test_hard_constraints_taints_and_room_decide_which_nodes_are_feasible():
    run = state(*nodes("a=1 b=1"), node("c1", "c", taints=[INFRA]), node("d1", "d", pods="0"), running("a1"))
    view = run.view(pod_class(constraint(maxSkew=2)))

    assert ["a1", "b1"] == names(run, view.feasible())
    assert ["b1"] == names(run, run.view(pod_class(constraint())).feasible())


def test_one_candidate_is_not_scored():
    run = state(*nodes("a=1"))

    assert 1 == run.view(pod_class()).best(1)


def test_a_soft_constraint_prefers_the_emptier_domain():
    run = state(*nodes("a=1 b=1"), running("a1"))
    view = run.view(pod_class(constraint(**SOFT)))

    assert ["b1"] == names(run, view.best(view.feasible()))


def test_a_placement_changes_the_score_of_its_node_alone():
    run = state(*nodes("a=3"))
    view = run.view(pod_class())
    before = view.by_node(0b111)
    run.make(maker())
    run.schedule_next()
    after = run.view(pod_class())
    changed = {name for name, score in after.by_node(0b111).items() if score != before[name]}

    assert len(changed) <= 1


def test_a_taint_that_is_not_wanted_counts_by_its_weight():
    unwanted = {"key": "old", "value": "", "effect": "PreferNoSchedule"}
    run = state(node("a1", "a", taints=[unwanted]), node("b1", "b"))

    assert {0b01: 0, 0b10: 300} == dict(run.view(pod_class()).scored(0b11))


def test_a_hostname_counts_each_node_by_itself():
    run = state(*nodes("a=2"), running("a1"))
    view = run.view(pod_class(constraint(topologyKey=HOSTNAME, **SOFT)))

    assert ["a2"] == names(run, view.best(0b11))


def test_a_copy_changes_by_itself():
    run = state(*nodes("a=1 b=1"))
    view = run.view(pod_class(constraint()))
    copied = view.copy()
    copied.count((("app", "web"),), "a1", 1)

    assert (0b11, 0b10) == (view.feasible(), copied.feasible())


def test_the_weight_of_a_count_grows_with_the_number_of_domains():
    assert 1.0986 < logarithm(1) < 1.0987
