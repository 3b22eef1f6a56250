"""The rule too-few-domains."""

from __future__ import annotations

import pytest

from tests.rules.judged import THREE, ZONES, findings, in_zones, on, said, stateful
from tests.support.build import ZONE, constraint, node, snapshot, workload
from webhook.findings.finding import Severity
from webhook.rules import RULES


class TestTooFewDomains:
    def test_a_domain_takes_max_skew_pods(self):
        message, fix = said(stateful(constraint(minDomains=4, maxSkew=2)), *ZONES, rule="too-few-domains")

        assert "2 domains: only 4 of 6 Pods can run; the others wait for nodes in other domains" == message
        assert "lower minDomains to 2, or add nodes in other domains" == fix

    def test_a_policy_that_asks_for_min_domains_is_not_told_to_lower_it_to_the_default(self):
        asked = {"missing_min_domains": RULES["missing-min-domains"].setting(Severity.WARNING)}
        _, fix = said(stateful(constraint(minDomains=2)), ZONES[0], rule="too-few-domains", **asked)

        assert "add nodes in other domains" == fix

    @pytest.mark.parametrize(
        ("fields", "options"),
        [
            ({"minDomains": 2}, {}),
            ({"minDomains": 3, "maxSkew": 3}, {}),
            ({}, {}),
            ({"minDomains": 3}, {"replicas": 2}),
            ({"minDomains": 3}, {"replicas": 0}),
            ({"minDomains": 3}, {"replicas": None}),
            ({"minDomains": 3}, {"pod_spec": {"nodeSelector": {"pool": "empty"}}}),
            ({"minDomains": 3, "labelSelector": {"matchLabels": {"app": "db"}}}, {}),
        ],
        ids=[
            "there are enough",
            "they take them all",
            "none is asked for",
            "few replicas",
            "no replica",
            "an autoscaler says how many",
            "a pool that is scaled to zero",
            "it counts others",
        ],
    )
    def test_nobody_waits(self, fields, options):
        assert [] == [f for f in on(stateful(constraint(**fields), **options), *ZONES) if "too-few" in f]

    @pytest.mark.parametrize("allowed", [["a"], ["a", "b"]])
    def test_nodes_that_join_are_no_help_where_affinity_leaves_no_further_domain(self, allowed):
        obj = stateful(constraint(minDomains=3), pod_spec=in_zones(*allowed))
        off = {"pinned_domain": RULES["pinned-domain"].setting(Severity.IGNORE)}
        message, fix = said(obj, *ZONES, rule="too-few-domains", **off)

        assert (
            f"only {len(allowed)} of 6 Pods can ever run: node affinity allows no other domain"
            == message.partition(": ")[2]
        )
        assert f"lower minDomains to {len(allowed)}, or allow more domains in node affinity" == fix

    @pytest.mark.parametrize("allowed", [["a", "c"], ["a", "b", "c"]])
    def test_nodes_that_join_are_some_help_where_affinity_leaves_a_further_domain(self, allowed):
        obj = stateful(constraint(minDomains=4), pod_spec=in_zones(*allowed))
        off = {"pinned_domain": RULES["pinned-domain"].setting(Severity.IGNORE)}

        assert said(obj, *ZONES, rule="too-few-domains", **off)[0].endswith(
            "; the others wait for nodes in other domains"
        )

    def test_a_domain_whose_nodes_do_not_count_is_none(self):
        honoring = stateful(constraint(minDomains=3, nodeTaintsPolicy="Honor"))

        assert ["too-few-domains [0].minDomains"] == on(honoring, *THREE)

    def test_the_pods_of_a_job_make_room(self):
        assert [] == on(workload("Job", constraint(minDomains=3), spec={"parallelism": 6}), *ZONES)

    def test_a_domain_that_is_closed_takes_no_pod(self):
        closed = node("n3", cordoned=True, **{ZONE: "b"})
        message, fix = said(stateful(constraint(minDomains=3)), ZONES[0], closed, rule="too-few-domains")

        assert "2 domains, and 1 of them can take Pods: only 1 of 6 Pods can run" == message
        assert "uncordon the nodes" == fix
        rules = [f.rule for f in findings(stateful(constraint(minDomains=3)), snapshot=snapshot(ZONES[0], closed))]
        assert ["too-few-domains"] == rules, "a cordon is a taint, too: honoured, it would leave one domain"
