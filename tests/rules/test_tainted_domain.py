"""The rule tainted-domain."""

from __future__ import annotations

import pytest

from tests.rules.judged import HARD_HOST, INFRA, THREE, ZONES, findings, on, said, stateful
from tests.support.build import HOSTNAME, ZONE, constraint, node, snapshot, workload

TOLERANT = {"tolerations": [{"key": "dedicated", "operator": "Exists"}]}


class TestTaintedDomain:
    def test_each_domain_is_said_to_be_closed_by_what_closes_it(self):
        mixed = [node("n3", cordoned=True, **{ZONE: "c"}), node("n4", ["gpu:NoSchedule"], **{ZONE: "d"})]
        message, fix = said(stateful(constraint()), *ZONES, *mixed, rule="tainted-domain")

        assert "4 of 6 new Pods would wait: c is cordoned and d is tainted, but count" == message
        assert (
            "set nodeTaintsPolicy: Honor, or uncordon the nodes, and tolerate gpu:NoSchedule, or remove the taint"
            == fix
        )

    def test_no_two_rules_contradict_each_other_on_how_many_wait(self):
        """Of the two constraints the one on hostnames lets fewer Pods run."""
        nodes = [*ZONES, node("n3", ["gpu:NoSchedule"], **{ZONE: "c"})]
        obj = stateful(constraint(maxSkew=2), HARD_HOST, replicas=5)
        waiting = [f.message for f in findings(obj, snapshot=snapshot(*nodes)) if f.rule == "tainted-domain"]

        assert ["at least 3 of 5 new Pods would wait"] * 2 == [message.partition(":")[0] for message in waiting]

    def test_taints_are_not_honoured_where_one_domain_would_be_left(self):
        closed = [node("n2", ["gpu:NoSchedule"], **{ZONE: "b"}), node("n3", ["gpu:NoSchedule"], **{ZONE: "c"})]
        found = findings(stateful(constraint(), replicas=3), snapshot=snapshot(ZONES[0], *closed))

        assert [("tainted-domain", "tolerate gpu:NoSchedule, or remove the taint")] == [(f.rule, f.fix) for f in found]

    @pytest.mark.parametrize(
        ("taints", "fix"),
        [
            (["karpenter.sh/disrupted:NoSchedule"], "add nodes without these taints"),
            (["CriticalAddonsOnly:NoSchedule"], "add nodes without these taints"),
            (["nvidia.com/gpu:NoSchedule"], "tolerate nvidia.com/gpu:NoSchedule"),
            (
                ["gpu:NoSchedule", "node.cilium.io/agent-not-ready:NoSchedule"],
                "tolerate gpu:NoSchedule, or remove the taint, and add nodes without these taints",
            ),
        ],
    )
    def test_what_a_controller_sets_is_not_to_be_removed_or_tolerated(self, taints, fix):
        closed = [node(f"c{i}", [taint], **{ZONE: f"c{i}"}) for i, taint in enumerate(taints)]

        assert (
            f"set nodeTaintsPolicy: Honor, or {fix}"
            == said(stateful(constraint()), *ZONES, *closed, rule="tainted-domain")[1]
        )

    def test_it_bars_the_others(self):
        message, fix = said(stateful(constraint()), *THREE, rule="tainted-domain")

        assert "4 of 6 new Pods would wait: c is tainted, but counts" == message
        assert "set nodeTaintsPolicy: Honor, or tolerate dedicated=infra:NoSchedule, or remove the taint" == fix

    @pytest.mark.parametrize(
        "closed",
        [
            node("n3", cordoned=True, **{ZONE: "c"}),
            node("n3", ["node.kubernetes.io/unschedulable:NoSchedule"], cordoned=True, **{ZONE: "c"}),
        ],
        ids=["by its spec", "by the taint, too"],
    )
    def test_a_cordoned_node_closes_its_domain(self, closed):
        message, fix = said(stateful(constraint()), *ZONES, closed, rule="tainted-domain")

        assert "4 of 6 new Pods would wait: c is cordoned, but counts" == message
        assert "set nodeTaintsPolicy: Honor, or uncordon the nodes" == fix

    def test_many_domains_are_summed_up(self):
        closed = [node(f"m{i}", ["node-role.kubernetes.io/control-plane:NoSchedule"]) for i in range(3)]
        message, _ = said(stateful(HARD_HOST), *ZONES, *closed, rule="tainted-domain")

        assert "4 of 6 new Pods would wait: m0 and 2 more are tainted, but count" == message

    @pytest.mark.parametrize(
        ("fields", "options", "nodes"),
        [
            ({"nodeTaintsPolicy": "Honor"}, {}, THREE),
            ({"whenUnsatisfiable": "ScheduleAnyway"}, {}, THREE),
            ({"maxSkew": 3}, {}, THREE),
            ({}, {"replicas": 2}, THREE),
            ({}, {"replicas": 0}, THREE),
            ({}, {"replicas": None}, THREE),
            ({}, {"pod_spec": TOLERANT}, THREE),
            ({}, {"pod_spec": {"nodeSelector": {ZONE: "a"}}}, THREE),
            ({}, {"pod_spec": {"nodeSelector": {"pool": "empty"}}}, THREE),
            ({}, {}, (*THREE, node("n4", **{ZONE: "c"}))),
            ({}, {}, (*ZONES, node("n3", ["busy:PreferNoSchedule"], **{ZONE: "c"}))),
            ({}, {}, (INFRA,)),
            ({}, {}, (*ZONES, node("n3", ["a:NoSchedule"], rack="r"))),
            ({"minDomains": 4}, {}, THREE),
            ({"labelSelector": {"matchLabels": {"app": "db"}}}, {}, THREE),
        ],
        ids=[
            "taints are honoured",
            "a soft constraint",
            "the others take all",
            "few replicas",
            "no replica",
            "an autoscaler says how many",
            "it is tolerated",
            "it is not asked for",
            "a pool that is scaled to zero",
            "one node takes it",
            "only preferred",
            "nothing takes it",
            "no domain at all",
            "minDomains holds the minimum at 0",
            "it counts others",
        ],
    )
    def test_nobody_waits_for_it(self, fields, options, nodes):
        assert [] == [f for f in on(stateful(constraint(**fields), **options), *nodes) if "tainted-domain" in f]

    def test_to_honor_taints_is_no_help_where_too_few_domains_are_left(self):
        message, fix = said(stateful(constraint(minDomains=3)), *THREE, rule="tainted-domain")

        assert "4 of 6 new Pods would wait: c is tainted, but counts" == message
        assert "tolerate dedicated=infra:NoSchedule, or remove the taint" == fix

    def test_before_1_26_nothing_honors_taints(self):
        assert (
            "4 of 6 new Pods would wait: c is tainted, but counts"
            == said(stateful(constraint()), *THREE, rule="tainted-domain", minor=25)[0]
        )

    def test_a_domain_that_counts_for_no_other_constraint_does_not_count(self):
        """A node counts only if it carries the key of each hard constraint."""
        both = stateful(constraint(), constraint(topologyKey="rack"))

        assert [] == [f for f in on(both, *THREE) if "tainted-domain" in f]

    @pytest.mark.parametrize("kind", ["DaemonSet", "Job", "CronJob"])
    def test_a_kind_whose_pods_do_not_wait_for_it(self, kind):
        made = workload(kind, constraint(), spec={"parallelism": 6})

        assert [] == [f for f in on(made, *THREE) if "tainted" in f]


def test_a_constraint_that_does_not_count_its_own_pods_limits_none_of_them():
    other = constraint(topologyKey=HOSTNAME, labelSelector={"matchLabels": {"app": "db"}})
    alone, beside = (
        said(stateful(*each), *THREE, rule="tainted-domain")[0] for each in ([constraint()], [constraint(), other])
    )

    assert alone == beside
