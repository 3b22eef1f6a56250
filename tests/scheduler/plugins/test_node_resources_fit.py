"""Room for what a Pod requests, while the usage of nodes changes."""

from __future__ import annotations

from evenkeel.scheduler.plugins.node_resources_fit import NodeResourcesFit, insufficient
from evenkeel.scheduler.plugins.nodes_by_usage import ChangingUsage
from evenkeel.scheduler.pod_counts import Usage
from tests.support.attempts import (
    BIG,
    cycle,
    node,
    scores,
)
from tests.support.build import pod


def test_an_emptier_node_is_preferred():
    running = pod(name="running", uid="u", spec={"nodeName": "n1", **BIG})
    found = scores(cycle(node("n1"), node("n2"), running, **BIG))["NodeResourcesFit"]

    assert found["n1"] < found["n2"]


FULL = Usage(pods=1, milli_cpu=7_000)


def following(*nodes):
    """The plugin for a Pod that asks for much, and the usage that it follows."""
    plugin = NodeResourcesFit(cycle(*nodes, **BIG))
    usage = ChangingUsage(plugin.nodes, {})
    plugin.follow_usage(usage)
    return plugin, usage


def test_a_node_that_fills_up_refuses_the_pod_and_takes_it_when_it_is_free_again():
    plugin, usage = following(node("n1"), node("n2"))
    assert 0b11 == plugin.passing(0b11)

    usage.set("n1", FULL)
    assert (0b10, [(insufficient(("cpu",)), 0b01)]) == (
        plugin.passing(0b11),
        [(refusal.reasons, refusal.nodes) for refusal in plugin.refusals(0b11)],
    )
    usage.set("n1", Usage())
    assert 0b11 == plugin.passing(0b11)


def test_a_node_that_was_never_looked_at_has_the_usage_that_was_set():
    plugin, usage = following(node("n1"), node("n2"))
    usage.set("n2", FULL)

    assert 0b01 == plugin.passing(0b11)


def test_a_usage_that_is_tried_decides_until_it_is_taken_back():
    plugin, _ = following(node("n1"))
    for usage, passing in ((FULL, 0), (Usage(), 1)):
        plugin.try_usage(plugin.nodes.get("n1"), usage)
        assert passing == plugin.passing(1)


def test_a_copy_follows_a_usage_of_its_own():
    plugin, _ = following(node("n1"))
    copied = plugin.copy()
    copied.follow_usage(ChangingUsage(plugin.nodes, {"n1": FULL}))

    assert (1, 0) == (plugin.passing(1), copied.passing(1))
