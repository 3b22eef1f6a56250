"""The rule unknown-topology-key."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.rules.judged import THREE, findings, on, said
from tests.support.build import HOSTNAME, ZONE, constraint, node, pod, snapshot, workload
from webhook.kubernetes.names import REGION


class TestUnknownTopologyKey:
    def test_a_key_that_no_node_carries(self):
        message, fix = said(pod(constraint(topologyKey="rack")), *THREE, rule="unknown-topology-key")

        assert 'no node has the label "rack": no Pod can be placed' == message
        assert f'label nodes with "rack", or use one of {HOSTNAME}, {ZONE}' == fix

    @pytest.mark.parametrize(
        ("others", "labels", "use"),
        [
            ([ZONE], {}, f", or use {HOSTNAME}"),
            ([ZONE, HOSTNAME], {}, ""),
            ([], {REGION: "r"}, f", or use one of {HOSTNAME}, {ZONE}"),
            ([HOSTNAME], {"kubernetes.io/os": "linux", "kubernetes.io/arch": "x"}, f", or use {ZONE}"),
        ],
        ids=["one is taken", "both are taken", "one region", "no domains"],
    )
    def test_the_fix_names_keys_that_are_domains_and_that_no_constraint_of_the_mode_has(self, others, labels, use):
        hard = [constraint(topologyKey=key, nodeTaintsPolicy="Honor") for key in others]
        soft = [constraint(topologyKey=ZONE, whenUnsatisfiable="ScheduleAnyway")]
        nodes = [node(f"n{zone}", **{ZONE: zone, **labels}) for zone in "ab"]
        rack = constraint(topologyKey="rack")
        _, fix = said(pod(rack, *hard, *soft * (ZONE not in others)), *nodes, rule="unknown-topology-key")

        assert f'label nodes with "rack"{use}' == fix

    def test_a_soft_constraint_spreads_nothing(self):
        soft = constraint(topologyKey="rack", whenUnsatisfiable="ScheduleAnyway")

        assert said(pod(soft), *THREE, rule="unknown-topology-key")[0].endswith("it spreads nothing")

    def test_a_key_that_one_node_carries_is_known(self):
        obj = pod(constraint(topologyKey="rack", whenUnsatisfiable="ScheduleAnyway"))

        assert [] == on(obj, *THREE, node("n4", rack="r1"))

    @pytest.mark.parametrize(
        ("key", "rule"),
        [
            ("a b", "malformed-topology-key"),
            ("kubernetes.io/zone", "misspelt-topology-key"),
            ("failure-domain.beta.kubernetes.io/zone", "deprecated-topology-key"),
            ("", "invalid-constraint"),
            ("rack", "unknown-topology-key"),
        ],
    )
    def test_one_rule_speaks_for_a_key(self, key, rule):
        assert [f"{rule} [0].topologyKey"] == on(pod(constraint(topologyKey=key)), *THREE)


@pytest.mark.parametrize(("key", "found"), [("rack", True), ("topology.gke.io/zone", False)])
def test_a_manifest_of_a_node_has_not_what_a_cloud_gives_to_nodes(key, found):
    there = replace(snapshot(node()), nodes_in_manifests=True)
    rules = [one.rule for one in findings(workload("StatefulSet", constraint(topologyKey=key)), snapshot=there)]

    assert found == ("unknown-topology-key" in rules)
    assert "unknown-topology-key" in [
        one.rule for one in findings(workload("StatefulSet", constraint(topologyKey=key)), snapshot=snapshot(node()))
    ]
