"""The host ports of a Pod, and which two Pods cannot share a node because of theirs."""

from __future__ import annotations

import pytest

from evenkeel.scheduler.host_ports import HostPort, read_host_ports
from webhook.kubernetes.reader import Reader

PORT = {"containerPort": 80, "hostPort": 8080}


def read(**spec):
    reader = Reader()
    found = read_host_ports(reader, spec)
    assert [] == reader.errors
    return found


def test_ports_of_containers_and_sidecars_are_taken_and_not_those_of_other_init_containers():
    found = read(
        containers=[{"ports": [PORT, {"containerPort": 81}]}, {}, {"ports": [{**PORT, "protocol": "UDP"}]}],
        initContainers=[
            {"ports": [{"hostPort": 1}]},
            {"restartPolicy": "Always", "ports": [{"hostPort": 2, "hostIP": "10.0.0.1"}]},
        ],
    )

    assert (
        HostPort("10.0.0.1", "TCP", 2),
        HostPort("0.0.0.0", "TCP", 8080),
        HostPort("0.0.0.0", "UDP", 8080),
    ) == found
    assert ["2/TCP on 10.0.0.1", "8080/TCP", "8080/UDP"] == [*map(str, found)]


@pytest.mark.parametrize(
    ("one", "other", "conflict"),
    [
        (("0.0.0.0", "TCP", 80), ("0.0.0.0", "TCP", 80), True),
        (("0.0.0.0", "TCP", 80), ("10.0.0.1", "TCP", 80), True),
        (("10.0.0.1", "TCP", 80), ("0.0.0.0", "TCP", 80), True),
        (("10.0.0.1", "TCP", 80), ("10.0.0.1", "TCP", 80), True),
        (("10.0.0.1", "TCP", 80), ("10.0.0.2", "TCP", 80), False),
        (("::", "TCP", 80), ("10.0.0.2", "TCP", 80), False),
        (("0.0.0.0", "TCP", 80), ("0.0.0.0", "UDP", 80), False),
        (("0.0.0.0", "TCP", 80), ("0.0.0.0", "TCP", 81), False),
    ],
)
def test_all_addresses_of_a_node_conflict_with_each(one, other, conflict):
    assert conflict == HostPort(*one).conflicts(HostPort(*other))
