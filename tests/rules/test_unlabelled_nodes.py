"""The rule unlabelled-nodes."""

from __future__ import annotations

import pytest

from tests.rules.judged import THREE, ZONES, on, said
from tests.support.build import ZONE, constraint, node, pod


class TestUnlabelledNodes:
    NOWHERE = node("n4", rack="r1")

    def test_they_are_counted_among_those_that_it_may_use(self):
        obj = pod(constraint(nodeTaintsPolicy="Honor"))
        message, fix = said(obj, *THREE, self.NOWHERE, rule="unlabelled-nodes")

        assert "1 of 3 nodes that would take the Pod lacks this label, so no such Pod runs on it" == message
        assert f"label n4 with {ZONE}" == fix

    @pytest.mark.parametrize(
        ("spec", "nodes"),
        [
            ({}, [node("n4", ["a=b:NoExecute"], rack="r")]),
            ({}, [node("n4", cordoned=True, rack="r")]),
            ({}, [node("n4", ["node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule"], rack="r")]),
            ({"nodeSelector": {ZONE: "a"}}, [NOWHERE]),
            ({"nodeName": "n1"}, [NOWHERE]),
        ],
        ids=["a taint", "cordoned", "it has only just joined", "a node selector", "a Pod that is bound"],
    )
    def test_a_node_that_it_would_not_run_on_anyway_lacks_nothing(self, spec, nodes):
        assert [] == [f for f in on(pod(constraint(), spec=spec), *ZONES, *nodes) if "unlabelled" in f]

    def test_a_soft_constraint_keeps_no_pod_off(self):
        assert [] == on(pod(constraint(whenUnsatisfiable="ScheduleAnyway")), *ZONES, self.NOWHERE)

    def test_a_key_that_no_node_carries_is_said_once(self):
        assert ["unknown-topology-key [0].topologyKey"] == on(pod(constraint(topologyKey="rack")), *ZONES)
