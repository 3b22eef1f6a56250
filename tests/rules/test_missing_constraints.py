"""The rule missing-constraints."""

from __future__ import annotations

import pytest

from tests.rules.judged import findings, pinned, templated
from tests.support.build import ZONE, node, pod, snapshot, workload
from webhook.findings.finding import Severity
from webhook.kubernetes.documents import read_documents
from webhook.kubernetes.fields import with_value
from webhook.kubernetes.scalars import _WORDS
from webhook.rules import RULES


class TestMissingConstraints:
    @pytest.fixture
    def every(self):
        return RULES["missing-constraints"].setting(Severity.ERROR, True, {"minReplicas": 1})

    def test_a_pod_that_is_pinned_as_the_daemonset_controller_does_is_left_alone(self, every):
        assert () == findings(pod(spec=pinned(["n1"])), missing_constraints=every)

    @pytest.mark.parametrize(
        ("terms", "reported"),
        [
            ([["n1"]] * 50, False),
            ([["n1", "n1"]], False),
            ([], True),
            ([["n1"], ["n2"]], True),
            ([["n1"], []], True),
            ([["n1"]] * 50 + [["n2"]], True),
            ([["n1"]] * 51, True),
            ([["n1", "n2"]], True),
        ],
        ids=[
            "always the same node",
            "twice in one term",
            "no term",
            "one of two nodes",
            "or any node",
            "a second node in the last of many terms",
            "more terms than are looked at",
            "two nodes at once",
        ],
    )
    def test_pinned_is_what_can_run_on_one_node_only(self, terms, reported, every):
        found = findings(pod(spec=pinned(*terms)), missing_constraints=every)

        assert ["missing-constraints"] * reported == [f.rule for f in found]

    def test_a_template_that_is_pinned_makes_pods_that_are_spread_by_nobody(self, every):
        for spec in (pinned(["n1"]), {"nodeName": "n1"}):
            (found,) = findings(workload("Deployment", spec=templated(spec)), missing_constraints=every)
            assert "missing-constraints" == found.rule

    def test_no_replica_counts_as_one(self, every):
        """It is scaled later, and that is not judged."""
        none = workload("Deployment", spec={"replicas": 0})

        assert ["missing-constraints"] == [f.rule for f in findings(none, missing_constraints=every)]

    @pytest.mark.parametrize(("count", "found"), [(0, "0 replicas"), (1, "1 replica"), (2, "2 replicas")])
    def test_it_says_how_many_replicas_it_found(self, count, found, every):
        (one,) = findings(workload("Deployment", spec={"replicas": count}), missing_constraints=every)

        assert (f"{found}, but none", "no constraint") == (one.message, one.found)

    @pytest.mark.parametrize("value", ["web", "1", "true", "No", "1e3", "2026-11-23", ""])
    def test_what_it_offers_can_be_pasted(self, value, every):
        obj = workload("Deployment", labels={"app": value, "x.io/y": "z"}, spec={"replicas": 3, "selector": {}})
        (found,) = findings(obj, missing_constraints=every)
        (offered,) = read_documents(found.fix.removeprefix("add "))
        repaired = with_value(obj, found.path, [offered])

        assert {"matchLabels": obj["spec"]["template"]["metadata"]["labels"]} == offered["labelSelector"]
        assert () == findings(repaired, missing_constraints=every)

    @pytest.mark.parametrize(
        ("rule", "parameters"),
        [
            ("soft-constraint", {}),
            ("forbidden-topology-key", {"topologyKeys": [ZONE]}),
            ("rollout-skew", {"soft": True}),
        ],
    )
    def test_it_offers_nothing_with_which_another_rule_finds_fault(self, rule, parameters, every):
        deployment, other = workload("Deployment", spec={"replicas": 3}), RULES[rule]
        strict = other.setting(Severity.ERROR, False, parameters)
        found = findings(deployment, missing_constraints=every, **{rule: strict})

        assert [f"add a constraint for {ZONE}"] == [finding.fix for finding in found]

    def test_where_no_node_has_the_key_it_offers_nothing(self, every):
        (found,) = findings(workload("Deployment"), snapshot=snapshot(node(rack="1")), missing_constraints=every)

        assert f"add a constraint for {ZONE}" == found.fix

    @pytest.mark.parametrize("word", sorted(filter(str.isalpha, _WORDS)))
    def test_a_label_that_yaml_may_read_otherwise_is_quoted(self, word, every):
        labels = {word: word, "app": "web"}
        (found,) = findings(workload("Deployment", labels=labels, spec={"selector": {}}), missing_constraints=every)
        (offered,) = read_documents(found.fix.removeprefix("add "))

        assert {"matchLabels": labels} == offered["labelSelector"]

    @pytest.mark.parametrize(
        "obj", [pod(owner="DaemonSet/x"), workload("Deployment", owner="DaemonSet/x")], ids=["Pod", "Deployment"]
    )
    def test_a_made_up_daemonset_is_no_excuse(self, obj, every):
        assert ["missing-constraints"] == [f.rule for f in findings(obj, missing_constraints=every)]
