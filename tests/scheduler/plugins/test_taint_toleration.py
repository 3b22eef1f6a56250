"""Taints that keep a Pod off a node, and taints that only warn."""

from __future__ import annotations

from tests.support.attempts import (
    INFRA,
    TAINTED,
    cycle,
    node,
    refusals,
    scores,
)


def test_up_to_1_33_a_taint_is_named():
    assert {"n1": ("TaintToleration", "node(s) had untolerated taint {dedicated: infra}")} == refusals(
        cycle(TAINTED, minor=33)
    )


def test_a_node_with_a_taint_that_only_warns_is_worth_less():
    avoided = node("n2", taints=[{**INFRA, "effect": "PreferNoSchedule"}])

    assert {"n1": 100, "n2": 0} == scores(cycle(node("n1"), avoided))["TaintToleration"]
    assert {"n1": 100, "n2": 100} == scores(
        cycle(node("n1"), avoided, tolerations=[{"key": "dedicated", "operator": "Exists"}])
    )["TaintToleration"]
