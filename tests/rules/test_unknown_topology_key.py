"""The rule unknown-topology-key."""

from __future__ import annotations

import pytest

from tests.rules.judged import THREE, on, said
from tests.support.build import HOSTNAME, ZONE, constraint, node, pod


class TestUnknownTopologyKey:
    def test_a_key_that_no_node_carries(self):
        message, fix = said(pod(constraint(topologyKey="rack")), *THREE, rule="unknown-topology-key")

        assert 'no node has the label "rack": no Pod can be placed' == message
        assert f'label nodes with "rack", or use one of {HOSTNAME}, {ZONE}' == fix

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
            ("failure-domain.beta.kubernetes.io/zone", "misspelt-topology-key"),
            ("", "invalid-constraint"),
            ("rack", "unknown-topology-key"),
        ],
    )
    def test_one_rule_speaks_for_a_key(self, key, rule):
        assert [f"{rule} [0].topologyKey"] == on(pod(constraint(topologyKey=key)), *THREE)
