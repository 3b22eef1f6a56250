"""The rule misspelt-topology-key."""

from __future__ import annotations

import pytest

from tests.rules.judged import findings
from tests.support.build import HOSTNAME, ZONE, constraint, node, pod, snapshot

KEYS = [
    "zone",
    "node",
    "rack",
    "example.com/zone",
    "topology.ebs.csi.aws.com/zone",
    "topology.gke.io/zone",
    ZONE,
    HOSTNAME,
]
KEYS += ["topology.kubernetes.io/region", "node.kubernetes.io/instance-type", "kubernetes.io/arch", "kubernetes.io/os"]
KEYS += [
    "topology.kubernetes.io/rack",
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "karpenter.sh/zone",
]


@pytest.mark.parametrize("key", KEYS)
def test_a_key_of_ones_own_is_no_mistake(key):
    assert () == findings(pod(constraint(topologyKey=key, nodeTaintsPolicy="Honor")))


@pytest.mark.parametrize(
    ("when", "nodes", "message"),
    [
        ("DoNotSchedule", [], "unless nodes have this label, no Pod can be placed"),
        ("ScheduleAnyway", [], "unless nodes have this label, it spreads nothing"),
        ("DoNotSchedule", [node("n1")], "no node has this label: no Pod can be placed"),
    ],
)
@pytest.mark.parametrize("key", ["hostname", "kubernetes.io/host", "kubernetes.io/hostnam"])
def test_a_misspelt_key_is_told_what_it_means_for_the_pods(key, when, nodes, message):
    (found,) = findings(pod(constraint(topologyKey=key, whenUnsatisfiable=when)), snapshot=snapshot(*nodes))

    assert (message, f"write topologyKey: {HOSTNAME}") == (found.message, found.fix)
