"""Hard and soft constraints while Pods come and go."""

from __future__ import annotations

import pytest

from tests.support.attempts import INFRA, UNTOLERATED, cycle, node, refusals
from tests.support.placement import HARD, SOFT, bound
from webhook.scheduler.counts import PodInfo
from webhook.scheduler.framework import find_feasible
from webhook.scheduler.plugins.pod_topology_spread import PodTopologySpread


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
