"""The rule counts-tainted-nodes."""

from __future__ import annotations

import pytest

from tests.rules.judged import HARD_HOST, THREE, ZONES, on, said, shown, stateful
from tests.support.build import HOSTNAME, ZONE, constraint, node, pod, snapshot, workload
from webhook.findings.neighbours import Neighbours
from webhook.kubernetes.features import LATEST
from webhook.kubernetes.workload import parse_workloads


class TestCountsTaintedNodes:
    FOUND = "counts-tainted-nodes [0].nodeTaintsPolicy"

    def test_it_needs_no_nodes(self):
        assert [self.FOUND] == shown(stateful(HARD_HOST))

    def test_what_the_nodes_say_is_worse(self):
        assert ["tainted-domain [0].nodeTaintsPolicy"] == on(stateful(HARD_HOST), *THREE)
        assert ["tainted-domain [0].nodeTaintsPolicy"] == on(stateful(constraint()), *THREE)

    @pytest.mark.parametrize(
        ("key", "message"),
        [
            (HOSTNAME, "tainted nodes count as empty domains"),
            (ZONE, "a lost zone counts as an empty domain"),
            ("topology.kubernetes.io/region", "a lost region counts as an empty domain"),
        ],
    )
    def test_it_says_what_will_count_as_empty(self, key, message):
        assert (message, "set nodeTaintsPolicy: Honor") == said(
            stateful(constraint(topologyKey=key)), rule="counts-tainted-nodes"
        )

    def test_a_lost_zone_bars_the_others_in_the_cluster_that_it_warns_of(self):
        """Its Node objects stay, tainted as unreachable: as tainted-domain then says."""
        lost = node("n2", ["node.kubernetes.io/unreachable:NoSchedule"], **{ZONE: "b"})
        pair = stateful(constraint(), replicas=2)

        assert [self.FOUND] == on(pair, *ZONES)
        assert ["tainted-domain [0].nodeTaintsPolicy"] == on(pair, ZONES[0], lost)
        assert [] == on(stateful(constraint(nodeTaintsPolicy="Honor"), replicas=2), ZONES[0], lost)

    @pytest.mark.parametrize(
        ("obj", "minor"),
        [
            (stateful(constraint(topologyKey="rack")), None),
            (stateful(constraint(), replicas=1), None),
            (stateful(constraint(maxSkew=0)), None),
            (pod(constraint()), None),
            (workload("Job", constraint(), spec={"parallelism": 3}), None),
            (stateful(constraint(), pod_spec={"nodeSelector": {ZONE: "a"}}), None),
            (stateful(HARD_HOST | {"nodeTaintsPolicy": "Honor"}), None),
            (stateful(HARD_HOST | {"whenUnsatisfiable": "ScheduleAnyway"}), None),
            (stateful(HARD_HOST, pod_spec={"tolerations": [{"operator": "Exists"}]}), None),
            (stateful(HARD_HOST), 25),
            (workload("DaemonSet", HARD_HOST), None),
            (pod(HARD_HOST, spec={"nodeName": "n1"}), None),
            (stateful(HARD_HOST | {"maxSkew": 6}), None),
            (stateful(HARD_HOST | {"labelSelector": {"matchLabels": {"app": "db"}}}), None),
            (stateful(HARD_HOST | {"labelSelector": {}}), None),
        ],
        ids=[
            "a key of ones own",
            "one replica",
            "an invalid constraint",
            "a Pod, which nothing replaces",
            "the Pods of a Job make room",
            "a zone that is the only one",
            "taints are honoured",
            "a soft constraint",
            "every taint is tolerated",
            "no policy before 1.26",
            "a DaemonSet",
            "a Pod that is bound",
            "the skew never refuses",
            "it counts others",
            "it counts nothing",
        ],
    )
    def test_no_node_counts_in_vain(self, obj, minor):
        assert [] == [f for f in shown(obj, minor=minor) if "counts-tainted" in f]

    def test_a_pod_that_counts_no_other_among_the_manifests_is_alone(self):
        other = Neighbours.of(parse_workloads(workload("Deployment", name="other")))

        assert [] == shown(pod(HARD_HOST), others=Neighbours())
        assert self.FOUND in shown(pod(HARD_HOST), others=other)
        assert [self.FOUND] == shown(pod(HARD_HOST))

    def test_what_runs_beside_a_pod_in_a_cluster_is_not_asked_for(self):
        there = snapshot(pod(name="other", labels={"app": "web"}, spec={"nodeName": "n1"}, uid="u1"), features=LATEST)

        assert [self.FOUND] == shown(pod(HARD_HOST), snapshot=there, others=Neighbours())

    def test_a_toleration_of_one_effect_is_not_all(self):
        obj = stateful(HARD_HOST, pod_spec={"tolerations": [{"operator": "Exists", "effect": "NoExecute"}]})

        assert [self.FOUND] == shown(obj)
