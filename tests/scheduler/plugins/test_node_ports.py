"""Host ports: a node gives each to one Pod."""

from __future__ import annotations

import pytest

from evenkeel.scheduler.host_ports import HostPort
from evenkeel.scheduler.plugins.node_ports import NodePorts
from evenkeel.scheduler.pod_counts import PodInfo
from tests.support.attempts import cycle, node, refusals
from tests.support.placement import bound

NO_FREE_PORTS = ("NodePorts", "node(s) didn't have free ports for the requested pod ports")


def ports(number=80, **fields):
    return [{"name": "c", "image": "i", "ports": [{"containerPort": 1, "hostPort": number, **fields}]}]


def serving(on, **fields):
    raw = bound(on)
    return {**raw, "spec": {**raw["spec"], "containers": ports(**fields)}}


def test_a_port_that_a_pod_has_refuses_its_node():
    asked = cycle(node("n1"), node("n2"), serving("n1"), containers=ports())

    assert {"n1": NO_FREE_PORTS} == refusals(asked)


@pytest.mark.parametrize("fields", [{"number": 81}, {"protocol": "UDP"}, {"number": 0}])
def test_another_port_or_protocol_does_not(fields):
    assert {} == refusals(cycle(node("n1"), serving("n1", **fields), containers=ports()))


def test_a_pod_that_is_being_deleted_has_its_port_still():
    leaving = serving("n1")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    assert {"n1": NO_FREE_PORTS} == refusals(cycle(node("n1"), leaving, containers=ports()))


def test_a_node_is_free_once_the_last_pod_with_the_port_is_gone():
    plugin = NodePorts(cycle(node("n1"), node("n2"), serving("n1"), containers=ports()))
    there = PodInfo("shop", (), ports=(HostPort("0.0.0.0", "TCP", 80),))
    copied = plugin.copy()
    copied.add_pods(there, "n1", 1)
    copied.add_pods(there, "no node", 1)
    assert 0b10 == copied.passing(0b11) == plugin.passing(0b11)
    copied.add_pods(there, "n1", -1)
    assert 0b10 == copied.passing(0b11)
    copied.add_pods(there, "n1", -1)

    assert (0b11, 0b10, 0b01) == (copied.passing(0b11), plugin.passing(0b11), plugin.kept_off())
    plugin.add_pods(there, "n1", 1)
    plugin.add_pods(there, "n1", -1)
    assert 0b10 == plugin.passing(0b11)


def both(of=80):
    return [*ports(81), *ports(of)]


def test_each_port_of_each_pod_refuses():
    there = serving("n1")
    there["spec"]["containers"] = both(79)
    assert {"n1": NO_FREE_PORTS} == refusals(cycle(node("n1"), node("n2"), there, containers=ports(81)))
    assert {"n1": NO_FREE_PORTS} == refusals(cycle(node("n1"), node("n2"), there, containers=ports(79)))

    plugin = NodePorts(cycle(node("n1"), node("n2"), containers=both()))
    for number, on in ((80, "n1"), (81, "n2")):
        taken = tuple(HostPort("0.0.0.0", "TCP", port) for port in (1, number))
        plugin.add_pods(PodInfo("shop", (), ports=taken), on, 1)
    assert 0 == plugin.passing(0b11)


def test_pods_with_ports_are_heeded_by_those_with_ports():
    info = PodInfo("shop", (), ports=(HostPort("0.0.0.0", "TCP", 80),))

    assert [True, False] == [NodePorts(cycle(containers=own)).heeds(info) for own in (ports(), [])]
