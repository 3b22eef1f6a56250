"""Hard and soft constraints while Pods come and go."""

from __future__ import annotations

import pytest

from evenkeel.scheduler.framework import find_feasible
from evenkeel.scheduler.plugins.pod_topology_spread import PodTopologySpread
from evenkeel.scheduler.pod_counts import PodInfo
from tests.support.attempts import INFRA, UNTOLERATED, cycle, node, refusals
from tests.support.placement import HARD, SOFT, bound


def test_the_spread_is_asked_last_and_of_all_nodes():
    asked = cycle(node("n1"), node("n2", "b", taints=[INFRA]), bound("n1"), constraints=[HARD])
    found = find_feasible(asked)

    assert {"n1": ("PodTopologySpread", "node(s) didn't match pod topology spread constraints"), "n2": UNTOLERATED} == (
        refusals(asked)
    )
    assert ["n2"] == list(asked.snapshot.nodes.names(found.spread.passing))


WEB = (("app", "web"),)


def test_a_hard_constraint_refuses_the_fuller_domain_until_the_others_have_as_many():
    plugin = PodTopologySpread(cycle(node("n1"), node("n2", "b"), bound("n1"), constraints=[HARD]))
    assert 0b10 == plugin.passing(0b11)

    plugin.add_pods(PodInfo("shop", WEB), "n2", 1)
    assert 0b11 == plugin.passing(0b11)
    plugin.add_pods(PodInfo("elsewhere", WEB), "n2", 5)
    plugin.add_pods(PodInfo("shop", WEB, terminating=True), "n2", 5)
    assert 0b11 == plugin.passing(0b11)


def test_a_soft_constraint_prefers_the_emptier_domain():
    plugin = PodTopologySpread(cycle(node("n1"), node("n2", "b"), bound("n1"), constraints=[SOFT]))
    plugin.add_pods(PodInfo("shop", WEB), "n2", 2)

    assert {0b01: 100, 0b10: 33} == dict(plugin.scores(0b11))


@pytest.mark.parametrize(("minor", "scores"), [(26, [(0b1, 100)]), (37, None)])
def test_without_soft_constraints_the_score_is_that_of_its_version(minor, scores):
    assert scores == PodTopologySpread(cycle(node("n1"), constraints=[HARD], minor=minor)).scores(0b1)


def test_a_copy_changes_by_itself():
    plugin = PodTopologySpread(cycle(node("n1"), node("n2", "b"), constraints=[HARD]))
    assert 0b11 == plugin.passing(0b11)
    copied = plugin.copy()
    copied.add_pods(PodInfo("shop", WEB), "n1", 1)

    assert (0b11, 0b10) == (plugin.passing(0b11), copied.passing(0b11))


def test_a_copy_scores_by_itself():
    plugin = PodTopologySpread(cycle(node("n1"), node("n2", "b"), constraints=[SOFT]))
    before = plugin.scores(0b11)
    plugin.copy().add_pods(PodInfo("shop", WEB), "n1", 1)

    assert before == plugin.scores(0b11)


def test_a_node_without_the_key_has_the_least_score_and_no_victim_helps_where_it_is_required():
    bare = node("n3")
    del bare["metadata"]["labels"]["zone"]
    nodes = (node("n1"), node("n2", "b"), bare)
    soft = PodTopologySpread(cycle(*nodes, constraints=[SOFT]))
    hard = PodTopologySpread(cycle(*nodes, bound("n1"), constraints=[HARD]))

    assert 0 == dict(soft.scores(0b111))[0b100]
    assert [(0b001, True), (0b100, False)] == [(one.nodes, one.resolvable) for one in hard.refusals(0b111)]


OTHER = {**SOFT, "labelSelector": {"matchLabels": {"app": "log"}}}


@pytest.mark.parametrize(
    ("namespace", "app", "heeded"),
    [("shop", "web", True), ("shop", "log", True), ("shop", "db", False), ("elsewhere", "web", False)],
)
def test_pods_are_heeded_that_any_constraint_counts(namespace, app, heeded):
    plugin = PodTopologySpread(cycle(node("n1"), constraints=[HARD, OTHER]))

    assert heeded == plugin.heeds(PodInfo(namespace, (("app", app),)))


@pytest.mark.parametrize(("constraints", "skipped"), [([HARD, SOFT], False), ([SOFT], True), ([], True)])
def test_it_is_skipped_without_hard_constraints(constraints, skipped):
    assert skipped == PodTopologySpread(cycle(node("n1"), constraints=constraints)).skipped
