"""Room for what a Pod requests, while the usage of nodes changes."""

from __future__ import annotations

from tests.support.attempts import (
    BIG,
    cycle,
    node,
    scores,
)
from tests.support.build import pod
from webhook.scheduler.counts import Usage
from webhook.scheduler.plugins.node_resources_fit import NodeResourcesFit


def test_an_emptier_node_is_preferred():
    running = pod(name="running", uid="u", spec={"nodeName": "n1", **BIG})
    found = scores(cycle(node("n1"), node("n2"), running, **BIG))["NodeResourcesFit"]

    assert found["n1"] < found["n2"]


FULL = Usage(pods=1, milli_cpu=7_000)


def test_a_node_that_fills_up_refuses_the_pod_and_takes_it_when_it_is_free_again():
    plugin = NodeResourcesFit(cycle(node("n1"), node("n2"), **BIG))
    n1 = plugin.nodes.get("n1")
    assert 0b11 == plugin.passing(0b11)

    plugin.set_usage(n1, FULL)
    assert (0b10, [(("Insufficient cpu",), 0b01)]) == (
        plugin.passing(0b11),
        [(refusal.reasons, refusal.nodes) for refusal in plugin.refusals(0b11)],
    )
    plugin.set_usage(n1, Usage())
    assert 0b11 == plugin.passing(0b11)


def test_a_node_that_was_never_looked_at_has_the_usage_that_was_set():
    plugin = NodeResourcesFit(cycle(node("n1"), node("n2"), **BIG))
    plugin.set_usage(plugin.nodes.get("n2"), FULL)

    assert 0b01 == plugin.passing(0b11)


def test_a_copy_changes_by_itself():
    plugin = NodeResourcesFit(cycle(node("n1"), **BIG))
    copied = plugin.copy()
    copied.set_usage(plugin.nodes.get("n1"), FULL)

    assert (1, 0) == (plugin.passing(1), copied.passing(1))
