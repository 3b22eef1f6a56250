"""Taints that keep a Pod off a node, and taints that only warn."""

from __future__ import annotations

from evenkeel.scheduler.plugins.taint_toleration import TaintToleration
from tests.support.attempts import (
    INFRA,
    TAINTED,
    UNTOLERATED,
    cycle,
    node,
    refusals,
    scores,
)


def test_up_to_1_33_a_taint_is_named():
    assert {"n1": ("TaintToleration", "node(s) had untolerated taint {dedicated: infra}")} == refusals(
        cycle(TAINTED, minor=33)
    )
    assert {"n1": UNTOLERATED} == refusals(cycle(TAINTED, minor=34))


def test_a_node_with_a_taint_that_only_warns_is_worth_less():
    avoided = node("n2", taints=[{**INFRA, "effect": "PreferNoSchedule"}])

    assert {"n1": 100, "n2": 0} == scores(cycle(node("n1"), avoided))["TaintToleration"]
    assert {"n1": 100, "n2": 100} == scores(
        cycle(node("n1"), avoided, tolerations=[{"key": "dedicated", "operator": "Exists"}])
    )["TaintToleration"]


def test_each_taint_that_only_warns_counts():
    first, second = ({**INFRA, "key": key, "effect": "PreferNoSchedule"} for key in ("old", "slow"))
    nodes = (node("n1"), node("n2", taints=[first]), node("n3", taints=[second]), node("n4", taints=[first, second]))

    assert {"n1": 100, "n2": 50, "n3": 50, "n4": 0} == scores(cycle(*nodes))["TaintToleration"]


def test_only_nodes_that_are_left_are_refused():
    plugin = TaintToleration(cycle(TAINTED, node("n2")))

    assert [0] == [refusal.nodes for refusal in plugin.refusals(0b10)]
